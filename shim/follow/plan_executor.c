/* plan_executor.c - finds blocks for a course's tensors, and carries out the actions of its plan. */
#include "plan_executor.h"

#include <errno.h>
#include <stdlib.h>

#include "transfers.h"
#include "op.h"
#include "log.h"
#include "dependents.h"
#include "kept_ops.h"
#include "settings.h"
#include "versions.h"

enum {
    TOUCHES = 64,    /* touches of an operation in between that are noted */
    MOST = 8,        /* nearly all: one part in so many of the bytes may be missing */
    OUT_OF_TURN = 4, /* times that an operation is passed another tensor, and */
    TO_ONE = 8, /* as many times as often as the right one: more than stale words can account for, in places that are not
                   trusted yet */
};

static const struct spw_course no_course;
static const uint8_t nothing_due[1];

void spw_plan_executor_look_closer(struct spw_plan_executor *on, bool told)
{
    on->place.told = told;
    on->place.look = told || spw_versions_kept;
}

static void expect_nothing(struct spw_plan_executor *on)
{
    on->place.cursor = (struct spw_cursor){.course = &no_course};
    on->place.due = nothing_due;
    on->place.left = false;
    spw_plan_executor_look_closer(on, false);
    on->now = NULL;
}

static bool is_ghost(const struct spw_block *b)
{
    return b && b->object.attention & SPW_RETAINED;
}

static struct spw_block *block_of(const struct spw_plan_executor *on, uint32_t tensor)
{
    struct spw_block *b = on->blocks[tensor];
    if (is_ghost(b))
        return b;
    return b && b->serial == on->place.cursor.id[tensor] && !b->doomed && !(b->object.attention & SPW_FREE) ? b : NULL;
}

/* Releases a retained block that the plan has no more use for. */
static void release_ghost(struct spw_plan_executor *on, uint32_t tensor)
{
    struct spw_block *b = on->blocks[tensor];
    if (!is_ghost(b))
        return;
    on->blocks[tensor] = NULL;
    b->expected = 0;
    spw_retained_look_locked(on->device, b);
}

static void release_ghosts(struct spw_plan_executor *on)
{
    for (uint32_t t = 0; t < on->now->course->tensor_count; t++)
        release_ghost(on, t);
}

void spw_plan_executor_init(struct spw_plan_executor *on, struct spw_device *d)
{
    on->device = d;
    expect_nothing(on);
}

void spw_plan_executor_end_replays_locked(struct spw_plan_executor *on)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    if (on->now && on->blocks)
        release_ghosts(on);
    spw_kept_ops_end_locked(on->device);
    on->kept = NULL;
}

void spw_plan_executor_leave_locked(struct spw_plan_executor *on)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    spw_plan_executor_end_replays_locked(on);
    for (uint32_t t = 0; on->now && on->blocks && t < on->now->course->tensor_count; t++) {
        struct spw_block *b = block_of(on, t);
        if (b)
            b->expected = 0;
    }
    spw_cursor_finish(&on->place.cursor);
    free(on->blocks);
    free(on->is_missing);
    on->blocks = NULL;
    on->is_missing = NULL;
    spw_pending_evictions_clear(&on->pending);
    expect_nothing(on);
}

bool spw_plan_executor_works_in_locked(const struct spw_plan_executor *on, CUcontext context)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    for (uint32_t t = 0; on->now && t < on->now->course->tensor_count; t++) {
        const struct spw_block *b = block_of(on, t);
        if (b && b->context == context)
            return true;
    }
    return false;
}

/* The tensors alive when the recording began are in the order of their serials. */
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

/* Finds the blocks of tensors that are alive throughout, by serial. */
static void bind_live(struct spw_plan_executor *on, const struct spw_course *course)
{
    for (uint32_t i = 0; i < on->device->block_count; i++) {
        struct spw_block *b = on->device->blocks[i];
        b->expected = 0;
        spw_retained_look_locked(on->device, b);
        if (b->object.attention & SPW_FREE || b->doomed)
            continue;
        const uint32_t t = find_live(course, b->serial);
        if (t == SPW_NO_INDEX || on->place.cursor.id[t] != b->serial)
            continue;
        on->blocks[t] = b;
        b->expected = t + 1;
    }
}

/* Counts what is missing of the tensors that the course uses. */
static void count_missing(struct spw_plan_executor *on)
{
    const struct spw_course *course = on->now->course;
    on->throughout_bytes = on->missing_bytes = on->missing_count = 0;
    on->in_turn = on->out_of_turn = 0;
    for (uint32_t t = 0; t < course->live_count; t++) {
        const struct spw_course_tensor *tensor = &course->tensors[t];
        const bool is_used = tensor->first_use != SPW_NO_INDEX, lives_throughout = is_used && tensor->from == t;
        on->is_missing[t] = is_used && !block_of(on, t);
        on->missing_count += on->is_missing[t];
        on->throughout_bytes += lives_throughout ? tensor->bytes : 0;
        on->missing_bytes += lives_throughout && on->is_missing[t] ? tensor->bytes : 0;
    }
}

static void found(struct spw_plan_executor *on, uint32_t tensor, struct spw_block *b)
{
    const struct spw_course_tensor *t = &on->now->course->tensors[tensor];
    spw_cursor_bind(&on->place.cursor, tensor, b->serial);
    on->blocks[tensor] = b;
    b->expected = tensor + 1;
    on->is_missing[tensor] = false;
    on->missing_count--;
    on->missing_bytes -= t->from == tensor ? t->bytes : 0;
}

bool spw_plan_executor_is_there(const struct spw_plan_executor *on)
{
    return on->missing_bytes <= on->throughout_bytes / MOST;
}

/* Returns the block at the address if it is none of the course's. */
static struct spw_block *stranger(CUdeviceptr address)
{
    struct spw_object *o = spw_object_at_locked(address);
    struct spw_block *b = o && o->kind == SPW_KIND_BLOCK ? spw_block_of(o) : NULL;
    return b && !b->doomed && !(o->attention & SPW_FREE) && !b->expected ? b : NULL;
}

/* Returns it if it might be the tensor by its size. */
static struct spw_block *stand_in(const struct spw_course_tensor *tensor, CUdeviceptr address)
{
    struct spw_block *b = stranger(address);
    return b && b->size_bytes == tensor->bytes ? b : NULL;
}

void spw_plan_executor_find_missing(struct spw_plan_executor *on, const struct spw_op *op, uint32_t operation)
{
    const struct spw_course *course = on->now->course;
    const struct spw_course_call *call = &course->calls[operation];
    if (!on->missing_count || call->hit_count != op->count - op->doubtful)
        return;
    for (uint32_t i = 0; i < call->hit_count; i++) {
        const uint32_t t = course->hits[call->first_hit + i];
        struct spw_block *b =
            t < course->live_count && on->is_missing[t] ? stand_in(&course->tensors[t], op->hits[i]) : NULL;
        if (b)
            found(on, t, b);
    }
}

bool spw_plan_executor_is_in_turn(struct spw_plan_executor *on, const struct spw_op *op, uint32_t operation)
{
    const struct spw_course *course = on->now->course;
    const struct spw_course_call *call = &course->calls[operation];
    if (call->hit_count != op->count - op->doubtful)
        return true;
    for (uint32_t i = 0; i < call->hit_count; i++) {
        const uint32_t t = course->hits[call->first_hit + i];
        const struct spw_object *o = t < course->live_count && on->blocks[t] ? spw_object_at_locked(op->hits[i]) : NULL;
        const struct spw_block *b = o && o->kind == SPW_KIND_BLOCK ? (const struct spw_block *)o : NULL;
        on->in_turn += b && b == on->blocks[t];
        on->out_of_turn += b && b != on->blocks[t] && b->expected && b->size_bytes == course->tensors[t].bytes;
    }
    return on->out_of_turn < OUT_OF_TURN || on->out_of_turn <= TO_ONE * on->in_turn;
}

/* Returns the tensor that operation `operation` of the course has as hit `i`. NULL: nothing of the course's, or the hits do
 * not correspond. */
static const struct spw_course_tensor *tensor_of_hit(const struct spw_plan_executor *on, const struct spw_op *op,
                                                     uint32_t operation, uint32_t i)
{
    const struct spw_course *course = on->now->course;
    const struct spw_course_call *call = &course->calls[operation];
    const uint32_t t = call->hit_count == op->count - op->doubtful ? course->hits[call->first_hit + i] : SPW_NO_INDEX;
    return t < course->tensor_count ? &course->tensors[t] : NULL;
}

/* True if no block stands for the tensor yet, or one that was chosen by size alone and that no earlier operation was
 * passed. */
static bool may_be_another(const struct spw_plan_executor *on, const struct spw_course_tensor *tensor, uint32_t operation)
{
    const uint32_t t = (uint32_t)(tensor - on->now->course->tensors);
    return !block_of(on, t) || (t >= on->now->course->live_count && tensor->first_use >= operation);
}

bool spw_plan_executor_fits(const struct spw_plan_executor *on, const struct spw_op *op, uint32_t operation)
{
    bool is_known = false;
    for (uint32_t i = 0; i < on->now->course->calls[operation].hit_count; i++) {
        const struct spw_course_tensor *tensor = tensor_of_hit(on, op, operation, i);
        if (!tensor)
            continue;
        const struct spw_block *b = block_of(on, (uint32_t)(tensor - on->now->course->tensors));
        if (b && spw_object_at_locked(op->hits[i]) == &b->object)
            is_known = true;
        else if (!may_be_another(on, tensor, operation) || !stand_in(tensor, op->hits[i]))
            return false;
    }
    return is_known;
}

void spw_plan_executor_recognise(struct spw_plan_executor *on, const struct spw_op *op, uint32_t operation)
{
    const struct spw_course *course = on->now->course;
    for (uint32_t i = 0; i < course->calls[operation].hit_count; i++) {
        const struct spw_course_tensor *tensor = tensor_of_hit(on, op, operation, i);
        struct spw_block *b = tensor && may_be_another(on, tensor, operation) ? stranger(op->hits[i]) : NULL;
        const uint32_t t = b ? (uint32_t)(tensor - course->tensors) : SPW_NO_INDEX;
        struct spw_block *former = b ? block_of(on, t) : NULL; /* before its number is given to another */
        if (b && t < course->live_count && on->is_missing[t] && b->size_bytes == tensor->bytes) {
            found(on, t, b);
        } else if (b && spw_cursor_recognise(&on->place.cursor, t, b->serial)) {
            if (former)
                former->expected = 0;
            on->blocks[t] = b;
            b->expected = t + 1;
        }
    }
}

/* Finds which block is which tensor, and from which action on to go. Returns false without memory. */
static bool begin_course(struct spw_plan_executor *on, struct spw_tuned_iteration *tuned)
{
    const struct spw_course *course = tuned->course;
    if (spw_cursor_init(&on->place.cursor, course) < 0)
        return false;
    on->blocks = calloc((size_t)course->tensor_count + 1, sizeof(struct spw_block *));
    on->is_missing = calloc((size_t)course->live_count + 1, 1);
    on->now = tuned;
    if (!on->blocks || !on->is_missing)
        return false;
    spw_plan_executor_take_up_plan(on);
    bind_live(on, course);
    count_missing(on);
    on->made_bytes = on->strange_bytes = 0;
    on->has_branched = false;
    on->strange = 0;
    on->live_bytes = on->device->live_bytes;
    for (uint32_t t = course->live_count; t < course->tensor_count; t++)
        on->made_bytes += course->tensors[t].bytes;
    return true;
}

int spw_plan_executor_enter_locked(struct spw_plan_executor *on, struct spw_tuned_iteration *tuned)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    if (begin_course(on, tuned))
        return 0;
    spw_plan_executor_leave_locked(on);
    return -ENOMEM;
}

void spw_plan_executor_rewind_locked(struct spw_plan_executor *on)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    const struct spw_course *course = on->now->course;
    release_ghosts(on);
    spw_pending_evictions_clear(&on->pending);
    for (uint32_t t = 0; t < course->live_count; t++) {
        const uint32_t from = course->tensors[t].from;
        if (from == t)
            continue;
        on->blocks[t] = from == SPW_NO_INDEX ? NULL : on->blocks[from];
        if (on->blocks[t]) {
            on->blocks[t]->expected = t + 1;
            on->blocks[from] = NULL;
        }
    }
    for (uint32_t t = course->live_count; t < course->tensor_count; t++) {
        if (on->blocks[t])
            on->blocks[t]->expected = 0;
        on->blocks[t] = NULL;
    }
    count_missing(on);
    on->live_bytes = on->device->live_bytes;
    on->has_branched = false;
    on->strange = on->overdue = 0;
    on->place.due = on->now->plan->due;
    on->place.busy = true;
    on->next_due = 0;
}

void spw_plan_executor_take_up_plan(struct spw_plan_executor *on)
{
    on->kept = NULL;
    spw_pending_evictions_clear(&on->pending);
    on->place.due = on->now->plan->due;
    on->place.busy = true;
    on->next_due = on->now->plan->actions.first[on->place.cursor.op];
    on->overdue = 0;
    on->conforms = false;
}

void spw_plan_executor_alloc(struct spw_plan_executor *on, struct spw_block *b)
{
    const uint32_t tensor = spw_cursor_alloc(&on->place.cursor, b->serial, b->size_bytes);
    if (tensor == SPW_NO_INDEX) {
        on->strange_bytes += b->size_bytes;
        return;
    }
    on->blocks[tensor] = b;
    b->expected = tensor + 1;
}

void spw_plan_executor_free_locked(struct spw_plan_executor *on, struct spw_block *b)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    const uint32_t tensor = on->now && b->expected ? b->expected - 1 : SPW_NO_INDEX;
    const bool is_wanted = tensor != SPW_NO_INDEX && on->kept == on->now->plan && on->now->plan->marks.ghosts[tensor] &&
                           !spw_kept_ops_is_over_locked(on->device, tensor, on->next_due - 1);
    if (on->now)
        (void)spw_cursor_free(&on->place.cursor, tensor, b->serial);
    if (spw_retained_wanted_locked(on->device, b, is_wanted) && is_wanted)
        return;
    if (tensor != SPW_NO_INDEX && on->blocks[tensor] == b)
        on->blocks[tensor] = NULL;
    b->expected = 0;
}

void spw_plan_executor_note_extra(struct spw_plan_executor *on, const struct spw_op *op)
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
    spw_cursor_note_extra(&on->place.cursor, &call);
}

/* A plan that was made before it was known what launches write cannot tell which launches will be believed. */
static bool may_be_believed(const struct spw_plan_executor *on, uint32_t tensor)
{
    return !spw_course_plan_wants_versions(on->now->plan) || on->now->plan->marks.believed[tensor];
}

/* Carries out one action. A block that is copied out stays until it is dropped, since it may be used until then. -EBUSY: it
 * cannot begin yet. */
static int carry_out(const struct spw_plan_executor *on, uint32_t kind, uint32_t tensor, struct spw_block *b)
{
    struct spw_device *d = on->device;
    if (kind == SPW_STEP_H2D)
        return spw_transfer_prefetch_locked(d, b);
    if (kind != SPW_STEP_D2H)
        return spw_transfer_drop_locked(d, b);
    if (may_be_believed(on, tensor))
        return spw_transfer_write_back_locked(d, b);
    return spw_transfer_write_back_unchecked_locked(d, b);
}

static void put_off(struct spw_plan_executor *on, uint32_t kind, uint32_t tensor, const struct spw_block *b)
{
    const struct spw_pending_eviction pending = {tensor, kind, spw_object_last_tick(&b->object)};
    spw_pending_evictions_add(&on->pending, pending);
}

static bool is_carried_out(struct spw_plan_executor *on, uint32_t kind, uint32_t tensor, struct spw_block *b)
{
    if (carry_out(on, kind, tensor, b) != -EBUSY || kind == SPW_STEP_H2D)
        return true;
    put_off(on, kind, tensor, b);
    return false;
}

/* Tries each once, until one cannot begin. */
static void carry_out_pending(struct spw_plan_executor *on)
{
    struct spw_pending_eviction next;
    for (uint32_t i = on->pending.count; i && spw_pending_evictions_take(&on->pending, &next); i--) {
        struct spw_block *b = block_of(on, next.tensor);
        if (b && spw_object_last_tick(&b->object) == next.tick && !is_carried_out(on, next.kind, next.tensor, b))
            return;
    }
}

int spw_plan_executor_conform_locked(struct spw_plan_executor *on)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    const uint32_t count = on->now->course->tensor_count;
    uint8_t *away = calloc((size_t)count + 1, 1);
    if (!away)
        return -ENOMEM;
    spw_course_find_away(on->now->course, &on->now->plan->actions, on->next_due, away);
    for (uint32_t t = 0; t < count; t++) {
        struct spw_block *b = away[t] ? block_of(on, t) : NULL;
        if (b && spw_transfer_evict_locked(on->device, b) == -EBUSY)
            put_off(on, SPW_STEP_DROP, t, b);
    }
    free(away);
    return 0;
}

/* The program frees the tensor after the last operation and before the next. */
static bool is_about_to_be_freed(const struct spw_plan_executor *on, uint32_t tensor)
{
    return on->now->course->tensors[tensor].free_after < on->place.cursor.op;
}

/* Carries out one action on a tensor. If the program is about to free the tensor, and the plan has no more use for it,
 * leaves it alone. */
static void move(struct spw_plan_executor *on, uint32_t action, const struct spw_action *due)
{
    spw_pending_evictions_forget(&on->pending, due->id);
    struct spw_block *b = block_of(on, due->id);
    const bool is_over = spw_kept_ops_is_over_locked(on->device, due->id, action);
    if (is_ghost(b) && is_over)
        release_ghost(on, due->id);
    else if (b && !(due->kind == SPW_STEP_DROP && is_over && is_about_to_be_freed(on, due->id)))
        (void)is_carried_out(on, due->kind, due->id, b);
}

static bool makes(const struct spw_course *course, uint32_t operation, uint32_t tensor)
{
    const struct spw_course_op *op = &course->ops[operation];
    for (uint32_t i = op->first_touch; i < op->first_touch + op->touch_count; i++)
        if (course->touches[i].tensor == tensor && course->touches[i].access & SPW_COURSE_WRITES)
            return true;
    return false;
}

/* True for an action that was planned for operations that did not come, if the plan undoes it again before the current
 * place. */
static bool is_pointless(const struct spw_plan_executor *on, uint32_t action)
{
    const struct spw_action *list = on->now->plan->actions.list;
    if (action >= on->overdue || list[action].kind == SPW_STEP_D2H || list[action].kind == SPW_STEP_DROP)
        return false;
    for (uint32_t i = action + 1; i < on->overdue; i++)
        if (list[i].kind == SPW_STEP_DROP &&
            (list[action].kind == SPW_STEP_REPLAY ? makes(on->now->course, list[action].id, list[i].id)
                                                  : list[i].id == list[action].id))
            return true;
    return false;
}

void spw_plan_executor_carry_out_due_unlocking(struct spw_plan_executor *on, bool is_due)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    carry_out_pending(on);
    while (spw_plan_executor_has_left(on)) {
        const struct spw_actions *actions = &on->now->plan->actions;
        const uint32_t action = on->next_due++;
        const struct spw_action due = actions->list[action];
        if (is_pointless(on, action))
            continue;
        if (due.kind != SPW_STEP_REPLAY) {
            move(on, action, &due);
            continue;
        }
        const bool may_wait = is_due || action < actions->first[on->place.cursor.op];
        if (spw_kept_ops_again_unlocking(on->device, due.id, on->stream, may_wait) == -EAGAIN && !may_wait) {
            on->next_due = action;
            break;
        }
    }
    spw_retained_all_sweep_locked(on->device);
}

void spw_plan_executor_keep_operations_unlocking(struct spw_plan_executor *on)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    const struct spw_course_plan *plan = on->now ? on->now->plan : NULL;
    if (!plan || plan == on->kept)
        return;
    on->kept = NULL;
    spw_kept_ops_end_locked(on->device);
    if (plan->marks.believes && spw_settings_get()->recompute)
        spw_versions_keep_locked(true);
    if (!plan->recorded_count)
        return;
    const int r = spw_kept_ops_begin_unlocking(on->device, on->now->course, on->now->serial, &plan->actions);
    if (r < 0)
        spw_debug("device %d: no memory for running operations again", on->device->ordinal);
    on->kept = r == 0 && on->now && on->now->plan == plan ? plan : NULL;
}
