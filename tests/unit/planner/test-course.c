/* test-course.c - what was recorded comes out as one iteration, and as a graph in which everybody has the life that the
 * program gave it. */
#include "recorded-course.h"

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

/* Of 20, in the iteration, and of the weights it is only believed that somebody does not write them. */
static void who_is_only_believed_to_be_read_is_copied_alone(void **state)
{
    struct spw_recording *r = begin();
    assert_int_equal(spw_recording_live(r, 10, 100, true), 0);
    alloc(r, 20, 40);
    alloc(r, 21, 40);
    OP(r, 100, {10, R}, {20, W}, {21, W});
    OP(r, 101, {20, R | SPW_COURSE_BELIEVED}, {21, RW});
    OP(r, 102, {10, R | SPW_COURSE_BELIEVED}, {20, R}, {21, R});
    release(r, 20);
    release(r, 21);
    struct spw_course *course = finish(r, 3);
    uint32_t *tensor_of;
    struct spw_graph *graph = graph_of(course, 64, &tensor_of);
    assert_int_equal(graph->tensor_count, 3);
    for (uint32_t i = 0; i < graph->tensor_count; i++)
        assert_int_equal(graph->tensors[i].copied_alone, course->tensors[tensor_of[i]].id != 21);
    destroy(r, course, graph, tensor_of);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_course_has_who_is_alive_first_and_then_who_is_allocated),
        cmocka_unit_test(a_course_has_operations_with_each_tensor_once_and_as_it_was_mentioned),
        cmocka_unit_test(a_graph_is_made_of_lives_from_the_first_use_to_the_free),
        cmocka_unit_test(sizes_are_rounded_up_and_copies_take_as_long_as_the_bytes),
        cmocka_unit_test(who_is_only_believed_to_be_read_is_copied_alone),
        cmocka_unit_test(who_nobody_takes_the_place_of_does_not_leave),
        cmocka_unit_test(who_is_freed_behind_the_next_steps_allocations_need_not_be_waited_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
