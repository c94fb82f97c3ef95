/* versioned.h - finds the version record of the block or slot at an address. */
#ifndef SPILLWAY_SHIM_VERSIONED_H
#define SPILLWAY_SHIM_VERSIONED_H
#include "content.h"

/* Returns the version record of the block or used slot at an address, which may be an interior address. Returns NULL if
 * there is none: the memory is not ours, was freed, or is pinned. *ret_serial (may be NULL) tells allocations apart that
 * had the address one after the other. Engine lock. */
struct spw_versioned *spw_versioned_at_locked(CUdeviceptr address, uint64_t *ret_serial);
#endif
