/* hooks.h - what the hooks (hooks_*.c) are, and what holds when one is called. */
#ifndef SPILLWAY_SHIM_HOOKS_H
#define SPILLWAY_SHIM_HOOKS_H
#include "driver.h"

/* spw_on_<symbol>() for each line of calls.h with HOOK in its kind, with the call's own signature. The driver is
 * initialised, spw_live is set, and this thread is inside no other hook: a call that the driver makes from within one goes
 * past us. A hook answers as the call that it stands in for would: a CUresult, and out-parameters left alone on failure. */
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

/* The driver's own function, for a hook to pass its call on; what a driver that lacks it would answer. */
#define SPW_DRIVER(symbol, args) (spw_driver.symbol ? spw_driver.symbol args : CUDA_ERROR_NOT_FOUND)

/* What wrappers do beside passing calls on; 0 before cuInit(), in mode off, in a forked child, without a driver. One word,
 * so that the usual case costs one comparison. */
enum {
    SPW_HOOKS = 1, /* hooks are called: from a successful start (start.h) in mode swap on */
    SPW_NOTES = 2, /* noted calls are told to the recorder: while it writes a trace */
};
extern int spw_live;

/* One index per line of calls.h, in its order. */
enum spw_call {
#define X(kind, symbol, asked, params, args) SPW_CALL_##symbol,
    SPW_DRIVER_CALLS(X)
#undef X
        SPW_CALL_COUNT
};

/* How often the program made this call, hooked or not; exact, any thread. */
unsigned long long spw_calls_count(enum spw_call call);
const char *spw_calls_name(enum spw_call call);
#endif
