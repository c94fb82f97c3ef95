/* test-branches.c - a training loop that branches: operations in between, or left out, leave the device on its course. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "fake-device.h"
#include "op.h"
#include "transfers.h"
#include "plan_stats.h"
#include "plan_tuning.h"
#include "training-loop.h"

#define SHORT ((uint64_t)LOOP_TENSORS * LOOP_BYTES * 6 / 10)

enum { KNOWN_AFTER = 5, /* steps until a plan is in place */ MOST = 16 /* strange operations in a row */ };

static struct training_loop loop;

static void with_another_kernel(unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        assert_true(loop_launch(&loop, 999, &loop.weights[3], 1, 1));
        fake_expect(loop.stream, loop.weights[3], LOOP_BYTES, loop.weight_values[3]);
        loop_end_launch(&loop);
    }
}

static void (*strange)(unsigned count) = with_another_kernel; /* operations that the course does not have there */
static unsigned behind, how_many;                             /* operations of the step; how many strange ones come there */
static CUdeviceptr kept;                                      /* a tensor of the branch's own */
static bool keeps;
static unsigned layer_behind; /* that the first operation behind the branch is of, where it keeps something */

static const struct spw_block *block_at(CUdeviceptr address)
{
    return spw_block_of(spw_object_at_locked(address));
}

static void branch(struct training_loop *l)
{
    if (kept && l->activations[layer_behind] && how_many-- == 0) {
        assert_true(block_at(l->activations[layer_behind])->expected);
        assert_false(block_at(kept)->expected);
    }
    if (!behind || --behind)
        return;
    if (keeps)
        kept = loop_allocate(l, LOOP_BYTES);
    strange(how_many);
}

/* One step of the loop, with a branch behind that many of its operations. */
static void step_with(unsigned after, unsigned count)
{
    behind = after;
    how_many = count;
    layer_behind = after - 1;
    loop.after = branch;
    loop_step(&loop);
    loop.after = NULL;
    assert_int_equal(behind, 0);
    if (kept)
        loop_free(&loop, kept);
    kept = 0;
}

/* One step, in which the layer's operation on the way back is left out: its activation is freed all the same. */
static void step_without(unsigned layers)
{
    loop.leaves_out = layers;
    loop_step(&loop);
    loop.leaves_out = 0;
}

/* Branches in every other step, and the steps between; all go by plan. */
static void all_go_by_plan(void (*odd)(unsigned), unsigned what, unsigned steps)
{
    const struct spw_plan_stats before = spw_plan_stats[0];
    for (unsigned i = 0; i < steps; i++) {
        if (i % 2)
            odd(what);
        else
            loop_step(&loop);
    }
    loop_step(&loop); /* the last one counts when the next begins */
    assert_int_equal(spw_plan_stats[0].lost, before.lost);
    assert_int_equal(spw_plan_stats[0].planned_iterations - before.planned_iterations, steps + 1);
    assert_int_equal(spw_plan_stats[0].plans, before.plans);
    loop_check(&loop);
}

static void with_some(unsigned after)
{
    step_with(after, 3);
}

static const unsigned begun[] = {KNOWN_AFTER + 3, 30}; /* while the detector is told everything, and later */

static void what_comes_in_between_leaves_the_plan_in_force(void **state)
{
    for (unsigned i = 0; i < 2; i++)
        for (unsigned after = 1; after <= 2 * LOOP_LAYERS; after += 3) {
            loop_start(&loop, SHORT, SPW_PLAN_WAIT);
            loop_steps(&loop, begun[i]);
            all_go_by_plan(with_some, after, 8);
        }
}

static void what_is_left_out_leaves_the_plan_in_force(void **state)
{
    for (unsigned i = 0; i < 2; i++)
        for (unsigned layer = 1; layer + 1 < LOOP_LAYERS; layer++) {
            loop_start(&loop, SHORT, SPW_PLAN_WAIT);
            loop_steps(&loop, begun[i]);
            all_go_by_plan(step_without, 3u << layer, 8);
        }
}

/* What a branch allocates may have the size of what the course allocates next. */
static void what_a_branch_keeps_is_not_taken_for_what_the_course_has(void **state)
{
    keeps = true;
    for (unsigned after = 1; after < LOOP_LAYERS; after++) {
        loop_start(&loop, SHORT + 2 * LOOP_BYTES, SPW_PLAN_WAIT);
        loop_steps(&loop, KNOWN_AFTER + 3);
        all_go_by_plan(with_some, after, 8);
    }
    keeps = false;
}

/* One step: what it moves is moved by plan, and at most so much comes on demand. */
static void goes_by_plan(unsigned on_demand)
{
    const uint64_t restored = spw_transfer_counts.restored_count, copies_in = fake_counts()->copies_in;
    loop_step(&loop);
    assert_true(spw_transfer_counts.restored_count > restored);
    assert_true(fake_counts()->copies_in - copies_in <= spw_transfer_counts.restored_count - restored + on_demand);
}

/* The kernel of the course's last operation, as a library has one for all products, on another tensor and one of that one's.
 */
static void with_the_kernel_of_another_operation(unsigned count)
{
    CUdeviceptr hits[] = {loop.weights[0], loop.weights[2]};
    for (unsigned i = 0; i < count; i++) {
        assert_true(loop_launch(&loop, LOOP_BACKWARD, hits, 2, 2));
        for (unsigned k = 0; k < 2; k++)
            fake_expect(loop.stream, hits[k], LOOP_BYTES, loop.weight_values[k ? 2 : 0]);
        loop_end_launch(&loop);
    }
}

static void a_kernel_of_the_course_on_other_tensors_is_not_taken_for_its_operation(void **state)
{
    strange = with_the_kernel_of_another_operation;
    for (unsigned i = 0; i < 2; i++) {
        loop_start(&loop, SHORT, SPW_PLAN_WAIT);
        loop_steps(&loop, begun[i]);
        all_go_by_plan(with_some, LOOP_LAYERS / 2, 8);
        loop_steps(&loop, 3);
        goes_by_plan(0);
    }
    strange = with_another_kernel;
}

static void too_much_in_between_is_another_iteration(void **state)
{
    loop_start(&loop, SHORT, SPW_PLAN_WAIT);
    loop_steps(&loop, 30);
    const uint64_t lost = spw_plan_stats[0].lost;
    step_with(5, MOST);
    loop_step(&loop);
    assert_int_equal(spw_plan_stats[0].lost, lost);
    step_with(5, MOST + 1);
    assert_int_equal(spw_plan_stats[0].lost, lost + 1);
    loop_steps(&loop, 3);
    loop_check(&loop);
}

/* What the program does from now on is another iteration, though the course can be followed. */
static void what_is_left_out_for_good_is_planned_without(void **state)
{
    loop_start(&loop, SHORT, SPW_PLAN_WAIT);
    loop_steps(&loop, 30);
    const uint64_t plans = spw_plan_stats[0].plans;
    loop.leaves_out = 3u << 4;
    loop_steps(&loop, 20);
    assert_int_equal(spw_plan_stats[0].plans, plans + 1);
    const uint64_t planned = spw_plan_stats[0].planned_iterations;
    loop_steps(&loop, 10);
    assert_int_equal(spw_plan_stats[0].planned_iterations - planned, 10);
    loop_check(&loop);
}

/* The same operations on smaller tensors in turn, as sequences of several lengths are: all go by one plan. */
static void tensors_of_other_sizes_are_moved_by_plan(void **state)
{
    loop_start(&loop, SHORT, SPW_PLAN_WAIT);
    loop_steps(&loop, KNOWN_AFTER + 5);
    const struct spw_plan_stats before = spw_plan_stats[0];
    for (unsigned i = 0; i < 24; i++) {
        loop.bytes = LOOP_BYTES - LOOP_BYTES / 16 * (i % 3);
        goes_by_plan(0);
    }
    assert_int_equal(spw_plan_stats[0].lost, before.lost);
    assert_int_equal(spw_plan_stats[0].plans, before.plans);
    loop_check(&loop);
}

/* No two steps in a row are alike, as where the number of tokens that an expert gets depends on them. */
static void steps_of_other_sizes_each_time_get_a_plan(void **state)
{
    enum { SEEN = 14 /* so many are needed at most */ };
    loop_start(&loop, SHORT, SPW_PLAN_WAIT);
    uint64_t planned = 0;
    for (unsigned i = 0; i < 60; i++) {
        loop.geometry = 1 + spw_signature_mix(i, 7) % 1000;
        loop.bytes = LOOP_BYTES - LOOP_BYTES / 16 * (loop.geometry % 3);
        planned = i == SEEN ? spw_plan_stats[0].planned_iterations : planned;
        loop_step(&loop);
    }
    loop_step(&loop);
    assert_int_equal(spw_plan_stats[0].planned_iterations - planned,
                     60 - SEEN + 1); /* the last one counts when the next begins */
    assert_int_equal(spw_plan_stats[0].lost, 0);
    loop_check(&loop);
}

/* An evaluation by the kernels of the way forward is an iteration that is broken off, and begins again with the next. */
static void the_step_behind_what_was_broken_off_goes_by_plan(void **state)
{
    enum { ROUNDS = 6, PARTS = 2 };
    loop_start(&loop, SHORT, SPW_PLAN_WAIT);
    loop.evaluates_alike = true;
    loop_steps(&loop, 10);
    for (unsigned i = 0; i < ROUNDS; i++) {
        for (unsigned k = 0; k < PARTS; k++)
            loop_evaluate(&loop);
        goes_by_plan(2); /* which the evaluation had leave */
        loop_steps(&loop, 2);
    }
    loop_check(&loop);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_comes_in_between_leaves_the_plan_in_force),
        cmocka_unit_test(what_is_left_out_leaves_the_plan_in_force),
        cmocka_unit_test(what_a_branch_keeps_is_not_taken_for_what_the_course_has),
        cmocka_unit_test(a_kernel_of_the_course_on_other_tensors_is_not_taken_for_its_operation),
        cmocka_unit_test(too_much_in_between_is_another_iteration),
        cmocka_unit_test(tensors_of_other_sizes_are_moved_by_plan),
        cmocka_unit_test(steps_of_other_sizes_each_time_get_a_plan),
        cmocka_unit_test(the_step_behind_what_was_broken_off_goes_by_plan),
        cmocka_unit_test(what_is_left_out_for_good_is_planned_without),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
