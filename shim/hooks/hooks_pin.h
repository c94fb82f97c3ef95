/* hooks_pin.h - what stream memory operations name stays resident. */
#ifndef SPILLWAY_SHIM_HOOKS_PIN_H
#define SPILLWAY_SHIM_HOOKS_PIN_H
#include <cuda.h>

/* Pins the word that one stream memory operation waits for or writes. */
void spw_pin_memop(const CUstreamBatchMemOpParams *p);
#endif
