/* trsm.c - triangular systems of equations: op(A) * X = alpha * B or X * op(A) = alpha * B, where X takes the place of B. */
#include "handles.h"
#include "kernels.h"
#include "types.h"

struct system {
    cublasSideMode_t side;
    cublasFillMode_t fill;
    cublasOperation_t transform;
    cublasDiagType_t diagonal;
    int64_t m, n, a_ld, b_ld;
    const void *alpha, *a;
    void *b;
    cudaDataType_t type;
};

static int64_t order(const struct system *s)
{
    return s->side == CUBLAS_SIDE_LEFT ? s->m : s->n;
}

static bool is_valid(const struct system *s)
{
    return (s->side == CUBLAS_SIDE_LEFT || s->side == CUBLAS_SIDE_RIGHT) &&
           (s->fill == CUBLAS_FILL_MODE_LOWER || s->fill == CUBLAS_FILL_MODE_UPPER) &&
           (s->transform == CUBLAS_OP_N || s->transform == CUBLAS_OP_T || s->transform == CUBLAS_OP_C) &&
           (s->diagonal == CUBLAS_DIAG_UNIT || s->diagonal == CUBLAS_DIAG_NON_UNIT) && s->m >= 0 && s->n >= 0 &&
           s->a_ld >= 1 && s->a_ld >= order(s) && s->b_ld >= 1 && s->b_ld >= s->m;
}

static cublasStatus_t solve(cublasHandle_t handle, const struct system *s)
{
    struct blas_scalar alpha;

    if (!blas_is_handle(handle))
        return CUBLAS_STATUS_NOT_INITIALIZED;
    if (!is_valid(s))
        return CUBLAS_STATUS_INVALID_VALUE;
    if (s->m == 0 || s->n == 0)
        return CUBLAS_STATUS_SUCCESS;
    if (!s->alpha || !s->a || !s->b)
        return CUBLAS_STATUS_INVALID_VALUE;
    if (!blas_read_scalar(s->type, s->alpha, blas_on_device(handle), &alpha))
        return CUBLAS_STATUS_NOT_SUPPORTED;
    const struct blas_trsm_call call = {
        /* With alpha 0, B need not be valid, and A is not looked at. */
        .at = {[TRSM_A] = alpha.zero ? NULL : s->a,
               [TRSM_B] = s->b,
               [TRSM_B_BEFORE] = alpha.zero ? NULL : s->b,
               [TRSM_ALPHA] = alpha.at},
        .parts = {[TRSM_A] = blas_part(s->type, order(s), order(s), s->a_ld, 1, 0),
                  [TRSM_B] = blas_part(s->type, s->m, s->n, s->b_ld, 1, 0)},
        .numbers = {.m = s->m,
                    .n = s->n,
                    .side = s->side,
                    .fill = s->fill,
                    .transform = s->transform,
                    .diagonal = s->diagonal,
                    .type = s->type,
                    .a_ld = s->a_ld,
                    .b_ld = s->b_ld,
                    .alpha = {alpha.number[0], alpha.number[1]},
                    .operations = blas_operations(s->type) / 2 * (double)s->m * (double)s->n * (double)order(s)},
    };
    return blas_launch(BLAS_TRSM, &call, blas_blocks(s->m, s->n, 1), handle->stream);
}

#define TRSM(name, integer, element, type_) \
    cublasStatus_t name(cublasHandle_t handle, cublasSideMode_t side, cublasFillMode_t uplo, cublasOperation_t trans, \
                        cublasDiagType_t diag, integer m, integer n, const element *alpha, const element *A, integer lda, \
                        element *B, integer ldb) \
    { \
        return solve(handle, &(const struct system){.side = side, \
                                                    .fill = uplo, \
                                                    .transform = trans, \
                                                    .diagonal = diag, \
                                                    .m = m, \
                                                    .n = n, \
                                                    .a_ld = lda, \
                                                    .b_ld = ldb, \
                                                    .alpha = alpha, \
                                                    .a = A, \
                                                    .b = B, \
                                                    .type = type_}); \
    }

#define TRSM_SIZES(name, element, type) \
    TRSM(name, int, element, type) \
    TRSM(name##_64, int64_t, element, type)

TRSM_SIZES(cublasStrsm_v2, float, CUDA_R_32F)
TRSM_SIZES(cublasDtrsm_v2, double, CUDA_R_64F)
TRSM_SIZES(cublasCtrsm_v2, cuComplex, CUDA_C_32F)
TRSM_SIZES(cublasZtrsm_v2, cuDoubleComplex, CUDA_C_64F)
