/* cublas.h - which look-ups of cuBLAS's calls are handed ours. */
#ifndef SPILLWAY_SHIM_CUBLAS_H
#define SPILLWAY_SHIM_CUBLAS_H

#include "ours.h"

/* What is handed out for a function of that name that the loader has found: NULL where it is the function itself. */
void *spw_cublas_instead_of(void *function, const char *name) SPW_OURS;
#endif
