/* lt-descriptors.c - the descriptors of cuBLASLt: made, changed and asked by attribute. One table for each kind says where
 * an attribute lies and how large it is. */
#include "lt.h"
#include "status.h"
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct attribute {
    int name;
    unsigned short offset, bytes;
    bool fixed; /* can be asked, not changed */
};

struct kind {
    size_t bytes; /* of the opaque structure */
    const struct attribute *attributes;
    size_t count;
    const char *name;
    int *told;
};

#define AT(name, structure, member) \
    { \
        name, offsetof(struct structure, member), sizeof(((struct structure *)NULL)->member), false \
    }

static const struct attribute layout_attributes[] = {
    AT(CUBLASLT_MATRIX_LAYOUT_TYPE, lt_layout, type),
    AT(CUBLASLT_MATRIX_LAYOUT_ORDER, lt_layout, order),
    AT(CUBLASLT_MATRIX_LAYOUT_ROWS, lt_layout, rows),
    AT(CUBLASLT_MATRIX_LAYOUT_COLS, lt_layout, columns),
    AT(CUBLASLT_MATRIX_LAYOUT_LD, lt_layout, ld),
    AT(CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, lt_layout, batch),
    AT(CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, lt_layout, stride),
    AT(CUBLASLT_MATRIX_LAYOUT_PLANE_OFFSET, lt_layout, plane_offset),
    AT(CUBLASLT_MATRIX_LAYOUT_BATCH_MODE, lt_layout, batch_mode),
};

static const struct attribute operation_attributes[] = {
    AT(CUBLASLT_MATMUL_DESC_COMPUTE_TYPE, lt_operation, compute_type),
    AT(CUBLASLT_MATMUL_DESC_SCALE_TYPE, lt_operation, scale_type),
    AT(CUBLASLT_MATMUL_DESC_POINTER_MODE, lt_operation, pointer_mode),
    AT(CUBLASLT_MATMUL_DESC_TRANSA, lt_operation, a_transform),
    AT(CUBLASLT_MATMUL_DESC_TRANSB, lt_operation, b_transform),
    AT(CUBLASLT_MATMUL_DESC_TRANSC, lt_operation, c_transform),
    AT(CUBLASLT_MATMUL_DESC_FILL_MODE, lt_operation, fill),
    AT(CUBLASLT_MATMUL_DESC_EPILOGUE, lt_operation, epilogue),
    AT(CUBLASLT_MATMUL_DESC_BIAS_POINTER, lt_operation, bias),
    AT(CUBLASLT_MATMUL_DESC_BIAS_BATCH_STRIDE, lt_operation, bias_stride),
    AT(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, lt_operation, aux),
    AT(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, lt_operation, aux_ld),
    AT(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_BATCH_STRIDE, lt_operation, aux_stride),
    AT(CUBLASLT_MATMUL_DESC_ALPHA_VECTOR_BATCH_STRIDE, lt_operation, alpha_stride),
    AT(CUBLASLT_MATMUL_DESC_SM_COUNT_TARGET, lt_operation, sm_count),
    AT(CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, lt_operation, a_scale),
    AT(CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, lt_operation, b_scale),
    AT(CUBLASLT_MATMUL_DESC_C_SCALE_POINTER, lt_operation, c_scale),
    AT(CUBLASLT_MATMUL_DESC_D_SCALE_POINTER, lt_operation, d_scale),
    AT(CUBLASLT_MATMUL_DESC_AMAX_D_POINTER, lt_operation, d_amax),
    AT(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_DATA_TYPE, lt_operation, aux_type),
    AT(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_SCALE_POINTER, lt_operation, aux_scale),
    AT(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_AMAX_POINTER, lt_operation, aux_amax),
    AT(CUBLASLT_MATMUL_DESC_FAST_ACCUM, lt_operation, fast_accumulation),
    AT(CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, lt_operation, bias_type),
    AT(CUBLASLT_MATMUL_DESC_A_SCALE_MODE, lt_operation, a_scale_mode),
    AT(CUBLASLT_MATMUL_DESC_B_SCALE_MODE, lt_operation, b_scale_mode),
    AT(CUBLASLT_MATMUL_DESC_C_SCALE_MODE, lt_operation, c_scale_mode),
    AT(CUBLASLT_MATMUL_DESC_D_SCALE_MODE, lt_operation, d_scale_mode),
    AT(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_SCALE_MODE, lt_operation, aux_scale_mode),
    AT(CUBLASLT_MATMUL_DESC_D_OUT_SCALE_POINTER, lt_operation, d_out_scale),
    AT(CUBLASLT_MATMUL_DESC_D_OUT_SCALE_MODE, lt_operation, d_out_scale_mode),
    AT(CUBLASLT_MATMUL_DESC_EMULATION_DESCRIPTOR, lt_operation, emulation),
};

static const struct attribute preference_attributes[] = {
    AT(CUBLASLT_MATMUL_PREF_SEARCH_MODE, lt_preference, search_mode),
    AT(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, lt_preference, workspace_bytes),
    AT(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, lt_preference, reductions),
    AT(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, lt_preference, a_alignment),
    AT(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, lt_preference, b_alignment),
    AT(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, lt_preference, c_alignment),
    AT(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, lt_preference, d_alignment),
    AT(CUBLASLT_MATMUL_PREF_MAX_WAVES_COUNT, lt_preference, waves),
    AT(CUBLASLT_MATMUL_PREF_IMPL_MASK, lt_preference, implementations),
};

static const struct attribute algorithm_attributes[] = {
    {CUBLASLT_ALGO_CONFIG_ID, offsetof(struct lt_algorithm, id), sizeof(int32_t), true},
    AT(CUBLASLT_ALGO_CONFIG_TILE_ID, lt_algorithm, tile),
    AT(CUBLASLT_ALGO_CONFIG_SPLITK_NUM, lt_algorithm, splits),
    AT(CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME, lt_algorithm, reduction),
    AT(CUBLASLT_ALGO_CONFIG_CTA_SWIZZLING, lt_algorithm, swizzling),
    AT(CUBLASLT_ALGO_CONFIG_CUSTOM_OPTION, lt_algorithm, custom),
    AT(CUBLASLT_ALGO_CONFIG_STAGES_ID, lt_algorithm, stages),
    AT(CUBLASLT_ALGO_CONFIG_INNER_SHAPE_ID, lt_algorithm, inner_shape),
    AT(CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID, lt_algorithm, cluster_shape),
};

#define KIND(one, opaque, inside) \
    _Static_assert(sizeof(struct inside) <= sizeof(opaque), "what lies inside has to fit"); \
    static int told_##one; \
    static const struct kind one##s = {sizeof(opaque), one##_attributes, \
                                       sizeof one##_attributes / sizeof *one##_attributes, #opaque, &told_##one}

KIND(layout, cublasLtMatrixLayoutOpaque_t, lt_layout);
KIND(operation, cublasLtMatmulDescOpaque_t, lt_operation);
KIND(preference, cublasLtMatmulPreferenceOpaque_t, lt_preference);
KIND(algorithm, cublasLtMatmulAlgo_t, lt_algorithm);

static const struct attribute *find(const struct kind *kind, int name)
{
    for (size_t i = 0; i < kind->count; i++)
        if (kind->attributes[i].name == name)
            return &kind->attributes[i];
    char what[80];
    snprintf(what, sizeof what, "attribute %d of %s", name, kind->name);
    (void)blas_refuse(what, kind->told);
    return NULL;
}

static cublasStatus_t set(const struct kind *kind, void *descriptor, int name, const void *value, size_t bytes)
{
    const struct attribute *attribute = find(kind, name);

    if (!descriptor || !attribute || attribute->fixed || !value || bytes != attribute->bytes)
        return CUBLAS_STATUS_INVALID_VALUE;
    memcpy((char *)descriptor + attribute->offset, value, bytes);
    return CUBLAS_STATUS_SUCCESS;
}

/* With no bytes to write to, answers how many it takes. */
static cublasStatus_t get(const struct kind *kind, const void *descriptor, int name, void *value, size_t bytes,
                          size_t *ret_written)
{
    const struct attribute *attribute = find(kind, name);

    if (!descriptor || !attribute || (bytes == 0 ? !ret_written : !value || bytes != attribute->bytes))
        return CUBLAS_STATUS_INVALID_VALUE;
    if (bytes)
        memcpy(value, (const char *)descriptor + attribute->offset, bytes);
    if (ret_written)
        *ret_written = attribute->bytes;
    return CUBLAS_STATUS_SUCCESS;
}

/* A descriptor that lies in `bytes` bytes of the program's and begins as `defaults`. */
static cublasStatus_t init(void *descriptor, size_t bytes, const void *defaults, size_t default_bytes)
{
    if (!descriptor || bytes < default_bytes)
        return CUBLAS_STATUS_INVALID_VALUE;
    memset(descriptor, 0, bytes);
    memcpy(descriptor, defaults, default_bytes);
    return CUBLAS_STATUS_SUCCESS;
}

static cublasStatus_t create(void **descriptor, const struct kind *kind, const void *defaults, size_t default_bytes)
{
    if (!descriptor)
        return CUBLAS_STATUS_INVALID_VALUE;
    void *created = malloc(kind->bytes);
    if (!created)
        return CUBLAS_STATUS_ALLOC_FAILED;
    (void)init(created, kind->bytes, defaults, default_bytes);
    *descriptor = created;
    return CUBLAS_STATUS_SUCCESS;
}

static struct lt_layout new_layout(cudaDataType_t type, uint64_t rows, uint64_t columns, int64_t ld)
{
    return (struct lt_layout){.type = (uint32_t)type, .rows = rows, .columns = columns, .ld = ld, .batch = 1};
}

static struct lt_operation new_operation(cublasComputeType_t compute_type, cudaDataType_t scale_type)
{
    return (struct lt_operation){.compute_type = (int32_t)compute_type,
                                 .scale_type = (int32_t)scale_type,
                                 .fill = CUBLAS_FILL_MODE_FULL,
                                 .epilogue = CUBLASLT_EPILOGUE_DEFAULT,
                                 .aux_type = -1,
                                 .bias_type = -1};
}

static const struct lt_preference new_preference = {.implementations = UINT64_MAX,
                                                    .reductions = CUBLASLT_REDUCTION_SCHEME_MASK,
                                                    .a_alignment = 256,
                                                    .b_alignment = 256,
                                                    .c_alignment = 256,
                                                    .d_alignment = 256};

cublasStatus_t cublasLtMatrixLayoutInit_internal(cublasLtMatrixLayout_t matLayout, size_t size, cudaDataType type,
                                                 uint64_t rows, uint64_t cols, int64_t ld)
{
    const struct lt_layout fresh = new_layout(type, rows, cols, ld);

    return init(matLayout, size, &fresh, sizeof fresh);
}

cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t *matLayout, cudaDataType type, uint64_t rows, uint64_t cols,
                                          int64_t ld)
{
    const struct lt_layout fresh = new_layout(type, rows, cols, ld);

    return create((void **)matLayout, &layouts, &fresh, sizeof fresh);
}

cublasStatus_t cublasLtMatmulDescInit_internal(cublasLtMatmulDesc_t matmulDesc, size_t size, cublasComputeType_t computeType,
                                               cudaDataType_t scaleType)
{
    const struct lt_operation fresh = new_operation(computeType, scaleType);

    return init(matmulDesc, size, &fresh, sizeof fresh);
}

cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t *matmulDesc, cublasComputeType_t computeType,
                                        cudaDataType_t scaleType)
{
    const struct lt_operation fresh = new_operation(computeType, scaleType);

    return create((void **)matmulDesc, &operations, &fresh, sizeof fresh);
}

cublasStatus_t cublasLtMatmulPreferenceInit_internal(cublasLtMatmulPreference_t pref, size_t size)
{
    return init(pref, size, &new_preference, sizeof new_preference);
}

cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t *pref)
{
    return create((void **)pref, &preferences, &new_preference, sizeof new_preference);
}

/* What is the same for each kind of descriptors. */
#define DESCRIPTOR(name, kind, handle, attribute) \
    cublasStatus_t name##Destroy(handle descriptor) \
    { \
        free(descriptor); \
        return CUBLAS_STATUS_SUCCESS; \
    } \
    cublasStatus_t name##SetAttribute(handle descriptor, attribute attr, const void *buf, size_t sizeInBytes) \
    { \
        return set(&kind, descriptor, (int)attr, buf, sizeInBytes); \
    } \
    cublasStatus_t name##GetAttribute(handle descriptor, attribute attr, void *buf, size_t sizeInBytes, \
                                      size_t *sizeWritten) \
    { \
        return get(&kind, descriptor, (int)attr, buf, sizeInBytes, sizeWritten); \
    }

DESCRIPTOR(cublasLtMatrixLayout, layouts, cublasLtMatrixLayout_t, cublasLtMatrixLayoutAttribute_t)
DESCRIPTOR(cublasLtMatmulDesc, operations, cublasLtMatmulDesc_t, cublasLtMatmulDescAttributes_t)
DESCRIPTOR(cublasLtMatmulPreference, preferences, cublasLtMatmulPreference_t, cublasLtMatmulPreferenceAttributes_t)

cublasStatus_t cublasLtMatmulAlgoConfigSetAttribute(cublasLtMatmulAlgo_t *algo, cublasLtMatmulAlgoConfigAttributes_t attr,
                                                    const void *buf, size_t sizeInBytes)
{
    return set(&algorithms, algo, (int)attr, buf, sizeInBytes);
}

cublasStatus_t cublasLtMatmulAlgoConfigGetAttribute(const cublasLtMatmulAlgo_t *algo,
                                                    cublasLtMatmulAlgoConfigAttributes_t attr, void *buf, size_t sizeInBytes,
                                                    size_t *sizeWritten)
{
    return get(&algorithms, algo, (int)attr, buf, sizeInBytes, sizeWritten);
}
