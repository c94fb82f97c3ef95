/* live.h - the state that the exported wrappers read at each call, and the calls by number. */
#ifndef SPILLWAY_SHIM_LIVE_H
#define SPILLWAY_SHIM_LIVE_H
#include "driver.h"

/* What wrappers do beside passing calls on; 0 before cuInit(), in mode off, in a forked child, and without a driver. One
 * word, so that the usual case costs one comparison. */
enum {
    SPW_HOOKS = 1, /* hooks are called: in mode swap, from a successful start (start.h) on */
    SPW_NOTES = 2, /* noted calls are reported to the recorder, while it writes a trace */
};
extern int spw_live;

/* One index for each line of calls.h, in its order. */
enum spw_call {
#define X(kind, symbol, asked, params, args) SPW_CALL_##symbol,
    SPW_DRIVER_CALLS(X)
#undef X
        SPW_CALL_COUNT
};

/* Not 0 while this thread is inside a hook or the driver's start: then its calls go straight to the driver. */
extern __thread int spw_inside __attribute__((tls_model("initial-exec")));
#endif
