/* planned.c - where each device stands between being watched and following a plan, and what follows from what it does. */
#include "planned.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "carry.h"
#include "context.h"
#include "devices.h"
#include "durations.h"
#include "engine.h"
#include "graph.h"
#include "learning.h"
#include "lock.h"
#include "log.h"
#include "mover.h"
#include "needs.h"
#include "pace.h"
#include "planned_counts.h"
#include "plan/schedule.h"
#include "recompute.h"
#include "room.h"
#include "settings.h"
#include "shapes.h"
#include "steptime.h"
#include "slab.h"
#include "watch.h"

enum {
    TOUCHES = 64,     /* of one operation, without another look */
    CONFIRMED = 16,   /* iterations in a row after which a shape is taken for the whole */
    TAUGHT_AFTER = 2, /* iterations in a row, before it is learned from */
    MOST = 8,         /* all but one of so many bytes */
};

static const double AS_FAST = 1.005; /* times what the operations take by themselves */

bool spw_planned_any;

struct planned { /* one device */
    struct spw_device *device;
    struct spw_place place;
    struct spw_watch *watch;
    struct spw_shapes shapes;
    struct spw_shape *now;     /* whose course the device is on; NULL: it is watched */
    struct spw_block **blocks; /* by tensor of the course */
    uint32_t next_due;         /* index in the plan's list */
    uint64_t made_bytes;       /* that an iteration of the course allocates */
    uint64_t strange_bytes;    /* allocated in this one, and none of the course's tensors */
    bool conforms;             /* what the plan has away at this point has left */
    uint32_t recording_shape;  /* what is recorded is taken for this one */
    bool ended;                /* the detector was told of the last operation of an `ended_shape`, and of nothing since */
    uint32_t ended_shape;
    bool recorded;                      /* what is recorded was complete with it, but for frees */
    struct spw_shape *awaited;          /* recorded, but its durations are not complete */
    struct spw_learning *learning;      /* NULL: nothing was to be learned yet */
    bool began;                         /* an iteration of the course, and nothing was looked after since */
    struct spw_pace pace;               /* of the host on its course */
    uint64_t clock;                     /* boundaries met */
    struct spw_stream *stream;          /* of the operation that was told last */
    const struct spw_course_plan *kept; /* for which operations are kept that it has run again */
};

static struct planned *planned_of[SPW_MAX_DEVICES];
static const struct spw_course no_course;
static const uint8_t nothing_due[1];

static struct planned *find(const struct spw_device *d)
{
    return planned_of[d->ordinal];
}

static void lacks_memory(const struct spw_device *d, const char *what)
{
    static int warned;
    spw_warn_once(&warned, "device %d: the host has no memory left %s: eviction on demand goes on meanwhile", d->ordinal,
                  what);
}

/* ---- on the course, and off it ---- */

/* What every operation gets a closer look for. */
static void look_closer(struct planned *p, bool told)
{
    p->place.told = told;
    p->place.look = told || spw_versions_kept;
}

/* The detector is told of everything. */
static bool is_told(const struct planned *p)
{
    return !p->now || p->place.told;
}

static void expect_nothing(struct planned *p)
{
    p->place.cursor = (struct spw_cursor){.course = &no_course};
    p->place.due = nothing_due;
    look_closer(p, false);
    p->now = NULL;
}

static bool is_ghost(const struct spw_block *b)
{
    return b && b->object.attention & SPW_GHOST;
}

static struct spw_block *block_of(const struct planned *p, uint32_t tensor)
{
    struct spw_block *b = p->blocks[tensor];
    if (is_ghost(b))
        return b;
    return b && b->serial == p->place.cursor.id[tensor] && !b->doomed && !(b->object.attention & SPW_FREE) ? b : NULL;
}

/* The plan has no more use for what the program has freed. */
static void release_ghost(struct planned *p, uint32_t tensor)
{
    struct spw_block *b = p->blocks[tensor];
    if (!is_ghost(b))
        return;
    p->blocks[tensor] = NULL;
    b->expected = 0;
    spw_ghost_look_locked(p->device, b);
}

static void release_ghosts(struct planned *p)
{
    for (uint32_t t = 0; t < p->now->course->tensor_count; t++)
        release_ghost(p, t);
}

static void leave_course(struct planned *p)
{
    if (p->now && spw_learning_is_about(p->learning, p->now->course))
        spw_learning_stop_locked(p->learning); /* what was learned so far stays known */
    if (p->now && p->blocks)
        release_ghosts(p);
    spw_recompute_end_locked(p->device);
    p->kept = NULL;
    for (uint32_t t = 0; p->now && p->blocks && t < p->now->course->tensor_count; t++) {
        struct spw_block *b = block_of(p, t);
        if (b)
            b->expected = 0;
    }
    spw_pace_restart_locked(&p->pace);
    spw_cursor_finish(&p->place.cursor);
    free(p->blocks);
    p->blocks = NULL;
    expect_nothing(p);
}

/* Those alive when the recording began are in the order of their serials. */
static uint32_t find_live(const struct spw_course *course, uint64_t serial)
{
    uint32_t low = 0, high = course->live_count;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (course->tensors[middle].id < serial)
            low = middle + 1;
        else
            high = middle;
    }
    return low < course->live_count && course->tensors[low].id == serial ? low : SPW_NO_INDEX;
}

/* Who those alive throughout are, by serial. */
static void bind_live(struct planned *p, const struct spw_course *course)
{
    for (uint32_t i = 0; i < p->device->block_count; i++) {
        struct spw_block *b = p->device->blocks[i];
        b->expected = 0;
        spw_ghost_look_locked(p->device, b);
        if (b->object.attention & SPW_FREE || b->doomed)
            continue;
        const uint32_t t = find_live(course, b->serial);
        if (t == SPW_NO_INDEX || p->place.cursor.id[t] != b->serial)
            continue;
        p->blocks[t] = b;
        b->expected = t + 1;
    }
}

/* Whether most of what the course works on, and lives throughout, is there still. A program that makes its tensors anew goes
 * through the same operations, but they are none of the course's tensors. */
static bool is_there(const struct planned *p)
{
    const struct spw_course *course = p->now->course;
    uint64_t all_bytes = 0, gone_bytes = 0;
    for (uint32_t t = 0; t < course->live_count; t++) {
        const struct spw_course_tensor *tensor = &course->tensors[t];
        if (tensor->from != t || tensor->first_use == SPW_NO_INDEX)
            continue;
        all_bytes += tensor->bytes;
        gone_bytes += block_of(p, t) ? 0 : tensor->bytes;
    }
    return gone_bytes <= all_bytes / MOST;
}

/* What the plan has away from the device at this point leaves, as far as it is there. */
static void conform(struct planned *p)
{
    const uint32_t count = p->now->course->tensor_count;
    uint8_t *away = calloc((size_t)count + 1, 1);
    if (!away) {
        lacks_memory(p->device, "to take up a plan");
        return;
    }
    spw_course_find_away(p->now->course, &p->now->plan->actions, p->next_due, away);
    for (uint32_t t = 0; t < count; t++) {
        struct spw_block *b = away[t] ? block_of(p, t) : NULL;
        if (b)
            (void)spw_carry_leave_locked(p->device, b);
    }
    free(away);
}

/* What is copied out stays until it is dropped: something may use it until then. */
static void carry_out(struct spw_device *d, uint32_t kind, struct spw_block *b)
{
    if (kind == SPW_STEP_H2D)
        (void)spw_carry_restore_locked(d, b);
    else if (kind == SPW_STEP_D2H)
        (void)spw_carry_copy_locked(d, b);
    else
        (void)spw_carry_drop_locked(d, b);
}

/* What is planned before the next operation. Slow lock and engine lock held. While something is run again other threads go
 * on, and so may the course. */
static void carry_out_due_unlocking(struct planned *p)
{
    while (p->now && p->next_due < p->now->plan->actions.first[p->place.cursor.op + 1]) {
        const uint32_t action = p->next_due++;
        const struct spw_action due = p->now->plan->actions.list[action];
        struct spw_block *b = due.kind == SPW_STEP_REPLAY ? NULL : block_of(p, due.id);
        if (is_ghost(b) && spw_recompute_is_over_locked(p->device, due.id, action))
            release_ghost(p, due.id);
        else if (b)
            carry_out(p->device, due.kind, b);
        else if (due.kind == SPW_STEP_REPLAY)
            (void)spw_recompute_again_unlocking(p->device, due.id, p->stream);
    }
    spw_ghosts_sweep_locked(p->device);
}

/* The plan has some operations run again, or relies on it that they could be: they are kept from here on. Without memory for
 * that nothing is dropped. */
static void keep_operations_unlocking(struct planned *p)
{
    const struct spw_course_plan *plan = p->now ? p->now->plan : NULL;
    if (!plan || plan == p->kept)
        return;
    p->kept = NULL;
    spw_recompute_end_locked(p->device);
    if (!plan->recorded_count)
        return;
    const int r = spw_recompute_begin_unlocking(p->device, p->now->course, &plan->actions);
    if (r < 0)
        spw_debug("device %d: no memory for running operations again", p->device->ordinal);
    p->kept = r == 0 && p->now && p->now->plan == plan ? plan : NULL;
}

/* The plan of the course that the device is on was replaced. Slow lock and engine lock held. */
static void take_up_plan(struct planned *p)
{
    p->kept = NULL;
    p->place.due = p->now->plan->due;
    p->place.busy = true;
    p->next_due = p->now->plan->actions.first[p->place.cursor.op];
    p->conforms = false;
}

/* An iteration of the shape is about to begin. 0; -ENOENT: what it works on is gone; -ENOMEM. */
static int enter_course(struct planned *p, struct spw_shape *shape)
{
    const struct spw_course *course = shape->course;
    int r = spw_cursor_init(&p->place.cursor, course);
    if (r < 0) {
        expect_nothing(p);
        lacks_memory(p->device, "to follow an iteration");
        return r;
    }
    p->blocks = calloc((size_t)course->tensor_count + 1, sizeof(struct spw_block *));
    p->now = shape;
    if (!p->blocks) {
        leave_course(p);
        lacks_memory(p->device, "to follow an iteration");
        return -ENOMEM;
    }
    look_closer(p, shape->in_a_row < CONFIRMED);
    take_up_plan(p);
    bind_live(p, course);
    p->made_bytes = p->strange_bytes = 0;
    for (uint32_t t = course->live_count; t < course->tensor_count; t++)
        p->made_bytes += course->tensors[t].bytes;
    if (is_there(p))
        return 0;
    leave_course(p);
    return -ENOENT;
}

/* ---- a boundary ---- */

static void stop_recording(struct planned *p)
{
    spw_watch_stop_recording(p->watch);
    spw_durations_stop_locked(p->device);
    p->recorded = false;
}

static void take_duration(void *context, uint32_t ordinal, double us)
{
    const struct spw_shape *shape = context;
    if (ordinal < shape->course->op_count)
        shape->course->ops[ordinal].us = us;
}

/* Something new happens after the last operation of the iteration that was recorded: takes it. */
static void finish_recording(struct planned *p)
{
    struct spw_course *course;
    p->recorded = false;
    int r = spw_watch_course(p->watch, &course);
    spw_watch_stop_recording(p->watch);
    if (r < 0) {
        spw_durations_stop_locked(p->device);
        spw_info("device %d: an iteration could not be recorded (%s): it is tried again", p->device->ordinal, strerror(-r));
        return;
    }
    struct spw_shape *shape = spw_shapes_add(&p->shapes, p->recording_shape, course, p->clock, p->now);
    if (!shape) {
        spw_course_destroy(course);
        spw_durations_stop_locked(p->device);
        lacks_memory(p->device, "for a plan");
        return;
    }
    p->awaited = shape;
    if (!p->now)
        (void)enter_course(p, shape);
}

/* Once the device has done all of it as well, it can be planned. */
static void await_durations(struct planned *p)
{
    if (!p->awaited || !spw_durations_collect_locked(p->device, take_duration, p->awaited))
        return;
    struct spw_shape *shape = p->awaited;
    p->awaited = NULL;
    spw_durations_stop_locked(p->device);
    spw_shape_plan(p->device, shape);
    if (p->now == shape)
        take_up_plan(p);
}

/* What lived on takes its new number, and the others of the iteration are nobody any more. */
static void rewind_course(struct planned *p, bool catches_up)
{
    const struct spw_course *course = p->now->course;
    release_ghosts(p);
    for (uint32_t t = 0; t < course->live_count; t++) {
        const uint32_t from = course->tensors[t].from;
        if (from == t)
            continue;
        p->blocks[t] = from == SPW_NO_INDEX ? NULL : p->blocks[from];
        if (p->blocks[t]) {
            p->blocks[t]->expected = t + 1;
            p->blocks[from] = NULL;
        }
    }
    for (uint32_t t = course->live_count; t < course->tensor_count; t++) {
        if (p->blocks[t])
            p->blocks[t]->expected = 0;
        p->blocks[t] = NULL;
    }
    if (catches_up)
        spw_watch_catch_up_and_rewind(p->watch, &p->place.cursor);
    else
        spw_cursor_rewind(&p->place.cursor);
    p->place.due = p->now->plan->due;
    p->place.busy = true;
    p->next_due = 0;
}

/* Something else came than the course expects. */
static void lose(struct planned *p)
{
    spw_planned_lost_locked(p->device);
    p->now->in_a_row = 0;
    if (!is_told(p))
        spw_watch_catch_up(p->watch, &p->place.cursor);
    spw_debug("device %d: off the course at operation %u of %u", p->device->ordinal, p->place.cursor.op,
              p->now->course->op_count);
    leave_course(p);
}

/* The shape is to be learned anew. */
static void forget_shape(struct planned *p, struct spw_shape *shape, const char *why)
{
    spw_info("device %d: iterations of %u operations %s: learning them anew", p->device->ordinal, shape->course->op_count,
             why);
    if (shape == p->awaited) {
        p->awaited = NULL;
        spw_durations_stop_locked(p->device);
    }
    spw_shape_forget(shape);
}

/* An iteration of the course has begun. */
static void give_up(struct planned *p, const char *why)
{
    struct spw_shape *shape = p->now;
    lose(p);
    forget_shape(p, shape, why);
}

/* The same operations on tensors of other sizes (another batch) are another iteration: the detector has to see it. */
static bool is_another(const struct planned *p)
{
    return p->strange_bytes > p->made_bytes / MOST;
}

/* The course is complete, and what comes next belongs to the iteration after it. */
static void next_round(struct planned *p)
{
    const struct spw_course_plan *before = p->now->plan;
    const bool all_done = p->next_due == before->actions.count;
    const bool was_told = is_told(p), is_learning = spw_learning_is_about(p->learning, p->now->course);
    p->now->last_used = ++p->clock;
    p->now->in_a_row = is_another(p) ? 0 : p->now->in_a_row + 1;
    p->strange_bytes = 0;
    look_closer(p, p->now->in_a_row < CONFIRMED);
    if (!is_told(p) && spw_watch_is_recording(p->watch))
        stop_recording(p); /* it would miss what is not told */
    const bool is_as_it_was = spw_shape_improve(p->device, p->now, !is_learning);
    rewind_course(p, is_told(p) && !was_told);
    if (!is_as_it_was || !is_there(p)) {
        give_up(p, is_as_it_was ? "work on other tensors than they did" : "take another time than they did");
        return;
    }
    if (before != p->now->plan)
        p->kept = NULL;
    p->conforms = all_done && before == p->now->plan;
    p->began = true;
    spw_planned_begins_locked(p->device, p->stream, p->now->id, p->now->number);
    if (is_learning)
        spw_steptime_broken_locked(p->device->ordinal); /* it takes longer than it will */
}

/* The detector has seen the last operation of an iteration that it knows. What is followed meanwhile, if anything, may be a
 * part of it, or the same operations on tensors of other sizes: then it goes on being followed until there is a plan for
 * what was seen. */
static void learn(struct planned *p)
{
    struct spw_shape *shape = spw_shapes_find(&p->shapes, p->ended_shape);
    p->ended = false;
    if (!p->now) {
        p->clock++;
        spw_planned_begins_locked(p->device, p->stream, p->ended_shape, 0);
    }
    if (spw_watch_is_recording(p->watch)) {
        p->recorded = p->ended_shape == p->recording_shape;
        return;
    }
    if (!shape && !p->awaited && spw_watch_record(p->watch) == 0)
        p->recording_shape = p->ended_shape;
    if (!shape || shape == p->now)
        return;
    (void)spw_shape_improve(p->device, shape, false);
    const bool is_better =
        p->now && shape->course->op_count >= p->now->course->op_count && shape->plan->predicted_us < INFINITY;
    if (p->now && !is_better)
        return;
    leave_course(p);
    shape->last_used = p->clock;
    const int r = enter_course(p, shape);
    if (r == 0)
        spw_planned_begins_locked(p->device, p->stream, shape->id, shape->number);
    else if (r == -ENOENT)
        forget_shape(p, shape, "work on other tensors than they did");
}

static bool is_complete(const struct planned *p)
{
    return p->now && p->place.cursor.op == p->now->course->op_count;
}

/* Something happens next: what was complete before it is settled first. */
static void settle(struct planned *p)
{
    if (is_complete(p))
        next_round(p);
    if (p->ended)
        learn(p);
    if (p->recorded)
        finish_recording(p);
}

/* ---- watched ---- */

struct touches {
    struct spw_watch_touch few[TOUCHES], *list;
    uint32_t count;
};

/* Of a slab as a whole nothing is told. */
static void add_touch(const struct spw_device *d, struct touches *t, struct spw_object *o, CUdeviceptr address, bool writes)
{
    struct spw_watch_touch *touch = &t->list[t->count++];
    *touch = (struct spw_watch_touch){.writes = writes};
    if (!o || o->device != d->ordinal || o->attention & SPW_FREE)
        return;
    if (o->kind == SPW_KIND_BLOCK) {
        const struct spw_block *b = spw_block_of(o);
        touch->serial = b->serial;
        touch->bytes = b->size_bytes;
        touch->offset = address ? address - b->address : 0;
        return;
    }
    const struct spw_slot *slot = address ? spw_slab_slot_at_locked((struct spw_slab *)o, address) : NULL;
    if (!slot)
        return;
    touch->serial = slot->serial;
    touch->bytes = slot->size_bytes;
    touch->small = true;
}

/* In the order of parameters where the hits are all there is to know; else in that of addresses. */
static bool list_touches(const struct spw_device *d, const struct spw_op *op, struct spw_object *const *objects,
                         unsigned count, struct touches *ret)
{
    const unsigned most = objects ? count : op->count;
    ret->count = 0;
    ret->list = most <= TOUCHES ? ret->few : malloc(most * sizeof(*ret->list));
    if (!ret->list)
        return false;
    for (unsigned i = 0; objects && i < count; i++)
        add_touch(d, ret, objects[i], 0, true);
    for (unsigned i = 0; !objects && i < op->count; i++)
        add_touch(d, ret, spw_object_at_locked(op->hits[i]), op->hits[i], i < op->count - op->read_only);
    return true;
}

static void tell_watch(struct planned *p, struct spw_op *op, struct spw_object *const *objects, unsigned count)
{
    struct spw_iteration_place place = {0};
    struct touches touches;
    if (!list_touches(p->device, op, objects, count, &touches)) {
        lacks_memory(p->device, "to list what an operation touches");
        stop_recording(p);
        return;
    }
    const bool recording = spw_watch_is_recording(p->watch);
    const struct spw_watch_op told = {op->signature, touches.list, touches.count, op->everything, !objects};
    const uint32_t number = spw_watch_op(p->watch, &told, &place);
    if (touches.list != touches.few)
        free(touches.list);
    if (recording && number == SPW_NO_INDEX)
        lacks_memory(p->device, "to record an iteration");
    if (recording && (number == SPW_NO_INDEX || place.sure == SPW_ITERATION_NO || place.shape != p->recording_shape))
        stop_recording(p);
    else if (recording)
        op->timed = spw_duration_take_locked(p->device, op->stream, number);
    if (place.sure == SPW_ITERATION_SURE && !place.extra && place.ordinal + 1 == place.length) {
        p->ended = true;
        p->ended_shape = place.shape;
    }
}

static void note_extra(struct planned *p, const struct spw_op *op)
{
    struct spw_iteration_touch touches[TOUCHES];
    struct spw_iteration_op call = {.kind = op->signature.kind,
                                    .function = op->signature.function,
                                    .geometry = op->signature.geometry,
                                    .everything = op->everything,
                                    .touches = touches};
    for (unsigned i = 0; i < op->count && call.touch_count < TOUCHES; i++) {
        const struct spw_object *o = spw_object_at_locked(op->hits[i]);
        const struct spw_block *b = (const struct spw_block *)o;
        if (o && o->kind == SPW_KIND_BLOCK && !(o->attention & SPW_FREE))
            touches[call.touch_count++] = (struct spw_iteration_touch){b->serial, b->size_bytes, op->hits[i] - b->address};
    }
    spw_cursor_note_extra(&p->place.cursor, &call);
}

/* It is the one that was expected. */
static void follow_expected(struct planned *p, struct spw_op *op)
{
    const uint32_t operation = p->place.cursor.op - 1;
    if (!is_told(p))
        op->stream->calm = spw_place_is_calm(&p->place);
    if (p->kept == p->now->plan && p->now->plan->marks.recorded[operation])
        spw_recompute_wish_locked(op, operation);
    if (spw_learning_is_about(p->learning, p->now->course))
        spw_learning_op_locked(p->learning, op, operation);
}

static void follow(struct planned *p, struct spw_op *op)
{
    const uint64_t key = spw_signature_key(&op->signature);
    const bool backbone = op->signature.kind < SPW_ITERATION_COPY_H2D;
    enum spw_cursor_answer answer = spw_cursor_op(&p->place.cursor, key, backbone);
    if (answer == SPW_CURSOR_COMPLETE) {
        next_round(p);
        if (!p->now)
            return; /* it was given up */
        answer = spw_cursor_op(&p->place.cursor, key, backbone);
    }
    if (answer == SPW_CURSOR_EXTRA && !is_told(p))
        note_extra(p, op);
    if (answer == SPW_CURSOR_EXPECTED)
        follow_expected(p, op);
    if (answer == SPW_CURSOR_LOST || answer == SPW_CURSOR_COMPLETE)
        lose(p);
}

static struct planned *planned_of_stream(struct spw_stream *s)
{
    const struct spw_device *d = spw_device_of_stream_locked(s);
    return d ? find(d) : NULL;
}

void spw_planned_op_locked(struct spw_op *op, struct spw_object *const *objects, unsigned count)
{
    struct planned *p = planned_of_stream(op->stream);
    if (!p)
        return;
    if (!op->stream->place && !spw_is_capturing(op->stream->handle))
        (void)spw_uses_order_locked(&p->device->replays, op->stream); /* what ran again did so before it was there */
    op->stream->place = &p->place;
    op->stream->calm = false;
    p->stream = op->stream;
    settle(p);
    if (p->now)
        follow(p, op);
    if (is_told(p))
        tell_watch(p, op, objects, count);
}

void spw_planned_alloc_locked(struct spw_device *d, struct spw_block *b)
{
    struct planned *p = find(d);
    const uint64_t serial = b->serial;
    b->expected = 0;
    if (spw_versions_kept) {
        spw_version_reset_locked(&b->content);
        b->proof.believed = false;
    }
    if (!p)
        return;
    b->serial = 0; /* who looks at what there is, finds nobody here yet */
    settle(p);
    b->serial = serial;
    if (is_told(p))
        spw_watch_alloc(p->watch, b);
    if (!p->now)
        return;
    const uint32_t tensor = spw_cursor_alloc(&p->place.cursor, b->serial, b->size_bytes);
    if (tensor == SPW_NO_INDEX) {
        p->strange_bytes += b->size_bytes;
        return;
    }
    p->blocks[tensor] = b;
    b->expected = tensor + 1;
}

void spw_planned_free_locked(struct spw_device *d, struct spw_block *b)
{
    struct planned *p = find(d);
    if (!p)
        return;
    if (is_told(p))
        spw_watch_free(p->watch, b->serial);
    const uint32_t tensor = p->now && b->expected ? b->expected - 1 : SPW_NO_INDEX;
    const bool is_wanted = tensor != SPW_NO_INDEX && p->kept == p->now->plan && p->now->plan->marks.ghosts[tensor];
    if (p->now)
        (void)spw_cursor_free(&p->place.cursor, tensor, b->serial);
    if (spw_ghost_wanted_locked(d, b, is_wanted) && is_wanted)
        return;
    if (tensor != SPW_NO_INDEX && p->blocks[tensor] == b)
        p->blocks[tensor] = NULL;
    b->expected = 0;
}

void spw_planned_free_slot_locked(struct spw_device *d, const struct spw_slot *slot)
{
    struct planned *p = find(d);
    if (p && is_told(p))
        spw_watch_free_small(p->watch, slot->serial);
}

void spw_planned_pin_locked(struct spw_block *b)
{
    struct planned *p = find(&spw_devices[b->object.device]);
    if (p)
        spw_watch_pin(p->watch, b->serial);
}

void spw_planned_condemned_locked(struct spw_device *d, const struct spw_rerun *wrong, bool alone)
{
    struct planned *p = find(d);
    if (!p)
        return;
    if (p->learning && wrong->function && !alone)
        spw_learning_condemn_locked(p->learning, wrong->function);
    if (!p->now || p->kept != p->now->plan)
        return;
    spw_recompute_unlearn_locked(d, p->now->course, wrong, alone);
    spw_shape_unlearned(p->now);
}

void spw_planned_keep_versions_locked(bool keep)
{
    spw_versions_keep_locked(keep);
    for (int i = 0; i < SPW_MAX_DEVICES; i++)
        if (planned_of[i])
            look_closer(planned_of[i], planned_of[i]->place.told);
}

/* ---- beginning and end ---- */

void spw_planned_press_locked(struct spw_device *d)
{
    if (planned_of[d->ordinal] || spw_settings()->plan == SPW_PLAN_OFF)
        return;
    struct planned *p = calloc(1, sizeof(*p));
    if (!p || spw_watch_create(d, &p->watch) < 0) {
        free(p);
        lacks_memory(d, "to watch for the iteration");
        return; /* the next time that memory is short it is tried again */
    }
    p->device = d;
    expect_nothing(p);
    planned_of[d->ordinal] = p;
    spw_planned_any = true;
    spw_debug("device %d: memory is short, watching for the iteration", d->ordinal);
}

/* No plan with replays could be faster than one that hides all its copies. */
static bool is_as_fast_as_can_be(const struct spw_course_plan *plan)
{
    return plan->predicted_us <= AS_FAST * plan->compute_us;
}

/* Iterations of the course are learned from, as far as it is new, once it has come a few times: learning takes time and
 * memory. */
static void teach_unlocking(struct planned *p)
{
    struct spw_shape *shape = p->now;
    p->began = false;
    if (!spw_settings()->recompute || !shape || shape->is_learned || shape == p->awaited || shape->in_a_row < TAUGHT_AFTER ||
        is_as_fast_as_can_be(shape->plan))
        return;
    if (!p->learning)
        p->learning = spw_learning_create(p->device);
    if (!p->learning ||
        (!spw_learning_is_about(p->learning, shape->course) && spw_learning_begin_locked(p->learning, shape->course) < 0))
        return;
    if (!spw_learning_round_unlocking(p->learning) || p->now != shape)
        return;
    shape->is_learned = true;
    spw_shape_learned(shape, true);
}

/* What is due now is carried out with the device's slow lock held, which somebody else may hold for long: then it is left
 * for the next time. */
static void look_after_unlocking(struct planned *p)
{
    struct spw_context_guard guard;
    bool entered = spw_context_enter(&guard, NULL) == 0;
    spw_ghosts_sweep_locked(p->device);
    keep_operations_unlocking(p);
    if (is_complete(p))
        carry_out_due_unlocking(p);
    if (is_complete(p))
        next_round(p);
    if (p->ended && !p->now)
        learn(p);
    await_durations(p);
    if (p->began)
        teach_unlocking(p);
    if (p->now && !p->conforms)
        conform(p);
    p->conforms = true;
    carry_out_due_unlocking(p);
    spw_carry_pump_locked(p->device);
    if (entered)
        spw_context_leave(&guard);
    p->place.busy = !spw_carry_is_idle(p->device);
}

/* While a tensor waits for memory the host stays close to the device. */
static void keep_pace_unlocking(struct planned *p, struct spw_stream *s)
{
    if (!p->now || !p->now->waits)
        return;
    spw_pace_unlocking(&p->pace, p->device, s, p->now->course, p->now->waits, p->place.cursor.op);
    p->place.busy = !spw_carry_is_idle(p->device);
}

void spw_planned_after(struct spw_stream *s)
{
    struct spw_device *d = s->device >= 0 ? &spw_devices[s->device] : NULL;
    if (!d)
        return;
    const bool is_ours = pthread_mutex_trylock(&d->slow) == 0;
    spw_lock();
    struct planned *p = find(d);
    spw_stream_maybe_mark_locked(s);
    if (p && is_ours) {
        p->stream = s;
        look_after_unlocking(p);
        keep_pace_unlocking(p, s);
    } else if (p) {
        p->place.busy = true;
    }
    spw_unlock();
    if (is_ours)
        pthread_mutex_unlock(&d->slow);
}

static void destroy(struct planned *p)
{
    leave_course(p);
    spw_shapes_finish(&p->shapes);
    spw_watch_destroy(p->watch);
    spw_learning_destroy(p->learning);
    free(p);
}

void spw_planned_stop(void)
{
    if (!spw_try_lock())
        return; /* a thread was ended in the middle of something: nothing that is being planned can be relied on */
    for (int i = 0; i < SPW_MAX_DEVICES; i++)
        if (planned_of[i])
            spw_shapes_stop(&planned_of[i]->shapes);
    spw_planning_reap_locked(true);
    spw_unlock();
}

/* The threads are the parent's, and so is what they were making: it is left where it is. */
void spw_planned_in_child(void)
{
    memset(planned_of, 0, sizeof(planned_of));
    spw_planned_any = false;
    spw_planning_forget_abandoned();
    spw_versions_reset();
}

void spw_planned_reset(void)
{
    for (int i = 0; i < SPW_MAX_DEVICES; i++)
        if (planned_of[i])
            destroy(planned_of[i]);
    spw_planning_reap_locked(true);
    spw_planned_in_child();
}
