/* tuned.h - what the tests of tuning share: a course, its plans, and steps that take what the test says. */
#ifndef SPILLWAY_TESTS_TUNED_H
#define SPILLWAY_TESTS_TUNED_H
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <math.h>
#include <string.h>
#include <time.h>

#include "bandwidth.h"
#include "driver.h"
#include "op.h"
#include "fake-device.h"
#include "plan_stats.h"
#include "plan_tuning.h"
#include "steptime.h"
#include "training-course.h"
#include "training-loop.h"

enum { ID = 7, LAYERS = 33, TRIALS = 3 };

static struct training_loop loop; /* only its device, its stream and a piece of memory */
static struct spw_tuned_iterations iterations;
static struct spw_stream *s;

static inline bool is_settled(const struct spw_tuned_iteration *tuned)
{
    return tuned->state == SPW_TUNING_SETTLED;
}

static const double HIDDEN = 0.01; /* copies hide behind 100 us of work, and plans are found at once */

/* Copies that take so many times as long as the fake device's do. */
static CUstream copies; /* where all go: a stream's clock begins at 0 */

static inline void learn_bandwidth(double times)
{
    static char host[409600];
    const CUdeviceptr a = loop_allocate(&loop, sizeof(host));
    fake_slow_copies(times);
    for (int i = 0; i < 6; i++) {
        struct spw_bandwidth_pair *p = spw_bandwidth_begin_locked(0, i & 1, sizeof(host), loop.context, copies);
        if (i & 1)
            (void)spw_driver.cuMemcpyDtoHAsync_v2(host, a, sizeof(host), copies);
        else
            (void)spw_driver.cuMemcpyHtoDAsync_v2(a, host, sizeof(host), copies);
        spw_bandwidth_end_locked(p, copies, true);
    }
    fake_run_all();
    spw_bandwidth_collect_locked(0);
}

static inline void begin_with(double times, uint64_t budget, enum spw_plan_setting plan)
{
    loop_start(&loop, budget, plan);
    spw_plan_need_not_win = false;
    iterations = (struct spw_tuned_iterations){0};
    s = spw_stream_of_locked(loop.stream);
    assert_non_null(s);
    copies = fake_stream();
    learn_bandwidth(times);
}

static inline void begin(uint64_t budget, enum spw_plan_setting plan)
{
    begin_with(HIDDEN, budget, plan);
}

static inline struct spw_tuned_iteration *add(uint32_t id, uint64_t now, const struct spw_tuned_iteration *but)
{
    struct spw_course *course = training_course(LAYERS, true);
    assert_non_null(course);
    struct spw_tuned_iteration *tuned = spw_tuned_iterations_add(&iterations, id, course, now, but);
    assert_non_null(tuned);
    return tuned;
}

static inline void takes(double us)
{
    static char host[(size_t)FAKE_OUT_BYTES_PER_US]; /* 1 us */
    fake_slow_copies(us);
    (void)spw_driver.cuMemcpyDtoHAsync_v2(host, loop.weights[0], sizeof(host), loop.stream);
    fake_run_all();
}

/* The device takes so long for an iteration, by the plan in force or on demand. */
static inline bool iterate(struct spw_tuned_iteration *tuned, uint32_t plan, double us)
{
    spw_plan_follower_begins_locked(loop.device, s, tuned->id, plan);
    takes(us);
    spw_steptime_collect_locked(0);
    return spw_tuning_improve(loop.device, tuned, true);
}

static inline void on_demand(const struct spw_tuned_iteration *tuned, double us)
{
    for (int i = 0; i < 3; i++) {
        spw_plan_follower_begins_locked(loop.device, s, tuned->id, 0);
        takes(us);
    }
    spw_plan_follower_begins_locked(loop.device, s, tuned->id, 0);
    spw_plan_follower_lost_locked(loop.device, true);
    fake_run_all();
    spw_steptime_collect_locked(0);
}

/* A shape with a first plan, where an iteration on demand takes so long and copies take so many times as long as the fake
 * device's do. */
static inline struct spw_tuned_iteration *planned_within(double times, uint64_t budget, double on_demand_us)
{
    begin_with(times, budget, SPW_PLAN_WAIT);
    struct spw_tuned_iteration *tuned = add(ID, 1, NULL);
    on_demand(tuned, on_demand_us);
    spw_tuning_plan(loop.device, tuned);
    assert_int_equal(tuned->number, 1);
    return tuned;
}

static inline struct spw_tuned_iteration *planned(double on_demand_us)
{
    return planned_within(HIDDEN, 50 * MIB, on_demand_us);
}

/* What the plan with the k-th number takes. The number of probes that it took to settle. */
static inline unsigned iterate_until_settled(struct spw_tuned_iteration *tuned, const double *us,
                                             const struct spw_course_plan **ret_plans)
{
    for (int i = 0; i < 100 && !is_settled(tuned); i++) {
        const uint32_t number = tuned->number;
        assert_true(number >= 1 && number <= TRIALS);
        ret_plans[number - 1] = tuned->plan;
        assert_true(iterate(tuned, number, us[number - 1]));
    }
    assert_true(is_settled(tuned));
    return tuned->tried;
}

static const struct spw_plan_choices *begun_with;

int __real_spw_plan_course(const struct spw_course *course, const struct spw_plan_terms *terms, bool quick,
                           const bool *cancelled, struct spw_course_plan **ret_plan);
int __wrap_spw_plan_course(const struct spw_course *course, const struct spw_plan_terms *terms, bool quick,
                           const bool *cancelled, struct spw_course_plan **ret_plan);
static bool lacks_memory_once;
int __wrap_spw_plan_course(const struct spw_course *course, const struct spw_plan_terms *terms, bool quick,
                           const bool *cancelled, struct spw_course_plan **ret_plan)
{
    begun_with = terms->begin_with;
    if (lacks_memory_once) {
        lacks_memory_once = false;
        return -ENOMEM;
    }
    return __real_spw_plan_course(course, terms, quick, cancelled, ret_plan);
}

int __real_spw_plan_thread_start(const struct spw_course *course, const struct spw_plan_terms *terms,
                                 struct spw_plan_thread **ret_planning);
int __wrap_spw_plan_thread_start(const struct spw_course *course, const struct spw_plan_terms *terms,
                                 struct spw_plan_thread **ret_planning);
int __wrap_spw_plan_thread_start(const struct spw_course *course, const struct spw_plan_terms *terms,
                                 struct spw_plan_thread **ret_planning)
{
    begun_with = terms->begin_with;
    return __real_spw_plan_thread_start(course, terms, ret_planning);
}
#endif
