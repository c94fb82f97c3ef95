/* phys_pool_parts.h - the parts of the pool that are shared by the files which make, release and choose pieces. */
#ifndef SPILLWAY_SHIM_PHYS_POOL_PARTS_H
#define SPILLWAY_SHIM_PHYS_POOL_PARTS_H
#include "phys_pool.h"

static inline uint64_t spw_phys_pool_bytes_of(const struct spw_phys_pool *h, uint32_t granules)
{
    return (uint64_t)granules << h->granule_shift;
}

/* Returns how many bytes may still be made. */
static inline uint64_t spw_phys_pool_unmade_bytes(const struct spw_phys_pool *h)
{
    return h->budget_bytes > h->made_bytes ? h->budget_bytes - h->made_bytes : 0;
}

/* Returns the position of the first bin for pieces of `granules` granules or more. */
uint32_t spw_phys_pool_bin_position(const struct spw_phys_pool *h, uint32_t granules);

/* Takes a piece out of a bin that has one. */
struct spw_piece spw_phys_pool_take_from(struct spw_phys_pool *h, struct spw_phys_bin *bin);

/* Takes the newest piece out of a bin that can be released at the moment. Returns false if there is none. */
bool spw_phys_pool_take_releasable_from(struct spw_phys_pool *h, struct spw_phys_bin *bin, struct spw_piece *ret_piece);

/* Puts a piece into its bin. If there is no memory to remember it, releases it. */
void spw_phys_pool_keep(struct spw_phys_pool *h, struct spw_piece piece);

/* Releases a piece to the driver. If the driver refuses, the piece continues to count. If it is still mapped somewhere, its
 * release is deferred. */
void spw_phys_pool_release(struct spw_phys_pool *h, struct spw_piece piece);

/* Makes a piece. Returns 0, -ENOSPC if the device has no room, or another failure of the driver. */
int spw_phys_pool_make(struct spw_phys_pool *h, uint32_t granules, struct spw_piece *ret_piece);

/* Returns how much of what is pooled in these bins can be released at the moment. */
uint64_t spw_phys_pool_releasable_bytes(const struct spw_phys_pool *h, uint32_t first_bin, uint32_t end_bin);

/* Others have taken memory on the device: lowers the budget to what exists, until spw_phys_pool_ask_again_locked(). */
void spw_phys_pool_learn_what_lacks(struct spw_phys_pool *h);
#endif
