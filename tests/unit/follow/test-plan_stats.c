/* test-plan_stats.c - what is told of planned execution is what was counted and measured, for each plan by itself. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "bandwidth.h"
#include "devices.h"
#include "driver.h"
#include "fake-device.h"
#include "lock.h"
#include "mover.h"
#include "plan_stats.h"
#include "steptime.h"
#include "unlocked.h"

#define BASE  ((CUdeviceptr)0x700000000000)
#define BYTES ((size_t)409600) /* 100 us out, 50 us in */

static struct spw_device *device;
static struct spw_stream *s;
static CUstream copies;
static CUcontext context;
static char host[BYTES];

static int begin(void **state)
{
    CUdeviceptr a;
    CUmemGenericAllocationHandle h;
    CUmemAccessDesc access = {0};
    spw_ledger_reset();
    spw_mover_reset();
    spw_devices_reset();
    spw_streams_reset();
    spw_steptime_reset();
    spw_plan_stats_reset();
    fake_start(4096, 1 << 20, 1 << 20, 1 << 20);
    device = spw_device_current(&context);
    assert_non_null(device);
    assert_int_equal(spw_driver.cuMemAddressReserve(&a, BYTES, 0, 0, 0), CUDA_SUCCESS);
    assert_int_equal(spw_driver.cuMemCreate(&h, BYTES, NULL, 0), CUDA_SUCCESS);
    assert_int_equal(spw_driver.cuMemMap(BASE, BYTES, 0, h, 0), CUDA_SUCCESS);
    assert_int_equal(spw_driver.cuMemSetAccess(BASE, BYTES, &access, 1), CUDA_SUCCESS);
    device->out_bytes = device->in_bytes = 0;
    copies = fake_stream();
    spw_lock();
    s = spw_stream_find_locked(fake_stream());
    spw_unlock();
    return 0;
}

static void learn_bandwidth(void)
{
    for (int i = 0; i < 6; i++) {
        struct spw_bandwidth_pair *p = spw_bandwidth_begin_locked(0, i & 1, BYTES, context, copies);
        if (i & 1)
            spw_driver.cuMemcpyDtoHAsync_v2(host, BASE, BYTES, copies);
        else
            spw_driver.cuMemcpyHtoDAsync_v2(BASE, host, BYTES, copies);
        spw_bandwidth_end_locked(p, copies, true);
        assert_int_equal(spw_driver.cuStreamSynchronize(copies), CUDA_SUCCESS);
    }
    spw_bandwidth_collect_locked(0);
}

/* Kernels of FAKE_KERNEL_US each, and that many tensors of BYTES moved each way. */
static void iteration(uint32_t shape, uint32_t plan, int kernels, int out, int in)
{
    spw_lock();
    spw_plan_follower_begins_locked(device, s, shape, plan);
    device->out_bytes += (uint64_t)out * BYTES;
    device->in_bytes += (uint64_t)in * BYTES;
    spw_unlock();
    for (int i = 0; i < kernels; i++)
        fake_fill(s->handle, BASE, 0, 0);
}

static void lost(void)
{
    spw_lock();
    spw_plan_follower_lost_locked(device, true);
    spw_unlock();
}

static uint32_t adopt(uint32_t shape, double predicted_us, double ops_us)
{
    spw_lock();
    uint32_t plan = spw_plan_follower_adopt_locked(device, shape, predicted_us, ops_us, ops_us + 7);
    spw_unlock();
    return plan;
}

static struct spw_plan_follower_step get(void)
{
    assert_int_equal(spw_driver.cuStreamSynchronize(s->handle), CUDA_SUCCESS);
    spw_lock();
    spw_steptime_collect_locked(0);
    struct spw_plan_follower_step step = spw_plan_follower_step_locked(device);
    spw_unlock();
    return step;
}

static void assert_about(double value, double expected)
{
    assert_true(value > expected - 0.01 * expected - 0.001 && value < expected + 0.01 * expected + 0.001);
}

static void assert_counts(uint64_t iterations, uint64_t planned, uint64_t plans, uint64_t times_lost)
{
    assert_int_equal(spw_plan_stats[0].iterations, iterations);
    assert_int_equal(spw_plan_stats[0].planned_iterations, planned);
    assert_int_equal(spw_plan_stats[0].plans, plans);
    assert_int_equal(spw_plan_stats[0].lost, times_lost);
}

static void nothing_by_plan_is_nothing_known(void **state)
{
    iteration(1, 0, 4, 1, 1);
    iteration(1, 0, 4, 1, 1);
    struct spw_plan_follower_step step = get();
    assert_int_equal(step.plan, 0);
    assert_true(step.hidden_share < 0);
    assert_counts(1, 0, 0, 0);
}

static void an_iteration_counts_when_it_is_complete(void **state)
{
    uint32_t plan = adopt(1, 0, 0);
    assert_int_equal(plan, 1);
    iteration(1, 0, 4, 0, 0);
    assert_counts(0, 0, 1, 0);
    iteration(1, plan, 4, 0, 0);
    assert_counts(1, 0, 1, 0);
    iteration(1, plan, 4, 0, 0);
    assert_counts(2, 1, 1, 0);
    lost();
    assert_counts(2, 1, 1, 1);
    lost(); /* it is lost already */
    assert_counts(2, 1, 1, 1);
    iteration(1, 0, 4, 0, 0);
    lost(); /* it was no plan's */
    assert_counts(2, 1, 1, 1);
}

/* Three tensors out and two in take 400 us; the step takes 80 us longer than its operations. */
static void what_is_not_a_stall_was_hidden(void **state)
{
    learn_bandwidth();
    for (int i = 0; i < 3; i++)
        iteration(7, 0, 60, 5, 5);
    uint32_t plan = adopt(7, 450, 400);
    for (int i = 0; i < 5; i++)
        iteration(7, plan, 48, 3, 2);
    struct spw_plan_follower_step step = get();
    assert_int_equal(step.plan, plan);
    assert_int_equal(step.shape, 7);
    assert_about(step.predicted_us, 450);
    assert_about(step.ops_us, 400);
    assert_about(step.bound_us, 407);
    assert_about(step.step_us, 480);
    assert_about(step.on_demand_us, 600);
    assert_int_equal(step.out_bytes, 3 * BYTES);
    assert_int_equal(step.in_bytes, 2 * BYTES);
    assert_about(step.copies_us, 400);
    assert_about(step.hidden_share, 0.8);
}

static void stalls_longer_than_the_copies_hide_nothing_and_none_hide_all(void **state)
{
    learn_bandwidth();
    uint32_t slow = adopt(1, 0, 100), fast = adopt(1, 0, 500);
    for (int i = 0; i < 3; i++)
        iteration(1, slow, 48, 1, 1);
    iteration(1, fast, 48, 1, 1);
    assert_about(get().hidden_share, 0);
    iteration(1, fast, 48, 1, 1);
    iteration(1, fast, 48, 1, 1);
    assert_about(get().hidden_share, 1);
}

static void without_copies_or_a_bandwidth_nothing_is_said_to_be_hidden(void **state)
{
    uint32_t plan = adopt(1, 0, 100);
    for (int i = 0; i < 3; i++)
        iteration(1, plan, 10, 1, 1);
    assert_true(get().hidden_share < 0);
    learn_bandwidth();
    assert_true(get().hidden_share >= 0);
    plan = adopt(1, 0, 100);
    for (int i = 0; i < 3; i++)
        iteration(1, plan, 10, 0, 0);
    assert_true(get().hidden_share < 0);
}

/* Evaluation between training steps, each with its plan: figures are those of the plan that was followed last. */
static void each_plan_has_its_own_figures(void **state)
{
    uint32_t train = adopt(1, 500, 400), evaluate = adopt(2, 90, 80);
    for (int i = 0; i < 4; i++) {
        iteration(1, train, 50, 3, 2);
        iteration(2, evaluate, 9, 1, 0);
    }
    struct spw_plan_follower_step step = get();
    assert_int_equal(step.plan, train);
    assert_about(step.step_us, 500);
    assert_int_equal(step.out_bytes, 3 * BYTES);
    iteration(1, train, 50, 3, 2);
    step = get();
    assert_int_equal(step.plan, evaluate);
    assert_about(step.step_us, 90);
    assert_about(step.predicted_us, 90);
    assert_int_equal(step.out_bytes, BYTES);
    assert_int_equal(step.in_bytes, 0);
}

/* What an iteration moved that did not end as planned belongs to no plan's mean. */
static void a_lost_iteration_leaves_the_figures_alone(void **state)
{
    uint32_t plan = adopt(1, 100, 100);
    iteration(1, plan, 10, 1, 1);
    iteration(1, plan, 90, 9, 9);
    lost();
    iteration(1, 0, 70, 9, 9);
    iteration(1, plan, 10, 1, 1);
    iteration(1, plan, 10, 1, 1);
    struct spw_plan_follower_step step = get();
    assert_about(step.step_us, 100);
    assert_int_equal(step.out_bytes, BYTES);
    assert_counts(3, 2, 1, 1);
}

static void a_hundred_plans_are_counted_and_the_newest_are_known(void **state)
{
    uint32_t plan = 0;
    for (int i = 0; i < 100; i++)
        plan = adopt(1, i, 0);
    iteration(1, plan, 1, 0, 0);
    iteration(1, plan, 1, 0, 0);
    assert_int_equal(get().plan, 100);
    assert_about(get().predicted_us, 99);
    iteration(1, 3, 1, 0, 0); /* its figures are forgotten */
    iteration(1, 3, 1, 0, 0);
    assert_counts(3, 3, 100, 0);
    assert_int_equal(get().plan, 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(nothing_by_plan_is_nothing_known, begin),
        cmocka_unit_test_setup(an_iteration_counts_when_it_is_complete, begin),
        cmocka_unit_test_setup(what_is_not_a_stall_was_hidden, begin),
        cmocka_unit_test_setup(stalls_longer_than_the_copies_hide_nothing_and_none_hide_all, begin),
        cmocka_unit_test_setup(without_copies_or_a_bandwidth_nothing_is_said_to_be_hidden, begin),
        cmocka_unit_test_setup(each_plan_has_its_own_figures, begin),
        cmocka_unit_test_setup(a_lost_iteration_leaves_the_figures_alone, begin),
        cmocka_unit_test_setup(a_hundred_plans_are_counted_and_the_newest_are_known, begin),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
