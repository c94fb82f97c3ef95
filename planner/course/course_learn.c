/* course_learn.c - stores in a course what was learned about an operation after it was recorded. */
#include <errno.h>
#include <stddef.h>

#include "course/course.h"

/* Returns the touch of `tensor` among `count` touches, or NULL. */
static struct spw_course_touch *find(struct spw_course_touch *touches, uint32_t count, uint32_t tensor)
{
    for (uint32_t i = 0; i < count; i++)
        if (touches[i].tensor == tensor)
            return &touches[i];
    return NULL;
}

static struct spw_course_touch *touch_of(const struct spw_course *course, uint32_t op, uint32_t hit)
{
    const struct spw_course_op *o = &course->ops[op];
    const struct spw_course_call *call = &course->calls[op];
    const uint32_t who = course->hits[call->first_hit + hit];
    if (who == SPW_NO_INDEX)
        return NULL;
    if (who & SPW_COURSE_SMALL)
        return find(&course->small_touches[call->first_small], call->small_count, who & ~SPW_COURSE_SMALL);
    return find(&course->touches[o->first_touch], o->touch_count, who);
}

static void read_only(struct spw_course_touch *touches, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        touches[i].access = SPW_COURSE_READS;
}

int spw_course_learn(struct spw_course *course, uint32_t op, const uint8_t *access, uint32_t count, bool replayable)
{
    if (op >= course->op_count || course->calls[op].hit_count != count)
        return -EINVAL;
    read_only(&course->touches[course->ops[op].first_touch], course->ops[op].touch_count);
    read_only(&course->small_touches[course->calls[op].first_small], course->calls[op].small_count);
    for (uint32_t i = 0; i < count; i++) {
        struct spw_course_touch *touch = touch_of(course, op, i);
        if (touch)
            touch->access = 0;
    }
    for (uint32_t i = 0; i < count; i++) {
        struct spw_course_touch *touch = touch_of(course, op, i);
        if (touch)
            touch->access |= access[i];
    }
    course->ops[op].replayable = replayable;
    return 0;
}
