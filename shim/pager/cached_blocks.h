/* cached_blocks.h - freed blocks that keep their memory for the next allocation of their size, given up where others need
 * it.
 *
 * Device's slow lock and engine lock throughout. */
#ifndef SPILLWAY_SHIM_CACHED_BLOCKS_H
#define SPILLWAY_SHIM_CACHED_BLOCKS_H
#include "ledger.h"

/* What is waited for: nothing, the program's operations, copies out as well; never what is gated (streams.h). */
enum spw_patience { SPW_PATIENCE_NONE, SPW_PATIENCE_USES, SPW_PATIENCE_COPIES };

/* Gives up one cached block. 1: done; 0: there is none to give up, or *ret_busy not now; -ETIME: it was waited for in vain;
 * negative: the driver failed. */
int spw_cached_blocks_give_up_unlocking(struct spw_device *d, uint64_t bytes, enum spw_patience patience, bool *ret_busy);

/* How many of `granules` the block's pieces would serve. */
uint32_t spw_cached_block_serves(const struct spw_block *b, uint32_t granules);

/* The cached block that serves most of so many granules with its pieces as they are; of those that serve as much, the one of
 * the fewest pieces. With no patience, one that is known to be out of use. NULL: there is none. */
struct spw_block *spw_cached_blocks_most_suitable_locked(struct spw_device *d, uint32_t granules,
                                                         enum spw_patience patience);

/* The smallest that is known to be out of use and has so many granules, in whatever pieces. NULL: there is none. */
struct spw_block *spw_cached_blocks_smallest_done_locked(const struct spw_device *d, uint32_t granules);

/* Gives cached blocks up that are known to be out of use, until the pool has `bytes`. True: it has. Waits for nothing. */
bool spw_cached_blocks_make_locked(struct spw_device *d, uint64_t bytes);

/* Gives cached blocks back that nobody uses any more, until at most `keep_bytes` are cached. Waits for nothing. */
void spw_cached_blocks_trim_locked(struct spw_device *d, uint64_t keep_bytes);
#endif
