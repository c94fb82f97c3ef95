/* lt.h - defines the contents of cuBLASLt's descriptors, and what the calls that take them need to know of a product. */
#ifndef SIMGPU_CUBLAS_LT_H
#define SIMGPU_CUBLAS_LT_H
#include <cublasLt.h>
#include <stdbool.h>
#include <stdint.h>

/* The structures lie in the opaque ones of cublasLt.h, whose size the program may have compiled in. Members have the
 * documented sizes of the attributes. */
struct lt_layout {
    int64_t ld, stride, plane_offset;
    uint64_t rows, columns;
    uint32_t type, batch_mode;
    int32_t order, batch;
};

struct lt_operation {
    const void *a_scale, *b_scale, *c_scale, *d_scale, *aux_scale;
    void *bias, *aux, *d_out_scale, *d_amax, *aux_amax;
    cublasLtEmulationDesc_t emulation;
    int64_t bias_stride, aux_ld, aux_stride, alpha_stride;
    int32_t compute_type, scale_type, pointer_mode;
    int32_t a_transform, b_transform, c_transform, fill;
    uint32_t epilogue;
    int32_t sm_count, aux_type, bias_type;
    int32_t a_scale_mode, b_scale_mode, c_scale_mode, d_scale_mode, aux_scale_mode, d_out_scale_mode;
    int8_t fast_accumulation;
};

struct lt_preference {
    uint64_t workspace_bytes, implementations;
    uint32_t search_mode, reductions;
    uint32_t a_alignment, b_alignment, c_alignment, d_alignment;
    float waves;
};

/* There is one algorithm, number 0. A program's configuration of it is stored and has no effect. */
struct lt_algorithm {
    uint64_t magic;
    int32_t id, splits;
    uint32_t tile, reduction, swizzling, custom, stages;
    uint16_t inner_shape, cluster_shape;
};

#define LT_ALGORITHM_MAGIC 0x6f676c61626c6173u
#define LT_ALGORITHM_ID    0

static inline const struct lt_layout *lt_layout(cublasLtMatrixLayout_t layout)
{
    return (const struct lt_layout *)layout;
}

static inline const struct lt_operation *lt_operation(cublasLtMatmulDesc_t operation)
{
    return (const struct lt_operation *)operation;
}

/* A product as its descriptors say: D = epilogue(alpha * op(A) * op(B) + beta * C). */
struct lt_product {
    const struct lt_operation *operation;
    const struct lt_layout *a, *b, *c, *d;
    int64_t m, n, k, batch;
};

/* Combines the descriptors. Returns CUBLAS_STATUS_INVALID_VALUE if they contradict each other,
 * CUBLAS_STATUS_NOT_SUPPORTED if the stand-in cannot do what they say. */
cublasStatus_t lt_product(cublasLtMatmulDesc_t operation, cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                          cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d, struct lt_product *ret_product);

/* Returns true if cublasLtMatmul() documents a product of these types. */
bool lt_combines(cublasComputeType_t compute, cudaDataType_t scale, cudaDataType_t a, cudaDataType_t b, cudaDataType_t c,
                 cudaDataType_t d);

/* Returns true if the algorithm came from cublasLtMatmulAlgoInit() or from the heuristic. */
bool lt_is_algorithm(const cublasLtMatmulAlgo_t *algo);
#endif
