/* result.h - carries a driver's CUresult through functions that return 0 or a negative errno. */
#ifndef SPILLWAY_SHIM_RESULT_H
#define SPILLWAY_SHIM_RESULT_H
#include <cuda.h>
#include <errno.h>

enum { SPW_RESULT_BASE = 100000 }; /* above every errno: -(base + code) is exactly the driver's code */

/* Returns 0, -ENOMEM for CUDA_ERROR_OUT_OF_MEMORY, or else a negative number that spw_cuda() turns back into the same
 * code. */
static inline int spw_result(CUresult r)
{
    if (r == CUDA_SUCCESS)
        return 0;
    return r == CUDA_ERROR_OUT_OF_MEMORY ? -ENOMEM : -(SPW_RESULT_BASE + (int)r);
}

/* Returns the result for the program. */
static inline CUresult spw_cuda(int r)
{
    if (r >= 0)
        return CUDA_SUCCESS;
    if (r <= -SPW_RESULT_BASE)
        return (CUresult)(-r - SPW_RESULT_BASE);
    if (r == -ESTALE) /* bytes had to be computed again and cannot be: replay.h */
        return CUDA_ERROR_ILLEGAL_STATE;
    if (r == -ETIMEDOUT) /* another thread did not return from the driver */
        return CUDA_ERROR_TIMEOUT;
    return r == -ENOMEM ? CUDA_ERROR_OUT_OF_MEMORY : r == -EINVAL ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_UNKNOWN;
}
#endif
