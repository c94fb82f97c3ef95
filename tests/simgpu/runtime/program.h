/* program.h - tells the simulated driver what the program asks for, in the program's own terms (../program.h). A driver that
 * does not want to know is told nothing. */
#ifndef SIMGPU_RUNTIME_PROGRAM_H
#define SIMGPU_RUNTIME_PROGRAM_H
#include <cuda.h>
#include <cuda_runtime_api.h>

/* Once, with what the driver answers look-ups with. */
void rt_program_open(CUresult (*resolve)(const char *name, void **ret_function, int version, cuuint64_t flags,
                                         CUdriverProcAddressQueryResult *ret_status));

/* Behind a successful allocation; before memory is given back; with a copy or a set to device memory. */
void rt_tensor_made(const void *address, size_t bytes);
void rt_tensor_gone(const void *address);
void rt_tensor_written(const void *address);

/* Before a launch. */
cudaError_t rt_launch_coming(CUfunction kernel, dim3 grid, dim3 block, void **args);
#endif
