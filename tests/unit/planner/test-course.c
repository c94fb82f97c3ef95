/* test-course.c - what was recorded comes out as one iteration, and as a graph in which everybody has the life that the
 * program gave it. */
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

static struct spw_recording *begin(void)
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
static void op(struct spw_recording *recording, uint64_t key, bool backbone, const struct use *uses, uint32_t count)
{
    struct spw_recording_touch touches[8];
    uint32_t ordinal;
    for (uint32_t i = 0; i < count; i++)
        touches[i] = (struct spw_recording_touch){.id = uses[i].id, .access = uses[i].access, .offset = 16 * i};
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
    const struct spw_course_terms terms = {2, 4, granule_bytes, 7, 0, false};
    const int r = spw_course_graph(course, &terms, &graph, ret_tensor_of, &problem);
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
    assert_int_equal(course->mentions[course->calls[1].first_mention + 3].offset, 48);
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

static void destroy(struct spw_recording *r, struct spw_course *course, struct spw_graph *graph, uint32_t *tensor_of)
{
    spw_graph_destroy(graph);
    free(tensor_of);
    spw_course_destroy(course);
    spw_recording_destroy(r);
}

static void sizes_are_rounded_up_and_copies_take_as_long_as_the_bytes(void **state)
{
    struct spw_recording *r = begin();
    assert_int_equal(spw_recording_live(r, 1, 100, true), 0);
    alloc(r, 2, 64);
    assert_int_equal(spw_recording_op(r, 7, true, &(struct spw_recording_touch){2, W, 0}, 1, NULL), 0);
    OP(r, 7, {1, R}, {2, R});
    release(r, 2);
    struct spw_course *course = finish(r, 2);
    uint32_t *tensor_of;
    struct spw_graph *graph = graph_of(course, 64, &tensor_of);
    assert_int_equal(graph->tensors[0].bytes, 128);
    assert_int_equal(graph->tensors[1].bytes, 64);
    assert_true(graph->tensors[0].d2h_us == 50 && graph->tensors[0].h2d_us == 25);
    assert_int_equal(graph->peak_bytes, 192);
    assert_true(graph->ops[0].us == 7 && graph->ops[1].us == 10); /* the first was not timed */
    destroy(r, course, graph, tensor_of);
}

/* 10: weights, 12: the batch, 22: the next one. 20 is made by one launch and updated by three, 21 by four; 24 is filled. */
static struct spw_course *copied_step(void)
{
    struct spw_recording *r = begin();
    const struct spw_iteration_op fill = {.kind = SPW_ITERATION_SET, .touch_count = 1};
    assert_int_equal(spw_recording_live(r, 10, 100, true), 0);
    assert_int_equal(spw_recording_live(r, 12, 40, true), 0);
    for (uint64_t id = 20; id <= 24; id++)
        alloc(r, id, 40);
    OP(r, 100, {10, R}, {12, R}, {20, W}, {21, W});
    release(r, 12);
    for (int i = 0; i < 3; i++)
        OP(r, 101, {20, RW}, {21, RW});
    OP(r, 102, {21, W}, {23, W}, {22, W});
    OP(r, 103, {24, W});
    spw_recording_call(r, 5, &fill);
    OP(r, 104, {20, R}, {21, R}, {24, R}, {10, R}, {23, R});
    for (uint64_t id = 20; id <= 24; id++)
        if (id != 22)
            release(r, id);
    struct spw_course *course = finish(r, 7);
    spw_recording_destroy(r);
    return course;
}

static void expect_copied_alone(struct spw_course *course, uint32_t most_makers, const char *expected)
{
    const struct spw_course_terms terms = {2, 4, 1, 7, 0, .most_makers = most_makers};
    struct spw_graph_problem problem;
    struct spw_graph *graph;
    uint32_t *tensor_of;
    assert_int_equal(spw_course_graph(course, &terms, &graph, &tensor_of, &problem), 0);
    char told[64] = "";
    for (uint32_t i = 0; i < graph->tensor_count; i++)
        if (graph->tensors[i].copied_alone)
            (void)snprintf(told + strlen(told), sizeof told - strlen(told), " %u", (unsigned)graph->tensors[i].id);
    assert_string_equal(told, expected);
    spw_graph_destroy(graph);
    free(tensor_of);
}

static void who_lives_on_or_is_written_often_or_by_no_launch_is_copied_alone(void **state)
{
    struct spw_course *course = copied_step(); /* 0: weights, 1: the batch, 2: 20, 3: 21, 4: the next batch, 5: 23, 6: 24 */
    expect_copied_alone(course, 4, " 0 3 6");
    expect_copied_alone(course, 5, " 0 6");
    expect_copied_alone(course, 3, " 0 2 3 6");
    expect_copied_alone(course, 0, "");
    course->calls[4].kind = SPW_ITERATION_COPY_H2D; /* the next batch is copied in, and so was this one */
    expect_copied_alone(course, 5, " 0 1 3 4 5 6");
    spw_course_destroy(course);
}

static void who_nobody_takes_the_place_of_does_not_leave(void **state)
{
    struct spw_recording *r = begin();
    assert_int_equal(spw_recording_live(r, 1, 10, true), 0); /* freed, and nobody of 10 bytes comes */
    alloc(r, 2, 20);                                         /* stays, and nobody of 20 bytes went */
    alloc(r, 3, 30);                                         /* likewise, and not used */
    OP(r, 7, {1, R}, {2, W});
    release(r, 1);
    OP(r, 8, {2, R});
    struct spw_course *course = finish(r, 2);
    uint32_t *tensor_of;
    struct spw_graph *graph = graph_of(course, 0, &tensor_of);
    assert_int_equal(graph->tensor_count, 2);
    assert_true(graph->tensors[0].initial && !graph->tensors[0].evictable);
    assert_true(graph->tensors[1].persistent && !graph->tensors[1].evictable);
    assert_int_equal(tensor_of[1], 1);
    destroy(r, course, graph, tensor_of);
}

/* Each step's batch 5 is allocated before the one before it is freed, and both before the first operation. */
static void who_is_freed_behind_the_next_steps_allocations_need_not_be_waited_for(void **state)
{
    struct spw_recording *r = begin();
    assert_int_equal(spw_recording_live(r, 4, 64, true), 0);
    assert_int_equal(spw_recording_live(r, 3, 64, true), 0); /* is carried over all the same */
    alloc(r, 5, 64);
    release(r, 4);
    OP(r, 7, {5, R}, {3, R});
    alloc(r, 6, 64);
    release(r, 3);
    OP(r, 8, {5, R}, {6, W});
    alloc(r, 8, 64);
    for (int is_late = 0; is_late < 2; is_late++) {
        struct spw_course *course = finish(r, 2); /* before the free, and again behind it */
        assert_int_equal(course->tensor_count, 3);
        assert_int_equal(course->tensors[1].id, 5);
        assert_int_equal(course->tensors[1].free_after, 1);
        assert_int_equal(course->tensors[2].free_after, NONE);
        assert_int_equal(course->tensors[0].from, 2);
        assert_int_equal(course->tensors[2].to, 0);
        spw_course_destroy(course);
        release(r, 5);
    }
    spw_recording_destroy(r);
}

/* The next batch gets its memory when it is first used, which is in the next iteration. */
/* Batches that are loaded one step ahead and freed behind the last operation: 2 of the step before, 4 of this one, 6 of the
 * next. */
static void who_is_freed_late_is_not_taken_for_one_that_the_step_before_was_to_free(void **state)
{
    struct spw_recording *r = begin();
    assert_int_equal(spw_recording_live(r, 1, 64, true), 0);
    assert_int_equal(spw_recording_live(r, 2, 64, true), 0);
    assert_int_equal(spw_recording_live(r, 3, 64, true), 0);
    assert_int_equal(spw_recording_live(r, 4, 64, true), 0);
    release(r, 3);
    release(r, 2);
    alloc(r, 5, 64);
    OP(r, 100, {5, W}, {4, R}, {1, R});
    alloc(r, 6, 64);
    OP(r, 101, {6, W});
    OP(r, 102, {5, R}, {1, RW});
    release(r, 5);
    release(r, 4);
    struct spw_course *course = finish(r, 3);
    assert_int_equal(course->live_count, 2);
    assert_int_equal(course->tensors[1].id, 4);
    assert_int_equal(course->tensors[1].from, 3);
    assert_int_equal(course->tensors[3].id, 6);
    assert_int_equal(course->tensors[3].to, 1);
    assert_int_equal(course->tensors[3].free_after, NONE);
    spw_course_destroy(course);
    spw_recording_destroy(r);
}

static void who_takes_the_place_of_somebody_unused_is_born_with_its_own_first_use(void **state)
{
    struct spw_recording *r = begin();
    assert_int_equal(spw_recording_live(r, 1, 10, true), 0);
    alloc(r, 2, 8);
    OP(r, 6, {2, W});
    OP(r, 7, {1, R}, {2, R});
    alloc(r, 3, 10);
    release(r, 1);
    OP(r, 8, {2, R});
    release(r, 2);
    struct spw_course *course = finish(r, 3);
    uint32_t *tensor_of;
    struct spw_graph *graph = graph_of(course, 0, &tensor_of);
    assert_int_equal(course->tensors[0].from, 2);
    assert_int_equal(graph->tensor_count, 2);
    assert_true(!graph->tensors[0].initial && !graph->tensors[0].persistent && graph->tensors[0].alloc_before == 1);
    assert_int_equal(access_of(graph, tensor_of, 1, 0), W);
    destroy(r, course, graph, tensor_of);
}

/* 40 and 41 are used by operation 0 and freed with all others behind operation 4, which alone could not hold them all. */
static void who_is_freed_late_is_held_where_that_makes_no_operation_the_largest(void **state)
{
    struct spw_recording *r = begin();
    for (uint64_t id = 40; id < 43; id++)
        alloc(r, id, 50);
    OP(r, 1, {40, W}, {41, W});
    OP(r, 2, {42, W});
    for (uint64_t key = 3; key < 6; key++)
        OP(r, key, {42, RW});
    for (uint64_t id = 40; id < 43; id++)
        release(r, id);
    struct spw_course *course = finish(r, 5);
    uint32_t *tensor_of;
    struct spw_graph *graph = graph_of(course, 0, &tensor_of);
    assert_int_equal(access_of(graph, tensor_of, 4, 0), R);
    assert_int_equal(access_of(graph, tensor_of, 4, 1), 0);
    assert_int_equal(access_of(graph, tensor_of, 3, 1), R);
    assert_int_equal(graph->least_bytes, 100);
    assert_int_equal(graph->peak_bytes, 150);
    destroy(r, course, graph, tensor_of);
}

static void expect_steps(const struct spw_schedule *s, const struct spw_step *expected, uint32_t count)
{
    assert_int_equal(s->count, count);
    for (uint32_t i = 0; i < count; i++) {
        assert_int_equal(s->steps[i].kind, expected[i].kind);
        assert_int_equal(s->steps[i].id, expected[i].id);
    }
}

static struct spw_schedule schedule_of(const struct spw_graph *graph, const struct spw_step *steps, uint32_t count)
{
    struct spw_schedule s;
    assert_int_equal(spw_schedule_init(&s, graph), 0);
    for (uint32_t i = 0; i < count; i++)
        assert_int_equal(spw_schedule_add(&s, steps[i].kind, steps[i].id), 0);
    return s;
}

#define STEPS(...) (struct spw_step[]){__VA_ARGS__}, sizeof((struct spw_step[]){__VA_ARGS__}) / sizeof(struct spw_step)
#define OP_OF(op) \
    { \
        SPW_STEP_OP, op \
    }
#define OUT(t) \
    { \
        SPW_STEP_D2H, t \
    }
#define IN(t) \
    { \
        SPW_STEP_H2D, t \
    }
#define GO(t) \
    { \
        SPW_STEP_DROP, t \
    }

/* 0 is freed behind operation 2, 1 behind operation 1; 2 lives on. */
static void what_is_dropped_before_it_is_freed_is_copied_out(void **state)
{
    struct spw_recording *r = begin();
    assert_int_equal(spw_recording_live(r, 42, 50, true), 0);
    for (uint64_t id = 40; id < 42; id++)
        alloc(r, id, 50);
    OP(r, 1, {40, W}, {42, RW});
    OP(r, 2, {40, RW}, {41, W});
    release(r, 41);
    OP(r, 3, {42, RW});
    release(r, 40);
    struct spw_course *course = finish(r, 3);
    uint32_t *tensor_of, count;
    struct spw_graph *graph = graph_of(course, 0, &tensor_of);
    enum { LIVES, LATE, SOON };
    assert_int_equal(tensor_of[LATE], 1);
    struct spw_schedule s = schedule_of(graph, STEPS(OP_OF(0), OP_OF(1), GO(LATE), GO(SOON), OP_OF(2)));
    assert_int_equal(spw_course_keep(course, graph, tensor_of, true, &s, &count), 0);
    assert_int_equal(count, 1);
    expect_steps(&s, STEPS(OP_OF(0), OP_OF(1), OUT(LATE), GO(LATE), GO(SOON), OP_OF(2)));
    assert_int_equal(spw_course_keep(course, graph, tensor_of, true, &s, &count), 0);
    assert_int_equal(count, 0); /* it has a copy */
    spw_schedule_finish(&s);
    s = schedule_of(graph, STEPS(OP_OF(0), OUT(LIVES), OP_OF(1), GO(SOON), GO(LIVES), IN(LIVES), GO(LATE), OP_OF(2)));
    assert_int_equal(spw_course_keep(course, graph, tensor_of, false, &s, &count), 0);
    expect_steps(&s, STEPS(OP_OF(0), OUT(LIVES), OP_OF(1), OUT(LATE), GO(SOON), GO(LIVES), IN(LIVES), GO(LATE), OP_OF(2)));
    spw_schedule_finish(&s);
    s = schedule_of(graph, STEPS(OP_OF(0), OP_OF(1), GO(SOON), OP_OF(2), GO(LATE)));
    assert_int_equal(spw_course_keep(course, graph, tensor_of, false, &s, &count), 0);
    assert_int_equal(count, 0); /* it is freed by then */
    spw_schedule_finish(&s);
    destroy(r, course, graph, tensor_of);
}

/* Actions as a planner might list them, as (operation, kind, tensor of the graph). */
struct planned {
    uint32_t op, kind, id;
};

static struct spw_actions actions_of(const struct spw_graph *graph, const struct planned *list, uint32_t count)
{
    struct spw_actions a = {.count = count, .op_count = graph->op_count};
    a.list = calloc(count + 1, sizeof *a.list);
    a.first = calloc(graph->op_count + 2, sizeof *a.first);
    a.start = calloc(graph->tensor_count + 1, 1);
    assert_true(a.list && a.first && a.start);
    for (uint32_t i = 0; i < count; i++) {
        a.list[i] = (struct spw_action){list[i].kind, list[i].id};
        for (uint32_t op = list[i].op + 1; op <= graph->op_count + 1; op++)
            a.first[op]++;
    }
    return a;
}

/* 1 and 2 are not used, so that the graph's numbers are others than the course's. */
static void actions_are_left_out_where_the_program_frees_or_nobody_needs_them(void **state)
{
    struct spw_recording *r = begin();
    assert_int_equal(spw_recording_live(r, 3, 10, true), 0);
    assert_int_equal(spw_recording_live(r, 5, 10, true), 0);
    alloc(r, 1, 7);
    alloc(r, 4, 10);
    OP(r, 0, {4, W}, {5, R});
    alloc(r, 2, 7);
    alloc(r, 6, 10);
    OP(r, 1, {3, RW}, {6, W});
    OP(r, 2, {4, R});
    OP(r, 3, {3, R});
    OP(r, 4, {3, R});
    release(r, 4);
    release(r, 5);
    OP(r, 5, {3, R});
    struct spw_course *course = finish(r, 6);
    uint32_t *tensor_of;
    struct spw_graph *graph = graph_of(course, 0, &tensor_of);
    enum { WEIGHTS, BATCH, LATE, NEXT, TENSORS };
    enum { LATE_OF = 3, NEXT_OF = 5 };
    assert_int_equal(graph->tensor_count, TENSORS);
    assert_int_equal(tensor_of[LATE], LATE_OF);
    assert_int_equal(tensor_of[NEXT], NEXT_OF);
    const struct planned list[] = {
        {1, SPW_STEP_D2H, LATE},     {1, SPW_STEP_DROP, LATE},
        {2, SPW_STEP_H2D, LATE},                                /* all needed: it is used by 2 */
        {3, SPW_STEP_D2H, BATCH},    {3, SPW_STEP_DROP, BATCH}, /* is to leave before it is freed */
        {3, SPW_STEP_DROP, LATE},    {3, SPW_STEP_H2D, LATE},   /* held by 4, but not used */
        {4, SPW_STEP_DROP, NEXT},    {5, SPW_STEP_DROP, LATE},
        {5, SPW_STEP_DROP, WEIGHTS}, /* late is freed by then */
        {5, SPW_STEP_H2D, NEXT},     {6, SPW_STEP_DROP, NEXT},
        {6, SPW_STEP_DROP, WEIGHTS}, /* next is not dropped at the end */
    };
    struct spw_actions a = actions_of(graph, list, sizeof list / sizeof *list);
    a.start[NEXT] = SPW_START_CLEAN;
    struct spw_course_marks marks;
    assert_int_equal(spw_course_actions(course, graph, tensor_of, &a, &marks), 0);
    const struct planned expected[] = {{1, SPW_STEP_D2H, LATE_OF},  {1, SPW_STEP_DROP, LATE_OF}, {2, SPW_STEP_H2D, LATE_OF},
                                       {3, SPW_STEP_D2H, BATCH},    {3, SPW_STEP_DROP, BATCH},   {3, SPW_STEP_DROP, LATE_OF},
                                       {4, SPW_STEP_DROP, NEXT_OF}, {5, SPW_STEP_DROP, 0},       {5, SPW_STEP_H2D, NEXT_OF},
                                       {6, SPW_STEP_DROP, 0}};
    assert_int_equal(a.count, sizeof expected / sizeof *expected);
    for (uint32_t op = 0, i = 0; op <= 6; op++)
        for (; i < a.first[op + 1]; i++) {
            assert_int_equal(expected[i].op, op);
            assert_int_equal(expected[i].kind, a.list[i].kind);
            assert_int_equal(expected[i].id, a.list[i].id);
        }
    assert_int_equal(a.first[7], a.count);
    assert_int_equal(a.start[NEXT_OF], SPW_START_CLEAN);
    assert_int_equal(a.start[NEXT], SPW_START_DEVICE);
    for (uint32_t t = 0; t < course->tensor_count; t++)
        assert_false(marks.ghosts[t]);
    spw_course_marks_finish(&marks);
    spw_actions_finish(&a);
    destroy(r, course, graph, tensor_of);
}

static void a_recording_can_be_used_again_and_forgets_all(void **state)
{
    struct spw_recording *r = step();
    struct spw_course *course;
    assert_int_equal(spw_recording_finish(r, 0, &course), -EINVAL);
    assert_int_equal(spw_recording_finish(r, 7, &course), -EINVAL);
    course = finish(r, 6);
    assert_int_equal(course->tensor_count, 8);
    spw_course_destroy(course);
    spw_recording_begin(r);
    assert_int_equal(spw_recording_op_count(r), 0);
    assert_int_equal(spw_recording_live(r, 10, 100, true), 0);
    spw_recording_pin(r, 10);
    OP(r, 1, {10, R}, {20, R}, {999, W});
    release(r, 999);
    course = finish(r, 1);
    assert_int_equal(course->tensor_count, 1);
    assert_int_equal(course->ops[0].touch_count, 1);
    assert_false(course->tensors[0].evictable);
    spw_course_destroy(course);
    spw_recording_destroy(r);
}

static void a_detectors_part_of_the_touches_is_kept(void **state)
{
    const struct spw_iteration_op call = {
        .kind = SPW_ITERATION_SET, .function = 5, .geometry = 6, .everything = true, .touch_count = 1};
    struct spw_recording *r = begin();
    assert_int_equal(spw_recording_live(r, 1, 10, true), 0);
    assert_int_equal(spw_recording_live(r, 2, 20, true), 0);
    OP(r, 9, {1, R}, {2, R}, {1, W});
    spw_recording_call(r, 0, &call);
    OP(r, 8, {2, R}, {1, R});
    struct spw_course *course = finish(r, 2);
    const struct spw_course_call *calls = course->calls;
    assert_true(calls[0].kind == SPW_ITERATION_SET && calls[0].function == 5 && calls[0].geometry == 6 &&
                calls[0].everything);
    assert_true(calls[1].kind == SPW_ITERATION_LAUNCH && calls[1].function == 8 && !calls[1].everything);
    assert_int_equal(calls[0].mention_count, 1);
    assert_int_equal(calls[1].mention_count, 2);
    assert_int_equal(course->mentions[calls[0].first_mention].tensor, 0);
    assert_int_equal(course->mentions[calls[1].first_mention].tensor, 1);
    assert_int_equal(course->mentions[calls[1].first_mention + 1].tensor, 0);
    assert_int_equal(course->ops[0].touch_count, 2); /* the graph has them all */
    assert_int_equal(course->touches[course->ops[0].first_touch].access, RW);
    spw_course_destroy(course);
    spw_recording_destroy(r);
}

static void many_tensors_are_told_apart(void **state)
{
    enum { MANY = 5000 };
    struct spw_recording *r = begin();
    for (uint64_t i = 1; i <= MANY; i++)
        assert_int_equal(spw_recording_live(r, i << 20, i, true), 0);
    for (uint64_t i = 1; i <= MANY; i++)
        OP(r, i, {i << 20, R});
    struct spw_course *course = finish(r, MANY);
    for (uint32_t i = 0; i < MANY; i++) {
        assert_int_equal(course->tensors[i].bytes, i + 1);
        assert_int_equal(course->tensors[i].first_use, i);
        assert_int_equal(course->touches[course->ops[i].first_touch].tensor, i);
    }
    spw_course_destroy(course);
    spw_recording_destroy(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_course_has_who_is_alive_first_and_then_who_is_allocated),
        cmocka_unit_test(a_course_has_operations_with_each_tensor_once_and_as_it_was_mentioned),
        cmocka_unit_test(a_graph_is_made_of_lives_from_the_first_use_to_the_free),
        cmocka_unit_test(sizes_are_rounded_up_and_copies_take_as_long_as_the_bytes),
        cmocka_unit_test(who_lives_on_or_is_written_often_or_by_no_launch_is_copied_alone),
        cmocka_unit_test(who_nobody_takes_the_place_of_does_not_leave),
        cmocka_unit_test(who_is_freed_behind_the_next_steps_allocations_need_not_be_waited_for),
        cmocka_unit_test(who_takes_the_place_of_somebody_unused_is_born_with_its_own_first_use),
        cmocka_unit_test(who_is_freed_late_is_not_taken_for_one_that_the_step_before_was_to_free),
        cmocka_unit_test(who_is_freed_late_is_held_where_that_makes_no_operation_the_largest),
        cmocka_unit_test(what_is_dropped_before_it_is_freed_is_copied_out),
        cmocka_unit_test(actions_are_left_out_where_the_program_frees_or_nobody_needs_them),
        cmocka_unit_test(a_recording_can_be_used_again_and_forgets_all),
        cmocka_unit_test(a_detectors_part_of_the_touches_is_kept),
        cmocka_unit_test(many_tensors_are_told_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
