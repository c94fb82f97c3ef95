/* spy-kinds.h - which launchable handle is a CUfunction and which a CUkernel, noted where the driver hands it out. For a
 * spy whose LISTEN has SPY_KIND_CALLS in it; includes spy.h. */
#ifndef SPILLWAY_TESTS_GPU_SPY_KINDS_H
#define SPILLWAY_TESTS_GPU_SPY_KINDS_H
#define SPY_KIND_CALLS(X) \
    X(cuModuleGetFunction) \
    X(cuKernelGetFunction) \
    X(cuLibraryGetKernel) \
    X(cuModuleEnumerateFunctions) \
    X(cuLibraryEnumerateKernels)
#include "spy.h"

#define SPY_MAX_HANDLES 65536
static struct {
    size_t count;
    struct {
        void *handle;
        int is_kernel;
    } known[SPY_MAX_HANDLES];
} kinds;

static void spy_note_kind(void *handle, int is_kernel)
{
    size_t at = __atomic_fetch_add(&kinds.count, 1, __ATOMIC_RELAXED);
    if (at < SPY_MAX_HANDLES) {
        kinds.known[at].handle = handle;
        kinds.known[at].is_kernel = is_kernel;
    }
}

/* 0: a CUfunction; 1: a CUkernel; -1: no look-up handed it out. */
static int spy_kind_of(void *handle)
{
    size_t count = kinds.count < SPY_MAX_HANDLES ? kinds.count : SPY_MAX_HANDLES;
    for (size_t i = 0; i < count; i++)
        if (kinds.known[i].handle == handle)
            return kinds.known[i].is_kernel;
    return -1;
}

static CUresult on_cuModuleGetFunction(CUfunction *ret, CUmodule module, const char *name)
{
    CUresult r = real.cuModuleGetFunction(ret, module, name);
    if (r == CUDA_SUCCESS)
        spy_note_kind(*ret, 0);
    return r;
}

static CUresult on_cuKernelGetFunction(CUfunction *ret, CUkernel kernel)
{
    CUresult r = real.cuKernelGetFunction(ret, kernel);
    if (r == CUDA_SUCCESS)
        spy_note_kind(*ret, 0);
    return r;
}

static CUresult on_cuLibraryGetKernel(CUkernel *ret, CUlibrary library, const char *name)
{
    CUresult r = real.cuLibraryGetKernel(ret, library, name);
    if (r == CUDA_SUCCESS)
        spy_note_kind(*ret, 1);
    return r;
}

static CUresult on_cuModuleEnumerateFunctions(CUfunction *ret, unsigned count, CUmodule module)
{
    CUresult r = real.cuModuleEnumerateFunctions(ret, count, module);
    for (unsigned i = 0; r == CUDA_SUCCESS && i < count; i++)
        spy_note_kind(ret[i], 0);
    return r;
}

static CUresult on_cuLibraryEnumerateKernels(CUkernel *ret, unsigned count, CUlibrary library)
{
    CUresult r = real.cuLibraryEnumerateKernels(ret, count, library);
    for (unsigned i = 0; r == CUDA_SUCCESS && i < count; i++)
        spy_note_kind(ret[i], 1);
    return r;
}
#endif
