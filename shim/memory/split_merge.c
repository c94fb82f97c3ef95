/* split_merge.c - releases pieces of the wrong sizes, and makes others of what they were. */
#include "split_merge.h"

#include <errno.h>

#include "lock.h"
#include "phys_pool_parts.h"

/* ---- cutting ---- */

/* Releases a pooled piece of at least so many granules that can be released now. Answers how many granules went, 0: there is
 * none. The largest: it gives the most sizes, so that soon nothing has to be cut any more. Where pieces are regrouped it is
 * known what is wanted: the smallest, which takes the least time to be made again. */
static uint32_t release_one(struct spw_phys_pool *h, uint32_t least)
{
    const uint32_t first = spw_phys_pool_bin_position(h, least), count = h->bin_count - first;
    const bool regroups = spw_size_histogram_regroups(&h->demand);
    for (uint32_t i = 0; i < count; i++) {
        struct spw_phys_bin *bin = &h->bins[first + (regroups ? i : count - 1 - i)];
        struct spw_piece piece;
        while (spw_phys_pool_take_releasable_from(h, bin, &piece)) {
            uint64_t made_count = h->made_count;
            spw_phys_pool_release(h, piece);
            if (h->made_count < made_count) /* else the driver has refused it */
                return bin->granules;
        }
    }
    return 0;
}

static uint32_t largest_power_of_two(uint32_t most)
{
    return UINT32_C(1) << (31 - __builtin_clz(most));
}

static uint32_t at_most_a_piece(uint32_t granules)
{
    return granules < SPW_PIECE_GRANULES ? granules : SPW_PIECE_GRANULES;
}

static int make_and_append(struct spw_phys_pool *h, uint32_t granules, struct spw_memory *m)
{
    struct spw_piece piece;
    int r = spw_phys_pool_make(h, granules, &piece);
    if (r < 0)
        return r;
    r = spw_memory_append(m, piece);
    if (r < 0)
        spw_phys_pool_keep(h, piece);
    return r;
}

/* Of so many granules that are left of a piece that was cut since `missing` were: what to make next for the pool. What
 * nobody had is likely to be what is missing next; as long as it is not known what is wanted, two of each size. */
static uint32_t next_part(const struct spw_phys_pool *h, uint32_t left, uint32_t missing)
{
    if (spw_size_histogram_regroups(&h->demand) && left >= missing)
        return at_most_a_piece(missing);
    if (!spw_size_histogram_regroups(&h->demand) && left > 1)
        left /= 2;
    return at_most_a_piece(largest_power_of_two(left));
}

static void stock(struct spw_phys_pool *h, uint32_t granules, uint32_t missing)
{
    struct spw_piece piece;
    while (granules && spw_phys_pool_bytes_of(h, granules) <= spw_phys_pool_unmade_bytes(h)) {
        uint32_t part = next_part(h, granules, missing);
        if (spw_phys_pool_make(h, part, &piece) < 0)
            return;
        spw_phys_pool_keep(h, piece);
        granules -= part;
    }
}

static bool has_pooled_from(const struct spw_phys_pool *h, uint32_t least)
{
    for (uint32_t i = spw_phys_pool_bin_position(h, least); i < h->bin_count; i++)
        if (h->bins[i].count)
            return true;
    return false;
}

/* Where nothing can be made and nothing be cut, there are smaller pieces. */
int spw_pieces_split_locked(struct spw_phys_pool *h, uint32_t missing, struct spw_memory *m)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    const uint32_t first = at_most_a_piece(missing), whole = m->granules + missing;
    uint32_t cut = 0, made = 0, gone;
    while (m->granules < whole) {
        const uint32_t left = at_most_a_piece(whole - m->granules), had = m->granules;
        const bool any = cut == 0 || spw_size_histogram_regroups(&h->demand);
        int r = -ENOMEM;
        if (spw_phys_pool_bytes_of(h, left) <= spw_phys_pool_unmade_bytes(h))
            r = make_and_append(h, any ? left : largest_power_of_two(left), m);
        made += m->granules - had;
        if (r == 0)
            continue;
        if ((gone = release_one(h, left)) != 0) {
            spw_size_histogram_was_short(&h->demand, left, h->made_of[left]);
            cut += gone;
            h->cut_count++;
            continue;
        }
        missing = whole - m->granules;
        int taken = spw_phys_pool_take_pooled(h, &missing, m);
        if (taken < 0)
            return taken;
        if (m->granules == had)
            return has_pooled_from(h, left) ? -EBUSY : r;
    }
    if (cut > made)
        stock(h, cut - made, first);
    return 0;
}

uint32_t spw_pieces_split_out_of_locked(const struct spw_phys_pool *h, uint32_t granules)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    const uint32_t unserved = spw_phys_pool_unserved_locked(h, granules), rest = granules % SPW_PIECE_GRANULES;
    const bool in_one = unserved && unserved < rest && spw_size_histogram_regroups(&h->demand) && has_pooled_from(h, rest);
    return in_one ? rest : unserved;
}

/* ---- joining ---- */

/* How many pooled pieces of a size nobody will want in an iteration like those before. */
static uint32_t spare_of(const struct spw_phys_pool *h, const struct spw_phys_bin *bin)
{
    uint32_t made = h->made_of[bin->granules], wanted = spw_size_histogram_of(&h->demand, bin->granules);
    uint32_t over = made > wanted ? made - wanted : 0;
    return over < bin->count ? over : bin->count;
}

/* So many of the i-th bin are to go, where `left` granules are still to be found. */
static uint32_t choose_of(const struct spw_phys_pool *h, uint32_t i, uint32_t *left)
{
    const uint32_t fit = *left / h->bins[i].granules, spare = spare_of(h, &h->bins[i]);
    const uint32_t chosen = spare < fit ? spare : fit;
    *left -= chosen * h->bins[i].granules;
    return chosen;
}

/* Spare pieces of less than so many granules that are as many together: as small ones as can be, since these are of the
 * least use; ret_chosen tells of each bin how many. False: there are none. */
static bool choose_spare(const struct spw_phys_pool *h, uint32_t granules, uint32_t *ret_chosen)
{
    const uint32_t end = spw_phys_pool_bin_position(h, granules);
    uint32_t left = granules;
    for (uint32_t i = 0; i < end; i++)
        ret_chosen[i] = choose_of(h, i, &left);
    if (left == 0)
        return true;
    left = granules;
    for (uint32_t i = end; i-- > 0;)
        ret_chosen[i] = choose_of(h, i, &left);
    return left == 0;
}

/* Makes a pooled piece of so many granules in place of smaller ones. False: it is not wanted, or they are. */
static bool join_one(struct spw_phys_pool *h, uint32_t granules)
{
    uint32_t chosen[SPW_PIECE_GRANULES];
    const uint64_t made_bytes = h->made_bytes;
    struct spw_piece piece;
    if (h->made_of[granules] >= spw_size_histogram_of(&h->demand, granules) || !choose_spare(h, granules, chosen))
        return false;
    for (uint32_t i = spw_phys_pool_bin_position(h, granules); i-- > 0;)
        for (uint32_t n = chosen[i]; n > 0; n--)
            spw_phys_pool_release(h, spw_phys_pool_take_from(h, &h->bins[i]));
    h->joined_granules += granules;
    const uint32_t released = (uint32_t)((made_bytes - h->made_bytes) >> h->granule_shift);
    if (released < granules || spw_phys_pool_make(h, granules, &piece) < 0) {
        h->join_refused = true;
        stock(h, released, 1); /* it may give smaller ones */
        return false;
    }
    spw_phys_pool_keep(h, piece);
    h->join_count++;
    return true;
}

static bool may_join(const struct spw_phys_pool *h)
{
    const uint64_t all = h->made_bytes >> h->granule_shift;
    const uint64_t most = all / 64 > SPW_PIECE_GRANULES ? all / 64 : SPW_PIECE_GRANULES;
    return spw_size_histogram_regroups(&h->demand) && h->joined_granules < most && !h->join_refused &&
           !spw_alias_map_any(&h->aliases); /* they could not be released now */
}

static uint32_t pooled_of(const struct spw_phys_pool *h, uint32_t granules)
{
    const uint32_t i = spw_phys_pool_bin_position(h, granules);
    return i < h->bin_count && h->bins[i].granules == granules ? h->bins[i].count : 0;
}

void spw_pieces_merge_locked(struct spw_phys_pool *h, uint32_t granules)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    const uint32_t rest = granules % SPW_PIECE_GRANULES, whole = granules / SPW_PIECE_GRANULES;
    if (rest && may_join(h) && pooled_of(h, rest) == 0)
        (void)join_one(h, rest);
    while (may_join(h) && pooled_of(h, SPW_PIECE_GRANULES) < whole && join_one(h, SPW_PIECE_GRANULES))
        continue;
}
