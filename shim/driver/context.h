/* context.h - makes a context current for a few driver calls of our own, and restores the program's. */
#ifndef SPILLWAY_SHIM_CONTEXT_H
#define SPILLWAY_SHIM_CONTEXT_H
#include <cuda.h>
#include <stdbool.h>

struct spw_context_guard {
    bool pushed; /* the context was pushed onto the program's stack of contexts */
};

/* The first makes `context` current (NULL: keeps the current one) and puts the calling thread into relaxed mode (ask.h).
 * Returns 0 or a negative result. The second is called only after 0. No call of the program's may be passed on in between,
 * as it would not run in the program's mode. */
int spw_context_enter(struct spw_context_guard *guard, CUcontext context);
void spw_context_leave(struct spw_context_guard *guard);

/* Waits for everything that was submitted in the context, which ends each capture there. */
int spw_context_synchronize(CUcontext context);
#endif
