/* known_iterations.c - takes an iteration through the states: seen by the detector, recorded, timed, planned. */
#include "known_iterations.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bandwidth.h"
#include "check.h"
#include "durations.h"
#include "kernel_profile.h"
#include "op.h"
#include "log.h"
#include "scan.h"
#include "slab.h"
#include "steptime.h"

enum { TOUCHES = 64 /* touches of one operation that need no allocation */ };
static const float LONGEST_US = 1e9f; /* of an operation: a longer time is not believed */
static const double STRANGE = 0.05;   /* share of an iteration by which it takes another time than in an earlier run */

static bool is_allowed(enum spw_known_state from, enum spw_known_state to)
{
    switch (to) {
    case SPW_KNOWN_LOOKING:
        return from != SPW_KNOWN_LOOKING;
    case SPW_KNOWN_RECORDING:
        return from == SPW_KNOWN_LOOKING;
    case SPW_KNOWN_RECORDED:
        return from == SPW_KNOWN_RECORDING;
    case SPW_KNOWN_TIMING:
        return from == SPW_KNOWN_RECORDED;
    }
    return false;
}

/* The only place where the state changes. */
static void enter(struct spw_known_iterations *known, enum spw_known_state state)
{
    SPW_ASSERT(is_allowed(known->state, state), "an arrow of the drawing in known_iterations.h");
    known->state = state;
    SPW_ASSERT(spw_observer_is_recording(known->watch) == spw_known_iterations_is_recording(known),
               "the observer records while the state says so");
    SPW_ASSERT((state == SPW_KNOWN_TIMING) == (known->awaited != NULL), "an iteration is awaited while its times are");
}

int spw_known_iterations_init(struct spw_known_iterations *known, struct spw_device *d)
{
    *known = (struct spw_known_iterations){.device = d};
    return spw_observer_create(d, &known->watch);
}

void spw_known_iterations_finish(struct spw_known_iterations *known)
{
    spw_tuned_iterations_finish(&known->iterations);
    spw_observer_destroy(known->watch);
}

/* ---- what an operation touches */

struct touches {
    struct spw_observer_touch few[TOUCHES], *list;
    uint32_t count;
};

/* Notes nothing of a slab as a whole. Returns false if nothing is alive there. */
static bool add_touch(const struct spw_device *d, struct touches *t, struct spw_object *o, CUdeviceptr address, bool writes)
{
    struct spw_observer_touch *touch = &t->list[t->count++];
    *touch = (struct spw_observer_touch){.writes = writes};
    if (!o || o->attention & SPW_FREE)
        return false;
    if (o->device != d->ordinal)
        return true;
    if (o->kind == SPW_KIND_BLOCK) {
        const struct spw_block *b = spw_block_of(o);
        touch->serial = b->serial;
        touch->bytes = b->size_bytes;
        touch->offset = address ? address - b->address : 0;
        return true;
    }
    const struct spw_slot *slot = address ? spw_slab_slot_at_locked((struct spw_slab *)o, address) : NULL;
    if (!slot)
        return false;
    touch->serial = slot->serial;
    touch->bytes = slot->size_bytes;
    touch->small = true;
    return true;
}

/* Lists touches in the order of the parameters if the hits are all that is known; else in the order of addresses. */
static bool list_touches(const struct spw_device *d, const struct spw_op *op, struct spw_object *const *objects,
                         unsigned count, struct touches *ret)
{
    const unsigned most = objects ? count : op->count;
    ret->count = 0;
    ret->list = most <= TOUCHES ? ret->few : malloc(most * sizeof(*ret->list));
    if (!ret->list)
        return false;
    for (unsigned i = 0; objects && i < count; i++)
        (void)add_touch(d, ret, objects[i], 0, true);
    for (unsigned i = 0; !objects && i < op->count; i++) {
        const bool writes = i < op->count - op->read_only;
        if (!add_touch(d, ret, spw_object_at_locked(op->hits[i]), op->hits[i], writes))
            spw_scan_doubt(op->doubted, i);
        ret->list[i].doubted = spw_scan_is_doubted(op->doubted, i);
        ret->list[i].loose = spw_scan_comes_and_goes(op->doubted, i);
    }
    return true;
}

/* ---- telling of it */

/* Returns the number by which a call is known in other runs too: kernels by their contents, calls that are no launches of
 * the program by their names. */
static uint64_t function_of(const struct spw_op *op)
{
    struct spw_hash hash;
    if (op->function)
        return spw_kernel_profile_number_locked(op->function);
    if (!op->name || op->signature.function != (uint64_t)(uintptr_t)op->name)
        return op->signature.function;
    spw_hash_host(op->name, strlen(op->name), &hash);
    return hash.word[0];
}

void spw_known_iterations_stop_recording_locked(struct spw_known_iterations *known)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    spw_observer_stop_recording(known->watch);
    spw_durations_stop_locked(known->device);
    if (spw_known_iterations_is_recording(known))
        enter(known, SPW_KNOWN_LOOKING);
}

/* Goes on with a recording in which an operation has got number `number`. The iteration before may have been only a likely
 * one; then it is not known whether this one begins after it. */
static void go_on_recording(struct spw_known_iterations *known, struct spw_op *op, uint32_t number,
                            const struct spw_iteration_place *place)
{
    const bool begins_elsewhere = !known->has_begun && !place->extra && place->ordinal != 0;
    known->has_begun |= !place->extra;
    if (number == SPW_NO_INDEX || place->sure == SPW_ITERATION_NO || place->shape != known->recording_shape ||
        begins_elsewhere)
        spw_known_iterations_stop_recording_locked(known);
    else if (op->function && spw_function_is_collective(op->function))
        spw_observer_takes_no_time(known->watch, number);
    else
        op->timed = spw_duration_take_locked(known->device, op->stream, number);
}

int spw_known_iterations_observe_locked(struct spw_known_iterations *known, struct spw_op *op,
                                        struct spw_object *const *objects, unsigned count)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    struct spw_iteration_place place = {0};
    struct touches touches;
    if (!list_touches(known->device, op, objects, count, &touches)) {
        spw_known_iterations_stop_recording_locked(known);
        return -ENOMEM;
    }
    const bool recording = spw_known_iterations_is_recording(known);
    const struct spw_observer_op told = {op->signature,  touches.list, touches.count,
                                         op->everything, !objects,     function_of(op)};
    const uint32_t number = spw_observer_note(known->watch, &told, &place);
    known->recorded = number;
    spw_scan_told(&place);
    if (touches.list != touches.few)
        free(touches.list);
    if (recording)
        go_on_recording(known, op, number, &place);
    if (place.sure != SPW_ITERATION_NO && !place.extra && place.ordinal + 1 == place.length) {
        known->ended = true;
        known->ended_surely = place.sure == SPW_ITERATION_SURE;
        known->ended_shape = place.shape;
    }
    return recording && number == SPW_NO_INDEX ? -ENOMEM : 0;
}

/* ---- from one iteration to the next */

struct spw_tuned_iteration *spw_known_iterations_boundary(struct spw_known_iterations *known)
{
    struct spw_tuned_iteration *tuned = spw_tuned_iterations_find(&known->iterations, known->ended_shape);
    known->ended = false;
    if (known->state == SPW_KNOWN_RECORDING && known->ended_surely && known->ended_shape == known->recording_shape)
        enter(known, SPW_KNOWN_RECORDED);
    else if (known->state == SPW_KNOWN_RECORDING)
        spw_known_iterations_stop_recording_locked(known);
    if (spw_known_iterations_is_recording(known))
        return NULL;
    if (!tuned && known->state == SPW_KNOWN_LOOKING && spw_observer_record(known->watch) == 0) {
        known->recording_shape = known->ended_shape;
        known->has_begun = false;
        enter(known, SPW_KNOWN_RECORDING);
    }
    return tuned;
}

struct spw_tuned_iteration *spw_known_iterations_take_locked(struct spw_known_iterations *known,
                                                             const struct spw_tuned_iteration *but, bool *ret_lacks_memory)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    struct spw_course *course;
    *ret_lacks_memory = false;
    int r = spw_observer_course(known->watch, &course);
    spw_observer_stop_recording(known->watch);
    if (r < 0) {
        enter(known, SPW_KNOWN_LOOKING);
        spw_durations_stop_locked(known->device);
        spw_info("device %d: an iteration could not be recorded (%s): it is tried again", known->device->ordinal,
                 strerror(-r));
        return NULL;
    }
    known->awaited = spw_tuned_iterations_add(&known->iterations, known->recording_shape, course, known->clock, but);
    enter(known, known->awaited ? SPW_KNOWN_TIMING : SPW_KNOWN_LOOKING);
    if (!known->awaited) {
        spw_course_destroy(course);
        spw_durations_stop_locked(known->device);
        *ret_lacks_memory = true;
    }
    return known->awaited;
}

/* ---- what earlier runs have left, and what is left for later ones */

void spw_known_iterations_plan_remembered_locked(struct spw_known_iterations *known)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    struct spw_tuned_iteration *tuned = known->awaited;
    const struct spw_profile_iterations *all = spw_kernel_profile_iterations_locked();
    const uint64_t hash = spw_observer_hash_of(known->watch, tuned->id);
    const struct spw_profile_iteration *it = all && hash ? spw_profile_iterations_find(all, hash) : NULL;
    if (!it || it->op_count != tuned->course->op_count)
        return;
    for (uint32_t i = 0; i < it->op_count; i++)
        tuned->course->ops[i].us = it->us[i] >= 0 && it->us[i] <= LONGEST_US ? it->us[i] : -1;
    spw_info("device %d: an iteration of %u operations is known from an earlier run", known->device->ordinal, it->op_count);
    if (!it->choice_count)
        return; /* an iteration that had no plan then gets one once it was measured without */
    spw_tuning_begin_with(tuned, it->list, it->choice_count, it->choices_of);
    spw_tuning_plan(known->device, tuned);
}

static void note(struct spw_known_iterations *known, const struct spw_tuned_iteration *tuned)
{
    const struct spw_course *course = tuned->course;
    const struct spw_plan_choices *choices = spw_tuning_choices(tuned);
    struct spw_profile_iteration it = {.hash = spw_observer_hash_of(known->watch, tuned->id), .op_count = course->op_count};
    void *bytes = NULL;
    size_t size = 0;
    float *us = calloc((size_t)course->op_count + 1, sizeof(*us));
    if (us && it.hash && spw_observer_save_shape(known->watch, tuned->id, &bytes, &size) == 0 && size <= UINT32_MAX) {
        for (uint32_t i = 0; i < course->op_count; i++)
            us[i] = (float)course->ops[i].us;
        it.us = us;
        it.list = choices->list;
        it.choice_count = choices->list && choices->count <= UINT32_MAX ? (uint32_t)choices->count : 0;
        it.choices_of = choices->of;
        it.shape = bytes;
        it.shape_bytes = (uint32_t)size;
        spw_kernel_profile_note_iteration_locked(&it);
    }
    free(us);
    free(bytes);
}

void spw_known_iterations_note_locked(struct spw_known_iterations *known)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    for (unsigned i = 0; i < known->iterations.count; i++) {
        const struct spw_tuned_iteration *tuned = &known->iterations.list[i];
        if (tuned->course && tuned != known->awaited && tuned->state != SPW_TUNING_STRAYED)
            note(known, tuned);
    }
}

/* ---- durations */

struct durations {
    const struct spw_course *course;
    struct spw_bandwidth bandwidth;
    double strange_us, all_us; /* differences from what was known before; the sum of all durations */
};

static void take_duration(void *context, uint32_t ordinal, double us)
{
    struct durations *d = context;
    if (ordinal >= d->course->op_count)
        return;
    const struct spw_course_call *call = &d->course->calls[ordinal];
    if (call->kind == SPW_ITERATION_COPY_H2D)
        us = spw_duration_of_copy_us(us, call->geometry, d->bandwidth.h2d_bytes_per_us);
    else if (call->kind == SPW_ITERATION_COPY_D2H)
        us = spw_duration_of_copy_us(us, call->geometry, d->bandwidth.d2h_bytes_per_us);
    d->strange_us += fabs(us - d->course->ops[ordinal].us);
    d->all_us += us;
    d->course->ops[ordinal].us = us;
}

/* A plan leaves the memory of small allocations alone, so it should not include what they took in an iteration of other
 * sizes. */
static void give_empty_slabs_back(struct spw_device *d)
{
    for (struct spw_block *b = spw_slab_remove_empty_locked(d); b; b = spw_slab_remove_empty_locked(d))
        spw_block_cache_locked(d, b);
}

struct spw_tuned_iteration *spw_known_iterations_timed_locked(struct spw_known_iterations *known)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    struct spw_tuned_iteration *tuned = known->awaited;
    if (!tuned)
        return NULL;
    spw_steptime_collect_locked(known->device->ordinal);
    if (spw_steptime_is_pending_locked(known->device->ordinal, tuned->id))
        return NULL; /* its plan is compared with what it took on demand */
    struct durations durations = {.course = tuned->course};
    (void)spw_bandwidth_locked(known->device->ordinal, &durations.bandwidth);
    if (!spw_durations_collect_locked(known->device, take_duration, &durations))
        return NULL;
    known->awaited = NULL;
    enter(known, SPW_KNOWN_LOOKING);
    spw_durations_stop_locked(known->device);
    give_empty_slabs_back(known->device);
    if (tuned->state == SPW_TUNING_UNPLANNED)
        spw_tuning_plan(known->device, tuned);
    else if (durations.strange_us > STRANGE * durations.all_us)
        spw_tuning_learned(tuned, tuned->may_replay);
    return tuned;
}

void spw_known_iterations_forget_locked(struct spw_known_iterations *known, struct spw_tuned_iteration *tuned,
                                        const char *why)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    spw_info("device %d: iterations of %u operations %s: learning them anew", known->device->ordinal,
             tuned->course->op_count, why);
    if (tuned == known->awaited) {
        known->awaited = NULL;
        enter(known, SPW_KNOWN_LOOKING);
        spw_durations_stop_locked(known->device);
    }
    spw_tuning_forget(tuned);
}
