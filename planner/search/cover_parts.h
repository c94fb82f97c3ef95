/* cover_parts.h - declares the inside of a cover, for the file that lists gaps and the one that chooses among them. */
#ifndef SPILLWAY_PLANNER_COVER_PARTS_H
#define SPILLWAY_PLANNER_COVER_PARTS_H
#include "plan/ranked.h"
#include "search/cover.h"

struct spw_cover {
    const struct spw_graph *graph;
    const struct spw_plan_request *request;
    struct spw_gap *gaps;
    size_t gap_count;
    double *start_us; /* of each operation if nothing waits, and one more for the end */
    int64_t *demand;  /* of each operation: bytes above the budget when nothing is evicted */
    /* A tree over the operations: the maximum in each node's range, and what to add to all of that range. */
    int64_t *most, *add;
    uint32_t leaves;
    /* Of each operation: number of operations before it at which memory is short, before choosing. */
    uint32_t *short_before;
    uint32_t *chosen;           /* gaps, in the order in which they were chosen */
    struct spw_ranking ranking; /* gaps that may be chosen, the cheapest first */
    /* Of each operation: a gap whose tensor it would make again; SPW_NO_INDEX: none. */
    uint32_t *made;
    uint32_t *retained; /* of all gaps, one after the other */
    uint32_t retained_count, retained_room;
    bool is_out_of_memory;
};

/* cover_choose.c */
/* Sets in each gap whether memory is short in it when nothing is evicted. */
void spw_cover_find_useful(struct spw_cover *c);
#endif
