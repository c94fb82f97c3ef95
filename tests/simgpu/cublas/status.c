/* status.c - one table of statuses; versions; and what is said of a call that the stand-ins refuse. */
#include "status.h"
#include <stdio.h>

static const struct {
    cublasStatus_t status;
    const char *name, *string;
} statuses[] = {
    {CUBLAS_STATUS_SUCCESS, "CUBLAS_STATUS_SUCCESS", "success"},
    {CUBLAS_STATUS_NOT_INITIALIZED, "CUBLAS_STATUS_NOT_INITIALIZED", "the library was not initialized"},
    {CUBLAS_STATUS_ALLOC_FAILED, "CUBLAS_STATUS_ALLOC_FAILED", "the resource allocation failed"},
    {CUBLAS_STATUS_INVALID_VALUE, "CUBLAS_STATUS_INVALID_VALUE",
     "an unsupported value or parameter was passed to the function"},
    {CUBLAS_STATUS_ARCH_MISMATCH, "CUBLAS_STATUS_ARCH_MISMATCH",
     "the function requires an architectural feature absent from the device"},
    {CUBLAS_STATUS_MAPPING_ERROR, "CUBLAS_STATUS_MAPPING_ERROR", "an access to GPU memory space failed"},
    {CUBLAS_STATUS_EXECUTION_FAILED, "CUBLAS_STATUS_EXECUTION_FAILED", "the function failed to launch on the GPU"},
    {CUBLAS_STATUS_INTERNAL_ERROR, "CUBLAS_STATUS_INTERNAL_ERROR", "an internal operation failed"},
    {CUBLAS_STATUS_NOT_SUPPORTED, "CUBLAS_STATUS_NOT_SUPPORTED", "the requested functionality is not supported"},
    {CUBLAS_STATUS_LICENSE_ERROR, "CUBLAS_STATUS_LICENSE_ERROR", "the license check failed"},
};

const char *blas_status_name(cublasStatus_t status)
{
    for (size_t i = 0; i < sizeof statuses / sizeof *statuses; i++)
        if (statuses[i].status == status)
            return statuses[i].name;
    return "unrecognized status";
}

const char *blas_status_string(cublasStatus_t status)
{
    for (size_t i = 0; i < sizeof statuses / sizeof *statuses; i++)
        if (statuses[i].status == status)
            return statuses[i].string;
    return "unrecognized status";
}

cublasStatus_t blas_property(libraryPropertyType type, int *ret_value)
{
    const int parts[] = {
        [MAJOR_VERSION] = CUBLAS_VER_MAJOR, [MINOR_VERSION] = CUBLAS_VER_MINOR, [PATCH_LEVEL] = CUBLAS_VER_PATCH};

    if (!ret_value || (unsigned)type >= sizeof parts / sizeof *parts)
        return CUBLAS_STATUS_INVALID_VALUE;
    *ret_value = parts[type];
    return CUBLAS_STATUS_SUCCESS;
}

int blas_refuse(const char *what, int *told)
{
    if (!__atomic_exchange_n(told, 1, __ATOMIC_RELAXED))
        fprintf(stderr, "simgpu: %s: the simulated device's cuBLAS doesn't have this\n", what);
    return CUBLAS_STATUS_NOT_SUPPORTED;
}
