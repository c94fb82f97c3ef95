/* life.h - starts and ends spillway: it does nothing before cuInit(), and nothing in a forked child. */
#ifndef SPILLWAY_SHIM_LIFE_H
#define SPILLWAY_SHIM_LIFE_H
#include <cuda.h>

/* cuInit(): reads the settings, starts the driver, then spillway. Any thread. */
CUresult spw_life_init(unsigned int flags);
#endif
