/* improve_parts.h - declares the state of a search, for the file that judges and decides and the one that changes
 * choices. */
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
    const struct spw_gap *gaps; /* of the cover */
    size_t gap_count, choice_count;
    uint32_t *movable; /* gaps worth a move, the useful ones first */
    size_t movable_count, movable_room, useful_count;
    uint8_t *choices, *trial, *best_choices; /* the current ones, those being judged, and the best */
    double cost;                             /* of the current choices */
    /* The cost of the composer's base, within this budget; NAN: unknown. */
    double kept_us;
    double price;                       /* of lane time, at which the best cover was found */
    struct spw_schedule schedule, best; /* the schedule being judged, and the best */
    double best_us, bound_us;
    bool is_offered; /* the best schedule did not come from choices */
    struct spw_elites elites;
    uint64_t random;
};

/* improve_moves.c */
/* Lists the gaps that are worth a move. Returns 0 or -ENOMEM. */
int spw_moves_find(struct spw_improver *s);
/* Makes a random change. */
void spw_moves_change(struct spw_improver *s, uint8_t *choices);
#endif
