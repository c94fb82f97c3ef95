/* course_lives.h - what becomes of a course's tensors in its graph, and what of the course can be run again. */
#ifndef SPILLWAY_PLANNER_COURSE_LIVES_H
#define SPILLWAY_PLANNER_COURSE_LIVES_H
#include "course/course.h"

struct spw_course_life {
    uint32_t index; /* in the graph; SPW_NO_INDEX: it is not in it */
    uint32_t hold;  /* the operation that reads it at its end although it does not; SPW_NO_INDEX: none */
    uint32_t birth; /* the operation whose touch only writes; SPW_NO_INDEX: there is something from the beginning */
};

struct spw_course_replays {
    uint32_t *again_until; /* by tensor: what it holds at last can be made again before each operation up to this one,
                            * itself not; 0: it cannot */
    uint32_t *first_freed; /* by operation: the first of the small tensors that were freed before it, SPW_NO_INDEX: none */
    uint32_t *next_freed;  /* by small tensor: the next of these */
};

struct spw_course_guards {
    struct spw_course_guard {
        uint32_t op, tensor;
    } * list; /* the tensor has to be there at that operation; in the order of the operations */
    uint32_t count;
    uint8_t *barred;  /* by operation: it is not to be run again */
    uint8_t *stays;   /* by tensor: it is not to leave */
    uint32_t *behind; /* by tensor: the first operation behind its last use before which it would be made again, whoever
                       * wants it; SPW_NO_INDEX: none */
};

/* What launches that are only believed to read ask of a plan with replays (course_guards.c). Birth of all lives is known. 0
 * or -ENOMEM; for spw_course_guards_finish() in any case. */
int spw_course_find_guards(const struct spw_course *course, const struct spw_course_life *lives,
                           struct spw_course_guards *ret_guards);
void spw_course_guards_finish(struct spw_course_guards *guards); /* all zero is fine */

/* Whether a planner may have the operation run again; index and birth of all lives are known. */
bool spw_course_may_run_again(const struct spw_course *course, const struct spw_course_life *lives, uint32_t op);

/* Likewise. 0 or -ENOMEM; for spw_course_replays_finish() in any case. */
int spw_course_find_replays(const struct spw_course *course, const struct spw_course_life *lives,
                            struct spw_course_replays *ret_replays);
void spw_course_replays_finish(struct spw_course_replays *replays); /* all zero is fine */
#endif
