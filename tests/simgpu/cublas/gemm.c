/* gemm.c - products of matrices: every form of cublas<t>gemm that names its matrices by address. */
#include "handles.h"
#include "kernels.h"
#include "types.h"

/* cublas_api.h declares the forms in half precision for C++ only; all that counts of a half here is its address. */
#pragma GCC diagnostic ignored "-Wmissing-prototypes"
typedef uint16_t half;

struct operand {
    const void *at;
    cudaDataType_t type;
    int64_t ld, stride;
};

/* C = alpha * op(A) * op(B) + beta * C, `batch` times. */
struct product {
    cublasOperation_t a_transform, b_transform;
    int64_t m, n, k, batch;
    struct operand a, b, c;
    const void *alpha, *beta;
    cudaDataType_t scale;
    cublasComputeType_t compute;
};

static bool is_transform(cublasOperation_t transform)
{
    return transform == CUBLAS_OP_N || transform == CUBLAS_OP_T || transform == CUBLAS_OP_C;
}

static bool fits(int64_t ld, int64_t rows)
{
    return ld >= 1 && ld >= rows;
}

static bool is_valid(const struct product *p)
{
    return is_transform(p->a_transform) && is_transform(p->b_transform) && p->m >= 0 && p->n >= 0 && p->k >= 0 &&
           p->batch >= 0 && fits(p->a.ld, p->a_transform == CUBLAS_OP_N ? p->m : p->k) &&
           fits(p->b.ld, p->b_transform == CUBLAS_OP_N ? p->k : p->n) && fits(p->c.ld, p->m);
}

static struct blas_part part_of(const struct operand *o, cublasOperation_t transform, int64_t rows, int64_t columns,
                                int64_t batch)
{
    return transform == CUBLAS_OP_N ? blas_part(o->type, rows, columns, o->ld, batch, o->stride)
                                    : blas_part(o->type, columns, rows, o->ld, batch, o->stride);
}

static struct blas_gemm_call describe(cublasHandle_t handle, const struct product *p, const struct blas_scalar *alpha,
                                      const struct blas_scalar *beta)
{
    return (struct blas_gemm_call){
        .at = {[GEMM_A] = p->a.at,
               [GEMM_B] = p->b.at,
               [GEMM_C] = p->c.at,
               [GEMM_C_BEFORE] = beta->zero ? NULL : p->c.at,
               [GEMM_ALPHA] = alpha->at,
               [GEMM_BETA] = beta->at},
        .parts = {[GEMM_A] = part_of(&p->a, p->a_transform, p->m, p->k, p->batch),
                  [GEMM_B] = part_of(&p->b, p->b_transform, p->k, p->n, p->batch),
                  [GEMM_C] = part_of(&p->c, CUBLAS_OP_N, p->m, p->n, p->batch)},
        .numbers = {.m = p->m,
                    .n = p->n,
                    .k = p->k,
                    .batch = p->batch,
                    .a_transform = p->a_transform,
                    .b_transform = p->b_transform,
                    .a_type = p->a.type,
                    .b_type = p->b.type,
                    .c_type = p->c.type,
                    .compute_type = p->compute,
                    .math_mode = handle->math_mode,
                    .a_ld = p->a.ld,
                    .b_ld = p->b.ld,
                    .c_ld = p->c.ld,
                    .a_stride = p->a.stride,
                    .b_stride = p->b.stride,
                    .c_stride = p->c.stride,
                    .alpha = {alpha->number[0], alpha->number[1]},
                    .beta = {beta->number[0], beta->number[1]},
                    .operations =
                        blas_operations(p->a.type) * (double)p->m * (double)p->n * (double)p->k * (double)p->batch},
    };
}

static cublasStatus_t multiply(cublasHandle_t handle, const struct product *p)
{
    struct blas_scalar alpha, beta;

    if (!blas_is_handle(handle))
        return CUBLAS_STATUS_NOT_INITIALIZED;
    if (!is_valid(p))
        return CUBLAS_STATUS_INVALID_VALUE;
    if (!blas_combines(p->compute, p->scale, p->a.type, p->b.type, p->c.type))
        return CUBLAS_STATUS_NOT_SUPPORTED;
    if (p->m == 0 || p->n == 0 || p->batch == 0)
        return CUBLAS_STATUS_SUCCESS;
    if (!p->alpha || !p->beta || !p->c.at || (p->k > 0 && (!p->a.at || !p->b.at)))
        return CUBLAS_STATUS_INVALID_VALUE;
    if (!blas_read_scalar(p->scale, p->alpha, blas_on_device(handle), &alpha) ||
        !blas_read_scalar(p->scale, p->beta, blas_on_device(handle), &beta))
        return CUBLAS_STATUS_NOT_SUPPORTED;
    const struct blas_gemm_call call = describe(handle, p, &alpha, &beta);
    return blas_launch(BLAS_GEMM, &call, blas_blocks(p->m, p->n, p->batch), handle->stream);
}

/* The same where the program names a compute type, and the type of alpha and beta follows from it. */
static cublasStatus_t multiply_mixed(cublasHandle_t handle, struct product p)
{
    if (!blas_is_handle(handle))
        return CUBLAS_STATUS_NOT_INITIALIZED;
    if (!blas_scale_type(p.compute, p.a.type, &p.scale))
        return CUBLAS_STATUS_NOT_SUPPORTED;
    return multiply(handle, &p);
}

#define PRODUCT(a_, a_type_, a_stride_, b_, b_type_, b_stride_, c_, c_type_, c_stride_, batch_, compute_) \
    ((struct product){.a_transform = transa, \
                      .b_transform = transb, \
                      .m = m, \
                      .n = n, \
                      .k = k, \
                      .batch = batch_, \
                      .a = {a_, a_type_, lda, a_stride_}, \
                      .b = {b_, b_type_, ldb, b_stride_}, \
                      .c = {c_, c_type_, ldc, c_stride_}, \
                      .alpha = alpha, \
                      .beta = beta, \
                      .compute = compute_})

/* cublas<t>gemm() and cublas<t>gemmStridedBatched(), with sizes of 32 and of 64 bits. */
#define GEMM(name, integer, element, type, compute) \
    cublasStatus_t name(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, integer m, integer n, \
                        integer k, const element *alpha, const element *A, integer lda, const element *B, integer ldb, \
                        const element *beta, element *C, integer ldc) \
    { \
        return multiply_mixed(handle, PRODUCT(A, type, 0, B, type, 0, C, type, 0, 1, compute)); \
    }

#define GEMM_BATCHED(name, integer, element, type, compute) \
    cublasStatus_t name(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, integer m, integer n, \
                        integer k, const element *alpha, const element *A, integer lda, long long int strideA, \
                        const element *B, integer ldb, long long int strideB, const element *beta, element *C, integer ldc, \
                        long long int strideC, integer batchCount) \
    { \
        return multiply_mixed(handle, PRODUCT(A, type, strideA, B, type, strideB, C, type, strideC, batchCount, compute)); \
    }

/* cublasSgemmEx() and cublasCgemmEx(): alpha and beta are single, the matrices what the call says. */
#define GEMM_SINGLE(name, integer, element) \
    cublasStatus_t name(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, integer m, integer n, \
                        integer k, const element *alpha, const void *A, cudaDataType Atype, integer lda, const void *B, \
                        cudaDataType Btype, integer ldb, const element *beta, void *C, cudaDataType Ctype, integer ldc) \
    { \
        return multiply_mixed(handle, PRODUCT(A, Atype, 0, B, Btype, 0, C, Ctype, 0, 1, CUBLAS_COMPUTE_32F)); \
    }

/* The algorithm that the program asks for makes no difference here, as on recent devices. */
#define GEMM_EX(name, integer) \
    cublasStatus_t name(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, integer m, integer n, \
                        integer k, const void *alpha, const void *A, cudaDataType Atype, integer lda, const void *B, \
                        cudaDataType Btype, integer ldb, const void *beta, void *C, cudaDataType Ctype, integer ldc, \
                        cublasComputeType_t computeType, cublasGemmAlgo_t algo) \
    { \
        (void)algo; \
        return multiply_mixed(handle, PRODUCT(A, Atype, 0, B, Btype, 0, C, Ctype, 0, 1, computeType)); \
    }

#define GEMM_BATCHED_EX(name, integer) \
    cublasStatus_t name(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, integer m, integer n, \
                        integer k, const void *alpha, const void *A, cudaDataType Atype, integer lda, \
                        long long int strideA, const void *B, cudaDataType Btype, integer ldb, long long int strideB, \
                        const void *beta, void *C, cudaDataType Ctype, integer ldc, long long int strideC, \
                        integer batchCount, cublasComputeType_t computeType, cublasGemmAlgo_t algo) \
    { \
        (void)algo; \
        return multiply_mixed(handle, \
                              PRODUCT(A, Atype, strideA, B, Btype, strideB, C, Ctype, strideC, batchCount, computeType)); \
    }

#define GEMM_BOTH(name, batched, suffix, element, type, compute) \
    GEMM(name##suffix, int, element, type, compute) \
    GEMM(name##suffix##_64, int64_t, element, type, compute) \
    GEMM_BATCHED(batched, int, element, type, compute) \
    GEMM_BATCHED(batched##_64, int64_t, element, type, compute)

GEMM_BOTH(cublasSgemm, cublasSgemmStridedBatched, _v2, float, CUDA_R_32F, CUBLAS_COMPUTE_32F)
GEMM_BOTH(cublasDgemm, cublasDgemmStridedBatched, _v2, double, CUDA_R_64F, CUBLAS_COMPUTE_64F)
GEMM_BOTH(cublasCgemm, cublasCgemmStridedBatched, _v2, cuComplex, CUDA_C_32F, CUBLAS_COMPUTE_32F)
GEMM_BOTH(cublasZgemm, cublasZgemmStridedBatched, _v2, cuDoubleComplex, CUDA_C_64F, CUBLAS_COMPUTE_64F)
GEMM_BOTH(cublasHgemm, cublasHgemmStridedBatched, , half, CUDA_R_16F, CUBLAS_COMPUTE_16F)
GEMM_SINGLE(cublasSgemmEx, int, float)
GEMM_SINGLE(cublasSgemmEx_64, int64_t, float)
GEMM_SINGLE(cublasCgemmEx, int, cuComplex)
GEMM_SINGLE(cublasCgemmEx_64, int64_t, cuComplex)
GEMM_EX(cublasGemmEx, int)
GEMM_EX(cublasGemmEx_64, int64_t)
GEMM_BATCHED_EX(cublasGemmStridedBatchedEx, int)
GEMM_BATCHED_EX(cublasGemmStridedBatchedEx_64, int64_t)
