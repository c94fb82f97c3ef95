/* replay_op.c - makes ready what recorded operations touch, submits them, and makes sure that everybody else finds what
 * they left. */
#include "replay_op.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "residency.h"
#include "transfers.h"
#include "context.h"
#include "engine.h"
#include "ask.h"
#include "capture.h"
#include "mover.h"
#include "clean_check.h"
#include "owed.h"
#include "reclaim.h"
#include "spot_checks.h"
#include "deferred_unmap.h"
#include "stash.h"
#include "twins.h"
#include "verify.h"
#include "launch_class.h"
#include "uses_wait.h"

struct spw_replayed spw_replayed;

enum { ATTEMPTS = 3 };

/* ---- who takes part ---- */

static int hold_part(struct spw_replay_op *run, unsigned i)
{
    struct spw_block *b = spw_touched_block_locked(run->rebuild->parts[i].touch);
    if (!b)
        return -ESTALE;
    b->holds++;
    run->parts[i] = (struct spw_running_part){.block = b, .writes = run->rebuild->parts[i].writers > 0};
    return 0;
}

int spw_replay_op_begin(struct spw_replay_op *run, struct spw_recorded_op *recorded_op)
{
    int r = 0;
    *run = (struct spw_replay_op){.recorded_op = recorded_op, .rebuild = malloc(sizeof(*run->rebuild))};
    if (!run->rebuild)
        return -ENOMEM;
    if (!spw_rebuild_find(recorded_op, run->rebuild)) {
        run->rebuild->op_count = run->rebuild->part_count = 0;
        return -ESTALE;
    }
    for (unsigned i = 0; i < run->rebuild->op_count; i++)
        spw_recorded_op_hold(run->rebuild->ops[i]);
    run->parts = calloc((size_t)run->rebuild->part_count + 1, sizeof(*run->parts));
    for (unsigned i = 0; run->parts && i < run->rebuild->part_count && r == 0; i++)
        r = hold_part(run, i);
    return run->parts ? r : -ENOMEM;
}

void spw_replay_op_end_locked(struct spw_replay_op *run)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    for (unsigned i = 0; run->parts && i < run->rebuild->part_count; i++)
        if (run->parts[i].block)
            spw_release_hold_locked(&spw_devices[run->parts[i].block->object.device], run->parts[i].block);
    for (unsigned i = 0; run->rebuild && i < run->rebuild->op_count; i++)
        spw_recorded_op_let_go(run->rebuild->ops[i]);
    free(run->parts);
    free(run->rebuild);
}

/* True if the small allocations that are lent to the operation still exist, and the others are unchanged. */
static bool slots_are_as_they_were(const struct spw_recorded_op *recorded_op)
{
    for (unsigned i = 0; i < recorded_op->touch_count; i++) {
        const struct spw_recorded_op_touch *t = &recorded_op->touches[i];
        const struct spw_slot *slot = t->block ? NULL : spw_touched_slot_locked(t);
        if (!t->block && (!slot || (!t->lent && slot->content.version != t->before)))
            return false;
    }
    return true;
}

/* True if what the operations read is as it was then, and so is what they write, wherever that is: nobody has written it
 * since. */
static bool is_as_it_was(const struct spw_replay_op *run)
{
    if (!spw_rebuild_is_good(run->rebuild))
        return false;
    for (unsigned i = 0; i < run->rebuild->part_count; i++)
        if (run->parts[i].block->content.version != run->rebuild->parts[i].version)
            return false;
    for (unsigned i = 0; i < run->rebuild->op_count; i++)
        if (!slots_are_as_they_were(run->rebuild->ops[i]))
            return false;
    return true;
}

/* ---- memory ---- */

/* A block that is overwritten completely needs memory, but not its bytes. */
static int attach_unlocking(struct spw_device *d, struct spw_block *b)
{
    enum { TIMES = 8 }; /* as in engine.c */
    int r = -ENOMEM;
    for (int i = 0; i < TIMES && r < 0; i++) {
        r = r == -EBUSY ? spw_unmap_clear_unlocking(d, b, i > 1) : 0;
        if (r == 0)
            r = spw_reclaim_make(d, spw_block_lacking_bytes(d, b));
        if (r < 0)
            return r;
        spw_transfer_suit_locked(d, b->granules - b->memory.granules);
        r = spw_mover_attach_locked(d, b);
    }
    return r;
}

static int bring_unlocking(struct spw_device *d, struct spw_block *b, bool makes)
{
    if (!(b->object.attention & SPW_ABSENT))
        return 0;
    if (makes)
        return attach_unlocking(d, b);
    return b->object.attention & SPW_EVICTED ? spw_engine_make_resident_unlocking(d, b) : -ESTALE;
}

/* True for a block that was resident and that only some of the operations have written: it has to be made again. */
static bool is_unfinished(const struct spw_replay_op *run, unsigned i)
{
    return run->is_begun && run->parts[i].writes && !run->parts[i].attached && run->rebuild->parts[i].writers > 1;
}

/* Returns blocks that were attached for new bytes, which they will not get, to their former state. If the driver does not
 * take the memory back, or something may still be under way there, the block keeps it, unused. */
static void take_back(struct spw_device *d, struct spw_replay_op *run)
{
    for (unsigned i = 0; run->parts && i < run->rebuild->part_count; i++) {
        struct spw_block *b = run->parts[i].block;
        if (b && is_unfinished(run, i)) {
            if (b->leave_stream && b->host_copy && !spw_copies_done_locked(d, b))
                (void)SPW_ASK(cuStreamSynchronize, spw_stream_by_id_locked(b->leave_stream)->handle);
            spw_mover_drop_host_copy_locked(b);
            spw_dependents_add_locked(d, b);
        } else if (!b || !run->parts[i].attached)
            continue;
        b->object.attention &= ~(uint32_t)SPW_UNVERIFIED;
        if ((d->stale.allowed || spw_uses_done_locked(&b->object.uses)) && spw_mover_detach_locked(d, b) == 0)
            continue;
        b->object.attention &= ~(uint32_t)SPW_FENCED; /* its uses include that fence */
        if (b->drops && !b->has_true_copy)
            spw_mover_drop_host_copy_locked(b);
        spw_block_become_locked(b, b->drops             ? SPW_RESIDENCY_DROPPED
                                   : b->host_copy_valid ? SPW_RESIDENCY_EVICTED
                                                        : SPW_RESIDENCY_EMPTY);
    }
}

static int make_ready_unlocking(struct spw_device *d, struct spw_replay_op *run)
{
    const unsigned count = run->rebuild->part_count;
    uint64_t bytes = 0;
    for (unsigned i = 0; i < count; i++) {
        struct spw_block *b = run->parts[i].block;
        spw_transfer_cancel_locked(d, b);
        bytes += b->object.attention & SPW_ABSENT ? spw_block_lacking_bytes(d, b) : 0;
    }
    int r = bytes ? spw_reclaim_make(d, bytes) : 0; /* all at once, so that whatever is evicted for it goes at once */
    r = r == -ENOMEM ? 0 : r;                       /* the host may have memory for one after the other */
    for (unsigned i = 0; i < count && r == 0; i++) {
        struct spw_running_part *p = &run->parts[i];
        const bool was_absent = p->block->object.attention & SPW_ABSENT;
        r = bring_unlocking(d, p->block, p->writes);
        p->attached = was_absent && p->writes && r == 0;
        if (p->attached)
            p->block->object.attention |= SPW_UNVERIFIED; /* another thread may come before the operation that makes it */
    }
    return r;
}

/* ---- small allocations ---- */

struct lent { /* a small allocation while it is lent to an operation */
    struct spw_slot *slot;
    const struct spw_recorded_op_touch *touch;
    uint32_t offset; /* where the stash has its contents */
};

static int put_away(struct spw_device *d, struct lent *lent, struct spw_stream *s, uint64_t number)
{
    const struct spw_recorded_op_touch *t = lent->touch;
    if (spw_stash_take_locked(d, t->bytes, &lent->offset) < 0)
        return -ENOMEM;
    const int r = spw_stash_save_locked(d, s, number, t->address, t->bytes, lent->offset);
    if (r < 0)
        spw_stash_give_locked(d, lent->offset, t->bytes);
    return r;
}

static void return_lent(struct spw_device *d, struct lent *list, unsigned count, struct spw_stream *s, uint64_t number)
{
    for (unsigned i = 0; i < count; i++) {
        struct lent *lent = &list[i];
        if (spw_owed_give_back_locked(d, lent->slot, lent->offset, lent->touch->bytes, s, number) == 0) {
            spw_stash_give_locked(d, lent->offset, lent->touch->bytes);
            continue;
        }
        spw_owed_note_locked(lent->slot, lent->offset, lent->touch->bytes);
        spw_replayed.owed_count++;
    }
}

/* Lends all small allocations to the operation; *ret_count of them are put away, whatever the result. */
static int lend_all(struct spw_device *d, const struct spw_recorded_op *recorded_op, struct spw_stream *s, uint64_t number,
                    struct lent *list, unsigned *ret_count)
{
    int r = 0;
    *ret_count = 0;
    for (unsigned i = 0; i < recorded_op->touch_count && r == 0; i++) {
        const struct spw_recorded_op_touch *t = &recorded_op->touches[i];
        if (!t->lent)
            continue;
        struct lent *lent = &list[*ret_count];
        *lent = (struct lent){.slot = spw_touched_slot_locked(t), .touch = t};
        r = put_away(d, lent, s, number);
        *ret_count += r == 0;
        if (r == 0 && spw_touch_reads(t))
            r = spw_stash_load_locked(d, s, number, t->address, t->bytes, t->saved - 1);
    }
    return r;
}

/* ---- order ---- */

static bool is_usable(const struct spw_stream *s, CUcontext context)
{
    return s && s->context == context && spw_stream_is_reachable_locked(s) && !spw_is_capturing(s->handle);
}

struct spw_stream *spw_replay_op_beside_locked(struct spw_device *d, const struct spw_recorded_op *recorded_op,
                                               struct spw_stream *s)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    struct spw_stream *beside = spw_streams_others_locked(s) ? spw_stream_beside_locked(d) : NULL;
    return is_usable(beside, recorded_op->context) ? beside : s;
}

/* The stream that is asked for, else the one where the operation ran, else our own for copies in. All other streams are
 * ordered after the replay, so a gated stream is the last choice. */
static struct spw_stream *choose_stream(const struct spw_device *d, const struct spw_recorded_op *recorded_op,
                                        struct spw_stream *s)
{
    struct spw_stream *const choice[] = {s, recorded_op->stream, d->mover ? d->mover->in : NULL};
    for (unsigned i = 0; i < 6; i++)
        if (is_usable(choice[i % 3], recorded_op->context) && (i >= 3 || !spw_stream_is_gated_locked(choice[i % 3])))
            return choice[i % 3];
    return NULL;
}

/* True if a copy out of the block may go on while the operations read it: that they only read it is not just believed
 * (engine.c). */
static bool may_be_copied_meanwhile(const struct spw_replay_op *run, unsigned part)
{
    return !run->rebuild->parts[part].writers && !run->rebuild->parts[part].is_believed;
}

static bool lends(const struct spw_recorded_op *recorded_op)
{
    for (unsigned i = 0; i < recorded_op->touch_count; i++)
        if (recorded_op->touches[i].lent)
            return true;
    return false;
}

/* Orders the operation after what ran in its twin, and after the uses of the small allocations that it touches. */
static int order_op(struct spw_device *d, const struct spw_recorded_op *recorded_op, struct spw_stream *s)
{
    int r = recorded_op->function ? spw_twin_order_locked(recorded_op->function, recorded_op->context, s) : 0;
    if (r == 0 && recorded_op->elsewhere)
        r = spw_uses_order_locked(&d->workspace.block->object.uses, s);
    for (unsigned i = 0; i < recorded_op->touch_count && r == 0; i++) {
        struct spw_object *o = recorded_op->touches[i].block ? NULL : spw_object_at_locked(recorded_op->touches[i].address);
        if (o && o->attention & SPW_OWED)
            r = spw_owed_settle_locked(d, (struct spw_slab *)o, s);
        if (o && r == 0)
            r = spw_uses_order_locked(&o->uses, s);
    }
    return r;
}

/* Orders the operations after all uses of what they touch, copies in and out included, and of where they run. Returns
 * -EAGAIN if a use is in another thread's driver call, or another thread's operation could come between the parts of
 * this. */
static int order(struct spw_device *d, struct spw_replay_op *run, struct spw_stream *s)
{
    int r = 0;
    for (unsigned i = 0; i < run->rebuild->op_count; i++)
        if ((run->rebuild->op_count > 1 || lends(run->rebuild->ops[i])) && spw_stream_in_call_locked(s))
            return -EAGAIN;
    for (unsigned i = 0; i < run->rebuild->op_count && r == 0; i++)
        r = order_op(d, run->rebuild->ops[i], s);
    for (unsigned i = 0; i < run->rebuild->part_count && r == 0; i++)
        r = spw_uses_order_beside_locked(
            &run->parts[i].block->object.uses, s,
            may_be_copied_meanwhile(run, i) ? spw_stream_by_id_locked(run->parts[i].block->leave_stream) : NULL);
    return r;
}

static int submit_op(struct spw_device *d, struct spw_replay_op *run, const struct spw_recorded_op *recorded_op,
                     struct spw_stream *s)
{
    struct lent list[SPW_CLASS_HITS];
    const uint64_t number = spw_stream_next_locked(s);
    unsigned count;
    int r = lend_all(d, recorded_op, s, number, list, &count);
    if (r == 0)
        r = spw_recorded_op_submit_locked(recorded_op, s);
    run->is_begun |= r == 0;
    return_lent(d, list, count, s, number);
    if (recorded_op->elsewhere)
        spw_uses_add_locked(&d->workspace.block->object.uses, s, s->begun);
    for (unsigned i = 0; i < recorded_op->touch_count; i++) {
        struct spw_object *o = recorded_op->touches[i].block ? NULL : spw_object_at_locked(recorded_op->touches[i].address);
        if (!o)
            continue;
        spw_object_use(o, spw_tick, false);
        spw_uses_add_locked(&o->uses, s, s->begun);
    }
    return r;
}

static int submit(struct spw_device *d, struct spw_replay_op *run, struct spw_stream *s)
{
    (void)spw_stream_next_locked(s);
    int r = spw_verify_spoil_locked(d, run, s);
    for (unsigned i = 0; i < run->rebuild->op_count && r == 0; i++)
        r = submit_op(d, run, run->rebuild->ops[i], s);
    if (r == 0)
        spw_verify_behind_locked(d, run, s);
    for (unsigned i = 0; i < run->rebuild->part_count; i++) {
        struct spw_object *o = &run->parts[i].block->object;
        spw_object_use(o, spw_tick, false);
        spw_uses_add_locked(&o->uses, s, s->begun);
    }
    spw_uses_add_locked(&d->replays, s, s->begun);
    (void)spw_uses_mark_locked(&d->replays); /* later users will not have to wait for anybody's driver call */
    spw_replayed.submitted_count += r == 0;
    return r;
}

/* Copies of small allocations are in flight even if the operation is not. */
static int submit_and_be_followed(struct spw_device *d, struct spw_replay_op *run, struct spw_stream *s)
{
    const int r = submit(d, run, s), following = spw_streams_follow_locked(s, spw_device_users_locked(d));
    return r < 0 ? r : following;
}

static int submit_unlocking(struct spw_device *d, struct spw_replay_op *run, struct spw_stream *asked)
{
    struct timespec start = {0};
    struct spw_context_guard guard;
    int r = -EAGAIN;
    while (r == -EAGAIN) {
        struct spw_stream *s = choose_stream(d, run->recorded_op, asked);
        if (!s || !is_as_it_was(run))
            return s ? -ESTALE : -ENODEV;
        r = spw_context_enter(&guard, run->recorded_op->context);
        if (r < 0)
            return r;
        r = order(d, run, s);
        if (r == 0)
            r = submit_and_be_followed(d, run, s);
        spw_context_leave(&guard);
        if (r == -EAGAIN && !spw_reclaim_let_others_finish_unlocking(&start))
            return -ETIMEDOUT;
    }
    return r;
}

/* Notes that what was only read is believed unwritten on the same ground as the first time. */
static void note_read(const struct spw_replay_op *run)
{
    for (unsigned i = 0; i < run->rebuild->op_count; i++) {
        const struct spw_recorded_op *recorded_op = run->rebuild->ops[i];
        for (unsigned k = 0; recorded_op->function && k < recorded_op->touch_count; k++) {
            struct spw_block *b =
                spw_touch_writes(&recorded_op->touches[k]) ? NULL : spw_touched_block_locked(&recorded_op->touches[k]);
            if (b)
                spw_clean_check_assume(&b->proof, recorded_op->function);
        }
    }
}

/* Notes that the blocks have their bytes, and that a host copy is void unless it is of the same bytes. */
static void note_made(struct spw_device *d, struct spw_replay_op *run)
{
    note_read(run);
    for (unsigned i = 0; i < run->rebuild->part_count; i++) {
        struct spw_block *b = run->parts[i].block;
        if (!run->parts[i].writes)
            continue;
        if (!b->host_copy_valid)
            spw_object_soil(&b->object);
        spw_dependents_remove_locked(d, b);
    }
}

/* Releases the blocks that are only read: they need not stay, since the operation is not run. */
static void let_inputs_go(struct spw_replay_op *run)
{
    for (unsigned i = 0; i < run->rebuild->part_count; i++) {
        struct spw_block *b = run->parts[i].writes ? NULL : run->parts[i].block;
        if (!b)
            continue;
        run->parts[i].block = NULL;
        spw_release_hold_locked(&spw_devices[b->object.device], b);
    }
}

/* Takes the true bytes on the host of blocks that were to be compared. There may be room for these blocks alone. */
static int bring_copies_unlocking(struct spw_device *d, struct spw_replay_op *run)
{
    int r = 0;
    let_inputs_go(run);
    for (unsigned i = 0; i < run->rebuild->part_count && r == 0; i++) {
        struct spw_block *b = run->parts[i].writes ? run->parts[i].block : NULL;
        if (!b || !(b->object.attention & SPW_EVICTED))
            continue;
        r = spw_uses_wait_unlocking(&b->object.uses);
        if (r == 0 && b->object.attention & SPW_EVICTED)
            r = spw_engine_make_resident_unlocking(d, b);
    }
    return r;
}

static int finish_unlocking(struct spw_replay_op *run, struct spw_device *d, struct spw_stream *s)
{
    int r = spw_verify_finish_unlocking(d, run);
    while (r > 0) {
        (void)submit_unlocking(d, run, s); /* without answers it counts as different */
        r = spw_verify_finish_unlocking(d, run);
    }
    return r;
}

int spw_replay_op_run_unlocking(struct spw_replay_op *run, struct spw_device *d, struct spw_stream *s)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    int r = make_ready_unlocking(d, run);
    if (r == 0)
        r = spw_verify_before_locked(d, run);
    if (r == 0)
        r = submit_unlocking(d, run, s);
    if (r == 0)
        note_made(d, run);
    else
        take_back(d, run);
    if (r == 0)
        return finish_unlocking(run, d, s);
    return spw_verify_give_up_locked(d, run) ? bring_copies_unlocking(d, run) : r;
}
