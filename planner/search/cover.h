/* cover.h - makes a first set of choices: the gaps that are cheapest, by time per byte, until memory fits the budget
 * everywhere. */
#ifndef SPILLWAY_PLANNER_COVER_H
#define SPILLWAY_PLANNER_COVER_H
#include "search/compose.h"

struct spw_cover;

/* Most bytes of dead tensors that are retained for one replay, as a share of the bytes that it makes. */
#define SPW_RETAIN_SHARE 0.0625
/* Lists the gaps with what eviction over each costs. Returns 0 or -ENOMEM. */
int spw_cover_create(const struct spw_plan_request *request, struct spw_cover **ret_cover);
void spw_cover_destroy(struct spw_cover *cover);
/* How to choose. `lane_price`: the price of each us of a copy lane's time (0: copies cost only what the gap does not
 * hide; a large price: everything is recomputed that can be). `spread`: each gap's cost is multiplied by a random factor
 * that differs from 1 by at most this (0: none). `random` is advanced. */
struct spw_cover_terms {
    double lane_price, spread;
    uint64_t *random;
};
/* Adds the evictions to the choices that are still lacking, the cheapest first, and then removes those of them that are
 * not needed. It covers as much as gaps can, which may not suffice. */
void spw_cover_complete(struct spw_cover *cover, const struct spw_cover_terms *terms, uint8_t *choices);

/* A gap in which a tensor could be evicted, with the costs. */
struct spw_gap {
    size_t choice; /* index of its choice */
    uint32_t tensor;
    uint32_t from, to;                       /* operations during which it would be absent: from <= op < to */
    double copy_us;                          /* both ways; < 0: it cannot be copied */
    double exposed_us;                       /* the part of copy_us that is longer than the gap */
    double replay_us;                        /* < 0: it cannot be recomputed */
    uint32_t first_retained, retained_count; /* tensors to retain for the replay, which spw_cover_set() does */
    /* The next gap, in a ring, whose tensor the same replay makes at about the same time; itself if there is none. */
    uint32_t sibling;
    bool is_end; /* after its last use: whether it is kept or stored for replays */
    /* At that end: it cannot be made again, so replays of what was made from it depend on it. */
    bool is_leaf;
    bool is_useful; /* memory is short in it when nothing is evicted */
    /* Of a persistent tensor: it would begin and end on the host, absent before `to` and from `from` on. */
    bool is_boundary;
};
/* Makes the choice for a gap, and retains the tensors on which it depends. */
void spw_cover_set(const struct spw_cover *cover, const struct spw_gap *gap, uint8_t choice, uint8_t *choices);
size_t spw_cover_gaps(const struct spw_cover *cover, const struct spw_gap **ret_gaps);
#endif
