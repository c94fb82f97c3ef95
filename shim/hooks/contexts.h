/* contexts.h - frees what is lost when a context is destroyed. */
#ifndef SPILLWAY_SHIM_CONTEXTS_H
#define SPILLWAY_SHIM_CONTEXTS_H
#include <cuda.h>

/* Frees everything that belongs to a context which is about to be destroyed. Afterwards nothing that was submitted there
 * runs. */
void spw_context_free(CUcontext context);
#endif
