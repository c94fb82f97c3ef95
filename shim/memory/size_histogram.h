/* size_histogram.h - how many pieces of each size would serve what is backed by memory, at the worst moment of an iteration.
 *
 * A range wants pieces as large as they come and one for the rest, whatever it was given. Before pieces are regrouped, how
 * many are wanted at once is counted for two iterations, and goes on being so; what there is beyond that of one size can be
 * spared for another. Where a piece is missing although there are as many as are wanted at once, since larger ranges were
 * given some, so many more have to be there: that is found out step by step, and kept until pieces are regrouped again.
 */
#ifndef SPILLWAY_SHIM_SIZE_HISTOGRAM_H
#define SPILLWAY_SHIM_SIZE_HISTOGRAM_H
#include <stdbool.h>
#include <stdint.h>

#include "pieces.h"

enum {
    SPW_SIZE_HISTOGRAM_SETTLES = 3,   /* iterations that are followed, until pieces are where they are wanted */
    SPW_SIZE_HISTOGRAM_COUNTS = 2,    /* iterations for which is only counted what is wanted */
    SPW_SIZE_HISTOGRAM_REGROUPS = 24, /* iterations after these in which pieces may be regrouped */
};

struct spw_size_histogram {                    /* starts as all zeroes; [n] is about pieces of n granules */
    uint32_t wanted[SPW_PIECE_GRANULES + 1];   /* now */
    uint32_t most[SPW_PIECE_GRANULES + 1];     /* at once, since regrouping was asked for */
    uint32_t short_by[SPW_PIECE_GRANULES + 1]; /* that have to be there beside these */
    uint32_t left;                             /* iterations until regrouping ends; 0: it has */
    uint32_t followed;                         /* iterations, SPW_SIZE_HISTOGRAM_SETTLES at most */
};

/* A range of so many granules is backed; or is not any more. 0 granules: nothing happens. */
void spw_size_histogram_add(struct spw_size_histogram *demand, uint32_t granules);
void spw_size_histogram_remove(struct spw_size_histogram *demand, uint32_t granules);

/* Pieces are to be regrouped: what is wanted is counted anew. */
void spw_size_histogram_begin(struct spw_size_histogram *demand);

/* An iteration that is followed begins. */
void spw_size_histogram_iteration(struct spw_size_histogram *demand);

/* It is known what is wanted, and pieces may be regrouped for it. */
static inline bool spw_size_histogram_regroups(const struct spw_size_histogram *demand)
{
    return demand->left > 0 && demand->left <= SPW_SIZE_HISTOGRAM_REGROUPS;
}

/* What can wait for pieces that fit, or be had of others, rather than that one is cut, does. Until then it would only wait
 * for what is not there yet. */
static inline bool spw_size_histogram_spares(const struct spw_size_histogram *demand)
{
    return demand->followed >= SPW_SIZE_HISTOGRAM_SETTLES;
}

/* So many of a size have to be there. */
static inline uint32_t spw_size_histogram_of(const struct spw_size_histogram *demand, uint32_t granules)
{
    return demand->most[granules] + demand->short_by[granules];
}

/* None of that size was there, though `made` exist. */
void spw_size_histogram_was_short(struct spw_size_histogram *demand, uint32_t granules, uint32_t made);
#endif
