/* lt-fixture.h - a valid product for cuBLASLt, which a test then changes: D (5 x 7) = A (5 x 3) * B (3 x 7) + C. */
#ifndef SIMGPU_CUBLAS_LT_FIXTURE_H
#define SIMGPU_CUBLAS_LT_FIXTURE_H
#include <cublasLt.h>
#include <stdbool.h>

struct lt_fixture {
    cublasLtHandle_t handle;
    cublasLtMatmulDesc_t operation;
    cublasLtMatrixLayout_t a, b, c, d;
};

extern struct lt_fixture lt;

int lt_setup(void **state);
int lt_teardown(void **state);

/* Change an attribute of the operation, of one layout, or of all layouts. */
#define LT_OPERATION(name, type, value) lt_set_operation(CUBLASLT_MATMUL_DESC_##name, &(type){value}, sizeof(type))
#define LT_LAYOUT(layout, name, type, value) \
    lt_set_layout(layout, CUBLASLT_MATRIX_LAYOUT_##name, &(type){value}, sizeof(type))
#define LT_LAYOUTS(name, type, value) \
    do { \
        LT_LAYOUT(lt.a, name, type, value); \
        LT_LAYOUT(lt.b, name, type, value); \
        LT_LAYOUT(lt.c, name, type, value); \
        LT_LAYOUT(lt.d, name, type, value); \
    } while (0)
void lt_set_operation(cublasLtMatmulDescAttributes_t attribute, const void *value, size_t bytes);
void lt_set_layout(cublasLtMatrixLayout_t layout, cublasLtMatrixLayoutAttribute_t attribute, const void *value,
                   size_t bytes);

/* Sets the types of everything. */
void lt_set_types(cublasComputeType_t compute, cudaDataType_t scale, cudaDataType_t a, cudaDataType_t b, cudaDataType_t c,
                  cudaDataType_t d);
#endif
