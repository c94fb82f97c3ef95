/* cached_blocks.h - freed blocks that keep their memory for the next allocation of their size, and give it up where other
 * allocations need it.
 *
 * Device's slow lock and engine lock throughout. */
#ifndef SPILLWAY_SHIM_CACHED_BLOCKS_H
#define SPILLWAY_SHIM_CACHED_BLOCKS_H
#include "ledger.h"

/* What may be waited for: nothing; the program's operations; copies out as well. Gated work (streams.h) is never waited
 * for. */
enum spw_patience { SPW_PATIENCE_NONE, SPW_PATIENCE_USES, SPW_PATIENCE_COPIES };

/* Gives up one cached block, preferably one of `bytes`. Returns 1 if one was given up; 0 if there is none, or, with
 * *ret_busy set, none that can be given up now; -ETIME if a wait took too long; another negative result if the driver
 * failed. */
int spw_cached_blocks_give_up_unlocking(struct spw_device *d, uint64_t bytes, enum spw_patience patience, bool *ret_busy);

/* Returns how many of `granules` the block's pieces would serve as they are. */
uint32_t spw_cached_block_serves(const struct spw_block *b, uint32_t granules);

/* Returns the cached block whose pieces, as they are, serve most of `granules`; of equal ones, the one with the fewest
 * pieces. Without patience, only blocks that are known to be out of use count. NULL: there is none. */
struct spw_block *spw_cached_blocks_most_suitable_locked(struct spw_device *d, uint32_t granules,
                                                         enum spw_patience patience);

/* Returns the smallest cached block of at least `granules` that is known to be out of use, in whatever pieces; NULL if
 * none. */
struct spw_block *spw_cached_blocks_smallest_done_locked(const struct spw_device *d, uint32_t granules);

/* Gives up cached blocks that are known to be out of use until the pool has room for `bytes`. Returns true if it has. Does
 * not wait. */
bool spw_cached_blocks_make_locked(struct spw_device *d, uint64_t bytes);

/* Releases cached blocks that nobody uses any more, and pooled memory, until at most `keep_bytes` are kept. Does not
 * wait. */
void spw_cached_blocks_trim_locked(struct spw_device *d, uint64_t keep_bytes);
#endif
