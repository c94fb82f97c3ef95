/* size_histogram.c - counts what would serve best, and remembers the worst moment. */
#include "size_histogram.h"

#include <string.h>

static void note_most(struct spw_size_histogram *d, uint32_t granules)
{
    if (d->most[granules] < d->wanted[granules])
        d->most[granules] = d->wanted[granules];
}

void spw_size_histogram_add(struct spw_size_histogram *d, uint32_t granules)
{
    const uint32_t rest = granules % SPW_PIECE_GRANULES;
    d->wanted[SPW_PIECE_GRANULES] += granules / SPW_PIECE_GRANULES;
    note_most(d, SPW_PIECE_GRANULES);
    d->wanted[rest] += rest > 0;
    note_most(d, rest);
}

void spw_size_histogram_remove(struct spw_size_histogram *d, uint32_t granules)
{
    const uint32_t rest = granules % SPW_PIECE_GRANULES;
    d->wanted[SPW_PIECE_GRANULES] -= granules / SPW_PIECE_GRANULES;
    d->wanted[rest] -= rest > 0;
}

void spw_size_histogram_begin(struct spw_size_histogram *d)
{
    memcpy(d->most, d->wanted, sizeof(d->most));
    memset(d->short_by, 0, sizeof(d->short_by));
    d->left = SPW_SIZE_HISTOGRAM_COUNTS + SPW_SIZE_HISTOGRAM_REGROUPS;
}

void spw_size_histogram_iteration(struct spw_size_histogram *d)
{
    d->left -= d->left > 0;
    d->followed += d->followed < SPW_SIZE_HISTOGRAM_SETTLES;
}

/* Twice as many each time, since it is not known how many of those that exist are of use where they are. */
void spw_size_histogram_was_short(struct spw_size_histogram *d, uint32_t granules, uint32_t made)
{
    const uint32_t known = spw_size_histogram_of(d, granules);
    if (!spw_size_histogram_regroups(d) || made < known)
        return;
    const uint32_t most = d->short_by[granules] + 1 + made - known;
    d->short_by[granules] = d->short_by[granules] * 2 + 1 < most ? d->short_by[granules] * 2 + 1 : most;
}
