/* kept_ops.c - keeps the operations of an iteration by their place in it, and implements rematerialiser.h. */
#include "kept_ops.h"

#include <errno.h>
#include <stdlib.h>

#include "context.h"
#include "lock.h"
#include "devices.h"
#include "mover.h"
#include "own_memory.h"
#include "rematerialiser.h"
#include "replay.h"
#include "spot_checks.h"
#include "stash.h"
#include "comparison.h"
#include "verify.h"
#include "versions.h"
#include "verify_records.h"

struct spw_kept_iteration {
    struct spw_recorded_op **kept; /* by operation; those that have not come yet are of the iteration before */
    uint32_t *until;               /* by tensor: the last action of the plan that concerns it, plus 1 */
    uint32_t count, tensor_count;
    uint64_t course; /* verify_records.h */
};

/* ---- what the rooms below ask ---- */

/* Saves a small allocation that the operation reads and may be about to write. Saves all of it, although the operation may
 * use only a part: the program does not order other streams that write the rest. If that fails, nothing that the operation
 * makes is ever dropped. */
static void save(struct spw_device *d, struct spw_op *op, struct spw_recorded_op_touch *t)
{
    uint32_t offset;
    struct spw_slot *slot = spw_touched_slot_locked(t);
    if (!slot || spw_uses_order_locked(&slot->slab->object.uses, op->stream) < 0 ||
        spw_stash_take_for_long_locked(d, t->bytes, &offset) < 0)
        return;
    spw_slab_fence_locked(slot->slab, op->stream);
    spw_uses_add_locked(&d->replays, op->stream, op->stream->begun);
    if (spw_stash_save_locked(d, op->stream, op->stream->begun, t->address, t->bytes, offset) == 0)
        t->saved = offset + 1;
    else
        spw_stash_give_locked(d, offset, t->bytes);
}

/* True if all small allocations that are lent to the operation can be put away at once while it is replayed. */
static bool can_be_put_away(const struct spw_device *d, const struct spw_recorded_op *recorded_op)
{
    uint64_t bytes = 0;
    for (unsigned i = 0; i < recorded_op->touch_count; i++)
        if (recorded_op->touches[i].lent)
            bytes += spw_stash_rounded(recorded_op->touches[i].bytes);
    return bytes <= spw_stash_moment_bytes_locked(d);
}

/* Fills what the operation makes, since it may leave a part undefined: then comparisons and samples find there what replays
 * will find. Fills all of it if a part was seen to stay undefined, else what will be hashed (spot_checks.h). */
static int define(struct spw_device *d, const struct spw_op *op, struct spw_recorded_op *recorded_op)
{
    const struct spw_verify_record *w = spw_verify_record_of(d->ordinal, recorded_op);
    int r = 0;
    recorded_op->is_defined = w && w->leaves_undefined;
    for (unsigned i = 0; i < recorded_op->touch_count && r == 0; i++) {
        const struct spw_recorded_op_touch *t = &recorded_op->touches[i];
        if (!t->block || !spw_touch_makes(t))
            continue;
        spw_spot_check_choose_locked(t->block);
        r = recorded_op->is_defined ? spw_verify_fill_locked(t->block, op->stream)
                                    : spw_spot_check_fill_locked(d, t->block, op->stream);
        spw_fence_locked(t->block, op->stream); /* another stream may write another part of it */
        spw_uses_add_locked(&d->replays, op->stream, op->stream->begun);
    }
    return r;
}

static int kept(struct spw_op *op, struct spw_recorded_op *recorded_op)
{
    struct spw_device *d = spw_device_of_stream_locked(op->stream);
    struct spw_kept_iteration *now = d ? d->kept : NULL;
    struct spw_context_guard guard;
    if (!now || recorded_op->operation >= now->count || !can_be_put_away(d, recorded_op) ||
        spw_context_enter(&guard, recorded_op->context) < 0)
        return -EINVAL;
    for (unsigned i = 0; i < recorded_op->touch_count; i++) {
        struct spw_recorded_op_touch *t = &recorded_op->touches[i];
        if (t->lent && spw_touch_reads(t))
            save(d, op, t);
    }
    recorded_op->course = now->course;
    recorded_op->form = op->signature.geometry;
    for (unsigned i = 0; i < recorded_op->touch_count; i++)
        if (spw_touch_makes(&recorded_op->touches[i]))
            recorded_op->form = spw_signature_mix(recorded_op->form, recorded_op->touches[i].bytes);
    const int defined = define(d, op, recorded_op);
    spw_context_leave(&guard);
    if (defined < 0)
        return defined;
    spw_recorded_op_let_go(now->kept[recorded_op->operation]);
    now->kept[recorded_op->operation] = recorded_op;
    spw_recorded_op_hold(recorded_op);
    return 0;
}

static void not_dropped(struct spw_block *b)
{
    if (b->check && !(b->object.attention & SPW_UNVERIFIED))
        spw_comparison_forget_locked(b);
    spw_spot_check_forget_locked(b);
}

static const struct spw_rematerialiser rematerialiser = {.kept = kept,
                                                         .rescue_unlocking = spw_replay_rescue_unlocking,
                                                         .make_unlocking = spw_replay_make_unlocking,
                                                         .may_drop = spw_verify_allows_locked,
                                                         .due = spw_verify_due_locked,
                                                         .dropping = spw_verify_dropping_locked,
                                                         .not_dropped = not_dropped,
                                                         .unclaimed = spw_verify_unclaimed_locked};

/* ---- iterations ---- */

static void find_ends(struct spw_kept_iteration *now, const struct spw_course *course, const struct spw_actions *actions)
{
    for (uint32_t i = 0; i < actions->count; i++) {
        const struct spw_action *a = &actions->list[i];
        if (a->kind != SPW_STEP_REPLAY) {
            now->until[a->id] = i + 1;
            continue;
        }
        const struct spw_course_op *op = &course->ops[a->id];
        for (uint32_t k = 0; k < op->touch_count; k++)
            now->until[course->touches[op->first_touch + k].tensor] = i + 1;
    }
}

int spw_kept_ops_begin_unlocking(struct spw_device *d, const struct spw_course *course, uint64_t number,
                                 const struct spw_actions *actions)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    spw_kept_ops_end_locked(d);
    struct spw_kept_iteration *now = d->kept = calloc(1, sizeof(*now));
    if (!now)
        return -ENOMEM;
    now->kept = calloc((size_t)course->op_count + 1, sizeof(struct spw_recorded_op *));
    now->until = calloc((size_t)course->tensor_count + 1, sizeof(*now->until));
    if (!now->kept || !now->until) {
        spw_kept_ops_end_locked(d);
        return -ENOMEM;
    }
    now->count = course->op_count;
    now->course = number ? spw_verify_record_follow_locked(d->ordinal, number, course->op_count) : 0;
    if (number && !now->course) {
        spw_kept_ops_end_locked(d);
        return -ENOMEM;
    }
    now->tensor_count = course->tensor_count;
    find_ends(now, course, actions);
    const int r = spw_stash_ready_unlocking(d);
    if (r < 0) {
        spw_kept_ops_end_locked(d);
        return r;
    }
    (void)spw_workspace_ready_unlocking(d); /* if it fails, what needs it stays, or is copied */
    spw_rematerialiser = &rematerialiser;
    spw_versions_keep_locked(true);
    return 0;
}

bool spw_kept_ops_is_over_locked(const struct spw_device *d, uint32_t tensor, uint32_t action)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    const struct spw_kept_iteration *now = d->kept;
    return now && tensor < now->tensor_count && now->until[tensor] <= action + 1;
}

void spw_kept_ops_end_locked(struct spw_device *d)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    struct spw_kept_iteration *now = d->kept;
    if (!now)
        return;
    for (uint32_t i = 0; i < now->count; i++)
        spw_recorded_op_let_go(now->kept[i]);
    free(now->kept);
    free(now->until);
    free(now);
    d->kept = NULL;
}

void spw_kept_ops_wish_locked(struct spw_op *op, uint32_t operation)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    op->wish = operation + 1;
}

int spw_kept_ops_again_unlocking(struct spw_device *d, uint32_t operation, struct spw_stream *s, bool may_wait)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    const struct spw_kept_iteration *now = d->kept;
    struct spw_recorded_op *recorded_op = now && operation < now->count ? now->kept[operation] : NULL;
    if (!recorded_op)
        return 0;
    spw_recorded_op_hold(recorded_op);
    const int r = spw_replay_operation_unlocking(d, recorded_op, s, may_wait);
    spw_recorded_op_let_go(recorded_op);
    return r;
}

static void unlearn(struct spw_course *course, uint32_t operation)
{
    struct spw_course_op *op = &course->ops[operation];
    op->replayable = false;
    for (uint32_t i = 0; i < op->touch_count; i++)
        if (course->touches[op->first_touch + i].access & SPW_COURSE_WRITES)
            course->touches[op->first_touch + i].access |= SPW_COURSE_READS;
}

void spw_kept_ops_unlearn_locked(struct spw_device *d, struct spw_course *course, const struct spw_recorded_op *wrong)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    const struct spw_kept_iteration *now = d->kept;
    for (uint32_t i = 0; now && i < now->count && i < course->op_count; i++) {
        const struct spw_recorded_op *kept = now->kept[i];
        if (!kept || (kept != wrong && (!wrong->function || kept->function != wrong->function)))
            continue;
        const struct spw_course_call *call = &course->calls[i];
        for (uint32_t k = 0; k < course->op_count; k++)
            if (k == i ||
                (kept->function && course->calls[k].kind == call->kind && course->calls[k].function == call->function))
                unlearn(course, k);
    }
}

void spw_kept_ops_reset(void)
{
    spw_lock();
    for (int i = 0; i < SPW_MAX_DEVICES; i++)
        spw_kept_ops_end_locked(&spw_devices[i]);
    spw_unlock();
    spw_rematerialiser = NULL;
}
