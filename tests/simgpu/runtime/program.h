/* program.h - tells the simulated driver what the program asks for, in the program's own terms (../program.h). A driver
 * without these functions is told nothing. */
#ifndef SIMGPU_RUNTIME_PROGRAM_H
#define SIMGPU_RUNTIME_PROGRAM_H
#include <cuda.h>
#include <cuda_runtime_api.h>

/* To be called once, with the driver's function for look-ups. */
void rt_program_open(CUresult (*resolve)(const char *name, void **ret_function, int version, cuuint64_t flags,
                                         CUdriverProcAddressQueryResult *ret_status));

/* After a successful allocation; before memory is returned. */
void rt_tensor_made(const void *address, size_t bytes);
void rt_tensor_gone(const void *address);

/* For a copy or a set to device memory: `rows` of `width` bytes each, `pitch` apart. `from` is NULL for a set. */
void rt_tensor_written(const void *to, size_t bytes, const void *from);
void rt_rows_written(const void *to, size_t pitch, const void *from, size_t from_pitch, size_t width, size_t rows);

/* Before a launch. */
cudaError_t rt_launch_coming(CUfunction kernel, dim3 grid, dim3 block, void **args);
#endif
