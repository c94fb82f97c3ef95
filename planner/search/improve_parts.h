/* improve_parts.h - what a search keeps, for the file that judges and decides and the one that changes choices. */
#ifndef SPILLWAY_PLANNER_IMPROVE_PARTS_H
#define SPILLWAY_PLANNER_IMPROVE_PARTS_H
#include "search/compose.h"
#include "search/cover.h"
#include "search/elites.h"
#include "search/improve.h"
#include "search/prefetch.h"

struct spw_improver {
    struct spw_plan_request request;
    const struct spw_graph *graph;
    struct spw_effort *effort;
    struct spw_composer *composer;
    struct spw_cover *cover;
    struct spw_prefetcher *prefetcher;
    struct spw_timer *timer;
    const struct spw_gap *gaps; /* the cover's */
    size_t gap_count, choice_count;
    uint32_t *movable; /* gaps worth a move, the useful ones first */
    size_t movable_count, movable_room, useful_count;
    uint8_t *choices, *trial, *best_choices; /* where the search stands, one that is looked at, and the best */
    double cost;                             /* of where it stands */
    double kept_us;                          /* the cost of what the composer keeps, within this budget; NAN: not known */
    double price;                            /* of lane time, at which the best cover was found */
    struct spw_schedule schedule, best;      /* of the one that is looked at, and the best */
    double best_us, bound_us;
    bool is_offered; /* the best did not come from choices */
    struct spw_elites elites;
    uint64_t random;
};

/* improve_moves.c */
/* Lists the gaps that are worth a move. 0 or -ENOMEM. */
int spw_moves_find(struct spw_improver *s);
/* Changes something at random. */
void spw_moves_change(struct spw_improver *s, uint8_t *choices);
#endif
