/* program.h - what the simulated runtime tells the simulated driver of the program's own view of its memory.
 *
 * Machine code can't be read here, so a kernel of a real program is an opaque one (driver/opaque.h): a function of the
 * tensors that it is given. Where these begin and end only the program's own calls say. A library between program and
 * driver may put several tensors into one piece of memory or a tensor into several, so that what reaches the driver doesn't
 * tell; and it may launch again what the program launched once. So the runtime, which stands above, says beforehand.
 *
 * The functions are asked of cuGetProcAddress() by these names, and are no part of CUDA. A driver that lacks them has no
 * opaque kernels either. They answer 0, and do nothing before cuInit(). */
#ifndef SIMGPU_PROGRAM_H
#define SIMGPU_PROGRAM_H
#include <stdint.h>

/* The program has been given these bytes of device memory; what is in them, nobody has written. */
typedef int simgpu_tensor_made(uint64_t address, uint64_t bytes);
/* It has given them back: no later launch means them. `address` is what was made; others are ignored. */
typedef int simgpu_tensor_gone(uint64_t address);
/* A copy or a set of the program's writes these bytes; what lies in no tensor is ignored. `source`: where a copy has them
 * from, since what nobody has written there nobody has written then; 0 for a set. */
typedef int simgpu_tensor_written(uint64_t address, uint64_t bytes, uint64_t source);
/* The program is about to launch this kernel (a CUkernel or CUfunction) with these parameters, in the form that
 * cuLaunchKernel() takes. Other launches may come first. */
typedef int simgpu_launch_coming(const void *kernel, const unsigned grid[3], const unsigned block[3], void **params);

/* What the driver tells whenever it changes: no kernel of the device comes to where others wait for it before `now_ns`.
 * Infinite: the others are not to wait, since it does for them. `moved_ns` grows with what happens on the device, and not
 * because the host makes calls. */
typedef void simgpu_clock_tell(double now_ns, double moved_ns);
/* The host waits for hosts of other devices, with which this one is to exchange (image.h), and does nothing else: at what
 * time of its clock. From now on the driver tells `tell` how far the device is. */
typedef double simgpu_host_away(simgpu_clock_tell *tell);
/* It is back, and its clock not before the clocks of those that it waited for. */
typedef void simgpu_host_back(double now_ns);
#endif
