/* cut.h - the least time of an iteration in which some bytes have to be absent during one operation, and how much of it
 * comes before the operation and after it. */
#ifndef SPILLWAY_PLANNER_CUT_H
#define SPILLWAY_PLANNER_CUT_H
#include <stdbool.h>
#include <stddef.h>

/* Something that is needed after the operation and can be absent during it. What it costs then: */
struct spw_cut_item {
    double bytes;                      /* > 0 */
    bool copied;                       /* can have been copied out, and be copied in */
    double out_before_us, in_after_us; /* of the copy lanes, before and after the operation; 0 where it may be none */
    double out_us, in_us;              /* of the copy lanes in the whole iteration */
    double replay_us;                  /* of the compute lane, after the operation; INFINITY: can't be replayed */
};

/* Room for the curves of up to `room` items, reused from cut to cut. */
struct spw_cut_space {
    struct spw_cut_point *points;
    size_t room;
};

struct spw_cut {
    double head_us, op_us, tail_us; /* durations of the operations before it, its own, and of those after it */
    double made_us;                 /* least time until one of the items that have to be copied out before it can be there */
    double read_us;             /* least time from the first reader of one of those that are copied in after it to the end */
    double no_out_us, no_in_us; /* durations in which none of the items can go out, or come in: around the operation */
    double hindrance;           /* time that a us of copying costs a copy lane which runs meanwhile: 0 .. 1 */
    double excess_bytes;        /* of the items, so many are absent; > 0 */
    struct spw_cut_item *items;
    size_t count;
};

/* What passes at least before the operation starts, and after it has ended. The sum of two such times is a bound together
 * with the durations in between, also where one is of an earlier operation than the other. */
struct spw_cut_sides {
    double before_us, after_us;
    double before_beside_us, after_beside_us; /* with what the lanes hinder each other: valid as a sum of both only */
};

/* The bound; INFINITY where not so much can be absent. The space has room for all items. `ret_sides` may be NULL; it is left
 * alone where the bound is infinite. */
double spw_cut_time(const struct spw_cut *cut, const struct spw_cut_space *space, struct spw_cut_sides *ret_sides);
int spw_cut_space_init(struct spw_cut_space *space, size_t room); /* 0 or -ENOMEM */
void spw_cut_space_finish(struct spw_cut_space *space);
#endif
