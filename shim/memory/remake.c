/* remake.c - chooses which pooled pieces are given out or released for a wanted one. */
#include "remake.h"

#include <errno.h>

#include "lock.h"
#include "phys_pool_parts.h"

static int append(struct spw_phys_pool *h, struct spw_piece piece, struct spw_memory *m)
{
    const int r = spw_memory_append(m, piece);
    if (r < 0)
        spw_phys_pool_keep(h, piece);
    return r;
}

static struct spw_phys_bin *bin_with(struct spw_phys_pool *h, uint32_t granules)
{
    const uint32_t i = spw_phys_pool_bin_position(h, granules);
    return granules && i < h->bin_count && h->bins[i].granules == granules && h->bins[i].count ? &h->bins[i] : NULL;
}

/* Returns the bin of the larger of two pieces that are `granules` granules together; if both are equal, the bin has to hold
 * two. NULL: there are none. */
static struct spw_phys_bin *first_of_two(struct spw_phys_pool *h, uint32_t granules)
{
    for (uint32_t i = spw_phys_pool_bin_position(h, granules); i-- > 0 && 2 * h->bins[i].granules >= granules;) {
        struct spw_phys_bin *bin = &h->bins[i], *other = bin_with(h, granules - bin->granules);
        if (bin->count && other && (other != bin || bin->count > 1))
            return bin;
    }
    return NULL;
}

/* Two mappings cost no more than making one piece out of two. Returns 1 if pieces were taken, 0 if nothing fits. */
static int take_as_is(struct spw_phys_pool *h, uint32_t granules, struct spw_memory *m)
{
    struct spw_phys_bin *bin = bin_with(h, granules);
    if (!bin)
        bin = first_of_two(h, granules);
    if (!bin)
        return 0;
    const uint32_t other = granules - bin->granules;
    int r = append(h, spw_phys_pool_take_from(h, bin), m);
    if (r == 0 && other)
        r = append(h, spw_phys_pool_take_from(h, bin_with(h, other)), m);
    return r < 0 ? r : 1;
}

static bool fits_unmade(const struct spw_phys_pool *h, uint32_t granules)
{
    return spw_phys_pool_bytes_of(h, granules) <= spw_phys_pool_unmade_bytes(h);
}

/* Releases pieces of a bin to the driver until a piece of `granules` granules can be made. */
static void release_from(struct spw_phys_pool *h, struct spw_phys_bin *bin, uint32_t granules)
{
    struct spw_piece piece;
    while (!fits_unmade(h, granules) && spw_phys_pool_take_releasable_from(h, bin, &piece))
        spw_phys_pool_release(h, piece);
}

/* Makes room in the budget for a piece of `granules` granules. Releases smaller pieces, the largest first, if they are
 * enough; else one larger piece, the smallest. */
static bool make_room(struct spw_phys_pool *h, uint32_t granules)
{
    const uint32_t end = spw_phys_pool_bin_position(h, granules);
    const uint64_t smaller_bytes = spw_phys_pool_releasable_bytes(h, 0, end);
    if (h->make_refused && smaller_bytes)
        return false;
    if (smaller_bytes + spw_phys_pool_unmade_bytes(h) >= spw_phys_pool_bytes_of(h, granules)) {
        for (uint32_t i = end; i-- > 0;)
            release_from(h, &h->bins[i], granules);
    }
    for (uint32_t i = end; i < h->bin_count && !fits_unmade(h, granules); i++)
        release_from(h, &h->bins[i], granules);
    return fits_unmade(h, granules);
}

/* Makes a piece. The device may have less than the budget says: then it is asked for a smaller one. Others may have taken
 * what was released to it: from then on nothing is released for larger pieces. Returns -ENOSPC if the device has nothing. */
static int make(struct spw_phys_pool *h, uint32_t granules, struct spw_memory *m)
{
    struct spw_piece piece;
    const bool fits = fits_unmade(h, granules);
    if (!fits && !make_room(h, granules))
        return -ENOSPC;
    h->remade_count += !fits;
    int r = spw_phys_pool_make(h, granules, &piece);
    if (r != -ENOSPC)
        return r < 0 ? r : append(h, piece, m);
    h->make_refused |= !fits;
    if (granules > 1)
        return make(h, granules / 2, m);
    spw_phys_pool_learn_what_lacks(h);
    return fits && !h->make_refused && !fits_unmade(h, granules) ? make(h, granules, m) : r;
}

/* Takes the largest piece that fits. */
static int take_smaller(struct spw_phys_pool *h, uint32_t granules, struct spw_memory *m)
{
    for (uint32_t i = spw_phys_pool_bin_position(h, granules); i-- > 0;)
        if (h->bins[i].count)
            return append(h, spw_phys_pool_take_from(h, &h->bins[i]), m);
    return h->pooled_bytes ? -EBUSY : -ENOSPC;
}

int spw_pieces_take_locked(struct spw_phys_pool *h, uint32_t granules, struct spw_memory *memory)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    int r = take_as_is(h, granules, memory);
    if (r != 0)
        return r < 0 ? r : 0;
    r = make(h, granules, memory);
    return r == -ENOSPC ? take_smaller(h, granules, memory) : r;
}
