/* course_make.h - what a recording has written down, and the course that its beginning makes. */
#ifndef SPILLWAY_PLANNER_COURSE_MAKE_H
#define SPILLWAY_PLANNER_COURSE_MAKE_H
#include "course/course.h"

struct spw_recorded_tensor {
    uint64_t id, bytes;
    uint32_t alloc_before; /* operations before it */
    uint32_t freed_before; /* operations before its free; SPW_NO_INDEX: it was not freed */
    bool evictable, small;
};

/* As in struct spw_course, but that nothing is left out, and that small tensors are among the others; those alive at the
 * beginning come first. */
struct spw_recorded {
    struct spw_course_op *ops;
    struct spw_recorded_tensor *tensors;
    struct spw_course_touch *touches;
    struct spw_course_call *calls;
    struct spw_course_mention *mentions;
    uint32_t *hits; /* indices of tensors */
    uint32_t op_count, tensor_count, live_count, small_count, touch_count, mention_count, hit_count;
};

/* The course of the first `op_count` operations, 1 or more and no more than there are. 0 or -ENOMEM. */
int spw_course_make(const struct spw_recorded *recorded, uint32_t op_count, struct spw_course **ret_course);
#endif
