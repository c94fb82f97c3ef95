/* live.h - what the exported wrappers look at in each call, and the calls by number. */
#ifndef SPILLWAY_SHIM_LIVE_H
#define SPILLWAY_SHIM_LIVE_H
#include "driver.h"

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

/* Nonzero while this thread is inside a hook or the driver's start: what it calls then goes straight to the driver. */
extern __thread int spw_inside __attribute__((tls_model("initial-exec")));
#endif
