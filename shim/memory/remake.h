/* remake.h - pieces of physical memory to measure: one that is wanted and not there is made in place of pooled ones. */
#ifndef SPILLWAY_SHIM_REMAKE_H
#define SPILLWAY_SHIM_REMAKE_H
#include "phys_pool.h"

/* Puts one or two pieces behind what `memory` has, which together are `granules` (SPW_PIECE_GRANULES at most) wherever that
 * can be had: as they are in the pool, made while the budget lasts, or made in place of pooled ones; where these cannot be
 * released now, a smaller one. 0; -ENOMEM: the pool and the device have nothing, or there is no memory for the list of
 * pieces; -EBUSY: all that there is is larger and stale somewhere; another failure of the driver. */
int spw_pieces_take_locked(struct spw_phys_pool *h, uint32_t granules, struct spw_memory *memory);
#endif
