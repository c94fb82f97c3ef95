/* status.h - what cuBLAS and cuBLASLt tell of themselves alike: names of statuses, versions, and calls that they refuse. */
#ifndef SIMGPU_CUBLAS_STATUS_H
#define SIMGPU_CUBLAS_STATUS_H
#include <cublas_api.h>

/* As cublasGetStatusName() and cublasGetStatusString() answer it; static text, for unknown numbers too. */
const char *blas_status_name(cublasStatus_t status);
const char *blas_status_string(cublasStatus_t status);

/* As cublasGetProperty() answers it: a part of the version. */
cublasStatus_t blas_property(libraryPropertyType type, int *ret_value);

/* Says on stderr, once for each `told`, that there is no `what`; answers CUBLAS_STATUS_NOT_SUPPORTED. */
int blas_refuse(const char *what, int *told);
#endif
