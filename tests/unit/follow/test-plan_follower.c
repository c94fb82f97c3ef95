/* test-plan_follower.c - a training loop on the fake device gets on its course, is followed, lost and found again; its bytes
 * stay what they were and the budget holds. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "follower.h"
#include "transfers.h"
#include "fake-device.h"
#include "op.h"
#include "pin.h"
#include "plan_stats.h"
#include "reclaim.h"
#include "plan_tuning.h"
#include "deferred_unmap.h"
#include "pinning.h"
#include "pointer_tables.h"
#include "training-loop.h"

#define SHORT ((uint64_t)LOOP_TENSORS * LOOP_BYTES * 6 / 10)

enum {
    KNOWN_AFTER = 5, /* steps until a plan is in place */
    TOO_MANY = 17    /* operations in a row that a course does not have, for the device to stay on it */
};

static struct training_loop loop;

static const struct spw_plan_stats *counts(void)
{
    return &spw_plan_stats[0];
}

/* So many steps, all by plan: nothing comes on demand, and hardly ever has room to be made for somebody, which on demand is
 * necessary a dozen times in each. */
static void goes_by_plan(unsigned steps)
{
    const struct spw_plan_stats before = *counts();
    const struct spw_transfer_counts carried = spw_transfer_counts;
    const uint64_t stalls = spw_reclaim_stalls.count, copies_in = fake_counts()->copies_in;
    loop.is_strict = true;
    loop_steps(&loop, steps);
    loop.is_strict = false;
    assert_int_equal(counts()->planned_iterations - before.planned_iterations, steps);
    assert_int_equal(counts()->lost, before.lost);
    assert_true(spw_transfer_counts.restored_count - carried.restored_count >= steps);
    assert_int_equal(fake_counts()->copies_in - copies_in, spw_transfer_counts.restored_count - carried.restored_count);
    assert_int_equal(spw_transfer_counts.restored_in_time - carried.restored_in_time,
                     spw_transfer_counts.restored_count - carried.restored_count);
    assert_int_equal(spw_transfer_counts.late_count, carried.late_count);
    assert_int_equal(spw_transfer_counts.failed_count, carried.failed_count);
    assert_true(spw_reclaim_stalls.count - stalls <= 2 * steps);
}

static void the_fifth_step_goes_by_plan(void **state)
{
    loop_start(&loop, SHORT, SPW_PLAN_WAIT);
    loop_steps(&loop, KNOWN_AFTER);
    goes_by_plan(40);
    loop_check(&loop);
}

static unsigned times_out_after_in;

int __real_spw_mover_out_after_in_locked(struct spw_device *d);
int __wrap_spw_mover_out_after_in_locked(struct spw_device *d);
int __wrap_spw_mover_out_after_in_locked(struct spw_device *d)
{
    times_out_after_in++;
    return __real_spw_mover_out_after_in_locked(d);
}

/* In a plan an iteration begins when all copies of the one before are done. */
static void what_a_step_copies_out_comes_behind_what_the_one_before_copied_in(void **state)
{
    loop_start(&loop, SHORT, SPW_PLAN_WAIT);
    loop_steps(&loop, KNOWN_AFTER);
    times_out_after_in = 0;
    goes_by_plan(10);
    assert_int_equal(times_out_after_in, 10);
    loop_check(&loop);
}

/* A tensor that is copied out soon after it was made stays until its last use before it leaves. */
static void what_is_used_again_after_its_copy_out_stays(void **state)
{
    loop_start(&loop, SHORT, SPW_PLAN_WAIT);
    loop.skips = 3;
    loop_steps(&loop, KNOWN_AFTER);
    goes_by_plan(20);
    loop_check(&loop);
}

static void a_batch_that_is_loaded_one_step_ahead_is_known_under_its_new_number(void **state)
{
    loop_start(&loop, SHORT, SPW_PLAN_WAIT);
    loop.loads_ahead = true;
    loop_steps(&loop, KNOWN_AFTER + 1);
    goes_by_plan(20);
    loop_check(&loop);
}

/* Bytes are right also where the device is behind, and memory has to be waited for. */
static void a_device_that_lags_behind_gets_the_same_bytes(void **state)
{
    loop_start(&loop, SHORT, SPW_PLAN_WAIT);
    loop.device_lags = true;
    loop_steps(&loop, 30);
    assert_true(counts()->planned_iterations >= 20);
    assert_int_equal(counts()->lost, 0);
    loop_check(&loop);
}

/* Kernels that get structures may name anything where nobody fills these in. What they are known by stays the same, and
 * what else they name is there for them. */
static void what_the_stack_had_hides_no_iteration(void **state)
{
    loop_start(&loop, SHORT, SPW_PLAN_WAIT);
    loop.stale = 2;
    loop_steps(&loop, KNOWN_AFTER);
    const struct spw_plan_stats before = *counts();
    loop_steps(&loop, 20);
    assert_int_equal(counts()->planned_iterations - before.planned_iterations, 20);
    assert_int_equal(counts()->lost, 0);
    loop_check(&loop);
}

/* Where there are pointer tables, each operation's list of objects is told, whatever order its parameters had. */
static void what_the_stack_had_hides_no_iteration_beside_a_table_of_addresses(void **state)
{
    loop_start(&loop, SHORT, SPW_PLAN_WAIT);
    const CUdeviceptr table = loop_allocate(&loop, LOOP_BYTES);
    spw_pointer_tables_learn(table, &table, sizeof table, &spw_pinning);
    assert_true(spw_pointer_tables_any());
    loop.stale = 2;
    loop_steps(&loop, KNOWN_AFTER);
    const struct spw_plan_stats before = *counts();
    loop_steps(&loop, 20);
    assert_int_equal(counts()->planned_iterations - before.planned_iterations, 20);
    assert_int_equal(counts()->lost, 0);
    spw_pointer_tables_forget(table, table + LOOP_BYTES);
    assert_false(spw_pointer_tables_any());
    loop_check(&loop);
}

static void what_nobody_frees_in_between_is_planned_as_well(void **state)
{
    loop_start(&loop, SHORT, SPW_PLAN_WAIT);
    loop.frees_nothing = true;
    loop_steps(&loop, KNOWN_AFTER);
    goes_by_plan(20);
    loop_check(&loop);
}

/* ---- off the course, and back ---- */

static void something_else(void)
{
    for (unsigned i = 0; i < TOO_MANY; i++) {
        assert_true(loop_launch(&loop, 999, &loop.weights[3], 1, 1));
        fake_expect(loop.stream, loop.weights[3], LOOP_BYTES, loop.weight_values[3]);
        loop_end_launch(&loop);
    }
}

static unsigned in_so_many; /* operations; 0: never again */
static uint64_t stale_before, stale_beside;

static void something_else_in_between(struct training_loop *l)
{
    const struct spw_deferred_unmaps *stale = &l->device->stale;
    if (!in_so_many || --in_so_many)
        return;
    stale_before += stale->granules;
    assert_true(loop_launch(l, 999, &l->weights[3], 1, 1));
    stale_beside += stale->granules;
    fake_expect(l->stream, l->weights[3], LOOP_BYTES, l->weight_values[3]);
    loop_end_launch(l);
}

/* Memory changes hands on the device once a course has come often. Before anything is submitted that it does not have, there
 * is no old address left where that could meet another tensor. */
static void what_the_course_does_not_have_meets_no_old_address(void **state)
{
    stale_before = stale_beside = 0;
    for (unsigned after = 1; after < 3 * LOOP_LAYERS; after++) {
        loop_start(&loop, SHORT, SPW_PLAN_WAIT);
        spw_unmap_counts = (struct spw_unmap_counts){0};
        loop.device_lags = true;
        loop_steps(&loop, KNOWN_AFTER);
        assert_int_equal(spw_unmap_counts.count, 0);
        loop_steps(&loop, 30);
        assert_true(spw_unmap_counts.early_count > 0);
        in_so_many = after;
        loop.after = something_else_in_between;
        loop_steps(&loop, 2);
        loop_check(&loop);
    }
    assert_true(stale_before > 0);
    assert_int_equal(stale_beside, 0);
}

static void unexpected_operations_cost_two_steps_at_most(void **state)
{
    static const unsigned after[] = {KNOWN_AFTER + 3, 30}; /* while the detector is told everything, and later */
    for (unsigned i = 0; i < 2; i++) {
        loop_start(&loop, SHORT, SPW_PLAN_WAIT);
        loop_steps(&loop, after[i]);
        const uint64_t lost = counts()->lost, plans = counts()->plans;
        something_else();
        loop_steps(&loop, 2);
        const uint64_t planned = counts()->planned_iterations;
        loop_steps(&loop, 1);
        assert_int_equal(counts()->planned_iterations, planned + 1);
        assert_int_equal(counts()->lost, lost + 1);
        goes_by_plan(10);
        assert_int_equal(counts()->plans, plans);
        loop_check(&loop);
    }
}

static void an_evaluation_in_between_costs_two_steps_at_most(void **state)
{
    loop_start(&loop, SHORT, SPW_PLAN_WAIT);
    loop_steps(&loop, 10);
    for (unsigned i = 0; i < 4; i++) {
        loop_evaluate(&loop);
        loop_steps(&loop, 3);
        goes_by_plan(4);
    }
    loop_check(&loop);
}

/* Its first operation, with as much alive as at its beginning, tells that an iteration begins. */
static void the_step_behind_an_evaluation_goes_by_plan(void **state)
{
    enum { EACH = 2, ROUNDS = 12 };
    loop_start(&loop, SHORT, SPW_PLAN_WAIT);
    loop_steps(&loop, 10);
    const uint64_t planned = counts()->planned_iterations, lost = counts()->lost;
    for (unsigned i = 0; i < ROUNDS; i++) {
        loop_evaluate(&loop);
        loop_steps(&loop, EACH);
    }
    assert_int_equal(counts()->planned_iterations - planned, EACH * ROUNDS);
    assert_int_equal(counts()->lost - lost, ROUNDS);
    loop_check(&loop);
}

static void another_batch_size_gets_a_plan_of_its_own(void **state)
{
    loop_start(&loop, SHORT, SPW_PLAN_WAIT);
    loop_steps(&loop, 10);
    const uint64_t plans = counts()->plans;
    loop.bytes = LOOP_BYTES / 2 + LOOP_BYTES / 4;
    loop.geometry = 2;
    loop_steps(&loop, KNOWN_AFTER + 2);
    goes_by_plan(5);
    assert_int_equal(counts()->plans, plans + 1);
    loop.bytes = LOOP_BYTES;
    loop.geometry = 1;
    loop_steps(&loop, 3);
    goes_by_plan(5);
    assert_int_equal(counts()->plans, plans + 1);
    loop_check(&loop);
}

/* The kernels are the same, launched alike: only the tensors tell. */
static void another_batch_size_by_the_same_operations_gets_a_plan_of_its_own(void **state)
{
    static const unsigned after[] = {10, 30}; /* while the detector is told everything, and later */
    for (unsigned i = 0; i < 2; i++) {
        loop_start(&loop, SHORT, SPW_PLAN_WAIT);
        loop_steps(&loop, after[i]);
        const uint64_t plans = counts()->plans;
        loop.bytes = LOOP_BYTES / 2 + LOOP_BYTES / 4;
        loop_steps(&loop, KNOWN_AFTER + 3);
        goes_by_plan(5);
        assert_int_equal(counts()->plans, plans + 1);
        loop.bytes = LOOP_BYTES;
        loop_steps(&loop, 4);
        goes_by_plan(5);
        assert_int_equal(counts()->plans, plans + 1);
        loop_check(&loop);
    }
}

/* ---- pinned ---- */

static void look_at_the_pinned(struct training_loop *l)
{
    const struct spw_block *b = spw_block_of(spw_object_at_locked(l->weights[4]));
    assert_true(b->pinned);
    assert_int_equal(b->object.attention & (SPW_ABSENT | SPW_EVICTING), 0);
}

static void pin_a_weight(void)
{
    spw_pin_address(loop.weights[4], "this test says so");
    assert_int_equal(spw_pin_failure, 0);
    loop.after = look_at_the_pinned;
}

static unsigned pin_behind;

static void pin_behind_some(struct training_loop *l)
{
    (void)l;
    if (pin_behind-- == 0)
        pin_a_weight();
}

/* At whatever moment of the iteration, and whether or not its plan sends it away. */
static void what_is_pinned_while_a_plan_is_followed_never_leaves(void **state)
{
    for (unsigned when = 0; when < 1 + 2 * LOOP_LAYERS; when += 3) {
        loop_start(&loop, SHORT, SPW_PLAN_WAIT);
        loop_steps(&loop, KNOWN_AFTER);
        pin_behind = when;
        loop.after = pin_behind_some;
        loop_steps(&loop, 1);
        assert_ptr_equal(loop.after, look_at_the_pinned);
        loop_steps(&loop, 50); /* other plans are tried, too */
        assert_int_equal(counts()->lost, 0);
        loop_check(&loop);
    }
}

static void what_is_pinned_before_the_plan_is_planned_with(void **state)
{
    loop_start(&loop, SHORT, SPW_PLAN_WAIT);
    pin_a_weight();
    loop_steps(&loop, KNOWN_AFTER);
    goes_by_plan(50);
    loop_check(&loop);
}

/* ---- nobody is watched ---- */

static void without_planning_nothing_is_watched(void **state)
{
    loop_start(&loop, SHORT, SPW_PLAN_OFF);
    loop_steps(&loop, 20);
    assert_false(spw_plan_follower_any);
    assert_true(spw_reclaim_pressed);
    assert_int_equal(counts()->iterations, 0);
    assert_int_equal(spw_transfer_counts.left_count + spw_transfer_counts.restored_count, 0);
    loop_check(&loop);
}

static void with_enough_memory_nothing_is_watched(void **state)
{
    loop_start(&loop, (uint64_t)LOOP_TENSORS * LOOP_BYTES, SPW_PLAN_WAIT);
    loop_steps(&loop, 20);
    assert_false(spw_plan_follower_any);
    assert_int_equal(fake_counts()->copies_out + fake_counts()->copies_in, 0);
    loop_check(&loop);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_fifth_step_goes_by_plan),
        cmocka_unit_test(what_a_step_copies_out_comes_behind_what_the_one_before_copied_in),
        cmocka_unit_test(what_is_used_again_after_its_copy_out_stays),
        cmocka_unit_test(a_batch_that_is_loaded_one_step_ahead_is_known_under_its_new_number),
        cmocka_unit_test(a_device_that_lags_behind_gets_the_same_bytes),
        cmocka_unit_test(what_the_stack_had_hides_no_iteration),
        cmocka_unit_test(what_the_stack_had_hides_no_iteration_beside_a_table_of_addresses),
        cmocka_unit_test(what_nobody_frees_in_between_is_planned_as_well),
        cmocka_unit_test(what_the_course_does_not_have_meets_no_old_address),
        cmocka_unit_test(unexpected_operations_cost_two_steps_at_most),
        cmocka_unit_test(an_evaluation_in_between_costs_two_steps_at_most),
        cmocka_unit_test(the_step_behind_an_evaluation_goes_by_plan),
        cmocka_unit_test(another_batch_size_gets_a_plan_of_its_own),
        cmocka_unit_test(another_batch_size_by_the_same_operations_gets_a_plan_of_its_own),
        cmocka_unit_test(what_is_pinned_while_a_plan_is_followed_never_leaves),
        cmocka_unit_test(what_is_pinned_before_the_plan_is_planned_with),
        cmocka_unit_test(without_planning_nothing_is_watched),
        cmocka_unit_test(with_enough_memory_nothing_is_watched),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
