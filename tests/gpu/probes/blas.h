/* blas.h - matrix products by cuBLAS, opened at run time: a probe asks what cuBLAS does, and goes without where it is
 * not installed. The few declarations are those of cublas_v2.h. */
#ifndef SPILLWAY_TESTS_GPU_BLAS_H
#define SPILLWAY_TESTS_GPU_BLAS_H
#include "probe.h"
#include <dlfcn.h>

enum { BLAS_NO_TRANSPOSE = 0, BLAS_BF16 = 14, BLAS_FLOAT32_SUMS = 68, BLAS_ANY_ALGORITHM = -1 };

typedef struct blas_context *blas_handle;

static struct {
    int (*create)(blas_handle *handle);
    int (*destroy)(blas_handle handle);
    int (*sgemm)(blas_handle handle, int transpose_a, int transpose_b, int m, int n, int k, const float *alpha,
                 const float *a, int lda, const float *b, int ldb, const float *beta, float *c, int ldc);
    int (*gemm_ex)(blas_handle handle, int transpose_a, int transpose_b, int m, int n, int k, const void *alpha,
                   const void *a, int type_a, int lda, const void *b, int type_b, int ldb, const void *beta, void *c,
                   int type_c, int ldc, int compute_type, int algorithm);
} blas;

/* 1 when cuBLAS can be had; the harness puts the folders where it may be on the library path. */
static int blas_open(void)
{
    static const char *const names[] = {"libcublas.so.13", "libcublas.so.12", "libcublas.so"};
    void *library = NULL;
    for (size_t i = 0; !library && i < sizeof(names) / sizeof(*names); i++)
        library = dlopen(names[i], RTLD_NOW);
    if (!library)
        return 0;
    *(void **)&blas.create = dlsym(library, "cublasCreate_v2");
    *(void **)&blas.destroy = dlsym(library, "cublasDestroy_v2");
    *(void **)&blas.sgemm = dlsym(library, "cublasSgemm_v2");
    *(void **)&blas.gemm_ex = dlsym(library, "cublasGemmEx");
    return blas.create && blas.destroy && blas.sgemm && blas.gemm_ex;
}

/* c = a b, all of them m x m floats; 0 on success. */
PROBE_UNUSED static int blas_float_product(blas_handle handle, int m, CUdeviceptr a, CUdeviceptr b, CUdeviceptr c)
{
    const float one = 1, zero = 0;
    return blas.sgemm(handle, BLAS_NO_TRANSPOSE, BLAS_NO_TRANSPOSE, m, m, m, &one, (const float *)(uintptr_t)a, m,
                      (const float *)(uintptr_t)b, m, &zero, (float *)(uintptr_t)c, m);
}

/* c = a b in bf16: a is m x k, b is k x m, c is m x m; 0 on success. */
PROBE_UNUSED static int blas_bf16_product(blas_handle handle, int m, int k, CUdeviceptr a, CUdeviceptr b, CUdeviceptr c)
{
    const float one = 1, zero = 0;
    return blas.gemm_ex(handle, BLAS_NO_TRANSPOSE, BLAS_NO_TRANSPOSE, m, m, k, &one, (const void *)(uintptr_t)a, BLAS_BF16,
                        m, (const void *)(uintptr_t)b, BLAS_BF16, k, &zero, (void *)(uintptr_t)c, BLAS_BF16, m,
                        BLAS_FLOAT32_SUMS, BLAS_ANY_ALGORITHM);
}
#endif
