/* cache_merge.h - serves an allocation from cached blocks of other sizes, as they are mapped, without a driver call.
 *
 * A freed block serves allocations of its own size (ledger.h). With tensors of many sizes, a program would need the sum of
 * what each size needs at its worst moment. A budget that holds all live tensors, but not that sum, would cause unmapping
 * and mapping in each iteration. So where memory is short, cached blocks that lie side by side are joined, and cut where
 * one of their pieces ends. */
#ifndef SPILLWAY_SHIM_CACHE_MERGE_H
#define SPILLWAY_SHIM_CACHE_MERGE_H
#include "ledger.h"

/* Makes a resident block of exactly `granules` granules from cached blocks whose uses are done or, with `s`, were on that
 * stream alone (NULL: the block may be used on any stream at once). The block is in no list. Returns NULL if none can be
 * made. */
struct spw_block *spw_cache_merge_locked(struct spw_device *d, uint32_t granules, struct spw_stream *s);
#endif
