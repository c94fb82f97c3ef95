/* status.h - what cuBLAS and cuBLASLt have in common: names of statuses, versions, and calls that they refuse. */
#ifndef SIMGPU_CUBLAS_STATUS_H
#define SIMGPU_CUBLAS_STATUS_H
#include <cublas_api.h>

/* Return what cublasGetStatusName() and cublasGetStatusString() return: static text, also for unknown numbers. */
const char *blas_status_name(cublasStatus_t status);
const char *blas_status_string(cublasStatus_t status);

/* Gets a part of the version, as cublasGetProperty() does. */
cublasStatus_t blas_property(libraryPropertyType type, int *ret_value);

/* Says on stderr, once for each `told`, that `what` does not exist. Returns CUBLAS_STATUS_NOT_SUPPORTED. */
int blas_refuse(const char *what, int *told);
#endif
