/* packed.h - makes and frees allocations of the program that share a block (pack.h).
 *
 * Engine lock; functions whose names say so may release it in between. */
#ifndef SPILLWAY_SHIM_PACKED_H
#define SPILLWAY_SHIM_PACKED_H
#include "ledger.h"

/* Makes an allocation of `bytes`, which is at least device->small_bytes and below device->packed_below_bytes, for work
 * submitted to `s` (NULL: for any stream at once). Returns 0, -ENOMEM or a failure of the driver. */
int spw_packed_allocate_unlocking(struct spw_device *d, size_t bytes, struct spw_stream *s, CUcontext context,
                                  struct spw_mempool_stats *pool, CUdeviceptr *ret_address);

/* Frees the allocation of the pack `b` that begins at the address, in the order of `s` (NULL: of no stream). The pack ends
 * with its last allocation. Returns 0, or -EINVAL if none begins there. */
int spw_packed_free_locked(struct spw_device *d, struct spw_block *b, CUdeviceptr address, struct spw_stream *s);

/* Frees all allocations of the pack. */
void spw_packed_free_all_locked(struct spw_device *d, struct spw_block *b);
#endif
