/* cover.h - a first set of choices: the cheapest gaps, by time per byte, that bring memory under the budget everywhere. */
#ifndef SPILLWAY_PLANNER_COVER_H
#define SPILLWAY_PLANNER_COVER_H
#include "search/compose.h"

struct spw_cover;

/* Most bytes of dead tensors that are retained for the sake of one replay, as a share of what it makes. */
#define SPW_RETAIN_SHARE 0.0625
/* Lists the gaps with what it costs to evict over each. 0 or -ENOMEM. */
int spw_cover_create(const struct spw_plan_request *request, struct spw_cover **ret_cover);
void spw_cover_destroy(struct spw_cover *cover);
/* How to choose: at a price for each us of a copy lane's time (0: copies cost only what they can't hide; large: everything
 * that can be recomputed is), with every gap's cost multiplied by a random factor of that spread (0: none). `random` is
 * stepped on. */
struct spw_cover_terms {
    double lane_price, spread;
    uint64_t *random;
};
/* Adds to the choices what is still lacking, the cheapest first, then takes back what of that is not needed. It covers as
 * far as gaps go, which may not be enough. */
void spw_cover_complete(struct spw_cover *cover, const struct spw_cover_terms *terms, uint8_t *choices);

/* A gap in which a tensor could be evicted, and how. */
struct spw_gap {
    size_t choice; /* index of its choice */
    uint32_t tensor;
    uint32_t from, to;                       /* operations during which it would be absent: from <= op < to */
    double copy_us;                          /* both ways; < 0: it can't be copied */
    double exposed_us;                       /* what of that the gap is too short to hide */
    double replay_us;                        /* < 0: it can't be recomputed */
    uint32_t first_retained, retained_count; /* what has to be retained for the replay: spw_cover_set() does */
    uint32_t sibling; /* the next gap, in a ring, whose tensor the same replay makes at about the same time; itself if there
                         is none */
    bool is_end;      /* behind its last use: kept or stored for replays, or not */
    bool is_leaf;     /* at that end: nothing can make it again, so that replays of what was made from it depend on it */
    bool is_useful;   /* memory is short in it while nothing is evicted */
    bool is_boundary; /* of a persistent tensor: it would begin and end on the host, absent from 0 to `to` and behind `from`
                       */
};
/* Makes the choice for a gap, and for the ends of what it depends on. */
void spw_cover_set(const struct spw_cover *cover, const struct spw_gap *gap, uint8_t choice, uint8_t *choices);
size_t spw_cover_gaps(const struct spw_cover *cover, const struct spw_gap **ret_gaps);
#endif
