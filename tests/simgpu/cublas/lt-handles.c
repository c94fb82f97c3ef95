/* lt-handles.c - handles of cuBLASLt, which remember nothing, and which version of the library it is. */
#include "handles.h"
#include "status.h"
#include <cublasLt.h>
#include <stdlib.h>

cublasStatus_t cublasLtCreate(cublasLtHandle_t *lightHandle)
{
    int device;

    if (!lightHandle)
        return CUBLAS_STATUS_INVALID_VALUE;
    if (cudaGetDevice(&device) != cudaSuccess)
        return CUBLAS_STATUS_NOT_INITIALIZED;
    struct blas_handle *created = malloc(sizeof *created);
    if (!created)
        return CUBLAS_STATUS_ALLOC_FAILED;
    created->magic = BLAS_HANDLE_MAGIC;
    *lightHandle = (cublasLtHandle_t)created;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtDestroy(cublasLtHandle_t lightHandle)
{
    struct blas_handle *handle = (struct blas_handle *)lightHandle;

    if (!blas_is_handle(handle))
        return CUBLAS_STATUS_NOT_INITIALIZED;
    handle->magic = 0;
    free(handle);
    return CUBLAS_STATUS_SUCCESS;
}

size_t cublasLtGetVersion(void)
{
    return CUBLAS_VERSION;
}

size_t cublasLtGetCudartVersion(void)
{
    return CUDART_VERSION;
}

cublasStatus_t cublasLtGetProperty(libraryPropertyType type, int *value)
{
    return blas_property(type, value);
}

const char *cublasLtGetStatusName(cublasStatus_t status)
{
    return blas_status_name(status);
}

const char *cublasLtGetStatusString(cublasStatus_t status)
{
    return blas_status_string(status);
}
