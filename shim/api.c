/* api.c - exports the driver's symbols: one wrapper per HOOK and PASS line of calls.h. */
#include "api.h"
#include "count.h"
#include "hooks.h"

#define COUNT_AND_RETURN(symbol, result) \
    { \
        CUresult r = result; \
        if (r == CUDA_SUCCESS) \
            spw_count(SPW_CALL_##symbol, SPW_BYTES); \
        return r; \
    }

#define DEFINE_PASS(symbol, params, args) CUresult CUDAAPI symbol params COUNT_AND_RETURN(symbol, SPW_PASS(symbol, args))

/* Straight to the driver goes what it calls from within a hook, what arrives before the start, and what it does not have. */
#define DEFINE_HOOK(symbol, params, args) \
    static CUresult hooked_##symbol params \
    { \
        spw_inside = 1; \
        CUresult result = spw_on_##symbol args; \
        spw_inside = 0; \
        return result; \
    } \
    CUresult CUDAAPI symbol params COUNT_AND_RETURN( \
        symbol, __atomic_load_n(&spw_live, __ATOMIC_RELAXED) && !spw_inside && spw_driver.symbol ? hooked_##symbol args \
                                                                                                 : SPW_PASS(symbol, args))

#define DEFINE_EDGE(symbol, params, args)

#define X(kind, symbol, asked, params, args) DEFINE_##kind(symbol, params, args)
SPW_DRIVER_CALLS(X)
#undef X
