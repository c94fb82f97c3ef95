/* course_lives.h - what becomes of a course's tensors in its graph, and what of the course can be run again. */
#ifndef SPILLWAY_PLANNER_COURSE_LIVES_H
#define SPILLWAY_PLANNER_COURSE_LIVES_H
#include "course/course.h"

struct spw_course_life {
    uint32_t index; /* in the graph; SPW_NO_INDEX: it is not in it */
    uint32_t birth; /* the operation whose touch only writes; SPW_NO_INDEX: there is something from the beginning */
    uint32_t hold;  /* the operation that reads it although it does not; SPW_NO_INDEX: none */
};

struct spw_course_replays {
    uint32_t *again_until; /* by tensor: what it holds at last can be made again before each operation up to this one,
                            * itself not; 0: it cannot */
    uint32_t *first_freed; /* by operation: the first of the small tensors that were freed before it, SPW_NO_INDEX: none */
    uint32_t *next_freed;  /* by small tensor: the next of these */
};

/* Whether a planner may have the operation run again; index and birth of all lives are known. */
bool spw_course_may_run_again(const struct spw_course *course, const struct spw_course_life *lives, uint32_t op);

/* Likewise. 0 or -ENOMEM; for spw_course_replays_finish() in any case. */
int spw_course_find_replays(const struct spw_course *course, const struct spw_course_life *lives,
                            struct spw_course_replays *ret_replays);
void spw_course_replays_finish(struct spw_course_replays *replays); /* all zero is fine */
#endif
