/* cut.h - computes the least time of an iteration in which some bytes have to be absent during one operation, and how
 * much of that time passes before and after the operation. */
#ifndef SPILLWAY_PLANNER_CUT_H
#define SPILLWAY_PLANNER_CUT_H
#include <stdbool.h>
#include <stddef.h>

/* A tensor that is needed after the operation and can be absent during it, with what its absence costs. */
struct spw_cut_item {
    double bytes; /* > 0 */
    bool copied;  /* it can be copied out and in */
    /* Time of its copies out before, and in after, the operation; 0 where it may need none. */
    double out_before_us, in_after_us;
    double out_us, in_us; /* time of its copies in the whole iteration */
    double replay_us;     /* compute time after the operation; INFINITY: it cannot be replayed */
};

/* Memory for the curves of up to `room` items, reused from cut to cut. */
struct spw_cut_space {
    struct spw_cut_point *points;
    size_t room;
};

struct spw_cut {
    /* Durations of the operations before, of the operation itself, and of those after it. */
    double head_us, op_us, tail_us;
    /* The earliest time at which one of the items that have to be copied out before the operation can exist. */
    double made_us;
    /* The least time from the first reader of an item that is copied in after the operation to the end of the iteration. */
    double read_us;
    /* Durations around the operation in which no item can be copied out, or in. */
    double no_out_us, no_in_us;
    double hindrance;    /* share of a copy's time that it costs a copy in the other direction: 0 .. 1 */
    double excess_bytes; /* bytes of the items that have to be absent; > 0 */
    struct spw_cut_item *items;
    size_t count;
};

/* The least times that pass before the operation starts and after it has ended. `before` of one operation, `after` of the
 * same or a later one, and the durations from the one to the other add up to a bound. */
struct spw_cut_sides {
    double before_us, after_us;
    /* Including mutual slowdown of the copies: valid only when both are used together. */
    double before_beside_us, after_beside_us;
};

/* Returns the bound, or INFINITY where that many bytes cannot be absent. `space` has to have room for all items.
 * `ret_sides` may be NULL, and is not written where the bound is infinite. */
double spw_cut_time(const struct spw_cut *cut, const struct spw_cut_space *space, struct spw_cut_sides *ret_sides);
int spw_cut_space_init(struct spw_cut_space *space, size_t room); /* returns 0 or -ENOMEM */
void spw_cut_space_finish(struct spw_cut_space *space);
#endif
