/* lt-product.c - whether the descriptors of a product go together, and which types cuBLASLt multiplies. */
#include "lt.h"
#include "status.h"
#include "types.h"

static bool is_narrow(cudaDataType_t type)
{
    return type == CUDA_R_8F_E4M3 || type == CUDA_R_8F_E5M2 || type == CUDA_R_4F_E2M1;
}

static bool is_wide(cudaDataType_t type)
{
    return type == CUDA_R_16F || type == CUDA_R_16BF || type == CUDA_R_32F;
}

/* Numbers of 8 bits and fewer: the result is of them or wider, and what is added to it is wider, or is of the same type. */
static bool combines_narrow(cublasComputeType_t compute, cudaDataType_t scale, cudaDataType_t a, cudaDataType_t b,
                            cudaDataType_t c, cudaDataType_t d)
{
    return compute == CUBLAS_COMPUTE_32F && scale == CUDA_R_32F && is_narrow(a) && is_narrow(b) &&
           (a == CUDA_R_4F_E2M1) == (b == CUDA_R_4F_E2M1) && !(a == CUDA_R_8F_E5M2 && b == CUDA_R_8F_E5M2) &&
           (is_wide(c) || c == d) && (is_wide(d) || is_narrow(d));
}

bool lt_combines(cublasComputeType_t compute, cudaDataType_t scale, cudaDataType_t a, cudaDataType_t b, cudaDataType_t c,
                 cudaDataType_t d)
{
    const bool quantised = (compute == CUBLAS_COMPUTE_32I || compute == CUBLAS_COMPUTE_32I_PEDANTIC) &&
                           scale == CUDA_R_32F && a == CUDA_R_8I && b == a && c == a;

    return (c == d && (quantised || blas_combines(compute, scale, a, b, c))) || combines_narrow(compute, scale, a, b, c, d);
}

static bool is_transform(int32_t transform)
{
    return transform == CUBLAS_OP_N || transform == CUBLAS_OP_T || transform == CUBLAS_OP_C;
}

/* Rows do not overlap, and neither do columns. */
static bool is_layout(const struct lt_layout *layout)
{
    const uint64_t least = layout->order == CUBLASLT_ORDER_ROW ? layout->columns : layout->rows;

    return layout->rows <= INT64_MAX && layout->columns <= INT64_MAX && layout->batch >= 1 && layout->ld >= 1 &&
           (uint64_t)layout->ld >= least;
}

static bool is_plain(const struct lt_layout *layout)
{
    static int told_order, told_arrays, told_planes;

    if (layout->order != CUBLASLT_ORDER_COL && layout->order != CUBLASLT_ORDER_ROW)
        return blas_refuse("cublasLtMatmul with matrices in tiles", &told_order) == CUBLAS_STATUS_SUCCESS;
    if (layout->batch_mode != CUBLASLT_BATCH_MODE_STRIDED)
        return blas_refuse("cublasLtMatmul with arrays of addresses", &told_arrays) == CUBLAS_STATUS_SUCCESS;
    if (layout->plane_offset)
        return blas_refuse("cublasLtMatmul with complex matrices in planes", &told_planes) == CUBLAS_STATUS_SUCCESS;
    return true;
}

static bool is_epilogue(uint32_t epilogue)
{
    switch (epilogue) {
    case CUBLASLT_EPILOGUE_DEFAULT:
    case CUBLASLT_EPILOGUE_RELU:
    case CUBLASLT_EPILOGUE_RELU_AUX:
    case CUBLASLT_EPILOGUE_BIAS:
    case CUBLASLT_EPILOGUE_RELU_BIAS:
    case CUBLASLT_EPILOGUE_RELU_AUX_BIAS:
    case CUBLASLT_EPILOGUE_DRELU:
    case CUBLASLT_EPILOGUE_DRELU_BGRAD:
    case CUBLASLT_EPILOGUE_GELU:
    case CUBLASLT_EPILOGUE_GELU_AUX:
    case CUBLASLT_EPILOGUE_GELU_BIAS:
    case CUBLASLT_EPILOGUE_GELU_AUX_BIAS:
    case CUBLASLT_EPILOGUE_DGELU:
    case CUBLASLT_EPILOGUE_DGELU_BGRAD:
    case CUBLASLT_EPILOGUE_BGRADA:
    case CUBLASLT_EPILOGUE_BGRADB:
        return true;
    }
    return false;
}

static cublasStatus_t check_operation(const struct lt_operation *operation)
{
    static int told;

    if (!is_transform(operation->a_transform) || !is_transform(operation->b_transform) ||
        operation->pointer_mode < CUBLASLT_POINTER_MODE_HOST ||
        operation->pointer_mode > CUBLASLT_POINTER_MODE_ALPHA_DEVICE_VECTOR_BETA_HOST || !is_epilogue(operation->epilogue))
        return CUBLAS_STATUS_INVALID_VALUE;
    if (operation->c_transform != CUBLAS_OP_N)
        return CUBLAS_STATUS_NOT_SUPPORTED;
    return operation->emulation ? (cublasStatus_t)blas_refuse("cublasLtMatmul with emulation", &told)
                                : CUBLAS_STATUS_SUCCESS;
}

static bool has_shape(const struct lt_layout *layout, int32_t transform, int64_t rows, int64_t columns)
{
    return transform == CUBLAS_OP_N ? (int64_t)layout->rows == rows && (int64_t)layout->columns == columns
                                    : (int64_t)layout->rows == columns && (int64_t)layout->columns == rows;
}

cublasStatus_t lt_product(cublasLtMatmulDesc_t operation, cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                          cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d, struct lt_product *ret_product)
{
    struct lt_product p = {lt_operation(operation), lt_layout(a), lt_layout(b), lt_layout(c), lt_layout(d), 0, 0, 0, 0};

    if (!p.operation || !p.a || !p.b || !p.c || !p.d)
        return CUBLAS_STATUS_INVALID_VALUE;
    const cublasStatus_t status = check_operation(p.operation);
    if (status != CUBLAS_STATUS_SUCCESS)
        return status;
    if (!is_plain(p.a) || !is_plain(p.b) || !is_plain(p.c) || !is_plain(p.d))
        return CUBLAS_STATUS_NOT_SUPPORTED;
    p.m = (int64_t)p.d->rows;
    p.n = (int64_t)p.d->columns;
    p.k = (int64_t)(p.operation->a_transform == CUBLAS_OP_N ? p.a->columns : p.a->rows);
    p.batch = p.d->batch;
    if (!is_layout(p.a) || !is_layout(p.b) || !is_layout(p.c) || !is_layout(p.d) ||
        !has_shape(p.a, p.operation->a_transform, p.m, p.k) || !has_shape(p.b, p.operation->b_transform, p.k, p.n) ||
        !has_shape(p.c, CUBLAS_OP_N, p.m, p.n) || p.a->batch != p.batch || p.b->batch != p.batch || p.c->batch != p.batch)
        return CUBLAS_STATUS_INVALID_VALUE;
    if (!lt_combines((cublasComputeType_t)p.operation->compute_type, (cudaDataType_t)p.operation->scale_type,
                     (cudaDataType_t)p.a->type, (cudaDataType_t)p.b->type, (cudaDataType_t)p.c->type,
                     (cudaDataType_t)p.d->type))
        return CUBLAS_STATUS_NOT_SUPPORTED;
    *ret_product = p;
    return CUBLAS_STATUS_SUCCESS;
}
