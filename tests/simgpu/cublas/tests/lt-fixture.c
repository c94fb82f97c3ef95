/* lt-fixture.c - the descriptors of a product in single precision. */
#include "lt-fixture.h"
#include "fake-runtime.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

struct lt_fixture lt;

int lt_setup(void **state)
{
    fake_reset(state);
    return cublasLtCreate(&lt.handle) || cublasLtMatmulDescCreate(&lt.operation, CUBLAS_COMPUTE_32F, CUDA_R_32F) ||
           cublasLtMatrixLayoutCreate(&lt.a, CUDA_R_32F, 5, 3, 6) ||
           cublasLtMatrixLayoutCreate(&lt.b, CUDA_R_32F, 3, 7, 4) ||
           cublasLtMatrixLayoutCreate(&lt.c, CUDA_R_32F, 5, 7, 8) || cublasLtMatrixLayoutCreate(&lt.d, CUDA_R_32F, 5, 7, 9);
}

int lt_teardown(void **state)
{
    (void)state;
    return cublasLtMatrixLayoutDestroy(lt.a) || cublasLtMatrixLayoutDestroy(lt.b) || cublasLtMatrixLayoutDestroy(lt.c) ||
           cublasLtMatrixLayoutDestroy(lt.d) || cublasLtMatmulDescDestroy(lt.operation) || cublasLtDestroy(lt.handle);
}

void lt_set_operation(cublasLtMatmulDescAttributes_t attribute, const void *value, size_t bytes)
{
    assert_int_equal(cublasLtMatmulDescSetAttribute(lt.operation, attribute, value, bytes), CUBLAS_STATUS_SUCCESS);
}

void lt_set_layout(cublasLtMatrixLayout_t layout, cublasLtMatrixLayoutAttribute_t attribute, const void *value, size_t bytes)
{
    assert_int_equal(cublasLtMatrixLayoutSetAttribute(layout, attribute, value, bytes), CUBLAS_STATUS_SUCCESS);
}

void lt_set_types(cublasComputeType_t compute, cudaDataType_t scale, cudaDataType_t a, cudaDataType_t b, cudaDataType_t c,
                  cudaDataType_t d)
{
    LT_OPERATION(COMPUTE_TYPE, int32_t, compute);
    LT_OPERATION(SCALE_TYPE, int32_t, scale);
    LT_LAYOUT(lt.a, TYPE, uint32_t, a);
    LT_LAYOUT(lt.b, TYPE, uint32_t, b);
    LT_LAYOUT(lt.c, TYPE, uint32_t, c);
    LT_LAYOUT(lt.d, TYPE, uint32_t, d);
}
