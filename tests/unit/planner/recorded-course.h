/* recorded-course.h - what the tests of the course share: recordings by hand. */
#ifndef SPILLWAY_TESTS_RECORDED_COURSE_H
#define SPILLWAY_TESTS_RECORDED_COURSE_H
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "course/recording.h"
#include "plan/actions.h"

enum { R = SPW_COURSE_READS, W = SPW_COURSE_WRITES, RW = R | W };
#define NONE SPW_NO_INDEX

static inline struct spw_recording *begin(void)
{
    struct spw_recording *recording;
    assert_int_equal(spw_recording_create(&recording), 0);
    spw_recording_begin(recording);
    return recording;
}

struct use {
    uint64_t id;
    uint32_t access;
};
/* An operation of the backbone of 10 us, or one beside it. */
#define OP(recording, key, ...)     op(recording, key, true, USES(__VA_ARGS__))
#define BESIDE(recording, key, ...) op(recording, key, false, USES(__VA_ARGS__))
#define USES(...)                   (struct use[]){__VA_ARGS__}, sizeof((struct use[]){__VA_ARGS__}) / sizeof(struct use)
static inline void op(struct spw_recording *recording, uint64_t key, bool backbone, const struct use *uses, uint32_t count)
{
    struct spw_recording_touch touches[8];
    uint32_t ordinal;
    for (uint32_t i = 0; i < count; i++)
        touches[i] = (struct spw_recording_touch){.id = uses[i].id, .access = uses[i].access, .offset = 16 * i};
    assert_int_equal(spw_recording_op(recording, key, backbone, touches, count, &ordinal), 0);
    spw_recording_duration(recording, ordinal, 10);
}

static inline void alloc(struct spw_recording *recording, uint64_t id, uint64_t bytes)
{
    assert_int_equal(spw_recording_alloc(recording, id, bytes, true), 0);
}

static inline void release(struct spw_recording *recording, uint64_t id)
{
    assert_int_equal(spw_recording_free(recording, id), 0);
}

static inline struct spw_course *finish(struct spw_recording *recording, uint32_t op_count)
{
    struct spw_course *course;
    assert_int_equal(spw_recording_finish(recording, op_count, &course), 0);
    return course;
}

static inline struct spw_graph *graph_of(const struct spw_course *course, uint64_t granule_bytes, uint32_t **ret_tensor_of)
{
    struct spw_graph *graph;
    struct spw_graph_problem problem;
    const struct spw_course_terms terms = {2, 4, granule_bytes, 7, 0, false};
    const int r = spw_course_graph(course, &terms, &graph, ret_tensor_of, &problem);
    if (r == -EINVAL)
        fail_msg("%s: %s", problem.path, problem.expected);
    assert_int_equal(r, 0);
    return graph;
}

/* A small training step. 10: weights, 11: pinned, 12: this step's batch; 20, 21: activations; 22: the next step's batch;
 * 23: never used. */
static inline struct spw_recording *step(void)
{
    struct spw_recording *r = begin();
    assert_int_equal(spw_recording_live(r, 10, 100, true), 0);
    assert_int_equal(spw_recording_live(r, 11, 8, false), 0);
    assert_int_equal(spw_recording_live(r, 12, 40, true), 0);
    assert_int_equal(spw_recording_live(r, 13, 16, true), 0);
    release(r, 13); /* a late end of the step before */
    alloc(r, 20, 30);
    OP(r, 100, {12, R}, {10, R}, {20, R}); /* says that it reads: there is nothing to read in 20 */
    alloc(r, 21, 20);
    OP(r, 101, {20, R}, {21, W}, {11, R}, {20, W});
    release(r, 12);
    alloc(r, 22, 40);
    alloc(r, 23, 5);
    release(r, 23);
    BESIDE(r, 102, {22, W});
    OP(r, 103, {10, RW}, {21, W});
    release(r, 20);
    OP(r, 104, {10, W}, {21, R}, {20, R}); /* 20 is nobody any more */
    alloc(r, 30, 30);                      /* the next step's */
    release(r, 21);
    OP(r, 100, {22, R}, {10, R}, {30, W});
    return r;
}

static inline bool is_listed(const struct spw_graph *graph, uint32_t first, uint32_t count, uint32_t tensor)
{
    for (uint32_t i = 0; i < count; i++)
        if (graph->touched[first + i].tensor == tensor)
            return true;
    return false;
}

/* R, W, RW or 0: what operation `op` does with the course's tensor. */
static inline uint32_t access_of(const struct spw_graph *graph, const uint32_t *tensor_of, uint32_t op, uint32_t tensor)
{
    const struct spw_graph_op *o = &graph->ops[op];
    uint32_t i = 0;
    while (i < graph->tensor_count && tensor_of[i] != tensor)
        i++;
    return (is_listed(graph, o->first_read, o->read_count, i) ? R : 0) |
           (is_listed(graph, o->first_write, o->write_count, i) ? W : 0);
}

static inline void destroy(struct spw_recording *r, struct spw_course *course, struct spw_graph *graph, uint32_t *tensor_of)
{
    spw_graph_destroy(graph);
    free(tensor_of);
    spw_course_destroy(course);
    spw_recording_destroy(r);
}
#endif
