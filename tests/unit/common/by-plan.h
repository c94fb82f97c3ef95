/* by-plan.h - a program on the fake device whose plans are the test's: its operations are kept as far as these have them run
 * again. */
#ifndef SPILLWAY_TESTS_BY_PLAN_H
#define SPILLWAY_TESTS_BY_PLAN_H
#include "plan_follower.h"
#include "plan_stats.h"
#include "plan_thread.h"
#include "plan_tuning.h"
#include "replayed.h"
#include "steptime.h"

/* The test's own, in place of spw_plan_course(), which is __real_spw_plan_course() here. */
int __wrap_spw_plan_course(const struct spw_course *course, const struct spw_plan_terms *terms, bool quick,
                           const bool *cancelled, struct spw_course_plan **ret_plan);
int __real_spw_plan_course(const struct spw_course *course, const struct spw_plan_terms *terms, bool quick,
                           const bool *cancelled, struct spw_course_plan **ret_plan);

/* Of the course: the operation of that function. */
static inline uint32_t operation_of(const struct spw_course *course, uint64_t function)
{
    for (uint32_t o = 0; o < course->op_count; o++)
        if (course->calls[o].function == function)
            return o;
    fail_msg("no operation of function %llu", (unsigned long long)function);
    return 0;
}

/* The tensor that only this operation, or it first of all, touches. */
static inline uint32_t first_touched_by(const struct spw_course *course, uint64_t function)
{
    const uint32_t o = operation_of(course, function);
    for (uint32_t t = 0; t < course->tensor_count; t++)
        if (course->tensors[t].first_use == o)
            return t;
    fail_msg("operation %u touches nothing first", o);
    return 0;
}

/* Behind operation `op`. */
static inline void add_action(struct spw_course_plan *plan, uint32_t op, uint32_t kind, uint32_t id)
{
    struct spw_actions *a = &plan->actions;
    a->list[a->count++] = (struct spw_action){kind, id};
    for (uint32_t o = op + 1; o <= a->op_count + 1; o++)
        a->first[o] = a->count;
    plan->due[op] = true;
}

/* A device within a budget, for a program that stands still while a plan is made for it. */
static inline void begin_planned(uint64_t budget)
{
    spw_plan_follower_reset();
    spw_plan_follower_open();
    spw_kept_ops_reset();
    spw_replay_reset();
    spw_versions_reset();
    spw_durations_reset();
    spw_steptime_reset();
    spw_plan_stats_reset();
    spw_plan_need_not_win = true;
    begin(budget + own_beside(budget), 32 << 20);
    open_digests();
    struct spw_settings settings = *spw_settings_get();
    settings.plan = SPW_PLAN_WAIT;
    spw_settings_use(&settings);
}

static void (*launched)(void); /* before anything of a launch runs; NULL: nothing */

/* Of which the plan may have it that it runs again. */
static inline void launch(uint64_t function, const CUdeviceptr *a, unsigned reads, unsigned writes, unsigned char salt)
{
    CUdeviceptr hits[FAKE_RANGES];
    struct kept *k = keep(a, reads, writes, salt, hits);
    struct spw_op op = {.handle = s,
                        .hits = hits,
                        .count = reads + writes,
                        .room = FAKE_RANGES,
                        .read_only = reads,
                        .name = "a kernel",
                        .signature = {SPW_ITERATION_LAUNCH, function, 1}};
    beginning = k;
    assert_int_equal(spw_op_begin(&op), 0);
    assert_false(spw_plan_follower_has_left(op.stream)); /* what is planned before an operation is done by then */
    spw_duration_before(op.timed);
    fake_mix(s, k->ranges, reads, writes, salt);
    spw_duration_after(op.timed, true);
    if (beginning)
        free(k);
    beginning = NULL;
    spw_op_answered(&op, true);
    if (launched)
        launched();
    fake_run_all();
    check_needs();
}

static inline void release(CUdeviceptr a)
{
    spw_lock();
    struct spw_stream *record = spw_stream_of_locked(s);
    spw_unlock();
    assert_int_equal(spw_free(a, record), 0);
}
#endif
