/* cache_merge.h - memory for an allocation out of cached blocks of other sizes, as it is mapped: without a call of the
 * driver.
 *
 * Freed blocks serve allocations of their own size (ledger.h). A program whose tensors are of many sizes would so need the
 * sum of what each size needs at its worst moment, and in a budget that has room for what lives, but not for that sum,
 * memory would be unmapped here and mapped there in each iteration. So where memory is short, cached blocks that lie side by
 * side are taken together and cut where one of their pieces ends. */
#ifndef SPILLWAY_SHIM_CACHE_MERGE_H
#define SPILLWAY_SHIM_CACHE_MERGE_H
#include "ledger.h"

/* A block of exactly so many granules, resident, for work submitted to `s` (NULL: for any stream at once), of cached ones
 * that need no waiting. It is in no list. NULL: none can be made. */
struct spw_block *spw_cache_merge_locked(struct spw_device *d, uint32_t granules, struct spw_stream *s);
#endif
