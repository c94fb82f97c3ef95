/* context.h - makes a context current for a few driver calls of our own and puts the program's back. */
#ifndef SPILLWAY_SHIM_CONTEXT_H
#define SPILLWAY_SHIM_CONTEXT_H
#include <cuda.h>
#include <stdbool.h>

struct spw_context_guard {
    bool pushed;    /* ours is on the program's stack of contexts */
    bool exchanged; /* the thread's capture mode is relaxed meanwhile */
    CUstreamCaptureMode mode;
};

/* Makes `context` current (NULL: leaves the current one) and, while any capture is under way in the process, allows the
 * calling thread what captures forbid. 0 or a negative result; leave only after 0. */
int spw_context_enter(struct spw_context_guard *guard, CUcontext context);
void spw_context_leave(struct spw_context_guard *guard);
#endif
