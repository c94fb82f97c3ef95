/* dot.c - products of two vectors, whose result the host may be waiting for. */
#include "handles.h"
#include "kernels.h"
#include "types.h"
#include <string.h>

struct product {
    int64_t n;
    const void *x, *y;
    cudaDataType_t x_type, y_type, result_type, execution_type;
    int64_t x_increment, y_increment;
    bool conjugated;
    void *result;
};

/* The types that cublasDotEx() documents. */
static bool is_supported(const struct product *p)
{
    static const cudaDataType_t types[][2] = {{CUDA_R_16F, CUDA_R_32F}, {CUDA_R_16BF, CUDA_R_32F}, {CUDA_R_32F, CUDA_R_32F},
                                              {CUDA_R_64F, CUDA_R_64F}, {CUDA_C_32F, CUDA_C_32F},  {CUDA_C_64F, CUDA_C_64F}};

    if (p->x_type != p->y_type || p->x_type != p->result_type)
        return false;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (types[i][0] == p->x_type && types[i][1] == p->execution_type)
            return true;
    return false;
}

/* With a negative increment, too, a vector begins at its lowest address. */
static struct blas_part part_of(cudaDataType_t type, int64_t count, int64_t increment)
{
    return blas_part(type, 1, count, increment < 0 ? -increment : increment, 1, 0);
}

static cublasStatus_t launch(cublasHandle_t handle, const struct product *p, void *result)
{
    const struct blas_dot_call call = {
        .at = {[DOT_X] = p->x, [DOT_Y] = p->y, [DOT_RESULT] = result},
        .parts = {[DOT_X] = part_of(p->x_type, p->n, p->x_increment),
                  [DOT_Y] = part_of(p->y_type, p->n, p->y_increment),
                  [DOT_RESULT] = part_of(p->result_type, 1, 1)},
        .numbers = {.n = p->n,
                    .x_increment = p->x_increment,
                    .y_increment = p->y_increment,
                    .conjugated = p->conjugated,
                    .x_type = p->x_type,
                    .y_type = p->y_type,
                    .result_type = p->result_type,
                    .execution_type = p->execution_type,
                    .operations = blas_operations(p->x_type) * (double)p->n},
    };

    return blas_launch(BLAS_DOT, &call, blas_blocks(p->n, 1, 1), handle->stream);
}

/* By way of the device's memory. */
static cublasStatus_t multiply_for_host(cublasHandle_t handle, const struct product *p)
{
    const size_t bytes = blas_type_bits(p->result_type) / 8;
    void *there;

    if (cudaMallocAsync(&there, bytes, handle->stream) != cudaSuccess)
        return CUBLAS_STATUS_ALLOC_FAILED;
    cublasStatus_t status = launch(handle, p, there);
    if (status == CUBLAS_STATUS_SUCCESS &&
        cudaMemcpyAsync(p->result, there, bytes, cudaMemcpyDeviceToHost, handle->stream) != cudaSuccess)
        status = CUBLAS_STATUS_EXECUTION_FAILED;
    const cudaError_t freed = cudaFreeAsync(there, handle->stream);
    if (freed != cudaSuccess || cudaStreamSynchronize(handle->stream) != cudaSuccess)
        return CUBLAS_STATUS_EXECUTION_FAILED;
    return status;
}

/* The product of vectors without elements. */
static cublasStatus_t answer_zero(cublasHandle_t handle, const struct product *p)
{
    const size_t bytes = blas_type_bits(p->result_type) / 8;

    if (!blas_on_device(handle)) {
        memset(p->result, 0, bytes);
        return CUBLAS_STATUS_SUCCESS;
    }
    return cudaMemsetAsync(p->result, 0, bytes, handle->stream) == cudaSuccess ? CUBLAS_STATUS_SUCCESS
                                                                               : CUBLAS_STATUS_EXECUTION_FAILED;
}

static cublasStatus_t multiply(cublasHandle_t handle, const struct product *p)
{
    if (!blas_is_handle(handle))
        return CUBLAS_STATUS_NOT_INITIALIZED;
    if (!is_supported(p))
        return CUBLAS_STATUS_NOT_SUPPORTED;
    if (!p->result || (p->n > 0 && (!p->x || !p->y)))
        return CUBLAS_STATUS_INVALID_VALUE;
    if (p->n <= 0)
        return answer_zero(handle, p);
    return blas_on_device(handle) ? launch(handle, p, p->result) : multiply_for_host(handle, p);
}

#define PRODUCT(x_type_, y_type_, result_type_, execution_type_, conjugated_) \
    (&(const struct product){.n = n, \
                             .x = x, \
                             .y = y, \
                             .x_type = x_type_, \
                             .y_type = y_type_, \
                             .result_type = result_type_, \
                             .execution_type = execution_type_, \
                             .x_increment = incx, \
                             .y_increment = incy, \
                             .conjugated = conjugated_, \
                             .result = result})

#define DOT(name, integer, element, type, conjugated) \
    cublasStatus_t name(cublasHandle_t handle, integer n, const element *x, integer incx, const element *y, integer incy, \
                        element *result) \
    { \
        return multiply(handle, PRODUCT(type, type, type, type, conjugated)); \
    }

#define DOT_EX(name, integer, conjugated) \
    cublasStatus_t name(cublasHandle_t handle, integer n, const void *x, cudaDataType xType, integer incx, const void *y, \
                        cudaDataType yType, integer incy, void *result, cudaDataType resultType, \
                        cudaDataType executionType) \
    { \
        return multiply(handle, PRODUCT(xType, yType, resultType, executionType, conjugated)); \
    }

#define DOT_SIZES(name, element, type, conjugated) \
    DOT(name, int, element, type, conjugated) \
    DOT(name##_64, int64_t, element, type, conjugated)

DOT_SIZES(cublasSdot_v2, float, CUDA_R_32F, false)
DOT_SIZES(cublasDdot_v2, double, CUDA_R_64F, false)
DOT_SIZES(cublasCdotu_v2, cuComplex, CUDA_C_32F, false)
DOT_SIZES(cublasCdotc_v2, cuComplex, CUDA_C_32F, true)
DOT_SIZES(cublasZdotu_v2, cuDoubleComplex, CUDA_C_64F, false)
DOT_SIZES(cublasZdotc_v2, cuDoubleComplex, CUDA_C_64F, true)
DOT_EX(cublasDotEx, int, false)
DOT_EX(cublasDotEx_64, int64_t, false)
DOT_EX(cublasDotcEx, int, true)
DOT_EX(cublasDotcEx_64, int64_t, true)
