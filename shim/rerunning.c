/* rerunning.c - makes ready what an operation touches, submits it, and sees to it that everybody else finds what they left.
 */
#include "rerunning.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "carry.h"
#include "context.h"
#include "engine.h"
#include "graph.h"
#include "mover.h"
#include "replay.h"
#include "room.h"
#include "stale.h"
#include "stash.h"
#include "twins.h"
#include "verify.h"

enum { ATTEMPTS = 3 };

/* ---- who takes part ---- */

int spw_rerunning_begin(struct spw_rerunning *run, struct spw_rerun *rerun)
{
    const unsigned count = rerun->touch_count;
    *run = (struct spw_rerunning){.rerun = rerun};
    spw_rerun_hold(rerun);
    run->blocks = calloc((size_t)count + 1, sizeof(struct spw_block *));
    run->attached = calloc((size_t)count + 1, sizeof(*run->attached));
    run->lent = calloc((size_t)count + 1, sizeof(*run->lent));
    if (!run->blocks || !run->attached || !run->lent)
        return -ENOMEM;
    for (unsigned i = 0; i < count; i++) {
        const struct spw_rerun_touch *t = &rerun->touches[i];
        struct spw_slot *slot = spw_touched_slot_locked(t);
        run->blocks[i] = spw_touched_block_locked(t);
        if (run->blocks[i])
            run->blocks[i]->holds++;
        else if (!slot)
            return -ESTALE;
        else if (spw_touch_writes(t))
            run->lent[run->lent_count++] = (struct spw_lent_slot){.slot = slot, .touch = t};
    }
    return 0;
}

void spw_rerunning_end_locked(struct spw_rerunning *run)
{
    for (unsigned i = 0; run->blocks && i < run->rerun->touch_count; i++)
        if (run->blocks[i])
            spw_room_release_hold_locked(&spw_devices[run->blocks[i]->object.device], run->blocks[i]);
    free(run->blocks);
    free(run->attached);
    free(run->lent);
    spw_rerun_let_go(run->rerun);
}

/* What it reads is as it was then, and so is what it writes, wherever that is: nobody has written it since. */
static bool is_as_it_was(const struct spw_rerunning *run)
{
    if (!spw_rerun_is_good(run->rerun))
        return false;
    for (unsigned i = 0; i < run->rerun->touch_count; i++) {
        const struct spw_rerun_touch *t = &run->rerun->touches[i];
        const struct spw_slot *slot = run->blocks[i] ? NULL : spw_touched_slot_locked(t);
        if (run->blocks[i] && run->blocks[i]->content.version != (spw_touch_writes(t) ? t->after : t->before))
            return false;
        if (!run->blocks[i] && !slot)
            return false;
        if (slot && !spw_touch_writes(t) && slot->content.version != t->before)
            return false;
    }
    return true;
}

/* ---- memory ---- */

/* What is overwritten completely needs memory, no bytes. */
static int attach_unlocking(struct spw_device *d, struct spw_block *b)
{
    enum { TIMES = 8 }; /* as in engine.c */
    int r = -ENOMEM;
    for (int i = 0; i < TIMES && r < 0; i++) {
        r = r == -EBUSY ? spw_stale_make_way_unlocking(d, b, i > 1) : 0;
        if (r == 0)
            r = spw_room_make(d, spw_block_lacking_bytes(d, b));
        if (r < 0)
            return r;
        spw_room_suit_locked(d, b->granules - b->memory.granules);
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

/* Blocks that were attached for their new bytes, which they will not get, go back to what they were. Where the driver does
 * not take the memory back, or who knows what is still under way, it stays with them, unused. */
static void take_back(struct spw_device *d, struct spw_rerunning *run)
{
    for (unsigned i = 0; i < run->rerun->touch_count; i++) {
        struct spw_block *b = run->blocks[i];
        if (!b || !run->attached[i] ||
            ((d->stale.allowed || spw_uses_done_locked(&b->object.uses)) && spw_mover_detach_locked(d, b) == 0))
            continue;
        b->object.attention &= ~(uint32_t)SPW_FENCED; /* those are among its uses */
        if (b->drops && !b->has_true_copy)
            spw_mover_drop_host_copy_locked(b);
        b->object.attention |= b->drops ? SPW_DROPPED : b->host_copy_valid ? SPW_EVICTED : SPW_EMPTY;
    }
}

static int make_ready_unlocking(struct spw_device *d, struct spw_rerunning *run)
{
    uint64_t bytes = 0;
    for (unsigned i = 0; i < run->rerun->touch_count; i++) {
        struct spw_block *b = run->blocks[i];
        if (!b)
            continue;
        spw_carry_claim_locked(d, b);
        bytes += b->object.attention & SPW_ABSENT ? spw_block_lacking_bytes(d, b) : 0;
    }
    int r = bytes ? spw_room_make(d, bytes) : 0; /* all at once, so that what goes for it goes at once */
    for (unsigned i = 0; i < run->rerun->touch_count && r == 0; i++) {
        struct spw_block *b = run->blocks[i];
        const bool makes = spw_touch_makes(&run->rerun->touches[i]);
        const bool was_absent = b && b->object.attention & SPW_ABSENT;
        r = b ? bring_unlocking(d, b, makes) : 0;
        run->attached[i] = was_absent && makes && r == 0;
    }
    return r;
}

/* ---- small allocations ---- */

/* Puts what the slot held before back, in the stream's order. */
static int give_back(struct spw_device *d, struct spw_slot *slot, uint32_t offset, uint64_t bytes, struct spw_stream *s,
                     uint64_t number)
{
    int r = -EIO;
    for (int attempt = 0; attempt < ATTEMPTS && r < 0; attempt++)
        r = spw_stash_load_locked(d, s, number, spw_slot_address(slot), bytes, offset);
    return r;
}

static int lend(struct spw_device *d, struct spw_lent_slot *lent, struct spw_stream *s, uint64_t number)
{
    const struct spw_rerun_touch *t = lent->touch;
    lent->away = false;
    int r = spw_stash_take_locked(d, t->bytes, &lent->offset);
    if (r < 0)
        return -ENOMEM;
    r = spw_stash_save_locked(d, s, number, t->address, t->bytes, lent->offset);
    if (r < 0) {
        spw_stash_give_locked(d, lent->offset, t->bytes);
        return r;
    }
    lent->away = true;
    return spw_touch_reads(t) ? spw_stash_load_locked(d, s, number, t->address, t->bytes, t->saved - 1) : 0;
}

static void return_lent(struct spw_device *d, struct spw_rerunning *run, struct spw_stream *s, uint64_t number)
{
    for (unsigned i = 0; i < run->lent_count; i++) {
        struct spw_lent_slot *lent = &run->lent[i];
        if (!lent->away)
            continue;
        lent->away = false;
        if (give_back(d, lent->slot, lent->offset, lent->touch->bytes, s, number) == 0) {
            spw_stash_give_locked(d, lent->offset, lent->touch->bytes);
            continue;
        }
        lent->slot->owed = lent->offset + 1;
        lent->slot->owed_bytes = (uint32_t)lent->touch->bytes;
        lent->slot->slab->object.attention |= SPW_OWED;
        spw_replayed.owed_count++;
    }
}

static void forgive(struct spw_device *d, struct spw_slot *slot)
{
    spw_stash_give_locked(d, slot->owed - 1, slot->owed_bytes);
    slot->owed = 0;
}

int spw_replay_settle_locked(struct spw_device *d, struct spw_slab *slab, struct spw_stream *s)
{
    int r = 0;
    for (uint32_t i = 0; i < slab->slot_count && r == 0; i++) {
        struct spw_slot *slot = &slab->slots[i];
        if (!slot->owed)
            continue;
        const uint64_t number = spw_stream_next_locked(s);
        r = spw_uses_order_locked(&slab->object.uses, s);
        if (r == 0)
            r = give_back(d, slot, slot->owed - 1, slot->owed_bytes, s, number);
        spw_uses_add_locked(&slab->object.uses, s, number);
        if (r == 0)
            forgive(d, slot);
    }
    if (r == 0)
        r = spw_streams_follow_locked(s, spw_mover_users_locked(d));
    if (r == 0)
        slab->object.attention &= ~(uint32_t)SPW_OWED;
    return r;
}

void spw_replay_slot_freed_locked(struct spw_device *d, struct spw_slot *slot)
{
    if (!slot->content.needed && !slot->lent)
        forgive(d, slot);
}

/* ---- order ---- */

static bool is_usable(const struct spw_stream *s, CUcontext context)
{
    return s && s->context == context && spw_stream_is_reachable_locked(s) && !spw_is_capturing(s->handle);
}

/* The one that is asked for, else the one where it ran, else our own for copies in. */
static struct spw_stream *choose_stream(const struct spw_device *d, const struct spw_rerun *rerun, struct spw_stream *s)
{
    if (is_usable(s, rerun->context))
        return s;
    if (is_usable(rerun->stream, rerun->context))
        return rerun->stream;
    return d->mover && is_usable(d->mover->in, rerun->context) ? d->mover->in : NULL;
}

static struct spw_object *object_of(const struct spw_rerunning *run, unsigned touch)
{
    return run->blocks[touch] ? &run->blocks[touch]->object : spw_object_at_locked(run->rerun->touches[touch].address);
}

/* A copy out of it may go on while the operation reads it: as in engine.c, if a copy reads it, or a launch reads what few
 * launches made, which is proven before anybody relies on the copy. */
static bool may_be_copied_meanwhile(const struct spw_rerunning *run, unsigned touch)
{
    const struct spw_block *b = run->blocks[touch];
    return b && !spw_touch_writes(&run->rerun->touches[touch]) &&
           (!run->rerun->function || spw_version_is_made(&b->content));
}

/* Behind the uses of whatever it touches, copies in and out among them, and of where it runs. -EAGAIN: one is in a call of
 * another thread, or another thread's operation could come between the parts of this one. */
static int order(struct spw_device *d, struct spw_rerunning *run, struct spw_stream *s)
{
    if (run->lent_count && atomic_load_explicit(&s->in_call, memory_order_acquire))
        return -EAGAIN;
    if (run->rerun->function) {
        const int r = spw_twin_order_locked(run->rerun->function, run->rerun->context, s);
        if (r < 0)
            return r;
    }
    for (unsigned i = 0; i < run->rerun->touch_count; i++) {
        struct spw_block *b = run->blocks[i];
        struct spw_object *o = object_of(run, i);
        int r = !b && o->attention & SPW_OWED ? spw_replay_settle_locked(d, (struct spw_slab *)o, s) : 0;
        if (r == 0)
            r = spw_uses_order_beside_locked(&o->uses, s,
                                             d->mover && may_be_copied_meanwhile(run, i) ? d->mover->out : NULL);
        if (r < 0)
            return r;
    }
    return 0;
}

static int submit(struct spw_device *d, struct spw_rerunning *run, struct spw_stream *s)
{
    const uint64_t number = spw_stream_next_locked(s);
    int r = 0;
    for (unsigned i = 0; i < run->lent_count && r == 0; i++)
        r = lend(d, &run->lent[i], s, number);
    if (r == 0)
        r = spw_verify_spoil_locked(run, s);
    if (r == 0)
        r = spw_rerun_submit_locked(run->rerun, s);
    return_lent(d, run, s, number);
    if (r == 0)
        spw_verify_behind_locked(d, run, s);
    for (unsigned i = 0; i < run->rerun->touch_count; i++) {
        struct spw_object *o = object_of(run, i);
        spw_object_use(o, spw_tick, false);
        spw_uses_add_locked(&o->uses, s, s->begun);
    }
    spw_uses_add_locked(&d->replays, s, s->begun);
    (void)spw_uses_mark_locked(&d->replays); /* whoever comes after them will not have to wait for anybody's call */
    spw_replayed.submitted_count += r == 0;
    return r;
}

/* Copies of small allocations are under way even where the operation is not. */
static int submit_and_be_followed(struct spw_device *d, struct spw_rerunning *run, struct spw_stream *s)
{
    const int r = submit(d, run, s), following = spw_streams_follow_locked(s, spw_mover_users_locked(d));
    return r < 0 ? r : following;
}

static int submit_unlocking(struct spw_device *d, struct spw_rerunning *run, struct spw_stream *asked)
{
    struct timespec start = {0};
    struct spw_context_guard guard;
    int r = -EAGAIN;
    while (r == -EAGAIN) {
        struct spw_stream *s = choose_stream(d, run->rerun, asked);
        if (!s || !is_as_it_was(run))
            return s ? -ESTALE : -ENODEV;
        r = spw_context_enter(&guard, run->rerun->context);
        if (r < 0)
            return r;
        r = order(d, run, s);
        if (r == 0)
            r = submit_and_be_followed(d, run, s);
        spw_context_leave(&guard);
        if (r == -EAGAIN && !spw_room_let_others_finish_unlocking(&start))
            return -EBUSY;
    }
    return r;
}

/* It has its bytes, which no copy on the host has unless that is of these very ones. That others were only read is as true
 * as it was the first time. */
static void note_made(struct spw_device *d, struct spw_rerunning *run)
{
    for (unsigned i = 0; i < run->rerun->touch_count; i++) {
        struct spw_block *b = run->blocks[i];
        if (!b)
            continue;
        if (!spw_touch_writes(&run->rerun->touches[i])) {
            if (run->rerun->function)
                spw_proof_believe(&b->proof, run->rerun->function);
            continue;
        }
        if (!b->host_copy_valid)
            spw_object_soil(&b->object);
        spw_needs_remove_locked(d, b);
    }
}

/* What was to be compared has true bytes on the host: these do instead. */
static int bring_copies_unlocking(struct spw_device *d, struct spw_rerunning *run)
{
    int r = 0;
    for (unsigned i = 0; i < run->rerun->touch_count && r == 0; i++) {
        struct spw_block *b = spw_touch_writes(&run->rerun->touches[i]) ? run->blocks[i] : NULL;
        if (!b || !(b->object.attention & SPW_EVICTED))
            continue;
        r = spw_uses_wait_unlocking(&b->object.uses);
        if (r == 0 && b->object.attention & SPW_EVICTED)
            r = spw_engine_make_resident_unlocking(d, b);
    }
    return r;
}

int spw_rerunning_run_unlocking(struct spw_rerunning *run, struct spw_device *d, struct spw_stream *s)
{
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
        return spw_verify_finish_unlocking(d, run);
    return spw_verify_give_up_locked(d, run) ? bring_copies_unlocking(d, run) : r;
}
