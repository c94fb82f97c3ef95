/* context.h - makes a context current for a few driver calls of our own and puts the program's back. */
#ifndef SPILLWAY_SHIM_CONTEXT_H
#define SPILLWAY_SHIM_CONTEXT_H
#include <cuda.h>
#include <stdbool.h>

struct spw_context_guard {
    bool pushed; /* ours is on the program's stack of contexts */
};

/* Makes `context` current (NULL: leaves the current one) and allows the calling thread what captures forbid (ask.h). 0 or a
 * negative result; leave only after 0. Whatever the program calls comes after the leaving, as it comes in the program's
 * mode. */
int spw_context_enter(struct spw_context_guard *guard, CUcontext context);
void spw_context_leave(struct spw_context_guard *guard);

/* Waits for all that was submitted in the context, which ends each capture there. */
int spw_context_synchronize(CUcontext context);
#endif
