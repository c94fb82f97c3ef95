/* compiler.h - declares what code made by nvcc, and the kernel header of the simulated device, call besides the
 * documented runtime. */
#ifndef SIMGPU_RUNTIME_COMPILER_H
#define SIMGPU_RUNTIME_COMPILER_H
#include <cuda_runtime_api.h>

/* Register a program's image, framed as by nvcc, then its kernels and variables; unregister all of it at the program's
 * end. */
void **CUDARTAPI __cudaRegisterFatBinary(void *wrapper);
void CUDARTAPI __cudaRegisterFatBinaryEnd(void **handle);
void CUDARTAPI __cudaUnregisterFatBinary(void **handle);
void CUDARTAPI __cudaRegisterFunction(void **handle, const char *host_function, char *device_function,
                                      const char *device_name, int thread_limit, uint3 *tid, uint3 *bid, dim3 *block,
                                      dim3 *grid, int *warp_size);
void CUDARTAPI __cudaRegisterVar(void **handle, char *host_variable, char *device_address, const char *device_name, int ext,
                                 size_t size, int constant, int global);
void CUDARTAPI __cudaRegisterManagedVar(void **handle, void **host_pointer, char *device_address, const char *device_name,
                                        int ext, size_t size, int constant, int global);
char CUDARTAPI __cudaInitModule(void **handle);

/* A launch: the configuration is pushed; the kernel's host function pops it and calls cudaLaunchKernel() or, with a
 * handle that it has asked for before, __cudaLaunchKernel(). */
unsigned CUDARTAPI __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared_bytes, struct CUstream_st *stream);
cudaError_t CUDARTAPI __cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared_bytes, void *stream);
cudaError_t CUDARTAPI __cudaGetKernel(cudaKernel_t *ret_kernel, const void *function);
#ifdef CUDA_API_PER_THREAD_DEFAULT_STREAM
#define __cudaLaunchKernel __cudaLaunchKernel_ptsz
#endif
cudaError_t CUDARTAPI __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void **args, size_t shared_bytes,
                                         cudaStream_t stream);
#endif
