/* test-course-frees.c - a course has the places at which tensors are freed, however late the recording tells of them. */
#include "recorded-course.h"

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
