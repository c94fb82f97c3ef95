/* cublas.h - answers look-ups of cuBLAS's functions with ours. */
#ifndef SPILLWAY_SHIM_CUBLAS_H
#define SPILLWAY_SHIM_CUBLAS_H

#include "ours.h"

/* Returns the function to hand out for one that the loader has found under that name; NULL: the one found. */
void *spw_cublas_instead_of(void *function, const char *name) SPW_OURS;
#endif
