/* kernel.h - makes plain CUDA C++ kernels run on the host, as programs of the simulated device.
 *
 * simcc includes this file before every .cu file, turns what C++ does not know (`<<<>>>`, __global__, __shared__,
 * __device__ variables) into calls of what is declared here, and passes the result to the host compiler. The parts:
 *
 *   place.h     the position of a thread: threadIdx, blockIdx, blockDim, gridDim, dynamic shared memory
 *   threads.h   the threads of one block: plain calls, and fibres once one of them waits for the others
 *   launch.h    a kernel's record in the program's image, and the way from a call to cudaLaunchKernel() and back
 *   footprint.h SIMGPU_FOOTPRINT: the cost and the touches of a launch
 *   device.h    what CUDA provides inside kernels: arithmetic, atomics, barriers, shuffles
 *
 * C++17, g++ and clang++. A kernel runs when the simulated driver says so, on the thread that drives the simulation, and
 * never two at a time. */
#ifndef SIMGPU_KERNEL_H
#define SIMGPU_KERNEL_H
#pragma GCC system_header

#include <cuda_runtime.h>

#if defined(__has_feature)
#if !__has_feature(cxx_rtti)
#error "the simulated device names kernels with typeid: compile without -fno-rtti"
#endif
#elif !defined(__GXX_RTTI)
#error "the simulated device names kernels with typeid: compile without -fno-rtti"
#endif

#include "place.h"
#include "threads.h"
#include "launch.h"
#include "footprint.h"
#include "device.h"

/* Marks that simcc replaces; the compiler sees none of them. */
#undef __global__
#undef __device__
#undef __constant__
#undef __managed__
#undef __shared__
#undef __host__
#undef __launch_bounds__
#undef __grid_constant__
#define __global__   __simgpu_global__
#define __device__   __simgpu_device__
#define __constant__ __simgpu_constant__
#define __managed__  __simgpu_device__
#define __shared__   __simgpu_shared__
#define __host__
#define __launch_bounds__(...)
#define __grid_constant__

#endif
