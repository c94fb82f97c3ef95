/* hooks_pin.h - what stream memory operations name stays resident, and what they order is not seen. */
#ifndef SPILLWAY_SHIM_HOOKS_PIN_H
#define SPILLWAY_SHIM_HOOKS_PIN_H
#include <cuda.h>

/* Pins the word that one stream memory operation waits for or writes. Before a wait also what follows. */
void spw_pin_memop(const CUstreamBatchMemOpParams *p);

/* What a stream waits for is not seen: see spw_versions_order_is_unseen(). A failure is one of pinning (pin.h). */
void spw_pin_order_is_unseen(void);
#endif
