/* course_lives.h - says how a course's tensors live in its graph, and which operations of the course can be replayed. */
#ifndef SPILLWAY_PLANNER_COURSE_LIVES_H
#define SPILLWAY_PLANNER_COURSE_LIVES_H
#include "course/course.h"

struct spw_course_life {
    uint32_t index; /* in the graph; SPW_NO_INDEX: it is not part of it */
    /* The operation that reads it in the graph to hold it, but not in the program; SPW_NO_INDEX: none. */
    uint32_t hold;
    uint32_t birth; /* the operation whose touch only writes; SPW_NO_INDEX: it has contents from the beginning */
};

struct spw_course_replays {
    /* By tensor: its last version can be made again before each operation up to, but not including, this one; 0: it
     * cannot. */
    uint32_t *again_until;
    /* By operation: the first small tensor that was freed before it; SPW_NO_INDEX: none. */
    uint32_t *first_freed;
    uint32_t *next_freed; /* by small tensor: the next in that list */
};

struct spw_course_guards {
    struct spw_course_guard {
        uint32_t op, tensor;
    } * list; /* the tensor has to be present at the operation; sorted by operation */
    uint32_t count;
    uint8_t *barred; /* by operation: it may not be replayed */
    uint8_t *stays;  /* by tensor: it may not be evicted */
    /* By tensor: the first operation after its last use before which the engine would make it again; SPW_NO_INDEX: none. */
    uint32_t *behind;
};

/* Finds what launches that are only believed to read tensors require of a plan with replays (course_guards.c). The births
 * of all lives have to be set. Returns 0 or -ENOMEM; call spw_course_guards_finish() in any case. */
int spw_course_find_guards(const struct spw_course *course, const struct spw_course_life *lives,
                           struct spw_course_guards *ret_guards);
void spw_course_guards_finish(struct spw_course_guards *guards); /* all zero is allowed */

/* Returns true if a planner may replay the operation. Index and birth of all lives have to be set. */
bool spw_course_may_run_again(const struct spw_course *course, const struct spw_course_life *lives, uint32_t op);

/* Finds until when tensors can be made again. Index and birth of all lives have to be set. Returns 0 or -ENOMEM; call
 * spw_course_replays_finish() in any case. */
int spw_course_find_replays(const struct spw_course *course, const struct spw_course_life *lives,
                            struct spw_course_replays *ret_replays);
void spw_course_replays_finish(struct spw_course_replays *replays); /* all zero is allowed */
#endif
