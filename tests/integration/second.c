/* second.c - preloaded: another library that stands in front of the driver, as those do that share a GPU among programs.
 *
 * SECOND_SAYS: it says on stderr that it is there. SECOND_DRIVER: the file that it takes for the driver; without it,
 * whatever answers after it. Built with SECOND_LOOKUPS it answers dlsym() as well, which brings it in front of libraries
 * that were preloaded before it. */
#include <cuda.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef __x86_64__
#define FIRST_VERSION "GLIBC_2.2.5"
#else
#define FIRST_VERSION "GLIBC_2.17"
#endif

#define CALLS(X) \
    X(cuInit, (unsigned int flags), (flags)) \
    X(cuMemAlloc_v2, (CUdeviceptr * p, size_t n), (p, n)) \
    X(cuMemAllocAsync, (CUdeviceptr * p, size_t n, CUstream s), (p, n, s)) \
    X(cuMemFree_v2, (CUdeviceptr p), (p)) \
    X(cuMemFreeAsync, (CUdeviceptr p, CUstream s), (p, s))

__attribute__((constructor)) static void start(void)
{
    if (getenv("SECOND_SAYS"))
        fprintf(stderr, "second is here\n");
}

static void *look_up(void *handle, const char *name)
{
#ifdef SECOND_LOOKUPS
    void *(*next)(void *, const char *) = (void *(*)(void *, const char *))dlvsym(RTLD_NEXT, "dlsym", FIRST_VERSION);
    return next(handle, name);
#else
    return dlsym(handle, name);
#endif
}

static void *find(const char *name)
{
    const char *driver = getenv("SECOND_DRIVER");
    void *function = driver ? look_up(dlopen(driver, RTLD_NOW | RTLD_LOCAL), name) : look_up(RTLD_NEXT, name);
    return function ? function : look_up(dlopen("libcuda.so.1", RTLD_NOW), name);
}

#define X(name, parameters, arguments) \
    CUresult name parameters \
    { \
        CUresult(*real) parameters = (CUresult(*) parameters)find(#name); \
        return real arguments; \
    }
CALLS(X)
#undef X

/* The name that it is asked for has no version. */
static int is(const char *call, const char *asked)
{
    size_t length = strlen(asked);
    return !strncmp(call, asked, length) && (!call[length] || !strcmp(&call[length], "_v2"));
}

static void *ours(const char *name)
{
#define X(call, parameters, arguments) \
    if (is(#call, name)) \
        return (void *)call;
    CALLS(X)
#undef X
    return NULL;
}

CUresult cuGetProcAddress_v2(const char *symbol, void **function, int version, cuuint64_t flags,
                             CUdriverProcAddressQueryResult *status)
{
    __typeof__(&cuGetProcAddress_v2) real = (__typeof__(&cuGetProcAddress_v2))find("cuGetProcAddress_v2");
    CUresult result = real(symbol, function, version, flags, status);
    if (result == CUDA_SUCCESS && *function && *symbol && ours(symbol))
        *function = ours(symbol);
    else if (result == CUDA_SUCCESS && !strcmp(symbol, "cuGetProcAddress"))
        *function = (void *)cuGetProcAddress_v2;
    return result;
}

#ifdef SECOND_LOOKUPS
void *dlsym(void *handle, const char *name)
{
    void *mine = !strcmp(name, "cuGetProcAddress_v2") ? (void *)cuGetProcAddress_v2
                 : strncmp(name, "cu", 2)             ? NULL
                                                      : ours(name);
    return mine ? mine : look_up(handle, name);
}
#endif
