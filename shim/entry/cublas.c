/* cublas.c - notes which matrices a product only reads, and that its workspace holds nothing when it begins
 * (library_inputs.h).
 *
 * The calls are those of cuBLAS's documentation ("cuBLAS Library", sections 2.7, 2.8 and 3.4), which names A and B as input
 * and C as output; for cublasLtMatmul(), C is input unless it is D. Handles and enumerations are passed through. A result
 * is 0 or one of its error numbers. */
#include <cuda.h>
#include <stddef.h>
#include <stdint.h>

#include "cublas.h"
#include "library_inputs.h"
#include "lock.h"
#include "stand_ins.h"
#include "tables.h"

enum { NOT_INITIALIZED = 1 }; /* cublasStatus_t */

typedef const void *in;
typedef void *out;

static const struct spw_other_library other_library = {"/libcublas", "cuBLAS"};

/* ---- workspaces of handles ---- */

struct handle { /* a handle to which the program has given a workspace, since it set the handle's stream */
    void *key;
    out workspace;
    size_t bytes;
    bool lost;
    UT_hash_handle hh;
};
static struct handle *handles; /* engine lock */

static int workspace_set(void *key, out workspace, size_t bytes, int result)
{
    struct handle *h;
    if (result != 0)
        return result;
    spw_lock();
    HASH_FIND_PTR(handles, &key, h);
    if (h && !bytes)
        SPW_TABLE_REMOVE(handles, h);
    else if (h) {
        h->workspace = workspace;
        h->bytes = bytes;
    } else if (bytes)
        SPW_TABLE_NEW(handles, key, h, .key = key, .workspace = workspace, .bytes = bytes);
    spw_unlock();
    return result;
}

static void find_workspace(void *key, struct spw_library_inputs *inputs)
{
    struct handle *h;
    spw_lock();
    HASH_FIND_PTR(handles, &key, h);
    if (h) {
        inputs->workspace = (CUdeviceptr)(uintptr_t)h->workspace;
        inputs->workspace_bytes = h->bytes;
    }
    spw_unlock();
}

/* ---- the call that a thread is in ---- */

static struct spw_library_inputs enter(const in list[SPW_LIBRARY_INPUTS], in written, struct spw_library_inputs *inputs)
{
    for (int i = 0; i < SPW_LIBRARY_INPUTS; i++)
        inputs->address[i] = list[i] == written ? 0 : (CUdeviceptr)(uintptr_t)list[i];
    return spw_library_inputs_enter(inputs);
}

/* A product with a handle, which uses the handle's workspace. */
static struct spw_library_inputs with(void *handle, in a, in b, in c)
{
    struct spw_library_inputs inputs = {0};
    find_workspace(handle, &inputs);
    return enter((const in[]){a, b, NULL}, c, &inputs);
}

/* A product that is passed its workspace. */
static struct spw_library_inputs light(in a, in b, in c, in d, out workspace, size_t bytes)
{
    struct spw_library_inputs inputs = {.workspace = (CUdeviceptr)(uintptr_t)workspace, .workspace_bytes = bytes};
    return enter((const in[]){a, b, c}, d, &inputs);
}

static int leave(const struct spw_library_inputs *around, int result)
{
    spw_library_inputs_leave(around);
    return result;
}

/* X(name, parameters, arguments, what comes before, what becomes of the result); `whole` is the type of sizes and leading
 * dimensions. */
#define PRODUCT(X, name, whole) \
    X(name, \
      (void *handle, int ta, int tb, whole m, whole n, whole k, in alpha, in a, whole lda, in b, whole ldb, in beta, out c, \
       whole ldc), \
      (handle, ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc), \
      const struct spw_library_inputs around = with(handle, a, b, c), leave(&around, result))
#define TYPED(X, name, whole) \
    X(name, \
      (void *handle, int ta, int tb, whole m, whole n, whole k, in alpha, in a, int a_type, whole lda, in b, int b_type, \
       whole ldb, in beta, out c, int c_type, whole ldc), \
      (handle, ta, tb, m, n, k, alpha, a, a_type, lda, b, b_type, ldb, beta, c, c_type, ldc), \
      const struct spw_library_inputs around = with(handle, a, b, c), leave(&around, result))
#define ANY_TYPE(X, name, whole) \
    X(name, \
      (void *handle, int ta, int tb, whole m, whole n, whole k, in alpha, in a, int a_type, whole lda, in b, int b_type, \
       whole ldb, in beta, out c, int c_type, whole ldc, int compute, int algorithm), \
      (handle, ta, tb, m, n, k, alpha, a, a_type, lda, b, b_type, ldb, beta, c, c_type, ldc, compute, algorithm), \
      const struct spw_library_inputs around = with(handle, a, b, c), leave(&around, result))
#define BATCH(X, name, whole) \
    X(name, \
      (void *handle, int ta, int tb, whole m, whole n, whole k, in alpha, in a, whole lda, long long a_stride, in b, \
       whole ldb, long long b_stride, in beta, out c, whole ldc, long long c_stride, whole count), \
      (handle, ta, tb, m, n, k, alpha, a, lda, a_stride, b, ldb, b_stride, beta, c, ldc, c_stride, count), \
      const struct spw_library_inputs around = with(handle, a, b, c), leave(&around, result))
#define ANY_TYPE_BATCH(X, name, whole) \
    X(name, \
      (void *handle, int ta, int tb, whole m, whole n, whole k, in alpha, in a, int a_type, whole lda, long long a_stride, \
       in b, int b_type, whole ldb, long long b_stride, in beta, out c, int c_type, whole ldc, long long c_stride, \
       whole count, int compute, int algorithm), \
      (handle, ta, tb, m, n, k, alpha, a, a_type, lda, a_stride, b, b_type, ldb, b_stride, beta, c, c_type, ldc, c_stride, \
       count, compute, algorithm), \
      const struct spw_library_inputs around = with(handle, a, b, c), leave(&around, result))
#define LIGHT(X, name) \
    X(name, \
      (void *handle, void *how, in alpha, in a, void *a_layout, in b, void *b_layout, in beta, in c, void *c_layout, out d, \
       void *d_layout, in algorithm, out workspace, size_t workspace_bytes, CUstream s), \
      (handle, how, alpha, a, a_layout, b, b_layout, beta, c, c_layout, d, d_layout, algorithm, workspace, workspace_bytes, \
       s), \
      const struct spw_library_inputs around = light(a, b, c, d, workspace, workspace_bytes), leave(&around, result))

#define CALLS(X) \
    PRODUCT(X, cublasSgemm_v2, int) \
    PRODUCT(X, cublasDgemm_v2, int) \
    PRODUCT(X, cublasCgemm_v2, int) \
    PRODUCT(X, cublasZgemm_v2, int) \
    PRODUCT(X, cublasHgemm, int) \
    PRODUCT(X, cublasSgemm_v2_64, int64_t) \
    PRODUCT(X, cublasDgemm_v2_64, int64_t) \
    PRODUCT(X, cublasCgemm_v2_64, int64_t) \
    PRODUCT(X, cublasZgemm_v2_64, int64_t) \
    PRODUCT(X, cublasHgemm_64, int64_t) \
    TYPED(X, cublasSgemmEx, int) \
    TYPED(X, cublasCgemmEx, int) \
    TYPED(X, cublasSgemmEx_64, int64_t) \
    TYPED(X, cublasCgemmEx_64, int64_t) \
    ANY_TYPE(X, cublasGemmEx, int) \
    ANY_TYPE(X, cublasGemmEx_64, int64_t) \
    BATCH(X, cublasSgemmStridedBatched, int) \
    BATCH(X, cublasDgemmStridedBatched, int) \
    BATCH(X, cublasCgemmStridedBatched, int) \
    BATCH(X, cublasZgemmStridedBatched, int) \
    BATCH(X, cublasHgemmStridedBatched, int) \
    BATCH(X, cublasSgemmStridedBatched_64, int64_t) \
    BATCH(X, cublasDgemmStridedBatched_64, int64_t) \
    BATCH(X, cublasCgemmStridedBatched_64, int64_t) \
    BATCH(X, cublasZgemmStridedBatched_64, int64_t) \
    BATCH(X, cublasHgemmStridedBatched_64, int64_t) \
    ANY_TYPE_BATCH(X, cublasGemmStridedBatchedEx, int) \
    ANY_TYPE_BATCH(X, cublasGemmStridedBatchedEx_64, int64_t) \
    LIGHT(X, cublasLtMatmul) \
    X(cublasSetWorkspace_v2, (void *handle, out workspace, size_t bytes), (handle, workspace, bytes), (void)0, \
      workspace_set(handle, workspace, bytes, result)) \
    X(cublasSetStream_v2, (void *handle, CUstream s), (handle, s), (void)0, workspace_set(handle, NULL, 0, result)) \
    X(cublasDestroy_v2, (void *handle), (handle), (void)0, workspace_set(handle, NULL, 0, result))

#define STAND_IN_BODY(name, arguments, before, after) \
    before; \
    const int result = real arguments; \
    return after;
#define NOT_THERE NOT_INITIALIZED
#include "stand_ins_table.h"

void *spw_cublas_instead_of(void *function, const char *name)
{
    return spw_stand_in_instead_of(ours, CALL_COUNT, function, name);
}
