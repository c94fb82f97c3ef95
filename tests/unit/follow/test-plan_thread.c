/* test-plan_thread.c - a course becomes a plan within its terms, at once or on a thread, or a reason why not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <string.h>
#include <time.h>

#include "course/recording.h"
#include "failing-memory.h"
#include "plan_thread.h"
#include "training-course.h"
#include "unlocked.h"

static const struct spw_plan_terms usual = {.reserve = 0.03,
                                            .host_bytes = 64 << 20,
                                            .granule_bytes = 4096,
                                            .d2h_bytes_per_us = 20000,
                                            .h2d_bytes_per_us = 25000,
                                            .duplex = 0.9};

static struct spw_plan_terms terms_of(uint64_t device_bytes)
{
    struct spw_plan_terms terms = usual;
    terms.device_bytes = device_bytes;
    return terms;
}

/* A tensor of 2 MiB is used, two of 3 MiB come and go after one another, then one of 1 MiB, and the first is freed. */
static struct spw_course *late_course(void)
{
    enum { OPS = 8, W = SPW_COURSE_WRITES, R = SPW_COURSE_READS };
    struct spw_recording *r;
    struct spw_course *course = NULL;
    assert_int_equal(spw_recording_create(&r), 0);
    spw_recording_begin(r);
    assert_int_equal(spw_recording_alloc(r, 1, 2 * MIB, true), 0);
    for (uint32_t o = 0; o < OPS; o++) {
        const uint64_t id = o < 2 ? 1 : 2 + o / 2;
        const struct spw_recording_touch touch = {id, o % 2 ? R : W, 0};
        if (o >= 2 && o % 2 == 0)
            assert_int_equal(spw_recording_alloc(r, id, o < 6 ? 3 * MIB : MIB, true), 0);
        (void)spw_recording_op(r, o, true, &touch, 1, NULL);
        if (o >= 2 && o % 2)
            assert_int_equal(spw_recording_free(r, id), 0);
    }
    assert_int_equal(spw_recording_free(r, 1), 0);
    assert_int_equal(spw_recording_finish(r, OPS, &course), 0);
    for (uint32_t o = 0; o < OPS; o++)
        course->ops[o].us = 100;
    spw_recording_destroy(r);
    return course;
}

/* Two tensors of 1 MiB are used up to operation 2, and freed behind the last one, which needs 4 MiB of others. */
static struct spw_course *gradients_course(void)
{
    enum { OPS = 6, W = SPW_COURSE_WRITES, R = SPW_COURSE_READS };
    static const struct spw_recording_touch touches[OPS][2] = {{{1, W, 0}, {1, W, 0}}, {{2, W, 0}, {2, W, 0}},
                                                               {{1, R, 0}, {2, R, 0}}, {{3, W, 0}, {3, W, 0}},
                                                               {{3, R, 0}, {4, W, 0}}, {{3, R, 0}, {4, R, 0}}};
    struct spw_recording *r;
    struct spw_course *course = NULL;
    assert_int_equal(spw_recording_create(&r), 0);
    spw_recording_begin(r);
    for (uint64_t id = 1; id <= 4; id++)
        assert_int_equal(spw_recording_alloc(r, id, id < 3 ? MIB : 2 * MIB, true), 0);
    for (uint32_t o = 0; o < OPS; o++)
        (void)spw_recording_op(r, o, true, touches[o], 2, NULL);
    for (uint64_t id = 1; id <= 4; id++)
        assert_int_equal(spw_recording_free(r, id), 0);
    assert_int_equal(spw_recording_finish(r, OPS, &course), 0);
    for (uint32_t o = 0; o < OPS; o++)
        course->ops[o].us = 10;
    spw_recording_destroy(r);
    return course;
}

/* Carries the actions out by hand: whatever an operation touches is there, and there is never more than device_bytes. */
static void follow(const struct spw_course *course, const struct spw_course_plan *plan, uint64_t device_bytes)
{
    bool *there = calloc(course->tensor_count, 1), *copied = calloc(course->tensor_count, 1);
    uint64_t bytes = 0;
    assert_non_null(there);
    assert_non_null(copied);
    for (uint32_t t = 0; t < course->live_count; t++) {
        there[t] = plan->actions.start[t] != SPW_START_HOST;
        copied[t] = plan->actions.start[t] != SPW_START_DEVICE;
        bytes += there[t] ? course->tensors[t].bytes : 0;
    }
    for (uint32_t o = 0; o <= course->op_count; o++) {
        assert_int_equal(plan->due[o], plan->actions.first[o + 1] > plan->actions.first[o]);
        for (uint32_t i = plan->actions.first[o]; i < plan->actions.first[o + 1]; i++) {
            const struct spw_action *a = &plan->actions.list[i];
            if (a->kind == SPW_STEP_D2H) {
                assert_true(there[a->id]);
                copied[a->id] = true;
                continue;
            }
            assert_true(there[a->id] == (a->kind == SPW_STEP_DROP));
            assert_true(copied[a->id]);
            there[a->id] = a->kind == SPW_STEP_H2D;
            bytes += there[a->id] ? course->tensors[a->id].bytes : -course->tensors[a->id].bytes;
            assert_true(bytes <= device_bytes);
        }
        for (uint32_t i = 0; o < course->op_count && i < course->ops[o].touch_count; i++) {
            const struct spw_course_touch *touch = &course->touches[course->ops[o].first_touch + i];
            const struct spw_course_tensor *t = &course->tensors[touch->tensor];
            const bool is_new = touch->tensor >= course->live_count && t->first_use == o;
            assert_true(is_new || there[touch->tensor]);
            there[touch->tensor] = true;
            bytes += is_new ? t->bytes : 0;
            copied[touch->tensor] &= !(touch->access & SPW_COURSE_WRITES);
        }
        assert_true(bytes <= device_bytes);
        for (uint32_t t = 0; o < course->op_count && t < course->tensor_count; t++)
            if (course->tensors[t].free_after == o && there[t]) {
                there[t] = false;
                bytes -= course->tensors[t].bytes;
            }
    }
    for (uint32_t t = 0; t < course->live_count; t++)
        assert_int_equal(there[t], plan->actions.start[t] != SPW_START_HOST);
    free(there);
    free(copied);
}

static void a_plan_keeps_within_its_terms(void **state)
{
    struct spw_course *course = training_course(12, true);
    for (uint64_t mib = 22; mib >= 6; mib -= 4)
        for (int quick = 0; quick < 2; quick++) {
            const struct spw_plan_terms terms = terms_of(mib * MIB);
            struct spw_course_plan *plan;
            assert_int_equal(spw_plan_course(course, &terms, quick, NULL, &plan), 0);
            assert_true(plan->peak_bytes <= terms.device_bytes && plan->host_bytes <= terms.host_bytes);
            assert_true(plan->predicted_us >= plan->lower_bound_us && plan->lower_bound_us >= plan->compute_us * 0.999);
            assert_true(fabs(plan->compute_us - 2400) < 1);
            assert_int_equal(plan->actions.op_count, 24);
            assert_int_equal(plan->is_quick, quick);
            assert_true(plan->out_bytes > 0 && plan->in_bytes >= plan->out_bytes);
            follow(course, plan, terms.device_bytes);
            spw_course_plan_destroy(plan);
        }
    spw_course_destroy(course);
}

static void with_memory_enough_a_plan_costs_no_time(void **state)
{
    struct spw_course *course = training_course(12, true);
    const struct spw_plan_terms terms = terms_of(26 * MIB);
    struct spw_course_plan *plan;
    assert_int_equal(spw_plan_course(course, &terms, false, NULL, &plan), 0);
    assert_true(fabs(plan->predicted_us - plan->compute_us) < 1);
    spw_course_plan_destroy(plan);
    spw_course_destroy(course);
}

static void what_fits_nowhere_has_no_plan(void **state)
{
    struct spw_course *course = training_course(12, true);
    struct spw_plan_terms terms = terms_of(2 * MIB); /* an operation touches three tensors */
    struct spw_course_plan *plan = NULL;
    assert_int_equal(spw_plan_course(course, &terms, false, NULL, &plan), -ENOSPC);
    terms = terms_of(8 * MIB);
    terms.host_bytes = MIB;
    assert_int_equal(spw_plan_course(course, &terms, true, NULL, &plan), -ENOSPC);
    assert_null(plan);
    spw_course_destroy(course);
}

static void durations_that_are_not_known_are_taken_for_usual_ones(void **state)
{
    struct spw_course *course = training_course(12, false);
    const struct spw_plan_terms terms = terms_of(12 * MIB);
    struct spw_course_plan *plan;
    assert_int_equal(spw_plan_course(course, &terms, true, NULL, &plan), 0);
    assert_true(fabs(plan->compute_us - 2400) < 1);
    spw_course_plan_destroy(plan);
    spw_course_destroy(course);
}

enum { LAYERS = 33, OPS = 2 * LAYERS };

/* The first `learned` layers forward can be run again. Returns a plan over a link of so many bytes per us. */
static struct spw_course_plan *plan_replays(struct spw_course *course, uint32_t learned, double bytes_per_us,
                                            bool may_replay)
{
    struct spw_plan_terms terms = terms_of(50 * MIB);
    struct spw_course_plan *plan;
    terms.d2h_bytes_per_us = terms.h2d_bytes_per_us = bytes_per_us;
    terms.may_replay = may_replay;
    for (uint32_t i = 0; i < LAYERS; i++)
        course->ops[i].replayable = i < learned;
    assert_int_equal(spw_plan_course(course, &terms, true, NULL, &plan), 0);
    return plan;
}

static uint32_t count_replays(const struct spw_course_plan *plan)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < plan->actions.count; i++)
        count += plan->actions.list[i].kind == SPW_STEP_REPLAY;
    return count;
}

static void replays_are_planned_where_that_is_faster_and_what_they_run_is_to_be_recorded(void **state)
{
    struct spw_course *course = training_course(LAYERS, true);
    struct spw_course_plan *copies = plan_replays(course, LAYERS, 2000, false),
                           *both = plan_replays(course, LAYERS, 2000, true);
    bool is_run[OPS] = {0};
    assert_int_equal(count_replays(copies), 0);
    assert_true(count_replays(both) > 0 && both->replay_count == count_replays(both));
    assert_true(fabs(both->replayed_us - 100 * both->replay_count) < 1);
    assert_true(both->predicted_us < copies->predicted_us);
    assert_true(both->predicted_us >= both->compute_us + both->replayed_us - 1);
    for (uint32_t i = 0; i < both->actions.count; i++)
        if (both->actions.list[i].kind == SPW_STEP_REPLAY)
            is_run[both->actions.list[i].id] = true;
    for (uint32_t i = 0; i < OPS; i++) {
        assert_true(both->marks.recorded[i] || !is_run[i]);
        assert_false(copies->marks.recorded[i]);
    }
    spw_course_plan_destroy(copies);
    spw_course_plan_destroy(both);
    spw_course_destroy(course);
}

/* The same bytes can go in one copy or in many. */
static void where_a_copy_costs_more_than_its_bytes_few_large_tensors_are_moved(void **state)
{
    struct spw_course *course = course_of_two_sizes();
    struct spw_plan_terms terms = terms_of(30 * MIB);
    struct spw_course_plan *plan;
    terms.d2h_bytes_per_us = terms.h2d_bytes_per_us = 20000;
    terms.move_us = 1000;
    assert_int_equal(spw_plan_course(course, &terms, false, NULL, &plan), 0);
    assert_true(plan->in_bytes == 24 * MIB);
    spw_course_plan_destroy(plan);
    spw_course_destroy(course);
}

static void nothing_is_run_again_where_copies_cost_no_time(void **state)
{
    struct spw_course *course = training_course(LAYERS, true);
    struct spw_course_plan *plan = plan_replays(course, LAYERS, 200000, true);
    assert_int_equal(count_replays(plan), 0);
    assert_int_equal(plan->replay_count, 0);
    spw_course_plan_destroy(plan);
    spw_course_destroy(course);
}

static void where_nothing_is_replayable_the_plan_is_the_same_as_without_replays(void **state)
{
    struct spw_course *course = training_course(LAYERS, true);
    struct spw_course_plan *with = plan_replays(course, 0, 2000, true), *without = plan_replays(course, 0, 2000, false);
    assert_int_equal(with->actions.count, without->actions.count);
    assert_true(with->predicted_us == without->predicted_us);
    assert_memory_equal(with->actions.list, without->actions.list, with->actions.count * sizeof(*with->actions.list));
    assert_memory_equal(with->actions.first, without->actions.first, (OPS + 2) * sizeof(*with->actions.first));
    spw_course_plan_destroy(with);
    spw_course_plan_destroy(without);
    spw_course_destroy(course);
}

/* A search that has no time to get anywhere by itself. */
static struct spw_course_plan *plan_quickly(struct spw_course *course, const struct spw_plan_terms *usual_terms,
                                            const struct spw_plan_choices *begin_with)
{
    struct spw_plan_terms terms = *usual_terms;
    struct spw_course_plan *plan;
    terms.begin_with = begin_with;
    assert_int_equal(spw_plan_course(course, &terms, true, NULL, &plan), 0);
    return plan;
}

static void a_search_goes_on_from_the_choices_of_an_earlier_plan(void **state)
{
    struct spw_course *course = training_course(LAYERS, true), *another = training_course(LAYERS + 1, true);
    struct spw_plan_terms terms = terms_of(30 * MIB);
    struct spw_course_plan *thorough;
    terms.d2h_bytes_per_us = terms.h2d_bytes_per_us = 4000;
    terms.may_replay = true;
    for (uint32_t i = 0; i < LAYERS; i++)
        course->ops[i].replayable = another->ops[i].replayable = i % 3 != 0;
    assert_int_equal(spw_plan_course(course, &terms, false, NULL, &thorough), 0);
    struct spw_course_plan *anew = plan_quickly(course, &terms, NULL),
                           *on = plan_quickly(course, &terms, &thorough->choices),
                           *other = plan_quickly(another, &terms, &thorough->choices),
                           *other_anew = plan_quickly(another, &terms, NULL);
    assert_true(thorough->predicted_us < anew->predicted_us * 0.999);
    assert_true(on->predicted_us < thorough->predicted_us * 1.0001);
    assert_true(other->predicted_us == other_anew->predicted_us); /* they are about other uses */
    spw_course_plan_destroy(thorough);
    spw_course_plan_destroy(anew);
    spw_course_plan_destroy(on);
    spw_course_plan_destroy(other);
    spw_course_plan_destroy(other_anew);
    spw_course_destroy(course);
    spw_course_destroy(another);
}

/* The thread has its own copy. */
static void what_is_learned_while_a_thread_plans_does_not_matter_to_it(void **state)
{
    struct spw_course *course = training_course(12, true);
    struct spw_plan_terms terms = terms_of(16 * MIB);
    struct spw_plan_thread *planning;
    terms.may_replay = true;
    assert_int_equal(spw_plan_thread_start(course, &terms, &planning), 0);
    spw_course_destroy(course);
    struct spw_course_plan *plan = spw_plan_thread_finish(planning, false);
    assert_non_null(plan);
    assert_int_equal(plan->replay_count, 0);
    spw_course_plan_destroy(plan);
}

static double bound_of(const struct spw_course *course, const struct spw_plan_terms *terms)
{
    struct spw_course_plan *plan;
    assert_int_equal(spw_plan_course(course, terms, false, NULL, &plan), 0);
    const double us = plan->lower_bound_us;
    assert_true(us <= plan->predicted_us);
    spw_course_plan_destroy(plan);
    return us;
}

/* The engine has it all the same. */
static void no_plan_is_below_the_bound_whatever_it_leaves_alone(void **state)
{
    struct spw_course *course = training_course(12, true);
    struct spw_plan_terms terms = terms_of(16 * MIB);
    terms.d2h_bytes_per_us = terms.h2d_bytes_per_us = 4000;
    terms.reserve = 0;
    const double us = bound_of(course, &terms);
    assert_true(us > 2500);
    terms.reserve = 0.3;
    assert_true(bound_of(course, &terms) == us);
    spw_course_destroy(course);
}

/* An operation that needs nearly all there is. */
static void what_a_plan_would_leave_alone_is_no_reason_to_have_none(void **state)
{
    struct spw_course *course = gradients_course();
    struct spw_plan_terms terms = terms_of(4 * MIB);
    struct spw_course_plan *plan;
    assert_int_equal(spw_plan_course(course, &terms, false, NULL, &plan), 0);
    assert_int_equal(plan->peak_bytes, 4 * MIB);
    follow(course, plan, 4 * MIB);
    spw_course_plan_destroy(plan);
    terms.device_bytes--;
    assert_int_equal(spw_plan_course(course, &terms, false, NULL, &plan), -ENOSPC);
    spw_course_destroy(course);
}

/* Granules are memory, and what is used of them is copied. */
static void copies_take_as_long_as_their_bytes_in_plan_and_bound(void **state)
{
    struct spw_course *course = training_course(12, true);
    struct spw_plan_terms terms = terms_of(16 * MIB);
    struct spw_course_plan *plan;
    terms.d2h_bytes_per_us = terms.h2d_bytes_per_us = 4000;
    terms.granule_bytes = MIB;
    const double us = bound_of(course, &terms);
    for (uint32_t i = 0; i < course->tensor_count; i++)
        course->tensors[i].bytes -= MIB / 4;
    assert_true(fabs(bound_of(course, &terms) - 2400 - (us - 2400) * 3 / 4) < 400);
    assert_true(bound_of(course, &terms) < us);
    assert_int_equal(spw_plan_course(course, &terms, false, NULL, &plan), 0);
    assert_true(plan->out_bytes > 0 && plan->out_bytes % (MIB / 4 * 3) == 0 && plan->in_bytes % (MIB / 4 * 3) == 0);
    spw_course_plan_destroy(plan);
    spw_course_destroy(course);
}

/* One tensor that is used once, and freed after others have filled the device: it goes out, and need not come back. */
static void what_is_freed_late_need_not_come_back(void **state)
{
    struct spw_course *course = late_course();
    struct spw_plan_terms terms = terms_of(4 * MIB);
    struct spw_course_plan *plan;
    terms.d2h_bytes_per_us = terms.h2d_bytes_per_us = 4000;
    terms.reserve = 0;
    assert_int_equal(spw_plan_course(course, &terms, false, NULL, &plan), 0);
    assert_true(plan->out_bytes == 2 * MIB && plan->lower_bound_us <= plan->compute_us * 1.001);
    assert_int_equal(plan->in_bytes, 0);
    spw_course_plan_destroy(plan);
    spw_course_destroy(course);
}

static void the_plan_to_do_nothing_does_nothing(void **state)
{
    struct spw_course *course = training_course(3, true);
    struct spw_course_plan *plan = spw_course_plan_none(course);
    assert_non_null(plan);
    assert_true(isinf(plan->predicted_us));
    follow(course, plan, 6 * MIB);
    spw_course_plan_destroy(plan);
    spw_course_plan_destroy(NULL);
    spw_course_destroy(course);
}

/* How much of this thread's own time a plan takes. */
static double seconds_of(const struct spw_course *course, bool quick, bool cancelled)
{
    struct spw_plan_terms terms = terms_of(1000 * MIB);
    struct spw_course_plan *plan = NULL;
    terms.host_bytes = 4000 * MIB;
    struct timespec began, ended;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &began);
    assert_int_equal(spw_plan_course(course, &terms, quick, cancelled ? &cancelled : NULL, &plan),
                     cancelled ? -ECANCELED : 0);
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ended);
    spw_course_plan_destroy(plan);
    return (double)(ended.tv_sec - began.tv_sec) + 1e-9 * (double)(ended.tv_nsec - began.tv_nsec);
}

/* Ratios, as machines differ: reading the iteration is most of the first plan, and all of the cancelled one. */
static void a_first_plan_takes_a_part_of_a_whole_one_and_a_cancelled_one_less(void **state)
{
    struct spw_course *course = training_course(1000, true);
    const double whole = seconds_of(course, false, false), quick = seconds_of(course, true, false),
                 cancelled = seconds_of(course, false, true);
    assert_true(quick < whole / 5);
    assert_true(cancelled < quick / 4);
    spw_course_destroy(course);
}

/* ---- on a thread ---- */

static void a_thread_comes_to_the_same_plan(void **state)
{
    struct spw_course *course = training_course(12, true);
    const struct spw_plan_terms terms = terms_of(12 * MIB);
    struct spw_plan_thread *planning;
    struct spw_course_plan *here, *there;
    assert_int_equal(spw_plan_course(course, &terms, false, NULL, &here), 0);
    assert_int_equal(spw_plan_thread_start(course, &terms, &planning), 0);
    for (int i = 0; i < 10000 && !spw_plan_thread_is_done(planning); i++)
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    assert_true(spw_plan_thread_is_done(planning));
    there = spw_plan_thread_finish(planning, false);
    assert_non_null(there);
    assert_true(there->predicted_us == here->predicted_us);
    assert_int_equal(there->actions.count, here->actions.count);
    assert_memory_equal(there->actions.list, here->actions.list, here->actions.count * sizeof(*here->actions.list));
    spw_course_plan_destroy(here);
    spw_course_plan_destroy(there);
    spw_course_destroy(course);
}

static void a_thread_goes_on_from_choices_whose_plan_is_gone(void **state)
{
    struct spw_course *course = training_course(LAYERS, true);
    struct spw_plan_terms terms = terms_of(30 * MIB);
    struct spw_plan_thread *planning;
    struct spw_course_plan *first, *second;
    assert_int_equal(spw_plan_course(course, &terms, true, NULL, &first), 0);
    terms.begin_with = &first->choices;
    assert_int_equal(spw_plan_thread_start(course, &terms, &planning), 0);
    const double us = first->predicted_us;
    memset(first->choices.list, 0xff, first->choices.count);
    spw_course_plan_destroy(first);
    second = spw_plan_thread_finish(planning, false);
    assert_non_null(second);
    assert_true(second->predicted_us <= us);
    spw_course_plan_destroy(second);
    spw_course_destroy(course);
}

/* Its plan is not what anybody waits for, and it says so also where it has found one by then. */
static void planning_that_is_cancelled_has_no_plan(void **state)
{
    struct spw_course *course = training_course(100, true);
    struct spw_plan_terms terms = terms_of(100 * MIB);
    struct spw_plan_thread *planning;
    struct spw_course_plan *plan = NULL;
    const bool cancelled = true;
    terms.host_bytes = 400 * MIB;
    assert_int_equal(spw_plan_course(course, &terms, false, &cancelled, &plan), -ECANCELED);
    assert_null(plan);
    assert_int_equal(spw_plan_thread_start(course, &terms, &planning), 0);
    spw_course_plan_destroy(spw_plan_thread_finish(planning, true)); /* unless it was there already */
    spw_course_destroy(course);
}

static int joins;
int __real_pthread_join(pthread_t thread, void **ret);
int __wrap_pthread_join(pthread_t thread, void **ret);
int __wrap_pthread_join(pthread_t thread, void **ret)
{
    joins++;
    return __real_pthread_join(thread, ret);
}

/* Whoever lets a shape go has an operation of the program to go on with. */
static void nobody_waits_for_planning_that_is_abandoned(void **state)
{
    const long before = memory_blocks();
    struct spw_plan_terms terms = terms_of(1000 * MIB);
    terms.host_bytes = 4000 * MIB;
    joins = 0;
    for (int i = 1; i <= 3; i++) {
        struct spw_course *course = training_course(1000, true);
        struct spw_plan_thread *planning;
        assert_int_equal(spw_plan_thread_start(course, &terms, &planning), 0);
        nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
        const int already = joins;
        spw_plan_thread_abandon_locked(planning);
        spw_course_destroy(course);
        assert_int_equal(joins, already);
    }
    spw_plan_thread_reap_locked(true);
    assert_int_equal(joins, 3);
    spw_plan_thread_reap_locked(true);
    assert_int_equal(joins, 3);
    assert_int_equal(memory_blocks(), before);
}

/* ---- no memory ---- */

static void where_memory_runs_out_it_says_so_and_leaves_nothing_behind(void **state)
{
    struct spw_course *course = training_course(6, true);
    const struct spw_plan_terms terms = terms_of(8 * MIB);
    const long before = memory_blocks();
    bool has_failed = true;
    for (long n = 0; has_failed; n += n < 100 ? 1 : n / 8) {
        struct spw_course_plan *plan = NULL;
        memory_fails_once_after(n);
        const int r = spw_plan_course(course, &terms, true, NULL, &plan);
        has_failed = memory_is_back();
        assert_true(r == 0 || (has_failed && r == -ENOMEM));
        spw_course_plan_destroy(plan);
        assert_int_equal(memory_blocks(), before);
    }
    for (long n = 0; n < 4; n++) {
        memory_fails_once_after(n);
        assert_null(spw_course_plan_none(course));
        assert_true(memory_is_back());
        assert_int_equal(memory_blocks(), before);
    }
    spw_course_destroy(course);
}

/* What is dropped before the program frees it has a copy, and that takes time that is promised. */
static void what_is_freed_behind_an_operation_too_large_to_hold_it_is_copied(void **state)
{
    struct spw_course *course = gradients_course();
    const struct spw_plan_terms terms = terms_of(5 * MIB);
    struct spw_course_plan *plan;
    assert_int_equal(spw_plan_course(course, &terms, false, NULL, &plan), 0);
    follow(course, plan, terms.device_bytes);
    assert_true(plan->out_bytes >= MIB);
    assert_int_equal(plan->in_bytes, 0);
    assert_true(plan->predicted_us >= 30 + (double)plan->out_bytes / terms.d2h_bytes_per_us);
    spw_course_plan_destroy(plan);
    spw_course_destroy(course);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_plan_keeps_within_its_terms),
        cmocka_unit_test(what_is_freed_behind_an_operation_too_large_to_hold_it_is_copied),
        cmocka_unit_test(with_memory_enough_a_plan_costs_no_time),
        cmocka_unit_test(what_fits_nowhere_has_no_plan),
        cmocka_unit_test(durations_that_are_not_known_are_taken_for_usual_ones),
        cmocka_unit_test(where_a_copy_costs_more_than_its_bytes_few_large_tensors_are_moved),
        cmocka_unit_test(no_plan_is_below_the_bound_whatever_it_leaves_alone),
        cmocka_unit_test(what_a_plan_would_leave_alone_is_no_reason_to_have_none),
        cmocka_unit_test(copies_take_as_long_as_their_bytes_in_plan_and_bound),
        cmocka_unit_test(what_is_freed_late_need_not_come_back),
        cmocka_unit_test(the_plan_to_do_nothing_does_nothing),
        cmocka_unit_test(a_first_plan_takes_a_part_of_a_whole_one_and_a_cancelled_one_less),
        cmocka_unit_test(replays_are_planned_where_that_is_faster_and_what_they_run_is_to_be_recorded),
        cmocka_unit_test(nothing_is_run_again_where_copies_cost_no_time),
        cmocka_unit_test(where_nothing_is_replayable_the_plan_is_the_same_as_without_replays),
        cmocka_unit_test(a_search_goes_on_from_the_choices_of_an_earlier_plan),
        cmocka_unit_test(what_is_learned_while_a_thread_plans_does_not_matter_to_it),
        cmocka_unit_test(a_thread_comes_to_the_same_plan),
        cmocka_unit_test(a_thread_goes_on_from_choices_whose_plan_is_gone),
        cmocka_unit_test(planning_that_is_cancelled_has_no_plan),
        cmocka_unit_test(nobody_waits_for_planning_that_is_abandoned),
        cmocka_unit_test(where_memory_runs_out_it_says_so_and_leaves_nothing_behind),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
