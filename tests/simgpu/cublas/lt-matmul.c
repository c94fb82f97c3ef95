/* lt-matmul.c - cublasLtMatmul(): a product of matrices and what follows it, as one kernel. */
#include "handles.h"
#include "kernels.h"
#include "lt.h"
#include "types.h"

/* cublasLtEpilogue_t is made of these. */
enum {
    RELU = 2,
    BIAS = 4,
    RELU_GRADIENT = 8,
    BIAS_GRADIENT = 16,
    GELU = 32,
    GELU_GRADIENT = 64,
    AUX = 128,
    BIAS_GRADIENT_A = 256,
    BIAS_GRADIENT_B = 512
};

struct factors {
    struct blas_scalar alpha, beta;
};

/* Alpha and beta as the operation's pointer mode says. */
static cublasStatus_t read_factors(const struct lt_operation *operation, const void *alpha, const void *beta,
                                   struct factors *ret_factors)
{
    const cudaDataType_t type = (cudaDataType_t)operation->scale_type;
    const int32_t mode = operation->pointer_mode;
    const bool beta_is_zero = mode == CUBLASLT_POINTER_MODE_ALPHA_DEVICE_VECTOR_BETA_ZERO;
    struct factors factors = {.beta.zero = true};

    if (!alpha || (!beta && !beta_is_zero))
        return CUBLAS_STATUS_INVALID_VALUE;
    if (!blas_read_scalar(type, alpha, mode != CUBLASLT_POINTER_MODE_HOST, &factors.alpha))
        return CUBLAS_STATUS_NOT_SUPPORTED;
    if (!beta_is_zero &&
        !blas_read_scalar(type, beta,
                          mode != CUBLASLT_POINTER_MODE_HOST && mode != CUBLASLT_POINTER_MODE_ALPHA_DEVICE_VECTOR_BETA_HOST,
                          &factors.beta))
        return CUBLAS_STATUS_NOT_SUPPORTED;
    *ret_factors = factors;
    return CUBLAS_STATUS_SUCCESS;
}

/* Whether the epilogue has the addresses that it works on. */
static bool has_epilogue(const struct lt_operation *operation)
{
    const uint32_t with_bias = BIAS | BIAS_GRADIENT | BIAS_GRADIENT_A | BIAS_GRADIENT_B;

    return (operation->bias || !(operation->epilogue & with_bias)) && (operation->aux || !(operation->epilogue & AUX));
}

static void describe_operation(const struct lt_operation *o, struct blas_matmul_call *call)
{
    const uint32_t epilogue = o->epilogue;

    call->at[MATMUL_BIAS] = epilogue & BIAS ? o->bias : NULL;
    call->at[MATMUL_BIAS_GRADIENT] = epilogue & (BIAS_GRADIENT | BIAS_GRADIENT_A | BIAS_GRADIENT_B) ? o->bias : NULL;
    call->at[MATMUL_AUX] = epilogue & AUX && epilogue & (RELU_GRADIENT | GELU_GRADIENT) ? o->aux : NULL;
    call->at[MATMUL_AUX_OUT] = epilogue & AUX && epilogue & (RELU | GELU) ? o->aux : NULL;
    call->at[MATMUL_A_SCALE] = o->a_scale;
    call->at[MATMUL_B_SCALE] = o->b_scale;
    call->at[MATMUL_C_SCALE] = o->c_scale;
    call->at[MATMUL_D_SCALE] = o->d_scale;
    call->at[MATMUL_AUX_SCALE] = o->aux_scale;
    call->at[MATMUL_D_OUT_SCALE] = o->d_out_scale;
    call->at[MATMUL_D_AMAX] = o->d_amax;
    call->at[MATMUL_AUX_AMAX] = o->aux_amax;
    call->numbers.a_transform = o->a_transform;
    call->numbers.b_transform = o->b_transform;
    call->numbers.fill = o->fill;
    call->numbers.compute_type = o->compute_type;
    call->numbers.scale_type = o->scale_type;
    call->numbers.pointer_mode = o->pointer_mode;
    call->numbers.epilogue = epilogue;
    call->numbers.bias_type = o->bias_type;
    call->numbers.bias_stride = o->bias_stride;
    call->numbers.aux_type = o->aux_type;
    call->numbers.aux_ld = o->aux_ld;
    call->numbers.aux_stride = o->aux_stride;
    call->numbers.alpha_stride = o->alpha_stride;
    call->numbers.fast_accumulation = o->fast_accumulation;
    call->numbers.a_scale_mode = o->a_scale_mode;
    call->numbers.b_scale_mode = o->b_scale_mode;
    call->numbers.c_scale_mode = o->c_scale_mode;
    call->numbers.d_scale_mode = o->d_scale_mode;
    call->numbers.aux_scale_mode = o->aux_scale_mode;
    call->numbers.d_out_scale_mode = o->d_out_scale_mode;
}

static struct blas_part part_of(const struct lt_layout *l)
{
    const int64_t rows = (int64_t)l->rows, columns = (int64_t)l->columns;

    return l->order == CUBLASLT_ORDER_ROW ? blas_part((cudaDataType_t)l->type, columns, rows, l->ld, l->batch, l->stride)
                                          : blas_part((cudaDataType_t)l->type, rows, columns, l->ld, l->batch, l->stride);
}

static void describe_matrices(const struct lt_product *p, struct blas_matmul_numbers *numbers)
{
    numbers->m = p->m;
    numbers->n = p->n;
    numbers->k = p->k;
    numbers->batch = p->batch;
    numbers->operations =
        blas_operations((cudaDataType_t)p->a->type) * (double)p->m * (double)p->n * (double)p->k * (double)p->batch;
#define MATRIX(x) \
    numbers->x##_type = p->x->type; \
    numbers->x##_order = p->x->order; \
    numbers->x##_ld = p->x->ld; \
    numbers->x##_stride = p->x->stride
    MATRIX(a);
    MATRIX(b);
    MATRIX(c);
    MATRIX(d);
#undef MATRIX
}

static void describe_factors(const struct factors *factors, struct blas_matmul_call *call)
{
    call->at[MATMUL_ALPHA] = factors->alpha.at;
    call->at[MATMUL_BETA] = factors->beta.at;
    for (int i = 0; i < 2; i++) {
        call->numbers.alpha[i] = factors->alpha.number[i];
        call->numbers.beta[i] = factors->beta.number[i];
    }
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t lightHandle, cublasLtMatmulDesc_t computeDesc, const void *alpha,
                              const void *A, cublasLtMatrixLayout_t Adesc, const void *B, cublasLtMatrixLayout_t Bdesc,
                              const void *beta, const void *C, cublasLtMatrixLayout_t Cdesc, void *D,
                              cublasLtMatrixLayout_t Ddesc, const cublasLtMatmulAlgo_t *algo, void *workspace,
                              size_t workspaceSizeInBytes, cudaStream_t stream)
{
    struct lt_product product;
    struct factors factors;

    (void)workspace;
    (void)workspaceSizeInBytes;
    if (!blas_is_handle(lightHandle))
        return CUBLAS_STATUS_NOT_INITIALIZED;
    if (algo && !lt_is_algorithm(algo))
        return CUBLAS_STATUS_INVALID_VALUE;
    cublasStatus_t status = lt_product(computeDesc, Adesc, Bdesc, Cdesc, Ddesc, &product);
    if (status == CUBLAS_STATUS_SUCCESS && (product.m == 0 || product.n == 0))
        return CUBLAS_STATUS_SUCCESS;
    if (status == CUBLAS_STATUS_SUCCESS)
        status = read_factors(product.operation, alpha, beta, &factors);
    if (status != CUBLAS_STATUS_SUCCESS)
        return status;
    if ((product.k > 0 && (!A || !B)) || !D || (!C && !factors.beta.zero) || !has_epilogue(product.operation))
        return CUBLAS_STATUS_INVALID_VALUE;

    struct blas_matmul_call call = {
        .at = {[MATMUL_A] = A, [MATMUL_B] = B, [MATMUL_C] = factors.beta.zero ? NULL : C, [MATMUL_D] = D},
        .parts = {[MATMUL_A] = part_of(product.a),
                  [MATMUL_B] = part_of(product.b),
                  [MATMUL_C] = part_of(product.c),
                  [MATMUL_D] = part_of(product.d)}};
    describe_operation(product.operation, &call);
    describe_matrices(&product, &call.numbers);
    describe_factors(&factors, &call);
    return blas_launch(BLAS_MATMUL, &call, blas_blocks(product.m, product.n, product.batch), stream);
}
