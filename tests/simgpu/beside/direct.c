/* direct.c - libsimgpu-direct.so: tells the simulated driver of the tensors and launches of a program that calls the driver
 * itself.
 *
 * What ../program.h says comes from the simulated runtime, and JAX hardly calls that. It looks the driver's calls up with
 * dlsym(), so this library, preloaded, answers with calls of its own for those that make, end, write or use a tensor. They
 * go on to what the loader would have answered, be it the driver's or a library's in front of it, and so stand above both.
 */
#include <cuda.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "../tell.h"

#if defined(__x86_64__)
#define FIRST_VERSION "GLIBC_2.2.5"
#elif defined(__aarch64__)
#define FIRST_VERSION "GLIBC_2.17"
#endif

typedef void *look_up_function(void *, const char *);

static struct simgpu_tell tell;

static look_up_function *of_loader(void)
{
    static look_up_function *found; /* the same for all threads */
    if (!found)
        found = (look_up_function *)dlvsym(RTLD_NEXT, "dlsym", FIRST_VERSION);
    return found;
}

/* ---- the tensors that there are ---- */

enum { MOST = 1 << 16 };

static struct {
    CUdeviceptr address;
    size_t bytes;
} tensors[MOST];
static size_t count; /* more are told of when they are made only */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void made(CUresult result, const CUdeviceptr *address, size_t bytes)
{
    if (result != CUDA_SUCCESS || !tell.made)
        return;
    (void)tell.made(*address, bytes);
    pthread_mutex_lock(&lock);
    if (count < MOST) {
        tensors[count].address = *address;
        tensors[count++].bytes = bytes;
    }
    pthread_mutex_unlock(&lock);
}

static void gone(CUdeviceptr address)
{
    if (!tell.gone)
        return;
    (void)tell.gone(address);
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < count; i++)
        if (tensors[i].address == address)
            tensors[i--] = tensors[--count];
    pthread_mutex_unlock(&lock);
}

/* A block that executables keep many things in is written part by part. What is in the rest of it nobody knows, and so it
 * does not count as written before something has written it all, which each kernel does. */
static void written(CUdeviceptr address, size_t bytes, CUdeviceptr source)
{
    bool all = false;
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < count && !all; i++)
        all = tensors[i].address == address && tensors[i].bytes <= bytes;
    pthread_mutex_unlock(&lock);
    if (all && tell.written)
        (void)tell.written(address, bytes, source);
}

static CUresult coming(CUfunction kernel, const unsigned grid[3], const unsigned block[3], void **params)
{
    return tell.coming && params ? (CUresult)tell.coming(kernel, grid, block, params) : CUDA_SUCCESS;
}

/* ---- the calls ---- */

/* Each as `CALL(name, parameters, arguments, before, after)`; the driver's answer is `r`. */
#define CALLS(CALL) \
    CALL(cuMemAlloc_v2, (CUdeviceptr * p, size_t n), (p, n), , made(r, p, n)) \
    CALL(cuMemAllocAsync, (CUdeviceptr * p, size_t n, CUstream s), (p, n, s), , made(r, p, n)) \
    CALL(cuMemAllocFromPoolAsync, (CUdeviceptr * p, size_t n, CUmemoryPool o, CUstream s), (p, n, o, s), , made(r, p, n)) \
    CALL(cuMemFree_v2, (CUdeviceptr p), (p), gone(p), ) \
    CALL(cuMemFreeAsync, (CUdeviceptr p, CUstream s), (p, s), gone(p), ) \
    CALL(cuMemcpyHtoD_v2, (CUdeviceptr p, const void *h, size_t n), (p, h, n), written(p, n, 0), ) \
    CALL(cuMemcpyHtoDAsync_v2, (CUdeviceptr p, const void *h, size_t n, CUstream s), (p, h, n, s), written(p, n, 0), ) \
    CALL(cuMemcpyDtoD_v2, (CUdeviceptr p, CUdeviceptr q, size_t n), (p, q, n), written(p, n, q), ) \
    CALL(cuMemcpyDtoDAsync_v2, (CUdeviceptr p, CUdeviceptr q, size_t n, CUstream s), (p, q, n, s), written(p, n, q), ) \
    CALL(cuMemsetD8_v2, (CUdeviceptr p, unsigned char v, size_t n), (p, v, n), written(p, n, 0), ) \
    CALL(cuMemsetD8Async, (CUdeviceptr p, unsigned char v, size_t n, CUstream s), (p, v, n, s), written(p, n, 0), ) \
    CALL(cuMemsetD32_v2, (CUdeviceptr p, unsigned v, size_t n), (p, v, n), written(p, 4 * n, 0), ) \
    CALL(cuMemsetD32Async, (CUdeviceptr p, unsigned v, size_t n, CUstream s), (p, v, n, s), written(p, 4 * n, 0), )

#define WRAP(name, parameters, arguments, before, after) \
    static CUresult(*next_##name) parameters; \
    static CUresult my_##name parameters \
    { \
        before; \
        CUresult r = next_##name arguments; \
        after; \
        return r; \
    }
CALLS(WRAP)

static CUresult (*next_cuLaunchKernel)(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                                       CUstream, void **, void **);
static CUresult my_cuLaunchKernel(CUfunction f, unsigned x, unsigned y, unsigned z, unsigned bx, unsigned by, unsigned bz,
                                  unsigned shared, CUstream s, void **params, void **extra)
{
    CUresult r = coming(f, (const unsigned[3]){x, y, z}, (const unsigned[3]){bx, by, bz}, params);
    return r != CUDA_SUCCESS ? r : next_cuLaunchKernel(f, x, y, z, bx, by, bz, shared, s, params, extra);
}

static CUresult (*next_cuLaunchKernelEx)(const CUlaunchConfig *, CUfunction, void **, void **);
static CUresult my_cuLaunchKernelEx(const CUlaunchConfig *c, CUfunction f, void **params, void **extra)
{
    CUresult r = !c ? CUDA_SUCCESS
                    : coming(f, (const unsigned[3]){c->gridDimX, c->gridDimY, c->gridDimZ},
                             (const unsigned[3]){c->blockDimX, c->blockDimY, c->blockDimZ}, params);
    return r != CUDA_SUCCESS ? r : next_cuLaunchKernelEx(c, f, params, extra);
}

/* ---- how they are found ---- */

#define ROW(name, parameters, arguments, before, after) {#name, (void **)&next_##name, (void *)my_##name},

static const struct {
    const char *name;
    void **next;
    void *mine;
} calls[] = {CALLS(ROW){"cuLaunchKernel", (void **)&next_cuLaunchKernel, (void *)my_cuLaunchKernel},
             {"cuLaunchKernelEx", (void **)&next_cuLaunchKernelEx, (void *)my_cuLaunchKernelEx}};

static void open_driver(void *handle)
{
    simgpu_resolve *resolve;
    *(void **)&resolve = of_loader()(handle, "cuGetProcAddress_v2");
    if (resolve)
        simgpu_tell_open(&tell, resolve);
}

/* Ours instead of the driver's, where the handle is one of a driver. NULL: the loader is asked. */
static void *instead(void *handle, const char *name)
{
    if (handle == RTLD_DEFAULT || handle == RTLD_NEXT || strncmp(name, "cu", 2) != 0)
        return NULL;
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        if (strcmp(calls[i].name, name) != 0)
            continue;
        void *next = of_loader()(handle, name);
        if (!next)
            return NULL;
        if (!tell.made)
            open_driver(handle);
        *calls[i].next = next;
        return calls[i].mine;
    }
    return NULL;
}

/* The loader sees by the return address who asks, so its function has to be jumped to, which an optimising compiler does. */
__attribute__((visibility("default"))) void *dlsym(void *restrict handle, const char *restrict name)
{
    void *mine = instead(handle, name);
    return mine ? mine : of_loader()(handle, name);
}
