/* hooks.h - declares the hooks (hooks_*.c), and says what holds when one is called. */
#ifndef SPILLWAY_SHIM_HOOKS_H
#define SPILLWAY_SHIM_HOOKS_H
#include "driver.h"

/* spw_on_<symbol>() for each line of calls.h with HOOK in its kind, with the call's own signature. When a hook is called,
 * the driver is initialised, spw_live is set, and the thread is in no other hook: a call that the driver makes from within
 * one goes past us. A hook answers as the call would: with a CUresult, and with out-parameters left alone on failure. */
#define SPW_DECLARE_HOOK(symbol, params) CUresult spw_on_##symbol params;
#define SPW_DECLARE_PASS(symbol, params)
#define SPW_DECLARE_EDGE(symbol, params)
#define SPW_DECLARE_HOOK_THEN_NOTE           SPW_DECLARE_HOOK
#define SPW_DECLARE_NOTE_THEN_HOOK           SPW_DECLARE_HOOK
#define SPW_DECLARE_PASS_THEN_NOTE           SPW_DECLARE_PASS
#define SPW_DECLARE_NOTE_THEN_PASS           SPW_DECLARE_PASS
#define X(kind, symbol, asked, params, args) SPW_DECLARE_##kind(symbol, params)
SPW_DRIVER_CALLS(X)
#undef X

/* Returns the stream that a per-thread call (_ptsz, _ptds) means. */
static inline CUstream spw_per_thread(CUstream stream)
{
    return stream ? stream : CU_STREAM_PER_THREAD;
}
#endif
