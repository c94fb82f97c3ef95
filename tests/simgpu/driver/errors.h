/* errors.h - the names of CUDA's result codes. */
#ifndef SIMGPU_DRIVER_ERRORS_H
#define SIMGPU_DRIVER_ERRORS_H
#include <cuda.h>

/* "CUDA_ERROR_OUT_OF_MEMORY" or "2". 0, or -EINVAL where it is neither a name nor the number of one. */
int errors_parse(const char *text, CUresult *ret_result);
#endif
