/* driver.h - the real driver: one function pointer for each line of calls.h.
 *
 * All of spillway's own driver calls go through spw_driver, never through exported names, so that they bypass our wrappers.
 * The table is filled when the first call arrives, and does not change afterwards. */
#ifndef SPILLWAY_SHIM_DRIVER_H
#define SPILLWAY_SHIM_DRIVER_H
#include "ours.h"
#include "calls.h"
#include <stdbool.h>

struct spw_driver { /* a member is NULL if the driver lacks the call */
#define X(kind, symbol, asked, params, args) CUresult(CUDAAPI *symbol) params;
    SPW_DRIVER_CALLS(X)
#undef X
};

extern struct spw_driver spw_driver SPW_OURS;

/* Calls the driver's own function, as a hook does that passes its call on. Results in CUDA_ERROR_NOT_FOUND if the driver
 * lacks it. */
#define SPW_DRIVER(symbol, args) (spw_driver.symbol ? spw_driver.symbol args : CUDA_ERROR_NOT_FOUND)
#endif
