/* phys_pool_parts.h - what the files that make, cut and join pieces share of the pool. */
#ifndef SPILLWAY_SHIM_PHYS_POOL_PARTS_H
#define SPILLWAY_SHIM_PHYS_POOL_PARTS_H
#include "phys_pool.h"

static inline uint64_t spw_phys_pool_bytes_of(const struct spw_phys_pool *h, uint32_t granules)
{
    return (uint64_t)granules << h->granule_shift;
}

/* What may still be made. */
static inline uint64_t spw_phys_pool_unmade_bytes(const struct spw_phys_pool *h)
{
    return h->budget_bytes > h->made_bytes ? h->budget_bytes - h->made_bytes : 0;
}

/* Of the first bin of pieces of so many granules, or more. */
uint32_t spw_phys_pool_bin_position(const struct spw_phys_pool *h, uint32_t granules);

/* Takes a piece out of a bin, which has one. */
struct spw_piece spw_phys_pool_take_from(struct spw_phys_pool *h, struct spw_phys_bin *bin);

/* Takes the newest piece out of a bin that can be released now. False: there is none. */
bool spw_phys_pool_take_releasable_from(struct spw_phys_pool *h, struct spw_phys_bin *bin, struct spw_piece *ret_piece);

/* Puts a piece into its bin, or, where there is no memory to remember it by, releases it. */
void spw_phys_pool_keep(struct spw_phys_pool *h, struct spw_piece piece);

/* Gives a piece back to the driver. One that it refuses to take stays on the bill. */
void spw_phys_pool_release(struct spw_phys_pool *h, struct spw_piece piece);

/* 0; -ENOSPC: the device has no room; another failure of the driver. */
int spw_phys_pool_make(struct spw_phys_pool *h, uint32_t granules, struct spw_piece *ret_piece);

/* Of what is pooled in these bins, how much can be released now. */
uint64_t spw_phys_pool_releasable_bytes(const struct spw_phys_pool *h, uint32_t first_bin, uint32_t end_bin);

/* Others have taken memory on the device: what was made is all there is until spw_phys_pool_ask_again_locked(). */
void spw_phys_pool_learn_what_lacks(struct spw_phys_pool *h);
#endif
