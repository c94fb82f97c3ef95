/* contexts.h - what goes with a context. */
#ifndef SPILLWAY_SHIM_CONTEXTS_H
#define SPILLWAY_SHIM_CONTEXTS_H
#include <cuda.h>

/* Frees all that belongs to a context, which is about to be destroyed; afterwards nothing that was submitted there runs. */
void spw_context_free(CUcontext context);
#endif
