/* needs.h - when each tensor is needed, how much of that does not fit during each operation, and what it would cost to have
 * it absent: what bounds are made of. */
#ifndef SPILLWAY_PLANNER_NEEDS_H
#define SPILLWAY_PLANNER_NEEDS_H
#include "bounds/cut.h"
#include "bounds/terms.h"
#include "plan/graph.h"

/* A tensor from one use to the next. It can be absent during the operations first .. last. */
struct spw_need {
    uint32_t first, last; /* op_count: at the end of the iteration */
    uint32_t producer;    /* SPW_NO_INDEX: can't be replayed */
    struct spw_cut_item item;
    double made_us, read_us; /* least time until it is made; from its next reader to the end */
    double out_from_us;      /* it may go out after this time instead of before the cut; INFINITY: it may not */
    double in_until_us;      /* it may come in before this time instead of after the cut; 0: it may not */
    double before_us;        /* of the replays that come before the producer's */
};

/* One look at a graph under one budget. */
struct spw_sweep {
    const struct spw_graph *graph;
    double budget;
    bool may_copy, may_replay;
    struct spw_bounds_terms terms;
    double hindrance; /* cut.h */
    bool cancelled;
    double *head_us;        /* [op_count + 1]: durations of the operations before */
    double *held;           /* [op_count + 1]: bytes of what may not leave, and of what is touched */
    double *absent;         /* [op_count + 1]: bytes that have to be absent; <= 0: none */
    double *group_bytes;    /* [op_count]: of what an operation makes, bytes that are needed at this cut */
    bool *replayable;       /* [op_count] */
    double written_us;      /* head of the end of the last operation that writes the tensor that is looked at */
    struct spw_need *needs; /* in order of `first` */
    uint32_t need_count;
    uint32_t *active, active_count; /* needs that cover the operation that the sweep is at */
    struct spw_cut_item *items;
    struct spw_cut_sides *sides; /* [op_count]: of the cuts that were looked at; of others, what the operations alone take */
    struct spw_cut_space space;
};

/* Fills in what the sweep holds of each operation by itself. */
void spw_sweep_look_at_ops(struct spw_sweep *s);
/* After that: the needs, and what has to be absent. */
void spw_sweep_list_needs(struct spw_sweep *s);
#endif
