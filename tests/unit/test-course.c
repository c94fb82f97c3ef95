/* test-course.c - what was recorded comes out as one iteration, and as a graph in which everybody has the life that the
 * program gave it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>
#include <errno.h>

#include "course/recording.h"

enum { R = SPW_COURSE_READS, W = SPW_COURSE_WRITES, RW = R | W };
#define NONE SPW_NO_INDEX

static struct spw_recording *begin(void)
{
    struct spw_recording *recording;
    assert_int_equal(spw_recording_create(&recording), 0);
    spw_recording_begin(recording);
    return recording;
}

/* An operation of the backbone of 10 us; touches as (id, access) pairs. */
#define OP(recording, key, ...) \
    op(recording, key, true, (struct spw_recording_touch[]){__VA_ARGS__}, \
       sizeof((struct spw_recording_touch[]){__VA_ARGS__}) / sizeof(struct spw_recording_touch))
static void op(struct spw_recording *recording, uint64_t key, bool backbone, const struct spw_recording_touch *touches,
               uint32_t count)
{
    uint32_t ordinal;
    assert_int_equal(spw_recording_op(recording, key, backbone, touches, count, &ordinal), 0);
    spw_recording_duration(recording, ordinal, 10);
}

static void alloc(struct spw_recording *recording, uint64_t id, uint64_t bytes)
{
    assert_int_equal(spw_recording_alloc(recording, id, bytes, true), 0);
}

static void release(struct spw_recording *recording, uint64_t id)
{
    assert_int_equal(spw_recording_free(recording, id), 0);
}

static struct spw_course *finish(struct spw_recording *recording, uint32_t op_count)
{
    struct spw_course *course;
    assert_int_equal(spw_recording_finish(recording, op_count, &course), 0);
    return course;
}

static struct spw_graph *graph_of(const struct spw_course *course, uint64_t granule_bytes, uint32_t **ret_tensor_of)
{
    struct spw_graph *graph;
    struct spw_graph_problem problem;
    const int r = spw_course_graph(course, 2, 4, granule_bytes, 7, &graph, ret_tensor_of, &problem);
    if (r == -EINVAL)
        fail_msg("%s: %s", problem.path, problem.expected);
    assert_int_equal(r, 0);
    return graph;
}

/* A small training step. 10: weights, 11: pinned, 12: this step's batch; 20, 21: activations; 22: the next step's batch;
 * 23: never used. */
static struct spw_recording *step(void)
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
    OP(r, 101, {20, RW}, {21, W}, {11, R}, {20, R});
    release(r, 12);
    alloc(r, 22, 40);
    alloc(r, 23, 5);
    release(r, 23);
    op(r, 102, false, (struct spw_recording_touch[]){{22, W}}, 1);
    OP(r, 103, {10, RW}, {21, W});
    release(r, 20);
    OP(r, 104, {10, W}, {21, R});
    alloc(r, 30, 30); /* the next step's */
    release(r, 21);
    OP(r, 100, {22, R}, {10, R}, {30, W});
    return r;
}

static void a_course_has_who_is_alive_first_and_then_who_is_allocated(void **state)
{
    struct spw_recording *r = step();
    struct spw_course *course = finish(r, 5);
    const struct spw_course_tensor expected[] = {
        {10, 100, 0, NONE, 0, 4, 0, 0, true},       {11, 8, 0, NONE, 1, 1, 1, 1, false},
        {12, 40, 0, 1, 0, 0, 5, NONE, true},        {20, 30, 0, 3, 0, 1, NONE, NONE, true},
        {21, 20, 1, 4, 1, 4, NONE, NONE, true},     {22, 40, 2, NONE, 2, 2, NONE, 2, true},
        {23, 5, 2, 2, NONE, NONE, NONE, NONE, true}};
    assert_int_equal(course->live_count, 3);
    assert_int_equal(course->tensor_count, 7);
    for (int i = 0; i < 7; i++) {
        const struct spw_course_tensor *t = &course->tensors[i];
        assert_int_equal(t->id, expected[i].id);
        assert_int_equal(t->bytes, expected[i].bytes);
        assert_int_equal(t->alloc_before, expected[i].alloc_before);
        assert_int_equal(t->free_after, expected[i].free_after);
        assert_int_equal(t->first_use, expected[i].first_use);
        assert_int_equal(t->last_use, expected[i].last_use);
        assert_int_equal(t->from, expected[i].from);
        assert_int_equal(t->to, expected[i].to);
        assert_int_equal(t->evictable, expected[i].evictable);
    }
    spw_course_destroy(course);
    spw_recording_destroy(r);
}

static void a_course_has_operations_with_each_tensor_once_and_as_it_was_mentioned(void **state)
{
    struct spw_recording *r = step();
    struct spw_course *course = finish(r, 5);
    assert_int_equal(course->op_count, 5);
    assert_int_equal(course->ops[0].first_alloc, 1);
    assert_int_equal(course->ops[1].first_alloc, 2);
    assert_int_equal(course->ops[2].first_alloc, 4);
    assert_int_equal(course->ops[4].first_alloc, 4);
    assert_false(course->ops[2].backbone);
    assert_true(course->ops[3].backbone);
    const struct spw_course_op *op = &course->ops[1];
    assert_int_equal(op->key, 101);
    assert_int_equal(op->touch_count, 3);
    assert_int_equal(course->touches[op->first_touch].tensor, 3);
    assert_int_equal(course->touches[op->first_touch].access, RW);
    assert_int_equal(course->touches[op->first_touch + 1].tensor, 4);
    assert_int_equal(course->calls[1].mention_count, 4);
    assert_int_equal(course->mentions[course->calls[1].first_mention + 3].tensor, 3);
    spw_course_destroy(course);
    spw_recording_destroy(r);
}

static bool is_listed(const struct spw_graph *graph, uint32_t first, uint32_t count, uint32_t tensor)
{
    for (uint32_t i = 0; i < count; i++)
        if (graph->touched[first + i].tensor == tensor)
            return true;
    return false;
}

/* R, W, RW or 0: what operation `op` does with the course's tensor. */
static uint32_t access_of(const struct spw_graph *graph, const uint32_t *tensor_of, uint32_t op, uint32_t tensor)
{
    const struct spw_graph_op *o = &graph->ops[op];
    uint32_t i = 0;
    while (i < graph->tensor_count && tensor_of[i] != tensor)
        i++;
    return (is_listed(graph, o->first_read, o->read_count, i) ? R : 0) |
           (is_listed(graph, o->first_write, o->write_count, i) ? W : 0);
}

static void a_graph_is_made_of_lives_from_the_first_use_to_the_free(void **state)
{
    struct spw_recording *r = step();
    spw_recording_duration(r, 3, -1);
    struct spw_course *course = finish(r, 5);
    uint32_t *tensor_of;
    struct spw_graph *graph = graph_of(course, 0, &tensor_of);
    assert_int_equal(graph->tensor_count, 6); /* not who is never used */
    for (uint32_t i = 0; i < 6; i++)
        assert_int_equal(tensor_of[i], i);
    const struct spw_graph_tensor *t = graph->tensors;
    assert_true(t[0].persistent && t[0].evictable);
    assert_true(t[1].persistent && !t[1].evictable);
    assert_true(!t[2].persistent && t[2].initial && t[2].evictable && t[2].free_after == 1);
    assert_true(!t[3].persistent && !t[3].initial && t[3].alloc_before == 0 && t[3].free_after == 3);
    assert_true(t[4].alloc_before == 1 && t[4].free_after == 4);
    assert_true(!t[5].persistent && t[5].alloc_before == 2 && t[5].free_after == 4);
    assert_true(t[3].d2h_us == 15 && t[3].h2d_us == 7.5);
    const uint32_t expected[5][6] = {{R, 0, R, W, 0, 0},
                                     {0, R, R /* held */, RW, W, 0},
                                     {0, 0, 0, 0, 0, W},
                                     {RW, 0, 0, R /* held */, RW, 0},
                                     {RW, 0, 0, 0, R, R /* held */}};
    for (uint32_t op = 0; op < 5; op++) {
        for (uint32_t i = 0; i < 6; i++)
            assert_int_equal(access_of(graph, tensor_of, op, i), expected[op][i]);
        assert_true(graph->ops[op].us == 10);
        assert_false(graph->ops[op].replayable);
    }
    assert_int_equal(graph->peak_bytes, 108 + 40 + 30 + 20);
    assert_int_equal(graph->persistent_bytes, 108);
    spw_graph_destroy(graph);
    free(tensor_of);
    spw_course_destroy(course);
    spw_recording_destroy(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_course_has_who_is_alive_first_and_then_who_is_allocated),
        cmocka_unit_test(a_course_has_operations_with_each_tensor_once_and_as_it_was_mentioned),
        cmocka_unit_test(a_graph_is_made_of_lives_from_the_first_use_to_the_free),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
