/* errors.h - the names of CUDA's result codes. */
#ifndef SIMGPU_DRIVER_ERRORS_H
#define SIMGPU_DRIVER_ERRORS_H
#include <cuda.h>

/* Parses "CUDA_ERROR_OUT_OF_MEMORY" or "2". Returns 0, or -EINVAL if it is neither a name nor the number of one. */
int errors_parse(const char *text, CUresult *ret_result);
#endif
