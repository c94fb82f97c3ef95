/* test-contexts-planned.c - a context goes in the middle of an iteration whose plan still wants what the program has freed:
 * the course is left, and nothing of it is looked at any more.
 *
 * In each step of the program something is made of the batch, dropped, and made again for its use, by when the batch is
 * freed. */
#include "by-plan.h"
#include "contexts.h"
#include "device_loop.h"

enum { STEPS = 12 };
enum { LOAD = 100, MAKE, FILL, JUDGE, USE };

static unsigned step_count, ghosts;

int __wrap_spw_plan_course(const struct spw_course *course, const struct spw_plan_terms *terms, bool quick,
                           const bool *cancelled, struct spw_course_plan **ret_plan)
{
    (void)terms, (void)quick, (void)cancelled;
    struct spw_course_plan *plan = spw_course_plan_none(course);
    assert_non_null(plan);
    const uint32_t make = operation_of(course, MAKE), batch = first_touched_by(course, LOAD);
    plan->actions.list = (calloc)(2, sizeof(struct spw_action));
    assert_non_null(plan->actions.list);
    add_action(plan, operation_of(course, FILL), SPW_STEP_DROP, first_touched_by(course, MAKE));
    add_action(plan, operation_of(course, USE), SPW_STEP_REPLAY, make);
    plan->marks.recorded[make] = plan->marks.ghosts[batch] = true;
    plan->replay_count = plan->recorded_count = 1;
    plan->predicted_us = plan->compute_us = 1;
    *ret_plan = plan;
    return 0;
}

/* Up to where the batch is freed. */
static void half_a_step(CUdeviceptr sum, CUdeviceptr *ret_made, CUdeviceptr *ret_large)
{
    const unsigned char salt = (unsigned char)step_count++;
    const CUdeviceptr batch = allocate(BYTES);
    launch(LOAD, &batch, 0, 1, salt);
    *ret_made = allocate(BYTES);
    launch(MAKE, (CUdeviceptr[]){batch, *ret_made}, 1, 1, salt);
    *ret_large = allocate(2 * BYTES);
    launch(FILL, ret_large, 0, 1, salt);
    launch(JUDGE, (CUdeviceptr[]){batch, sum, sum}, 2, 1, 0);
    const struct spw_block *b = block_at(batch);
    release(batch);
    ghosts += (b->object.attention & SPW_RETAINED) != 0;
}

static CUdeviceptr steps(unsigned count)
{
    CUdeviceptr made, large, sum = allocate(SLOT_BYTES);
    launch(LOAD, &sum, 0, 1, 1);
    while (count-- > 0) {
        half_a_step(sum, &made, &large);
        release(large);
        launch(USE, (CUdeviceptr[]){made, sum, sum}, 2, 1, 0);
        release(made);
    }
    return sum;
}

static bool is_there(const struct spw_block *b)
{
    for (uint32_t i = 0; i < device->block_count; i++)
        if (device->blocks[i] == b)
            return true;
    return false;
}

static void check_course(void)
{
    const struct spw_plan_executor *on = &device->loop->on;
    for (uint32_t t = 0; on->now && t < on->now->course->tensor_count; t++)
        assert_true(!on->blocks[t] || is_there(on->blocks[t]));
}

static void a_course_is_left_when_a_context_goes(void **state)
{
    (void)state;
    CUdeviceptr made, large;
    begin_planned(4 * BYTES); /* a quarter of it for small allocations */
    ghosts = 0;
    const CUdeviceptr sum = steps(STEPS);
    assert_true(ghosts > 0);
    half_a_step(sum, &made, &large);
    check_course();
    const uint64_t before = spw_plan_stats[device->ordinal].planned_iterations;
    spw_context_free(context);
    assert_int_equal(device->live_count, 0);
    for (uint32_t i = 0; i < device->block_count; i++)
        assert_false(device->blocks[i]->object.attention & SPW_RETAINED);
    check_course();
    (void)steps(STEPS); /* it makes everything anew, in a context of the same name */
    assert_true(spw_plan_stats[device->ordinal].planned_iterations > before);
    fake_run_all();
}

/* `test-contexts-planned eager` runs it on the eager device. */
int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_course_is_left_when_a_context_goes),
    };
    fake_eager(argc > 1 && strcmp(argv[1], "eager") == 0);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
