/* spy-launch.c - stands in front of the driver under its own name, as spillway does, and notes which kind of handle each
 * launch is given and whether its parameters can be asked for. Preloaded by the harness for the probe "handles".
 *
 * Every exported function is a jump through a slot; a slot holds the driver's function, or ours where we listen. Answers
 * of cuGetProcAddress() are exchanged by address. The driver is the file that SPY_DRIVER names. SPY_ASK says what is
 * asked about a launched handle: nothing, "function" (cuFuncGetParamInfo) or "kernel" (cuKernelGetParamInfo), whatever
 * the handle's own kind is. */
#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "driver-symbols.h"
#include "spy-launch.h"

#if defined(__x86_64__)
#define JUMP(name) \
    __asm__(".text\n.globl " #name "\n.type " #name ", @function\n" #name ":\n" \
            "    jmp *spy_slot_" #name "(%rip)\n.size " #name ", .-" #name "\n");
#elif defined(__aarch64__)
#define JUMP(name) \
    __asm__(".text\n.globl " #name "\n.type " #name ", %function\n" #name ":\n" \
            "    adrp x16, spy_slot_" #name "\n    ldr x16, [x16, :lo12:spy_slot_" #name "]\n    br x16\n");
#else
#error "no jump for this processor"
#endif

#define SLOT(name) __attribute__((visibility("hidden"), used)) void *spy_slot_##name;
DRIVER_SYMBOLS(SLOT)
DRIVER_SYMBOLS(JUMP)

struct spy_seen spy_seen;

/* ---- which handle is what: noted where it is handed out ---- */

#define MAX_HANDLES 65536
static struct {
    void *handle;
    int is_kernel;
} handles[MAX_HANDLES];
static size_t handle_count;

static void note(void *handle, int is_kernel)
{
    size_t at = __atomic_fetch_add(&handle_count, 1, __ATOMIC_RELAXED);
    if (at < MAX_HANDLES) {
        handles[at].handle = handle;
        handles[at].is_kernel = is_kernel;
    }
}

static int kind_of(void *handle)
{
    size_t count = handle_count < MAX_HANDLES ? handle_count : MAX_HANDLES;
    for (size_t i = 0; i < count; i++)
        if (handles[i].handle == handle)
            return handles[i].is_kernel;
    return -1;
}

/* ---- what we listen to ---- */

#define LISTEN(X) \
    X(cuGetProcAddress) \
    X(cuGetProcAddress_v2) \
    X(cuModuleGetFunction) X(cuKernelGetFunction) X(cuLibraryGetKernel) X(cuModuleEnumerateFunctions) \
        X(cuLibraryEnumerateKernels) X(cuLaunchKernel) X(cuLaunchKernel_ptsz) X(cuLaunchKernelEx) X(cuLaunchKernelEx_ptsz) \
            X(cuLaunchCooperativeKernel) X(cuLaunchCooperativeKernel_ptsz)

static struct {
#define X(name) __typeof__(name) *name;
    LISTEN(X)
#undef X
    CUresult (*function_param)(CUfunction, size_t, size_t *, size_t *);
    CUresult (*kernel_param)(CUkernel, size_t, size_t *, size_t *);
} real;

static void launched(void *handle, int extended)
{
    const char *ask = getenv("SPY_ASK");
    int kind = kind_of(handle);
    spy_seen.launches++;
    spy_seen.extended += extended;
    spy_seen.functions += kind == 0;
    spy_seen.kernels += kind == 1;
    spy_seen.unknown += kind < 0;
    if (!ask || (strcmp(ask, "function") != 0 && strcmp(ask, "kernel") != 0))
        return;
    size_t index = 0, offset, size;
    CUresult r = CUDA_SUCCESS;
    while (r == CUDA_SUCCESS && index < 4096) {
        r = ask[0] == 'f' ? real.function_param(handle, index, &offset, &size)
                          : real.kernel_param(handle, index, &offset, &size);
        index += r == CUDA_SUCCESS;
    }
    spy_seen.understood += r == CUDA_ERROR_INVALID_VALUE && index > 0; /* the layout ends with that error */
    if (index == 0)
        spy_seen.last_error = (int)r;
}

static CUresult on_cuModuleGetFunction(CUfunction *ret, CUmodule module, const char *name)
{
    CUresult r = real.cuModuleGetFunction(ret, module, name);
    if (r == CUDA_SUCCESS)
        note(*ret, 0);
    return r;
}

static CUresult on_cuKernelGetFunction(CUfunction *ret, CUkernel kernel)
{
    CUresult r = real.cuKernelGetFunction(ret, kernel);
    if (r == CUDA_SUCCESS)
        note(*ret, 0);
    return r;
}

static CUresult on_cuLibraryGetKernel(CUkernel *ret, CUlibrary library, const char *name)
{
    CUresult r = real.cuLibraryGetKernel(ret, library, name);
    if (r == CUDA_SUCCESS)
        note(*ret, 1);
    return r;
}

static CUresult on_cuModuleEnumerateFunctions(CUfunction *ret, unsigned count, CUmodule module)
{
    CUresult r = real.cuModuleEnumerateFunctions(ret, count, module);
    for (unsigned i = 0; r == CUDA_SUCCESS && i < count; i++)
        note(ret[i], 0);
    return r;
}

static CUresult on_cuLibraryEnumerateKernels(CUkernel *ret, unsigned count, CUlibrary library)
{
    CUresult r = real.cuLibraryEnumerateKernels(ret, count, library);
    for (unsigned i = 0; r == CUDA_SUCCESS && i < count; i++)
        note(ret[i], 1);
    return r;
}

#define ON_LAUNCH(name) \
    static CUresult on_##name(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, \
                              unsigned shared, CUstream stream, void **params, void **extra) \
    { \
        launched(f, 0); \
        return real.name(f, gx, gy, gz, bx, by, bz, shared, stream, params, extra); \
    }
ON_LAUNCH(cuLaunchKernel)
ON_LAUNCH(cuLaunchKernel_ptsz)

#define ON_COOPERATIVE(name) \
    static CUresult on_##name(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, \
                              unsigned shared, CUstream stream, void **params) \
    { \
        launched(f, 0); \
        return real.name(f, gx, gy, gz, bx, by, bz, shared, stream, params); \
    }
ON_COOPERATIVE(cuLaunchCooperativeKernel)
ON_COOPERATIVE(cuLaunchCooperativeKernel_ptsz)

#define ON_EXTENDED(name) \
    static CUresult on_##name(const CUlaunchConfig *config, CUfunction f, void **params, void **extra) \
    { \
        launched(f, 1); \
        return real.name(config, f, params, extra); \
    }
ON_EXTENDED(cuLaunchKernelEx)
ON_EXTENDED(cuLaunchKernelEx_ptsz)

static void *exchanged(void *address);

static CUresult on_cuGetProcAddress(const char *symbol, void **ret, int version, cuuint64_t flags)
{
    CUresult r = real.cuGetProcAddress(symbol, ret, version, flags);
    if (r == CUDA_SUCCESS && ret)
        *ret = exchanged(*ret);
    return r;
}

static CUresult on_cuGetProcAddress_v2(const char *symbol, void **ret, int version, cuuint64_t flags,
                                       CUdriverProcAddressQueryResult *status)
{
    CUresult r = real.cuGetProcAddress_v2(symbol, ret, version, flags, status);
    if (r == CUDA_SUCCESS && ret)
        *ret = exchanged(*ret);
    return r;
}

static void *exchanged(void *address)
{
    if (!address)
        return NULL;
#define X(name) \
    if (address == (void *)real.name) \
        return (void *)on_##name;
    LISTEN(X)
#undef X
    return address;
}

__attribute__((constructor)) static void start(void)
{
    const char *path = getenv("SPY_DRIVER");
    void *driver = path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
    if (!driver) {
        fprintf(stderr, "spy-launch: SPY_DRIVER must name the driver's file\n");
        _exit(2);
    }
#define X(name) spy_slot_##name = dlsym(driver, #name);
    DRIVER_SYMBOLS(X)
#undef X
#define X(name) \
    real.name = (__typeof__(real.name))dlsym(driver, #name); \
    if (real.name) \
        spy_slot_##name = (void *)on_##name;
    LISTEN(X)
#undef X
    real.function_param = (__typeof__(real.function_param))dlsym(driver, "cuFuncGetParamInfo");
    real.kernel_param = (__typeof__(real.kernel_param))dlsym(driver, "cuKernelGetParamInfo");
}
