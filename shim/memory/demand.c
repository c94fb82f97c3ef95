/* demand.c - counts what would serve best, and remembers the worst moment. */
#include "demand.h"

#include <string.h>

static void note_most(struct spw_piece_demand *d, uint32_t granules)
{
    if (d->most[granules] < d->wanted[granules])
        d->most[granules] = d->wanted[granules];
}

void spw_demand_add(struct spw_piece_demand *d, uint32_t granules)
{
    const uint32_t rest = granules % SPW_PIECE_GRANULES;
    d->wanted[SPW_PIECE_GRANULES] += granules / SPW_PIECE_GRANULES;
    note_most(d, SPW_PIECE_GRANULES);
    d->wanted[rest] += rest > 0;
    note_most(d, rest);
}

void spw_demand_remove(struct spw_piece_demand *d, uint32_t granules)
{
    const uint32_t rest = granules % SPW_PIECE_GRANULES;
    d->wanted[SPW_PIECE_GRANULES] -= granules / SPW_PIECE_GRANULES;
    d->wanted[rest] -= rest > 0;
}

void spw_demand_begin(struct spw_piece_demand *d)
{
    memcpy(d->most, d->wanted, sizeof(d->most));
    memset(d->short_by, 0, sizeof(d->short_by));
    d->left = SPW_DEMAND_COUNTS + SPW_DEMAND_REGROUPS;
}

void spw_demand_iteration(struct spw_piece_demand *d)
{
    d->left -= d->left > 0;
    d->followed += d->followed < SPW_DEMAND_SETTLES;
}

/* Twice as many each time, since it is not known how many of those that exist are of use where they are. */
void spw_demand_was_short(struct spw_piece_demand *d, uint32_t granules, uint32_t made)
{
    const uint32_t known = spw_demand_of(d, granules);
    if (!spw_demand_regroups(d) || made < known)
        return;
    const uint32_t most = d->short_by[granules] + 1 + made - known;
    d->short_by[granules] = d->short_by[granules] * 2 + 1 < most ? d->short_by[granules] * 2 + 1 : most;
}
