/* api.h - declares the driver symbols that libspillway.so exports through wrappers; api.c and edge.c define them. */
#ifndef SPILLWAY_SHIM_API_H
#define SPILLWAY_SHIM_API_H
#include "live.h"
#include "open.h"
#include "ours.h"

#define X(kind, symbol, asked, params, args) SPW_EXPORT CUresult CUDAAPI symbol params;
SPW_DRIVER_CALLS(X)
#undef X

/* Passes a call on to the driver, and opens the driver if this is the first call. */
#define SPW_PASS(symbol, args) \
    ((spw_driver.symbol || spw_driver_open()) && spw_driver.symbol ? spw_driver.symbol args : spw_driver_lacks())
#endif
