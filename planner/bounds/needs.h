/* needs.h - finds when each tensor is needed, how many of the needed bytes do not fit during each operation, and what
 * their absence costs: the input of the bounds. */
#ifndef SPILLWAY_PLANNER_NEEDS_H
#define SPILLWAY_PLANNER_NEEDS_H
#include "bounds/cut.h"
#include "bounds/terms.h"
#include "plan/graph.h"

/* The interval between two uses of a tensor whose contents are still needed. The tensor can be absent during the
 * operations first .. last. */
struct spw_need {
    uint32_t first, last; /* last is op_count where it has to be there at the end of the iteration */
    uint32_t producer;    /* the operation whose replay makes it; SPW_NO_INDEX: it cannot be replayed */
    struct spw_cut_item item;
    double made_us, read_us; /* the earliest time at which it is made; the least time from its next reader to the end */
    double out_from_us;      /* it may be copied out after this time instead of before the cut; INFINITY: it may not */
    double in_until_us;      /* it may be copied in before this time instead of after the cut; 0: it may not */
    double before_us;        /* time of the replays that have to come before the producer's */
};

/* The state of the computation of the bounds, for one graph and one budget. */
struct spw_sweep {
    const struct spw_graph *graph;
    double budget;
    bool may_copy, may_replay;
    struct spw_bounds_terms terms;
    double hindrance; /* as in cut.h */
    bool cancelled;
    double *head_us; /* [op_count + 1]: sum of the durations of the operations before */
    double *held; /* [op_count + 1]: bytes of the tensors that may not be evicted, and of those that the operation touches */
    double *absent;         /* [op_count + 1]: bytes that have to be absent; <= 0: none */
    double *group_bytes;    /* [op_count]: bytes that the operation makes and that are needed at the current cut */
    bool *replayable;       /* [op_count] */
    double written_us;      /* when the last operation that writes the current tensor ends */
    struct spw_need *needs; /* sorted by `first` */
    uint32_t need_count;
    uint32_t *active, active_count; /* the needs that include the current operation */
    struct spw_cut_item *items;
    /* [op_count]: the sides of the cuts computed so far; for other operations, the durations alone. */
    struct spw_cut_sides *sides;
    struct spw_cut_space space;
};

/* Fills in the fields that depend on each operation alone. */
void spw_sweep_look_at_ops(struct spw_sweep *s);
/* Fills in the needs and the absent bytes. spw_sweep_look_at_ops() has to have run. */
void spw_sweep_list_needs(struct spw_sweep *s);
#endif
