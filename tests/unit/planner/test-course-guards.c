/* test-course-guards.c - launches that are only believed to read: what of a course its graph has stay on the device for
 * them, and what not be run again. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "course/recording.h"

enum { R = SPW_COURSE_READS, W = SPW_COURSE_WRITES, B = SPW_COURSE_READS | SPW_COURSE_BELIEVED };
enum { INPUT = 1, OTHER, MADE, BESIDE, BETWEEN, SMALL }; /* ids */
enum { BYTES = 1 << 20, FEW = 1 << 10, OPS = 140, MOST = 4 };

struct use {
    uint32_t op;
    uint64_t id;
    uint8_t access;
};

static struct spw_course *course;
static struct spw_graph *graph;
static uint32_t *tensor_of;

/* Operations that have nothing to do otherwise read a tensor that lives on. `bytes` by id; 0: there is no such tensor. What
 * is made is allocated before the first of its uses, and freed behind operation `freed`, by id; 0: behind the last. */
static void plan_for(const struct use *uses, unsigned count, const uint64_t bytes[SMALL + 1],
                     const uint32_t freed[SMALL + 1])
{
    struct spw_recording *r;
    assert_int_equal(spw_recording_create(&r), 0);
    spw_recording_begin(r);
    assert_int_equal(spw_recording_live(r, INPUT, BYTES, true), 0);
    assert_int_equal(spw_recording_live(r, OTHER, BYTES, true), 0);
    for (uint64_t id = MADE; id <= BETWEEN; id++)
        if (bytes[id])
            assert_int_equal(spw_recording_alloc(r, id, bytes[id], true), 0);
    for (uint32_t op = 0; op < OPS; op++) {
        struct spw_recording_touch touches[MOST] = {{.id = OTHER, .access = R}};
        uint32_t n = 0, ordinal;
        for (unsigned i = 0; i < count; i++)
            if (uses[i].op == op)
                touches[n++] = (struct spw_recording_touch){
                    .id = uses[i].id, .access = R | W, .small_bytes = uses[i].id == SMALL ? bytes[SMALL] : 0};
        assert_int_equal(spw_recording_op(r, 7, true, touches, n ? n : 1, &ordinal), 0);
        for (uint64_t id = MADE; id <= BETWEEN; id++)
            if (bytes[id] && (freed[id] ? freed[id] : OPS - 1) == op)
                assert_int_equal(spw_recording_free(r, id), 0);
    }
    assert_int_equal(spw_recording_finish(r, OPS, &course), 0);
    spw_recording_destroy(r);
    for (uint32_t op = 0; op < OPS; op++) {
        uint8_t access[MOST] = {R};
        uint32_t n = 0;
        for (unsigned i = 0; i < count; i++)
            if (uses[i].op == op)
                access[n++] = uses[i].access;
        assert_int_equal(spw_course_learn(course, op, access, n ? n : 1, true), 0);
    }
    const struct spw_course_terms terms = {.d2h_bytes_per_us = 1000,
                                           .h2d_bytes_per_us = 1000,
                                           .unknown_us = 10,
                                           .working_bytes = 16 * BYTES,
                                           .may_replay = true};
    struct spw_graph_problem problem;
    assert_int_equal(spw_course_graph(course, &terms, &graph, &tensor_of, &problem), 0);
}

static int finish(void **state)
{
    spw_graph_destroy(graph);
    spw_course_destroy(course);
    free(tensor_of);
    return 0;
}

#define PLAN_FOR(bytes, freed, ...) \
    plan_for((struct use[]){__VA_ARGS__}, sizeof((struct use[]){__VA_ARGS__}) / sizeof(struct use), bytes, freed)

static const uint64_t usual[SMALL + 1] = {[MADE] = BYTES};
static const uint32_t at_the_end[SMALL + 1];

static uint32_t graphed(uint64_t id)
{
    for (uint32_t i = 0; i < graph->tensor_count; i++)
        if (tensor_of[i] != SPW_NO_INDEX && course->tensors[tensor_of[i]].id == id)
            return i;
    fail();
    return 0;
}

static bool holds(uint32_t op, uint64_t id)
{
    const struct spw_graph_op *o = &graph->ops[op];
    for (uint32_t i = o->read_count - o->held_count; i < o->read_count; i++)
        if (graph->touched[o->first_read + i].tensor == graphed(id))
            return true;
    return false;
}

static void a_launch_that_comes_soon_finds_it_there(void **state)
{
    PLAN_FOR(usual, at_the_end, {0, INPUT, R}, {0, MADE, W}, {1, MADE, R}, {6, INPUT, B}, {9, INPUT, B}, {50, MADE, R});
    assert_true(holds(9, MADE));
    assert_false(holds(6, MADE)); /* it is there up to the last of them */
    assert_true(graph->ops[0].replayable);
    assert_true(graph->tensors[graphed(MADE)].evictable);
}

static void one_that_is_known_to_read_asks_nothing(void **state)
{
    PLAN_FOR(usual, at_the_end, {0, INPUT, B}, {0, MADE, W}, {1, MADE, R}, {6, INPUT, R}, {50, MADE, R});
    assert_false(holds(6, MADE));
    assert_true(graph->ops[0].replayable);
}

static void what_one_comes_between_much_later_is_not_made_again(void **state)
{
    PLAN_FOR(usual, at_the_end, {0, INPUT, R}, {0, MADE, W}, {1, MADE, R}, {40, INPUT, B}, {50, MADE, R});
    assert_false(graph->ops[0].replayable);
    assert_false(holds(40, MADE));
}

/* One launch a sample, for instance: the engine follows so many of them, and no more. */
static void who_is_written_by_more_launches_than_are_followed_is_not_made_again(void **state)
{
    for (unsigned more = 0; more < 2; more++) {
        struct use uses[SPW_COURSE_MAKERS + 2];
        const unsigned makers = SPW_COURSE_MAKERS + more;
        for (unsigned i = 0; i < makers; i++)
            uses[i] = (struct use){i, MADE, i ? R | W : W};
        uses[makers] = (struct use){OPS - 10, MADE, R};
        plan_for(uses, makers + 1, usual, at_the_end);
        for (unsigned i = 0; i < makers; i++)
            assert_int_equal(graph->ops[i].replayable, !more);
        if (!more)
            finish(state);
    }
}

static void a_by_product_stays(void **state)
{
    const uint64_t bytes[SMALL + 1] = {[MADE] = BYTES, [BESIDE] = BYTES / 32};
    PLAN_FOR(bytes, at_the_end, {0, INPUT, R}, {0, MADE, W}, {0, BESIDE, W}, {1, MADE, R}, {1, BESIDE, R}, {40, INPUT, B},
             {38, MADE, R}, {50, BESIDE, R});
    assert_true(graph->ops[0].replayable);
    assert_false(graph->tensors[graphed(BESIDE)].evictable);
    assert_true(graph->tensors[graphed(MADE)].evictable);
}

/* Nobody reads it any more, but as long as the program has it, it might be made again before such a launch. */
static void behind_the_last_use_it_is_kept_for_good(void **state)
{
    PLAN_FOR(usual, at_the_end, {0, INPUT, R}, {0, MADE, W}, {1, MADE, R}, {50, OTHER, R});
    assert_false(holds(OPS - 1, MADE));
    finish(state);
    PLAN_FOR(usual, at_the_end, {0, INPUT, R}, {0, MADE, W}, {1, MADE, R}, {50, INPUT, B});
    assert_true(holds(OPS - 1, MADE));
    assert_false(graph->ops[0].replayable); /* it would be run again for nobody */
    finish(state);
    PLAN_FOR(usual, at_the_end, {0, INPUT, R}, {0, MADE, W}, {1, MADE, R}, {60, MADE, R}, {120, INPUT, B});
    assert_true(holds(OPS - 1, MADE));
    assert_true(graph->ops[0].replayable); /* between its uses it may be away */
    finish(state);
    const uint64_t bytes[SMALL + 1] = {[MADE] = BYTES, [BESIDE] = BYTES};
    PLAN_FOR(bytes, at_the_end, {0, INPUT, R}, {0, MADE, W}, {0, BESIDE, W}, {1, MADE, R}, {1, BESIDE, R}, {50, INPUT, B});
    assert_true(graph->ops[0].replayable); /* another may want it */
}

/* What is between has been freed by then: to be made of it, it would have to be made of the input first. */
static void what_is_made_by_way_of_a_tensor_that_is_freed_is_looked_at_as_well(void **state)
{
    const uint64_t bytes[SMALL + 1] = {[MADE] = BYTES, [BETWEEN] = BYTES};
    const uint32_t freed[SMALL + 1] = {[BETWEEN] = 2};
    PLAN_FOR(bytes, freed, {0, INPUT, R}, {0, BETWEEN, W}, {1, BETWEEN, R}, {1, MADE, W}, {2, MADE, R}, {5, INPUT, B},
             {50, MADE, R});
    assert_true(holds(5, MADE));
    finish(state);
    PLAN_FOR(bytes, at_the_end, {0, INPUT, R}, {0, BETWEEN, W}, {1, BETWEEN, R}, {1, MADE, W}, {2, MADE, R}, {5, INPUT, B},
             {50, MADE, R});
    assert_false(holds(5, MADE)); /* it is there, for all that anybody knows */
}

/* It is lent what it held: who else writes it does not matter. */
static void small_ones_that_travel_with_the_launch_ask_nothing(void **state)
{
    uint64_t bytes[SMALL + 1] = {[MADE] = BYTES, [SMALL] = FEW};
    PLAN_FOR(bytes, at_the_end, {0, SMALL, B}, {0, MADE, W}, {1, MADE, R}, {6, SMALL, B}, {50, MADE, R});
    assert_false(holds(6, MADE));
    finish(state);
    PLAN_FOR(bytes, at_the_end, {0, SMALL, R}, {0, MADE, W}, {1, MADE, R}, {6, SMALL, B}, {50, MADE, R});
    assert_true(holds(6, MADE)); /* this one is not lent */
}

/* It is given another place when it is run again: it has to be there for the operation alone, and may be written meanwhile.
 */
static void where_an_operation_only_works_asks_nothing_of_its_replays(void **state)
{
    enum { S = SPW_COURSE_SCRATCH };
    PLAN_FOR(usual, at_the_end, {0, INPUT, S}, {0, MADE, W}, {1, MADE, R}, {6, INPUT, R | W}, {30, INPUT, S}, {40, INPUT, B},
             {50, MADE, R});
    assert_true(graph->ops[0].replayable);
    assert_true(holds(0, INPUT));
    assert_true(holds(30, INPUT));
    for (uint32_t op = 1; op < 50; op++)
        assert_false(holds(op, MADE));
    for (uint32_t i = 0; i < graph->ops[0].write_count; i++)
        assert_int_not_equal(graph->touched[graph->ops[0].first_write + i].tensor, graphed(INPUT));
    finish(state);
    uint64_t bytes[SMALL + 1] = {[MADE] = BYTES, [SMALL] = FEW};
    PLAN_FOR(bytes, at_the_end, {0, SMALL, S}, {0, MADE, W}, {1, MADE, R}, {6, SMALL, R | W}, {50, MADE, R});
    assert_true(graph->ops[0].replayable);
    assert_int_equal(graph->ops[0].read_count, 0);
}

/* One that was allocated for it has no other place to come from. */
static void who_is_first_to_work_in_a_tensor_makes_it(void **state)
{
    PLAN_FOR(usual, at_the_end, {3, MADE, SPW_COURSE_SCRATCH}, {50, MADE, R});
    assert_int_equal(graph->tensors[graphed(MADE)].alloc_before, 3);
    assert_int_equal(graph->ops[3].write_count, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(a_launch_that_comes_soon_finds_it_there, finish),
        cmocka_unit_test_teardown(one_that_is_known_to_read_asks_nothing, finish),
        cmocka_unit_test_teardown(what_one_comes_between_much_later_is_not_made_again, finish),
        cmocka_unit_test_teardown(who_is_written_by_more_launches_than_are_followed_is_not_made_again, finish),
        cmocka_unit_test_teardown(a_by_product_stays, finish),
        cmocka_unit_test_teardown(behind_the_last_use_it_is_kept_for_good, finish),
        cmocka_unit_test_teardown(what_is_made_by_way_of_a_tensor_that_is_freed_is_looked_at_as_well, finish),
        cmocka_unit_test_teardown(where_an_operation_only_works_asks_nothing_of_its_replays, finish),
        cmocka_unit_test_teardown(who_is_first_to_work_in_a_tensor_makes_it, finish),
        cmocka_unit_test_teardown(small_ones_that_travel_with_the_launch_ask_nothing, finish),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
