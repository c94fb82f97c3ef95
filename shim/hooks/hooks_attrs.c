/* hooks_attrs.c - attributes and cache settings of functions, apart from what each launch says: a change may change what
 * any launch of the function does. */
#include "hooks.h"
#include "live.h"
#include "result.h"
#include "settings.h"
#include "twins.h"
#include "versions.h"

static CUresult settled(bool is_news, CUresult result)
{
    if (result != CUDA_SUCCESS)
        spw_versions_unsettle();
    else if (is_news && spw_settings_get()->recompute)
        spw_twins_changed();
    return result;
}

/* One line per call: whose setting it is, which one (in addition to the call itself), and its value. */
/* clang-format off */
#define SETTLED(symbol, params, args, whose, matter, value) \
    CUresult spw_on_##symbol params \
    { \
        int r = spw_versions_settle(whose, SPW_CALL_##symbol << 16 | ((unsigned)(matter) & 0xffff), (uint64_t)(value)); \
        return r < 0 ? spw_cuda(r) : settled(r > 0, SPW_DRIVER(symbol, args)); \
    }

SETTLED(cuFuncSetAttribute, (CUfunction f, CUfunction_attribute a, int v), (f, a, v), f, a, v)
SETTLED(cuFuncSetCacheConfig, (CUfunction f, CUfunc_cache v), (f, v), f, 0, v)
SETTLED(cuFuncSetSharedMemConfig, (CUfunction f, CUsharedconfig v), (f, v), f, 0, v)
SETTLED(cuKernelSetAttribute, (CUfunction_attribute a, int v, CUkernel k, CUdevice d), (a, v, k, d), k, a | d << 8, v)
SETTLED(cuKernelSetCacheConfig, (CUkernel k, CUfunc_cache v, CUdevice d), (k, v, d), k, d, v)
