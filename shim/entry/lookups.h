/* lookups.h - dlsym() as programs call it: all goes on to the loader's, but for the calls of NCCL's (nccl.c). */
#ifndef SPILLWAY_SHIM_LOOKUPS_H
#define SPILLWAY_SHIM_LOOKUPS_H

#include "ours.h"

/* What is handed out for a function of that name that the loader has found: NULL where it is the function itself. */
void *spw_nccl_instead_of(void *function, const char *name) SPW_OURS;
#endif
