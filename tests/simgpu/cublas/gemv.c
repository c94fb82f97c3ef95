/* gemv.c - products of a matrix and a vector: cublas<t>gemv() and cublas<t>gemvStridedBatched(). */
#include "handles.h"
#include "kernels.h"
#include "types.h"

/* cublas_api.h declares the forms in half precision for C++ only; all that counts of a half here is its address. */
#pragma GCC diagnostic ignored "-Wmissing-prototypes"
typedef uint16_t half;
typedef uint16_t bfloat16;

struct operand {
    const void *at;
    cudaDataType_t type;
    int64_t step, stride; /* `step`: leading dimension of a matrix, increment of a vector */
};

/* y = alpha * op(A) * x + beta * y, `batch` times. */
struct product {
    cublasOperation_t transform;
    int64_t m, n, batch;
    struct operand a, x, y;
    const void *alpha, *beta;
    cudaDataType_t scale;
};

static bool is_valid(const struct product *p)
{
    return (p->transform == CUBLAS_OP_N || p->transform == CUBLAS_OP_T || p->transform == CUBLAS_OP_C) && p->m >= 0 &&
           p->n >= 0 && p->batch >= 0 && p->a.step >= 1 && p->a.step >= p->m && p->x.step != 0 && p->y.step != 0;
}

/* With a negative increment, too, a vector begins at its lowest address. */
static struct blas_part part_of(const struct operand *vector, int64_t count, int64_t batch)
{
    return blas_part(vector->type, 1, count, vector->step < 0 ? -vector->step : vector->step, batch, vector->stride);
}

static struct blas_gemv_call describe(cublasHandle_t handle, const struct product *p, const struct blas_scalar *alpha,
                                      const struct blas_scalar *beta)
{
    return (struct blas_gemv_call){
        .at = {[GEMV_A] = p->a.at,
               [GEMV_X] = p->x.at,
               [GEMV_Y] = p->y.at,
               [GEMV_Y_BEFORE] = beta->zero ? NULL : p->y.at,
               [GEMV_ALPHA] = alpha->at,
               [GEMV_BETA] = beta->at},
        .parts = {[GEMV_A] = blas_part(p->a.type, p->m, p->n, p->a.step, p->batch, p->a.stride),
                  [GEMV_X] = part_of(&p->x, p->transform == CUBLAS_OP_N ? p->n : p->m, p->batch),
                  [GEMV_Y] = part_of(&p->y, p->transform == CUBLAS_OP_N ? p->m : p->n, p->batch)},
        .numbers = {.m = p->m,
                    .n = p->n,
                    .batch = p->batch,
                    .transform = p->transform,
                    .a_type = p->a.type,
                    .x_type = p->x.type,
                    .y_type = p->y.type,
                    .math_mode = handle->math_mode,
                    .a_ld = p->a.step,
                    .x_increment = p->x.step,
                    .y_increment = p->y.step,
                    .a_stride = p->a.stride,
                    .x_stride = p->x.stride,
                    .y_stride = p->y.stride,
                    .alpha = {alpha->number[0], alpha->number[1]},
                    .beta = {beta->number[0], beta->number[1]},
                    .operations = blas_operations(p->a.type) * (double)p->m * (double)p->n * (double)p->batch},
    };
}

static cublasStatus_t multiply(cublasHandle_t handle, const struct product *p)
{
    struct blas_scalar alpha, beta;

    if (!blas_is_handle(handle))
        return CUBLAS_STATUS_NOT_INITIALIZED;
    if (!is_valid(p))
        return CUBLAS_STATUS_INVALID_VALUE;
    if (p->m == 0 || p->n == 0 || p->batch == 0)
        return CUBLAS_STATUS_SUCCESS;
    if (!p->alpha || !p->beta || !p->a.at || !p->x.at || !p->y.at)
        return CUBLAS_STATUS_INVALID_VALUE;
    if (!blas_read_scalar(p->scale, p->alpha, blas_on_device(handle), &alpha) ||
        !blas_read_scalar(p->scale, p->beta, blas_on_device(handle), &beta))
        return CUBLAS_STATUS_NOT_SUPPORTED;
    const struct blas_gemv_call call = describe(handle, p, &alpha, &beta);
    return blas_launch(BLAS_GEMV, &call, blas_blocks(p->transform == CUBLAS_OP_N ? p->m : p->n, 1, p->batch),
                       handle->stream);
}

#define PRODUCT(type_, a_stride_, x_stride_, y_type_, y_stride_, batch_, scale_) \
    (&(const struct product){.transform = trans, \
                             .m = m, \
                             .n = n, \
                             .batch = batch_, \
                             .a = {A, type_, lda, a_stride_}, \
                             .x = {x, type_, incx, x_stride_}, \
                             .y = {y, y_type_, incy, y_stride_}, \
                             .alpha = alpha, \
                             .beta = beta, \
                             .scale = scale_})

#define GEMV(name, integer, element, type) \
    cublasStatus_t name(cublasHandle_t handle, cublasOperation_t trans, integer m, integer n, const element *alpha, \
                        const element *A, integer lda, const element *x, integer incx, const element *beta, element *y, \
                        integer incy) \
    { \
        return multiply(handle, PRODUCT(type, 0, 0, type, 0, 1, type)); \
    }

/* `factor`: the type of alpha and beta; `result`: of y. */
#define GEMV_BATCHED(name, integer, factor, scale, element, type, result, result_type) \
    cublasStatus_t name(cublasHandle_t handle, cublasOperation_t trans, integer m, integer n, const factor *alpha, \
                        const element *A, integer lda, long long int strideA, const element *x, integer incx, \
                        long long int stridex, const factor *beta, result *y, integer incy, long long int stridey, \
                        integer batchCount) \
    { \
        return multiply(handle, PRODUCT(type, strideA, stridex, result_type, stridey, batchCount, scale)); \
    }

#define GEMV_SIZES(name, element, type) \
    GEMV(name, int, element, type) \
    GEMV(name##_64, int64_t, element, type)

#define GEMV_BATCHED_SIZES(name, factor, scale, element, type, result, result_type) \
    GEMV_BATCHED(name, int, factor, scale, element, type, result, result_type) \
    GEMV_BATCHED(name##_64, int64_t, factor, scale, element, type, result, result_type)

#define GEMV_BATCHED_PLAIN(name, element, type) GEMV_BATCHED_SIZES(name, element, type, element, type, element, type)

GEMV_SIZES(cublasSgemv_v2, float, CUDA_R_32F)
GEMV_SIZES(cublasDgemv_v2, double, CUDA_R_64F)
GEMV_SIZES(cublasCgemv_v2, cuComplex, CUDA_C_32F)
GEMV_SIZES(cublasZgemv_v2, cuDoubleComplex, CUDA_C_64F)
GEMV_BATCHED_PLAIN(cublasSgemvStridedBatched, float, CUDA_R_32F)
GEMV_BATCHED_PLAIN(cublasDgemvStridedBatched, double, CUDA_R_64F)
GEMV_BATCHED_PLAIN(cublasCgemvStridedBatched, cuComplex, CUDA_C_32F)
GEMV_BATCHED_PLAIN(cublasZgemvStridedBatched, cuDoubleComplex, CUDA_C_64F)
GEMV_BATCHED_SIZES(cublasHSHgemvStridedBatched, float, CUDA_R_32F, half, CUDA_R_16F, half, CUDA_R_16F)
GEMV_BATCHED_SIZES(cublasHSSgemvStridedBatched, float, CUDA_R_32F, half, CUDA_R_16F, float, CUDA_R_32F)
GEMV_BATCHED_SIZES(cublasTSTgemvStridedBatched, float, CUDA_R_32F, bfloat16, CUDA_R_16BF, bfloat16, CUDA_R_16BF)
GEMV_BATCHED_SIZES(cublasTSSgemvStridedBatched, float, CUDA_R_32F, bfloat16, CUDA_R_16BF, float, CUDA_R_32F)
