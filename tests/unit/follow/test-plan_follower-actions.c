/* test-plan_follower-actions.c - plans made by hand are carried out where they say: at the beginning, at the end, from the
 * middle of an iteration on; and plans made of numbers that make no sense do no harm. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "fake-device.h"
#include "logged.h"
#include "plan_stats.h"
#include "plan_thread.h"
#include "training-loop.h"

enum {
    OPERATIONS =
        1 + 2 * LOOP_LAYERS, /* of a step: the load, forward, backward; weight w is used by w + 1 and by the last - w */
    END = OPERATIONS,        /* behind the last one */
    KNOWN_AFTER = 5,         /* steps until a plan is in place */
    SETTLES = 60,            /* until others have been tried */
};
#define ALMOST ((uint64_t)(LOOP_TENSORS - 1) * LOOP_BYTES) /* one tensor is too many */

static struct training_loop loop;

/* ---- plans by hand ---- */

struct hand {
    uint32_t weights_away; /* at the beginning, a bit for each */
    unsigned count;
    struct {
        unsigned before, kind, weight; /* operation, enum spw_step_kind, which one */
    } actions[8];
};
static const struct hand *hands[3]; /* the first plan, the second, all others; NULL: as the planner makes it */
static unsigned made, made_before;  /* plans so far; the operation of the step before which the first one was */
static void (*spoil)(struct spw_course *course);

static unsigned operation; /* of this step, the next one */
static uint32_t leaving[OPERATIONS +
                        1]; /* behind each operation of the last step: weights that are gone, or going, and not asked back */

static struct spw_block *block_of(CUdeviceptr a)
{
    return spw_block_of(spw_object_at_locked(a));
}

static uint32_t tensor_of(const struct spw_course *course, unsigned weight)
{
    for (uint32_t t = 0; t < course->live_count; t++)
        if (course->tensors[t].id == block_of(loop.weights[weight])->serial)
            return t;
    fail_msg("weight %u is none of the course's tensors", weight);
    return 0;
}

static struct spw_course_plan *plan_by_hand(const struct spw_course *course, const struct hand *hand)
{
    struct spw_course_plan *plan = spw_course_plan_none(course);
    assert_non_null(plan);
    assert_int_equal(course->op_count, OPERATIONS);
    struct spw_actions *a = &plan->actions;
    a->list = calloc(hand->count + 1, sizeof(*a->list));
    for (unsigned w = 0; w < LOOP_LAYERS; w++)
        if (hand->weights_away >> w & 1)
            a->start[tensor_of(course, w)] = SPW_START_HOST;
    for (uint32_t o = 0; o <= OPERATIONS; o++) {
        a->first[o] = a->count;
        for (unsigned i = 0; i < hand->count; i++)
            if (hand->actions[i].before == o)
                a->list[a->count++] = (struct spw_action){hand->actions[i].kind, tensor_of(course, hand->actions[i].weight)};
        plan->due[o] = a->count > a->first[o];
    }
    a->first[OPERATIONS + 1] = a->count;
    plan->predicted_us = 1000;
    plan->compute_us = plan->lower_bound_us = 1;
    return plan;
}

int __real_spw_plan_course(const struct spw_course *course, const struct spw_plan_terms *terms, bool quick,
                           const bool *cancelled, struct spw_course_plan **ret_plan);
int __wrap_spw_plan_course(const struct spw_course *course, const struct spw_plan_terms *terms, bool quick,
                           const bool *cancelled, struct spw_course_plan **ret_plan);

int __wrap_spw_plan_course(const struct spw_course *course, const struct spw_plan_terms *terms, bool quick,
                           const bool *cancelled, struct spw_course_plan **ret_plan)
{
    const struct hand *hand = hands[made < 2 ? made : 2];
    if (made++ == 0)
        made_before = operation;
    if (spoil)
        spoil((struct spw_course *)course);
    if (!hand)
        return __real_spw_plan_course(course, terms, quick, cancelled, ret_plan);
    *ret_plan = plan_by_hand(course, hand);
    return 0;
}

static void look(struct training_loop *l)
{
    uint32_t bits = 0;
    for (unsigned w = 0; w < LOOP_LAYERS; w++) {
        const struct spw_block *b = block_of(l->weights[w]);
        if (b->object.attention & (SPW_ABSENT | SPW_EVICTING) && b->way != SPW_QUEUE_AWAITED)
            bits |= 1u << w;
    }
    if (operation < OPERATIONS)
        leaving[operation] = bits;
    operation++;
}

static void start(const struct hand *first, const struct hand *second)
{
    hands[0] = first;
    hands[1] = hands[2] = second;
    made = operation = 0;
    spoil = NULL;
    loop_start(&loop, ALMOST, SPW_PLAN_WAIT);
    loop.after = look;
}

static void step(void)
{
    operation = 0;
    loop_step(&loop);
}

static void steps_until_made(unsigned plans)
{
    for (unsigned i = 0; made < plans; i++) {
        assert_true(i < SETTLES);
        step();
    }
}

static bool leaves(unsigned weight, unsigned behind)
{
    return leaving[behind] >> weight & 1;
}

/* ---- where they say ---- */

/* The last weight leaves behind its last use and comes back behind the last operation, for the next iteration. */
static void what_is_due_behind_the_last_operation_is_done_there(void **state)
{
    static const struct hand hand = {0, 3, {{10, SPW_STEP_D2H, 7}, {10, SPW_STEP_DROP, 7}, {END, SPW_STEP_H2D, 7}}};
    start(&hand, &hand);
    steps_until_made(1);
    for (unsigned i = 0; i < 20; i++) {
        step();
        for (unsigned o = 10; o < OPERATIONS - 1; o++)
            assert_true(leaves(7, o));
        assert_false(leaves(7, OPERATIONS - 1));
        assert_false(leaves(7, 0));
    }
    loop_check(&loop);
}

/* The last weight is away at the beginning: also where the course is entered anew, with everything where demand left it. */
static const struct hand away_at_first = {1u << 7, 3, {{5, SPW_STEP_H2D, 7}, {10, SPW_STEP_D2H, 7}, {10, SPW_STEP_DROP, 7}}};

static void what_is_to_be_away_at_the_beginning_leaves_where_the_course_is_entered(void **state)
{
    start(&away_at_first, &away_at_first);
    steps_until_made(1);
    for (unsigned i = 0; i < 4; i++) {
        step();
        step();
        assert_true(leaves(7, 0) && leaves(7, 3) && !leaves(7, 4));
        for (unsigned k = 0; k < 17; k++) { /* the course is lost, and this one is here */
            assert_true(loop_launch(&loop, 999, &loop.weights[7], 1, 1));
            loop_end_launch(&loop);
        }
        step();
        step();
        step();
        assert_true(leaves(7, 1) && leaves(7, 3) && !leaves(7, 4));
        assert_int_equal(spw_plan_stats[0].lost, i + 1);
    }
    loop_check(&loop);
}

/* A plan that is ready in the middle of an iteration: what it would have sent away by then leaves, what it would have
 * brought back by then stays. */
static void a_plan_that_is_taken_up_in_the_middle_finds_things_as_if_it_had_been_there(void **state)
{
    static const struct hand hand = {1u << 6 | 1u << 4,
                                     8,
                                     {{0, SPW_STEP_D2H, 7},
                                      {0, SPW_STEP_DROP, 7},
                                      {0, SPW_STEP_H2D, 4},
                                      {4, SPW_STEP_H2D, 6},
                                      {6, SPW_STEP_H2D, 7},
                                      {12, SPW_STEP_D2H, 6},
                                      {12, SPW_STEP_DROP, 6},
                                      {END, SPW_STEP_DROP, 4}}};
    start(&hand, &hand);
    steps_until_made(1);
    assert_in_range(made_before, 0, 2);
    const unsigned then = made_before + 1;
    assert_true(leaves(7, then));
    assert_true(leaves(6, then));
    assert_false(leaves(4, then));
    loop_check(&loop);
}

/* Between two iterations another plan takes over, which wants something else to be away. */
static void a_plan_that_replaces_another_finds_away_what_it_wants_away(void **state)
{
    static const struct hand nothing = {0};
    start(&nothing, &away_at_first);
    steps_until_made(2);
    assert_true(leaves(7, OPERATIONS - 1));
    step();
    assert_true(leaves(7, 0) && leaves(7, 3) && !leaves(7, 4));
    loop_check(&loop);
}

/* ---- what cannot begin where they say ---- */

static unsigned held_from, held_until; /* behind these operations of a step */
static bool is_held;

/* The last weight is held by another thread meanwhile: it cannot leave. */
static void hold_and_look(struct training_loop *l)
{
    struct spw_block *b = block_of(l->weights[7]);
    const bool begins = !is_held && operation == held_from, ends = is_held && operation == held_until;
    b->holds += begins;
    b->holds -= ends;
    is_held = (is_held || begins) && !ends;
    look(l);
}

static void hold(unsigned from, unsigned until)
{
    held_from = from;
    held_until = until;
    is_held = false;
    loop.after = hold_and_look;
}

static void what_cannot_leave_yet_leaves_as_soon_as_it_can(void **state)
{
    static const struct hand hand = {0, 3, {{10, SPW_STEP_D2H, 7}, {10, SPW_STEP_DROP, 7}, {END, SPW_STEP_H2D, 7}}};
    start(&hand, &hand);
    steps_until_made(1);
    step();
    hold(8, 11);
    for (unsigned i = 0; i < 20; i++) {
        step();
        assert_false(leaves(7, 9) || leaves(7, 10));
        assert_true(leaves(7, 13) && leaves(7, OPERATIONS - 2));
        assert_false(leaves(7, OPERATIONS - 1));
    }
    loop_check(&loop);
}

/* The plan has it away when an iteration begins. */
static void what_cannot_leave_by_the_end_of_an_iteration_leaves_in_the_next_one(void **state)
{
    static const struct hand hand = {1u << 7, 3, {{5, SPW_STEP_H2D, 7}, {END, SPW_STEP_D2H, 7}, {END, SPW_STEP_DROP, 7}}};
    start(&hand, &hand);
    steps_until_made(1);
    step();
    hold(OPERATIONS - 2, 1);
    step();
    for (unsigned i = 0; i < 20; i++) {
        step();
        assert_true(leaves(7, 3));
        assert_false(leaves(7, 5));
    }
    loop_check(&loop);
}

/* What is used meanwhile stays until the plan has something for it. */
static void what_is_used_before_it_could_leave_stays(void **state)
{
    static const struct hand hand = {0, 2, {{3, SPW_STEP_D2H, 7}, {3, SPW_STEP_DROP, 7}}};
    start(&hand, &hand);
    steps_until_made(1);
    step();
    hold(1, 9);
    for (unsigned i = 0; i < 20; i++) {
        step();
        for (unsigned o = 0; o < OPERATIONS; o++)
            assert_false(leaves(7, o));
    }
    loop_check(&loop);
}

/* ---- numbers that make no sense ---- */

static void each_duration(struct spw_course *course, double us)
{
    for (uint32_t o = 0; o < course->op_count; o++)
        course->ops[o].us = us;
}

static void takes_no_number(struct spw_course *course)
{
    each_duration(course, NAN);
}
static void takes_for_ever(struct spw_course *course)
{
    each_duration(course, INFINITY);
}
static void takes_ages(struct spw_course *course)
{
    each_duration(course, 1e300);
}
static void takes_nothing(struct spw_course *course)
{
    each_duration(course, 0);
}
static void is_not_known(struct spw_course *course)
{
    each_duration(course, -1);
}
static void some_take_no_number(struct spw_course *course)
{
    for (uint32_t o = 0; o < course->op_count; o += 3)
        course->ops[o].us = o % 2 ? NAN : 1e18;
}
static void tensors_are_huge(struct spw_course *course)
{
    for (uint32_t t = 0; t < course->tensor_count; t++)
        course->tensors[t].bytes = UINT64_MAX / 2 + t;
}
static void tensors_have_no_size(struct spw_course *course)
{
    for (uint32_t t = 0; t < course->tensor_count; t++)
        course->tensors[t].bytes = 0;
}
static void nothing_is_touched(struct spw_course *course)
{
    for (uint32_t o = 0; o < course->op_count; o++)
        course->ops[o].touch_count = 0;
}
static void one_is_touched_all_the_time(struct spw_course *course)
{
    for (uint32_t i = 0; i < course->touch_count; i++)
        course->touches[i].tensor = 0;
}
static void lives_end_before_they_begin(struct spw_course *course)
{
    for (uint32_t t = course->live_count; t < course->tensor_count; t++)
        course->tensors[t].free_after = 0;
}

static void a_corrupt_recording_gives_some_plan_or_none_and_harms_nobody(void **state)
{
    static void (*const ways[])(struct spw_course *) = {takes_no_number,
                                                        takes_for_ever,
                                                        takes_ages,
                                                        takes_nothing,
                                                        is_not_known,
                                                        some_take_no_number,
                                                        tensors_are_huge,
                                                        tensors_have_no_size,
                                                        nothing_is_touched,
                                                        one_is_touched_all_the_time,
                                                        lives_end_before_they_begin};
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        start(NULL, NULL);
        log_into_file(SPW_LOG_INFO);
        spoil = ways[i];
        for (unsigned k = 0; k < SETTLES; k++)
            step();
        assert_true(made > 0);
        if (lines_with("planned an iteration") + lines_with("cannot be planned") == 0)
            fail_msg("nothing was said of the recording spoiled in way %zu", i);
        log_as_before();
        loop_check(&loop);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_due_behind_the_last_operation_is_done_there),
        cmocka_unit_test(what_is_to_be_away_at_the_beginning_leaves_where_the_course_is_entered),
        cmocka_unit_test(a_plan_that_is_taken_up_in_the_middle_finds_things_as_if_it_had_been_there),
        cmocka_unit_test(a_plan_that_replaces_another_finds_away_what_it_wants_away),
        cmocka_unit_test(what_cannot_leave_yet_leaves_as_soon_as_it_can),
        cmocka_unit_test(what_cannot_leave_by_the_end_of_an_iteration_leaves_in_the_next_one),
        cmocka_unit_test(what_is_used_before_it_could_leave_stays),
        cmocka_unit_test(a_corrupt_recording_gives_some_plan_or_none_and_harms_nobody),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
