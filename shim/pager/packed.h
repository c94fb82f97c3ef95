/* packed.h - the program's allocations that share a block (pack.h): made and freed.
 *
 * Engine lock; where a name says so, it may be let go of in between. */
#ifndef SPILLWAY_SHIM_PACKED_H
#define SPILLWAY_SHIM_PACKED_H
#include "ledger.h"

/* An allocation of `bytes`, at least device->small_bytes and below device->packed_below_bytes, for work submitted to `s`
 * (NULL: for any stream at once). 0, -ENOMEM or a failure of the driver. */
int spw_packed_allocate_unlocking(struct spw_device *d, size_t bytes, struct spw_stream *s, CUcontext context,
                                  struct spw_mempool_stats *pool, CUdeviceptr *ret_address);

/* Frees what of the pack `b` begins at the address, in the order of `s`; NULL: of none. With the last one the pack ends.
 * 0; -EINVAL: nothing begins there. */
int spw_packed_free_locked(struct spw_device *d, struct spw_block *b, CUdeviceptr address, struct spw_stream *s);

/* All that is in it. */
void spw_packed_free_all_locked(struct spw_device *d, struct spw_block *b);
#endif
