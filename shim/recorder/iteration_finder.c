/* iteration_finder.c - tells the iteration detector what happens, and turns its answers into marks and timing. */
#include "iteration_finder.h"

#include "definitions.h"
#include "log.h"
#include "nvtx.h"
#include "scan.h"
#include "settings.h"
#include "timing.h"

enum {
    MAX_OPERATIONS = 1 << 20,
    MAX_BY_KERNELS = 1 << 18, /* less, since this is a second history of the same operations */
    ENOUGH_IN_A_ROW = 4,
    MORE_TIMED = 8, /* times as many iterations, if tensors have other sizes in each: readers show the largest */
};

static struct spw_trace_follow *follow;
static struct spw_trace_follow *by_kernels; /* the second detector; NULL once one of the two was chosen */
static unsigned in_a_row;                   /* whole iterations that `follow` has seen in a row */
static bool sizes_change;                   /* `follow` goes by kernels alone */

/* The last operation of an iteration switches timing on, so that the first of the next one is timed. */
static enum { NOT_YET, NEXT_IS_TIMED, TIMED, ENOUGH } timing;
static uint32_t iterations_left, timed_shape, timed_length;
static uint64_t timed_from; /* number of the operation at which timing began */
static bool said;
static uint64_t hints;
bool spw_iteration_finder_heeds_kernels;
static uint64_t began_ns; /* of the last iteration; 0: none, or something else was in between */

struct spw_traced_iteration spw_traced;

static void mark(enum spw_mark_kind kind, uint64_t op, uint32_t shape, uint64_t length)
{
    struct spw_record r = {.kind = SPW_RECORD_MARK, .mark = {.kind = kind, .op = op, .shape = shape, .length = length}};
    spw_record_put_locked(&r);
}

static void forget_other(void)
{
    spw_follow_destroy(by_kernels);
    by_kernels = NULL;
    in_a_row = 0;
}

/* Returns how many iterations the settings want timed of what is followed. */
static uint32_t iterations_to_time(void)
{
    const uint32_t asked = spw_settings_get()->timed_iterations;
    const uint32_t times = sizes_change ? MORE_TIMED : 1;
    return asked > UINT32_MAX / times ? UINT32_MAX : asked * times;
}

int spw_iteration_finder_start(void)
{
    const struct spw_settings *s = spw_settings_get();
    int r = spw_follow_create(SPW_FOLLOW_BY_ALL, MAX_OPERATIONS, &follow);
    if (r == 0)
        r = spw_follow_create(SPW_FOLLOW_BY_KERNELS, MAX_BY_KERNELS, &by_kernels);
    spw_iteration_finder_heeds_kernels = r == 0 && s->hint_kernel[0];
    if (spw_iteration_finder_heeds_kernels) {
        spw_follow_hint(follow, s->hint_kernel);
        spw_follow_hint(by_kernels, s->hint_kernel);
    }
    if (s->hint_range[0])
        spw_nvtx_check();
    sizes_change = false;
    iterations_left = iterations_to_time();
    timed_length = 0;
    timing = s->timed_iterations == 0 ? ENOUGH : NOT_YET;
    said = false;
    hints = 0;
    spw_traced = (struct spw_traced_iteration){0};
    began_ns = 0;
    if (s->timed_iterations == SPW_SETTINGS_TIMED_ALL) {
        timing = ENOUGH;
        mark(SPW_MARK_TIMING_BEGIN, 0, 0, 0);
        spw_timing_set(true);
    }
    return r;
}

void spw_iteration_finder_stop(void)
{
    spw_follow_destroy(follow);
    follow = NULL;
    forget_other();
}

void spw_iteration_finder_alloc(const struct spw_record_alloc *alloc)
{
    if (follow)
        (void)spw_follow_alloc(follow, alloc); /* without memory the allocation is only not recognised */
    if (by_kernels)
        (void)spw_follow_alloc(by_kernels, alloc);
}

void spw_iteration_finder_free(uint64_t id)
{
    if (follow)
        (void)spw_follow_free(follow, id);
    if (by_kernels)
        (void)spw_follow_free(by_kernels, id);
}

void spw_iteration_finder_function(uint32_t id, const char *name)
{
    if (follow)
        (void)spw_follow_function(follow, id, name);
    if (by_kernels)
        (void)spw_follow_function(by_kernels, id, name);
}

static void stop_timing(uint64_t next_op)
{
    spw_timing_set(false);
    mark(SPW_MARK_TIMING_END, next_op, 0, 0);
}

/* True if what was taken for the iteration turned out to be a part of a longer one (a micro-batch, say): that one is timed
 * as well. */
static bool outgrown(const struct spw_iteration_place *place)
{
    return timing == ENOUGH && timed_length && place->shape != timed_shape &&
           place->length > timed_length + timed_length / 2;
}

void spw_iteration_finder_learned(void)
{
    if (timing == TIMED) {
        iterations_left++;
    } else if (timing == ENOUGH && timed_length) {
        iterations_left = 1;
        timing = NOT_YET;
    }
}

/* Call for the last operation of an iteration. */
static void iteration_ends(uint64_t number, const struct spw_iteration_place *place)
{
    uint32_t shape = place->shape;
    if (outgrown(place)) {
        iterations_left = iterations_to_time();
        timing = NOT_YET;
    }
    if (timing == TIMED && shape == timed_shape && --iterations_left == 0) {
        timed_length = place->length;
        timing = ENOUGH;
        stop_timing(number + 1);
    } else if (timing == NOT_YET) {
        timing = NEXT_IS_TIMED;
        timed_from = number + 1;
        mark(SPW_MARK_TIMING_BEGIN, number + 1, shape, 0);
        spw_timing_set(true);
    }
}

static void follow_timing(uint64_t number, const struct spw_iteration_place *place)
{
    if (timing == NEXT_IS_TIMED && !place->extra) {
        bool as_expected = place->sure != SPW_ITERATION_NO && (place->begins || place->began == timed_from);
        timing = as_expected ? TIMED : NOT_YET;
        timed_shape = place->shape;
        if (!as_expected)
            stop_timing(number + 1);
    } else if (timing == TIMED && place->sure == SPW_ITERATION_NO) { /* it went another way: no iteration to keep */
        timing = NOT_YET;
        stop_timing(number + 1);
    }
}

static void say(const struct spw_iteration_place *place)
{
    struct spw_iteration_shape shape;
    if (!spw_follow_shape(follow, place->shape, &shape))
        return;
    said = true;
    spw_info("found an iteration of %u operations and %u allocations", shape.length, shape.allocs);
}

/* An operation at `time_ns` begins an iteration. */
static void note_iteration(const struct spw_iteration_place *place, uint64_t time_ns)
{
    spw_traced.iterations++;
    spw_traced.shape = place->shape;
    spw_traced.length = place->length;
    spw_traced.step_ns = began_ns ? time_ns - began_ns : 0;
    began_ns = time_ns;
}

void spw_iteration_finder_hint(uint64_t next_op)
{
    const struct spw_record_mark hint = {.kind = SPW_MARK_HINT, .op = next_op};
    mark(hint.kind, hint.op, 0, 0);
    if (follow)
        spw_follow_mark(follow, &hint);
    if (by_kernels)
        spw_follow_mark(by_kernels, &hint);
    hints++;
}

void spw_iteration_finder_before_hint(uint64_t number, const struct spw_record_op *op)
{
    if (follow && spw_follow_is_hint(follow, op))
        spw_iteration_finder_hint(number);
}

void spw_iteration_finder_tell(void)
{
    const struct spw_settings *s = spw_settings_get();
    if (s->hint_kernel[0] && hints == 0)
        spw_warn("no kernel with \"%s\" in its name was launched: SPILLWAY_ITERATION_KERNEL had no effect" SPW_SEE(
                     "iteration-hint"),
                 s->hint_kernel);
    if (s->hint_range[0] && hints == 0)
        spw_nvtx_tell_unheard(s->hint_range);
}

static bool is_last(const struct spw_iteration_place *place)
{
    return place->sure != SPW_ITERATION_NO && !place->extra && place->ordinal + 1 == place->length;
}

/* Tells the second detector of the operation as well. If that one explains more of the run, it takes over, and *place is its
 * answer. It is given up once the first detector has seen enough iterations in a row. */
static void compare(uint64_t number, const struct spw_record_op *op, const struct spw_iteration_touch *touches,
                    struct spw_iteration_place *place)
{
    struct spw_iteration_place other;
    uint64_t operations, with_sizes;
    if (place->sure == SPW_ITERATION_NO)
        in_a_row = 0;
    in_a_row += is_last(place);
    if (in_a_row >= ENOUGH_IN_A_ROW || spw_follow_op(by_kernels, number, op, touches, &other) < 0) {
        forget_other();
        return;
    }
    if (!is_last(&other) || spw_follow_seen(by_kernels, &operations) < SPW_FOLLOW_OFTEN)
        return;
    (void)spw_follow_seen(follow, &with_sizes);
    if (!spw_follow_explains_more(operations, with_sizes))
        return;
    struct spw_trace_follow *former = follow;
    follow = by_kernels;
    by_kernels = former;
    sizes_change = true;
    forget_other();
    *place = other;
    place->learned = true;
    said = false;
    iterations_left = iterations_to_time();
    if (timing == NEXT_IS_TIMED || timing == TIMED)
        stop_timing(number + 1);
    if (timing != ENOUGH || timed_length)
        timing = NOT_YET;
}

void spw_iteration_finder_op(uint64_t number, const struct spw_record_op *op, const struct spw_iteration_touch *touches)
{
    struct spw_iteration_place place;
    if (!follow || op->captured || spw_follow_op(follow, number, op, touches, &place) < 0)
        return;
    if (by_kernels)
        compare(number, op, touches, &place);
    if (spw_settings_get()->mode == SPW_MODE_TRACE) /* else the engine tells */
        spw_scan_told(&place);
    if (timing == NEXT_IS_TIMED || timing == TIMED)
        follow_timing(number, &place);
    if (place.sure == SPW_ITERATION_NO)
        return;
    if (place.learned && !said)
        say(&place);
    if (place.begins || place.learned)
        mark(SPW_MARK_ITERATION, place.began, place.shape, place.length);
    if (place.begins)
        note_iteration(&place, op->time_ns);
    if (!place.extra && place.ordinal + 1 == place.length && place.sure == SPW_ITERATION_SURE)
        iteration_ends(number, &place);
}
