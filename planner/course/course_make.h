/* course_make.h - holds what a recording has written down, and makes a course of its first operations. */
#ifndef SPILLWAY_PLANNER_COURSE_MAKE_H
#define SPILLWAY_PLANNER_COURSE_MAKE_H
#include "course/course.h"

struct spw_recorded_tensor {
    uint64_t id, bytes;
    uint32_t alloc_before; /* number of operations before it */
    uint32_t freed_before; /* number of operations before its free; SPW_NO_INDEX: it was not freed */
    bool evictable, small;
};

/* As in struct spw_course, except that nothing is left out, and that small tensors are among the others. Those alive at
 * the beginning come first. */
struct spw_recorded {
    struct spw_course_op *ops;
    struct spw_recorded_tensor *tensors;
    struct spw_course_touch *touches;
    struct spw_course_call *calls;
    struct spw_course_mention *mentions;
    uint32_t *hits; /* indices of tensors */
    uint32_t op_count, tensor_count, live_count, small_count, touch_count, mention_count, hit_count;
};

/* Makes the course of the first `op_count` operations: at least 1, at most all. Returns 0 or -ENOMEM. */
int spw_course_make(const struct spw_recorded *recorded, uint32_t op_count, struct spw_course **ret_course);
#endif
