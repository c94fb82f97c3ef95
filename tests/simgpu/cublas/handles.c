/* handles.c - handles of cuBLAS: created, destroyed, and the choices that a program makes for its calls with them. */
#include "handles.h"
#include <stdlib.h>

cublasStatus_t cublasCreate_v2(cublasHandle_t *handle)
{
    int device;

    if (!handle)
        return CUBLAS_STATUS_INVALID_VALUE;
    if (cudaGetDevice(&device) != cudaSuccess)
        return CUBLAS_STATUS_NOT_INITIALIZED;
    struct cublasContext *created = calloc(1, sizeof *created);
    if (!created)
        return CUBLAS_STATUS_ALLOC_FAILED;
    created->head.magic = BLAS_HANDLE_MAGIC;
    *handle = created;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasDestroy_v2(cublasHandle_t handle)
{
    if (!blas_is_handle(handle))
        return CUBLAS_STATUS_NOT_INITIALIZED;
    handle->head.magic = 0;
    free(handle);
    return CUBLAS_STATUS_SUCCESS;
}

/* The stand-in needs no workspace, so it only looks at what it is offered. */
cublasStatus_t cublasSetWorkspace_v2(cublasHandle_t handle, void *workspace, size_t workspaceSizeInBytes)
{
    if (!blas_is_handle(handle))
        return CUBLAS_STATUS_NOT_INITIALIZED;
    return (uintptr_t)workspace % 256 ? CUBLAS_STATUS_INVALID_VALUE : CUBLAS_STATUS_SUCCESS;
}

/* cublasGet...() and cublasSet...() of one choice; `valid` says of `value` whether it is one. */
#define CHOICE(getter, setter, type, field, valid) \
    cublasStatus_t getter(cublasHandle_t handle, type *ret_value) \
    { \
        if (!blas_is_handle(handle)) \
            return CUBLAS_STATUS_NOT_INITIALIZED; \
        if (!ret_value) \
            return CUBLAS_STATUS_INVALID_VALUE; \
        *ret_value = handle->field; \
        return CUBLAS_STATUS_SUCCESS; \
    } \
    cublasStatus_t setter(cublasHandle_t handle, type value) \
    { \
        if (!blas_is_handle(handle)) \
            return CUBLAS_STATUS_NOT_INITIALIZED; \
        if (!(valid)) \
            return CUBLAS_STATUS_INVALID_VALUE; \
        handle->field = value; \
        return CUBLAS_STATUS_SUCCESS; \
    }

CHOICE(cublasGetStream_v2, cublasSetStream_v2, cudaStream_t, stream, true)
CHOICE(cublasGetPointerMode_v2, cublasSetPointerMode_v2, cublasPointerMode_t, pointer_mode,
       value == CUBLAS_POINTER_MODE_HOST || value == CUBLAS_POINTER_MODE_DEVICE)
CHOICE(cublasGetAtomicsMode, cublasSetAtomicsMode, cublasAtomicsMode_t, atomics_mode,
       value == CUBLAS_ATOMICS_NOT_ALLOWED || value == CUBLAS_ATOMICS_ALLOWED)
CHOICE(cublasGetMathMode, cublasSetMathMode, cublasMath_t, math_mode, (unsigned)value < 32)
CHOICE(cublasGetSmCountTarget, cublasSetSmCountTarget, int, sm_count_target, value >= 0)
