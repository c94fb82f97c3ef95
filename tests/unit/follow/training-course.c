/* training-course.c - records a training step by hand. */
#include "training-course.h"

#include "course/recording.h"

enum { R = SPW_COURSE_READS, W = SPW_COURSE_WRITES, RW = R | W };

struct spw_course *training_course(uint32_t layers, bool knows)
{
    struct spw_recording *r;
    struct spw_course *course = NULL;
    if (spw_recording_create(&r) < 0)
        return NULL;
    spw_recording_begin(r);
    for (uint32_t i = 0; i < layers; i++)
        (void)spw_recording_live(r, 1 + i, MIB, true);
    for (uint32_t i = 0; i < layers; i++) {
        const struct spw_recording_touch touches[] = {{1 + i, R, 0}, {10000 + i, W, 0}, {10000 + i - 1, R, 0}};
        (void)spw_recording_alloc(r, 10000 + i, MIB, true);
        (void)spw_recording_op(r, i, true, touches, i ? 3 : 2, NULL);
    }
    for (uint32_t i = layers; i-- > 0;) {
        const struct spw_recording_touch touches[] = {{1 + i, RW, 0}, {10000 + i, R, 0}};
        (void)spw_recording_op(r, layers + i, true, touches, 2, NULL);
        (void)spw_recording_free(r, 10000 + i);
    }
    (void)spw_recording_finish(r, 2 * layers, &course);
    for (uint32_t o = 0; course && o < course->op_count; o++)
        course->ops[o].us = knows || o % 2 ? 100 : -1;
    spw_recording_destroy(r);
    return course;
}

struct spw_course *course_of_two_sizes(void)
{
    enum { SMALL = 24 };
    struct spw_recording *r;
    struct spw_course *course = NULL;
    uint64_t key = 1;
    if (spw_recording_create(&r) < 0)
        return NULL;
    spw_recording_begin(r);
    for (uint64_t i = 0; i <= SMALL; i++) {
        const struct spw_recording_touch made = {100 + i, W, 0};
        (void)spw_recording_alloc(r, 100 + i, i ? MIB : SMALL * MIB, true);
        (void)spw_recording_op(r, key++, true, &made, 1, NULL);
    }
    for (uint64_t i = 0; i < 40; i++)
        (void)spw_recording_op(r, key++, true, NULL, 0, NULL);
    for (uint64_t i = SMALL + 1; i-- > 0;) {
        const struct spw_recording_touch read = {100 + i, R, 0};
        (void)spw_recording_op(r, key++, true, &read, 1, NULL);
        (void)spw_recording_free(r, 100 + i);
    }
    (void)spw_recording_finish(r, (uint32_t)key - 1, &course);
    for (uint32_t o = 0; course && o < course->op_count; o++)
        course->ops[o].us = 100;
    spw_recording_destroy(r);
    return course;
}
