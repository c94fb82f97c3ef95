/* cublas.cu - stands in for cuBLAS: one product, by kernels whose type says nothing of what it does with its tensors. With
 * a workspace it counts there, and relies on the call's having cleared the counter. With one that has room for the result it
 * makes that there, and a second kernel brings it where it belongs. */
#include "product.h"

/* Of each handle, which is a stream here. */
struct given {
    void *handle, *memory;
    size_t bytes;
};
static struct given workspaces[4];

/* The handle's; else one that has none. */
static struct given *workspace_of(void *handle)
{
    struct given *at = workspaces;
    while (at < workspaces + 3 && at->handle != handle && at->handle)
        at++;
    return at;
}

PRODUCT(simple_product)

extern "C" __global__ void simple_sum(struct operands o)
{
    if (threadIdx.x || blockIdx.x)
        return;
    for (int i = 0; i < o.count; i++)
        o.c[i] = o.a[i] * 0.5f + 0.5f * o.a[i];
}
#ifdef SIMGPU
SIMGPU_FOOTPRINT(simple_sum, (struct operands o), 1.0 * o.count, R(o.a, o.count), W(o.c, o.count))
#endif

/* The second handle that has a workspace has a kernel of its own. */
static void launch_product(cudaStream_t stream, struct operands o)
{
    if (workspace_of(stream) == &workspaces[1])
        launch_other_product(stream, o);
    else
        simple_product<<<1, 1, 0, stream>>>(o);
}

/* The partial result lies behind the counter. */
static int multiply_in_parts(cudaStream_t stream, struct operands o)
{
    enum { COUNTER_BYTES = 256 };
    float *partial = (float *)((char *)o.counter + COUNTER_BYTES);
    const struct operands sum = {partial, NULL, o.c, o.count, NULL, 0};
    o.c = partial;
    launch_product(stream, o);
    simple_sum<<<1, 1, 0, stream>>>(sum);
    return cudaGetLastError() == cudaSuccess ? 0 : 13;
}

static int multiply(cudaStream_t stream, const float *a, const float *b, float *c, int count)
{
    const struct given *workspace = workspace_of(stream);
    const struct operands o = {a, b, c, count, (int *)workspace->memory, workspace->memory ? 1 : 0};
    if (o.counter && cudaMemsetAsync(o.counter, 0, sizeof(int), stream) != cudaSuccess)
        return 13;
    if (workspace->bytes > 256 + count * sizeof(float))
        return multiply_in_parts(stream, o);
    launch_product(stream, o);
    return cudaGetLastError() == cudaSuccess ? 0 : 13;
}

extern "C" __attribute__((visibility("default"))) int cublasSetWorkspace_v2(void *handle, void *memory, size_t bytes)
{
    *workspace_of(handle) = (struct given){handle, bytes >= sizeof(int) ? memory : NULL, bytes};
    return 0;
}

extern "C" __attribute__((visibility("default"))) int cublasSgemm_v2(void *handle, int ta, int tb, int m, int n, int k,
                                                                     const float *alpha, const float *a, int lda,
                                                                     const float *b, int ldb, const float *beta, float *c,
                                                                     int ldc)
{
    return multiply((cudaStream_t)handle, a, b, c, m * n);
}

/* The same, past whoever stands in front of the call. */
extern "C" __attribute__((visibility("default"))) int product_past_the_call(void *handle, const float *a, const float *b,
                                                                            float *c, int count)
{
    return multiply((cudaStream_t)handle, a, b, c, count);
}
