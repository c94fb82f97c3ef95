/* version.c - which version of cuBLAS the stand-in is, the headers', and the names of statuses. */
#include "status.h"
#include "handles.h"

cublasStatus_t cublasGetVersion_v2(cublasHandle_t handle, int *version)
{
    (void)handle; /* documented to need none */
    if (!version)
        return CUBLAS_STATUS_INVALID_VALUE;
    *version = CUBLAS_VERSION;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasGetProperty(libraryPropertyType type, int *value)
{
    return blas_property(type, value);
}

size_t cublasGetCudartVersion(void)
{
    return CUDART_VERSION;
}

const char *cublasGetStatusName(cublasStatus_t status)
{
    return blas_status_name(status);
}

const char *cublasGetStatusString(cublasStatus_t status)
{
    return blas_status_string(status);
}
