/* handles.h - handles of cuBLAS and of cuBLASLt; the former are valid wherever the latter are expected. */
#ifndef SIMGPU_CUBLAS_HANDLES_H
#define SIMGPU_CUBLAS_HANDLES_H
#include <cublas_api.h>
#include <stdbool.h>
#include <stdint.h>

#define BLAS_HANDLE_MAGIC 0x73616c62756d6973u /* "simublas" */

/* What both begin with. It is cleared when the handle is destroyed, so that a later use is mostly noticed. */
struct blas_handle {
    uint64_t magic;
};

static inline bool blas_is_handle(const void *handle)
{
    return handle && ((const struct blas_handle *)handle)->magic == BLAS_HANDLE_MAGIC;
}

/* What a program has chosen for the calls that it makes with a handle. As documented, only one thread at a time uses it. */
struct cublasContext {
    struct blas_handle head;
    cudaStream_t stream;
    cublasPointerMode_t pointer_mode;
    cublasAtomicsMode_t atomics_mode;
    cublasMath_t math_mode;
    int sm_count_target;
};

static inline bool blas_on_device(cublasHandle_t handle)
{
    return handle->pointer_mode == CUBLAS_POINTER_MODE_DEVICE;
}
#endif
