/* remake.h - takes a piece of physical memory of the wanted size: if the pool has none, it is made in place of pooled
 * ones. */
#ifndef SPILLWAY_SHIM_REMAKE_H
#define SPILLWAY_SHIM_REMAKE_H
#include "phys_pool.h"

/* Appends one or two pieces to what `memory` has, together `granules` granules (SPW_PIECE_GRANULES at most) if possible:
 * pooled ones as they are, one that is made while the budget lasts, or one that is made in place of pooled ones. If these
 * cannot be released at the moment, a smaller one. Returns 0; -ENOMEM if there is no memory for the list of pieces; -ENOSPC
 * if pool and device have nothing; -EBUSY if all that is left is larger and still mapped elsewhere; or another failure of
 * the driver. */
int spw_pieces_take_locked(struct spw_phys_pool *h, uint32_t granules, struct spw_memory *memory);
#endif
