/* split_merge.h - pieces of physical memory in other sizes: cut where all are too large, joined where many are too small. */
#ifndef SPILLWAY_SHIM_SPLIT_MERGE_H
#define SPILLWAY_SHIM_SPLIT_MERGE_H
#include "phys_pool.h"

/* How many of so many granules, which the pool has, have to be made by cutting a piece: it serves all that is wanted in one
 * piece, since smaller ones beside it would be of no use. 0: none. */
uint32_t spw_pieces_split_out_of_locked(const struct spw_phys_pool *h, uint32_t granules);

/* Puts so many granules more behind what `memory` has, for which no pooled piece is small enough: made, where the budget and
 * the device have room, or cut. 0; -ENOSPC: the device has none; -ENOMEM; -EBUSY: all that could be cut is stale somewhere;
 * another failure of the driver. After a failure `memory` may have got some. */
int spw_pieces_split_locked(struct spw_phys_pool *h, uint32_t missing, struct spw_memory *memory);

/* So many granules are about to be taken: where pieces as large as they come for them are missing, and smaller ones are
 * there that nobody will want, makes them of these. At most a 64th of all memory is made anew in an iteration, or one piece,
 * so that none takes much longer than others. While pieces are not being regrouped nothing is done. The pool has as much as
 * before, or less where the device gives less. */
void spw_pieces_merge_locked(struct spw_phys_pool *h, uint32_t granules);
#endif
