/* versioned.h - what with a version lies at an address. */
#ifndef SPILLWAY_SHIM_VERSIONED_H
#define SPILLWAY_SHIM_VERSIONED_H
#include "content.h"

/* The thing at an address, interior addresses too: a block or a slot in use. NULL: nothing versioned lies there (not ours,
 * freed, or pinned). *ret_serial (may be NULL) tells apart who had the address at which time. Engine lock. */
struct spw_versioned *spw_versioned_at_locked(CUdeviceptr address, uint64_t *ret_serial);
#endif
