/* cover_parts.h - what a cover is made of, for the file that lists gaps and the one that chooses among them. */
#ifndef SPILLWAY_PLANNER_COVER_PARTS_H
#define SPILLWAY_PLANNER_COVER_PARTS_H
#include "plan/ranked.h"
#include "search/cover.h"

struct spw_cover {
    const struct spw_graph *graph;
    const struct spw_plan_request *request;
    struct spw_gap *gaps;
    size_t gap_count;
    double *start_us; /* of each operation, with nothing waiting; one more for the end */
    int64_t *demand;  /* of each operation: bytes too many with nothing evicted */
    int64_t *most,
        *add; /* a tree over the operations: the most in each node's range, and what is to be added to all of it */
    uint32_t leaves;
    uint32_t *short_before;     /* of each operation: those before it for which memory is short, when choosing begins */
    uint32_t *chosen;           /* gaps, in the order in which they were chosen */
    struct spw_ranking ranking; /* gaps that may be, the cheapest first */
    uint32_t *made;             /* of each operation: a gap whose tensor it would make again; SPW_NO_INDEX: none */
    uint32_t *retained;         /* of all gaps, one behind the other */
    uint32_t retained_count, retained_room;
    bool is_out_of_memory;
};

/* cover_choose.c */
/* Notes in each gap whether memory is short in it while nothing is evicted. */
void spw_cover_find_useful(struct spw_cover *c);
#endif
