/* hooks_pin.h - keeps resident what stream memory operations name, and notes that the order they make is not seen. */
#ifndef SPILLWAY_SHIM_HOOKS_PIN_H
#define SPILLWAY_SHIM_HOOKS_PIN_H
#include <cuda.h>

/* Pins the word that one stream memory operation waits for or writes, and what a written word points to. Before a wait,
 * also notes that its order is not seen. */
void spw_pin_memop(const CUstreamBatchMemOpParams *p);

/* Notes that streams wait for something that is not seen: see spw_versions_order_is_unseen(). Fails as pinning does
 * (pin.h). */
void spw_pin_order_is_unseen(void);
#endif
