/* spy-launch.c - notes which kind of handle each launch is given and whether its parameters can be asked for. Preloaded by
 * the harness for the probe "handles"; spy.h tells how it gets between.
 *
 * SPY_ASK says what is asked about a launched handle: nothing, "function" (cuFuncGetParamInfo) or "kernel"
 * (cuKernelGetParamInfo), whatever the handle's own kind is. */
#define __CUDA_API_VERSION_INTERNAL
#include <string.h>
#include "spy-launch.h"

#define LISTEN(X) \
    SPY_KIND_CALLS(X) \
    X(cuLaunchKernel) \
    X(cuLaunchKernel_ptsz) \
    X(cuLaunchKernelEx) \
    X(cuLaunchKernelEx_ptsz) \
    X(cuLaunchCooperativeKernel) \
    X(cuLaunchCooperativeKernel_ptsz)
#include "spy-kinds.h"

struct spy_seen spy_seen;

/* ---- launches ---- */

static void launched(void *handle, int extended)
{
    const char *ask = getenv("SPY_ASK");
    int kind = spy_kind_of(handle);
    spy_seen.launches++;
    spy_seen.extended += extended;
    spy_seen.functions += kind == 0;
    spy_seen.kernels += kind == 1;
    spy_seen.unknown += kind < 0;
    if (!ask || (strcmp(ask, "function") != 0 && strcmp(ask, "kernel") != 0))
        return;
    CUresult (*function_param)(CUfunction, size_t, size_t *, size_t *) = dlsym(spy_driver, "cuFuncGetParamInfo");
    CUresult (*kernel_param)(CUkernel, size_t, size_t *, size_t *) = dlsym(spy_driver, "cuKernelGetParamInfo");
    size_t index = 0, offset, size;
    CUresult r = CUDA_SUCCESS;
    while (r == CUDA_SUCCESS && index < 4096) {
        r = ask[0] == 'f' ? function_param(handle, index, &offset, &size) : kernel_param(handle, index, &offset, &size);
        index += r == CUDA_SUCCESS;
    }
    spy_seen.understood += r == CUDA_ERROR_INVALID_VALUE && index > 0; /* the layout ends with that error */
    if (index == 0)
        spy_seen.last_error = (int)r;
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
