/* verify.c - decides which replays are compared and with what, and what follows if they differ. */
#include "verify.h"

#include <errno.h>
#include <string.h>

#include "lock.h"
#include "ask.h"
#include "residency.h"
#include "transfers.h"
#include "digest.h"
#include "log.h"
#include "mover.h"
#include "clean_check.h"
#include "dependents.h"
#include "follower.h"
#include "comparison.h"
#include "result.h"
#include "settings.h"
#include "spot_checks.h"
#include "read_check.h"
#include "readable.h"
#include "verify_records.h"
#include "launch_class.h"
#include "uses_wait.h"

struct spw_verified spw_verified;

enum {
    SPOILED = SPW_SAMPLE_PATTERN,
    OTHERWISE = 0x48
}; /* the byte that fills what is to be written anew; and the byte for the second time, after a difference */

enum { LOOK_OTHERWISE = 1, LOOK_AGAIN }; /* run->looks: it is made on the second byte; on the first byte again */

/* A tensor that was dropped and freed so many times, and never made again, is not copied for a comparison any more:
 * autograd holds it and nobody reads it. */
enum { UNCLAIMED = 2 };

enum { UNDECIDED, BY_COPY, BY_DIGEST, NOT_COMPARED }; /* recorded_op->compare */

/* ---- which ---- */

bool spw_verify_allows_locked(const struct spw_device *d, const struct spw_block *b)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    struct spw_recorded_op *m = b->content.maker;
    struct spw_rebuild rebuild;
    if (!m || !spw_rebuild_find(m, &rebuild))
        return true;
    for (unsigned i = 0; i < rebuild.op_count; i++)
        if (spw_function_is_condemned_locked(rebuild.ops[i]->function))
            return false;
    const struct spw_verify_record *w = m->course ? spw_verify_record_of(d->ordinal, m) : NULL;
    return !m->course || (!d->is_blind && !(w && w->is_barred));
}

/* Decides how an operation's output is compared. A copy costs what dropping is meant to save, and the memory would be free
 * once it is done: so there is a copy only the first time, or if each replay is compared. For an operation that has another
 * form each time, as when the sizes of tensors depend on data, the first few forms get a copy each, and all later ones are
 * compared by digest. */
static uint8_t decide(struct spw_verify_record *w, uint64_t form)
{
    bool is_full = false;
    if (w && w->left)
        w->left--;
    if (w && !w->was_compared && w->unclaimed >= UNCLAIMED)
        return NOT_COMPARED;
    const bool has = w && spw_verify_record_has(w, form, &is_full);
    if (!has && !is_full)
        return BY_COPY;
    return has && w->left ? NOT_COMPARED : spw_settings_get()->verify_every > 1 ? BY_DIGEST : BY_COPY;
}

/* Everything that an operation has made at one time is compared, or nothing of it. */
enum spw_due spw_verify_due_locked(struct spw_device *d, const struct spw_block *b)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    struct spw_recorded_op *m = b->content.maker;
    if (!m || !m->course)
        return SPW_DUE_NOT;
    if (m->compare == UNDECIDED)
        m->compare = decide(spw_verify_record_of(d->ordinal, m), m->form);
    return m->compare == BY_COPY ? SPW_DUE_BY_COPY : m->compare == BY_DIGEST ? SPW_DUE_BY_DIGEST : SPW_DUE_NOT;
}

/* ---- with what ---- */

bool spw_verify_dropping_locked(struct spw_device *d, struct spw_block *b, enum spw_due due)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    if (due == SPW_DUE_BY_COPY)
        return spw_comparison_begin_with_copy_locked(d, b) == 0;
    if (due == SPW_DUE_BY_DIGEST)
        spw_comparison_begin_locked(d, b);
    else
        spw_spot_check_left_locked(d, b);
    return true;
}

void spw_verify_unclaimed_locked(const struct spw_block *b)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    const struct spw_recorded_op *m = b->check ? b->content.maker : NULL;
    struct spw_verify_record *w = m ? spw_verify_record_of(b->object.device, m) : NULL;
    if (w && !w->was_compared && w->unclaimed < UNCLAIMED)
        w->unclaimed++;
}

static struct spw_block *written(const struct spw_replay_op *run, unsigned part)
{
    return run->parts[part].writes ? run->parts[part].block : NULL;
}

static bool is_compared(const struct spw_replay_op *run)
{
    for (unsigned i = 0; i < run->rebuild->part_count; i++)
        if (written(run, i) && run->parts[i].block->check)
            return true;
    return false;
}

/* Copies a resident block that is written again along with one that is to be made. */
static int keep_copy(struct spw_device *d, struct spw_block *b)
{
    int r = spw_mover_copy_out_locked(d, b);
    if (r < 0)
        return r;
    r = spw_comparison_begin_with_copy_locked(d, b);
    spw_mover_keep_locked(d, b);
    return r;
}

int spw_verify_before_locked(struct spw_device *d, struct spw_replay_op *run)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    if (!is_compared(run))
        return 0;
    for (unsigned i = 0; i < run->rebuild->part_count; i++) {
        struct spw_block *b = written(run, i);
        if (!b || b->check || run->parts[i].attached || !spw_object_dirty(&b->object))
            continue;
        const int r = keep_copy(d, b);
        if (r < 0)
            return r;
    }
    return 0;
}

static int fill(const struct spw_block *b, const struct spw_stream *s, unsigned char pattern)
{
    return spw_result(SPW_ASK_QUIETLY(cuMemsetD8Async, b->address, pattern, b->size_bytes, s->handle));
}

int spw_verify_fill_locked(const struct spw_block *b, const struct spw_stream *s)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    return fill(b, s, SPOILED);
}

int spw_verify_spoil_locked(struct spw_device *d, struct spw_replay_op *run, struct spw_stream *s)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    const bool whole = is_compared(run) || spw_rebuild_defined(run->rebuild) > 0;
    int r = 0;
    for (unsigned i = 0; i < run->rebuild->part_count && r == 0; i++) {
        struct spw_block *b = run->parts[i].block;
        if (run->parts[i].attached && whole)
            r = fill(b, s, run->looks == LOOK_OTHERWISE ? OTHERWISE : SPOILED);
        else if (run->parts[i].attached && spw_spot_check_fill_locked(d, b, s) < 0)
            spw_spot_check_give_up_locked(b);
    }
    return r;
}

void spw_verify_behind_locked(struct spw_device *d, struct spw_replay_op *run, struct spw_stream *s)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    const bool compared = is_compared(run);
    for (unsigned i = 0; i < run->rebuild->part_count; i++) {
        struct spw_block *b = written(run, i);
        if (b)
            spw_spot_check_made_locked(d, b, run->rebuild, s);
        if (b && run->parts[i].attached)
            spw_read_check_renew_locked(b);
        if (b && !compared)
            b->object.attention &= ~(uint32_t)SPW_UNVERIFIED;
        if (!b || !compared)
            continue;
        b->object.attention |= SPW_UNVERIFIED;
        if (b->check)
            spw_comparison_made_locked(d, b, s);
    }
}

/* ---- what follows ---- */

/* Later users of the block are ordered after the copy. If the copy cannot be submitted now, the block is absent until it
 * can. */
static int repair(struct spw_device *d, struct spw_block *b)
{
    b->proof.believed = false;
    const int r = spw_mover_copy_in_locked(d, b);
    if (r < 0 && spw_mover_detach_locked(d, b) < 0)
        spw_block_become_locked(b, SPW_RESIDENCY_EVICTED);
    return r;
}

/* A block that was dropped with a copy is EVICTED from here on. */
static void take_copy(struct spw_device *d, struct spw_block *b)
{
    if (b->object.attention & SPW_DROPPED)
        spw_block_become_locked(b, SPW_RESIDENCY_EVICTED);
    spw_dependents_remove_locked(d, b);
}

static void lose(const struct spw_device *d, const struct spw_block *b)
{
    char buffer[256];
    struct spw_recorded_op *m = b->content.maker;
    m->is_void = true;
    spw_verified.lost_count++;
    spw_warn("device %d: %zu bytes at 0x%llx were to be computed again by %s, which gives other results by now: whatever "
             "needs them is refused" SPW_SEE("other-bytes"),
             d->ordinal, b->size_bytes, (unsigned long long)b->address,
             m->function ? spw_readable_name(m->function, buffer, sizeof(buffer)) : "a copy");
}

/* Gives up a block whose maker is not replayed any more. It is in one of these cases:
 *   - it left with a copy, since it was to be compared, or is being compared: the copy is taken;
 *   - it is about to leave and its bytes are still there: it stays. They are the program's, or come from a replay that was
 *     not compared, and nobody can tell which any more;
 *   - it left without a copy. That its maker was right when it was compared says nothing of this time: its bytes are lost,
 *     and operations that need them are refused before anything is launched. So are those that need what would be made from
 *     them, unless that has a copy. A retained block that nobody wants again is released like any other.
 * Blocks that were made from it before and are resident are the program's, or cannot be told from that either. */
static void give_up(struct spw_device *d, struct spw_block *b)
{
    if (b->has_true_copy)
        take_copy(d, b);
    else if (!(b->object.attention & SPW_DROPPED))
        spw_transfer_forget_locked(d, b);
    if (!b->drops) /* else somebody is waiting for its memory, if it is not released yet */
        return;
    spw_comparison_forget_locked(b);
    lose(d, b);
}

/* True if making what the block holds takes this operation, or another one of its function. */
static bool takes(const struct spw_block *b, const struct spw_recorded_op *wrong)
{
    struct spw_rebuild rebuild;
    bool does = false;
    if (!b->drops || !b->content.maker || !spw_rebuild_find(b->content.maker, &rebuild))
        return b->drops && b->content.maker == wrong;
    for (unsigned i = 0; i < rebuild.op_count; i++)
        does |= rebuild.ops[i] == wrong || (wrong->function && rebuild.ops[i]->function == wrong->function);
    return does;
}

/* Gives up all blocks that are made by the function. */
static void distrust(const struct spw_recorded_op *wrong)
{
    for (int k = 0; k < SPW_MAX_DEVICES; k++)
        for (uint32_t i = 0; i < spw_devices[k].block_count; i++)
            if (takes(spw_devices[k].blocks[i], wrong))
                give_up(&spw_devices[k], spw_devices[k].blocks[i]);
}

static void say_lost(const struct spw_device *d, const struct spw_block *b, const char *name)
{
    spw_warn(
        "device %d: running %s again gave other bytes than it had made (%zu bytes at 0x%llx), of which there is no copy; "
        "it was right when it was compared before, but what it made since then was not compared" SPW_SEE("other-bytes"),
        d->ordinal, name, b->size_bytes, (unsigned long long)b->address);
}

static void say_mismatch(const struct spw_device *d, const struct spw_recorded_op *m, const struct spw_block *b,
                         const char *name, bool was_compared)
{
    spw_warn(
        "device %d: running %s again gave other bytes than it had made (%zu bytes at 0x%llx): these are restored from a "
        "copy, and that is not done again%s" SPW_SEE("other-bytes"),
        d->ordinal, name, b->size_bytes, (unsigned long long)b->address,
        was_compared && spw_settings_get()->verify_every > 1 && m->function
            ? "; it was right when it was compared before, but what it made since then was not compared"
            : "");
}

static void follow_from_mismatch(struct spw_device *d, const struct spw_recorded_op *m, const struct spw_block *b,
                                 bool is_lost)
{
    char buffer[256];
    const char *name = m->function ? spw_readable_name(m->function, buffer, sizeof(buffer)) : "a copy";
    struct spw_verify_record *w = spw_verify_record_of(d->ordinal, m);
    if (is_lost)
        say_lost(d, b, name);
    else
        say_mismatch(d, m, b, name, w && w->was_compared);
    if (w)
        w->is_barred = true;
    spw_function_condemn_locked(m->function);
    distrust(m);
    if (spw_plan_follower_any)
        spw_follower->condemned(d, m);
}

/* Returns the first of the blocks that differs; *ret_known: all were compared. */
static struct spw_block *find_mismatch(struct spw_device *d, struct spw_replay_op *run, bool *ret_known)
{
    struct spw_block *different = NULL;
    *ret_known = true;
    for (unsigned i = 0; i < run->rebuild->part_count; i++) {
        struct spw_block *b = written(run, i);
        if (!b || !b->check)
            continue;
        const int answer = b->check->answer = spw_comparison_answer_locked(d, b);
        spw_verified.compared_bytes += answer >= 0 ? b->size_bytes : 0;
        spw_verified.equal_count += answer == 1;
        spw_verified.unanswered_count += answer < 0;
        run->mismatch_count += answer == 0;
        *ret_known &= answer >= 0;
        if (answer == 0 && !different)
            different = b;
    }
    return different;
}

/* What was made is wrong and the true bytes are nowhere: the block is dropped as before, and its maker is not replayed. */
static int unmake(struct spw_device *d, struct spw_block *b)
{
    spw_dependents_add_locked(d, b);
    if (spw_mover_detach_locked(d, b) < 0)
        spw_block_become_locked(b, SPW_RESIDENCY_DROPPED);
    return -ESTALE;
}

/* A block with a copy that was not compared gets its bytes from the copy in any case. */
static int settle_one(struct spw_device *d, struct spw_block *b, bool is_equal, bool is_mismatch)
{
    const bool is_lost = is_mismatch && b->check && !b->has_true_copy && b->check->answer != 1;
    const bool takes_copy = b->host_copy_valid && !spw_object_dirty(&b->object) && !(is_equal && b->check);
    b->object.attention &= ~(uint32_t)SPW_UNVERIFIED;
    if (is_equal && b->check)
        b->proof.believed = false;
    spw_comparison_forget_locked(b);
    if (is_lost)
        return unmake(d, b);
    const int r = takes_copy ? repair(d, b) : 0;
    spw_verified.repaired_count += takes_copy && r == 0 && is_mismatch;
    return r;
}

static int settle(struct spw_device *d, struct spw_replay_op *run, bool is_equal, bool is_mismatch)
{
    int failure = 0;
    for (unsigned i = 0; i < run->rebuild->part_count; i++) {
        struct spw_block *b = written(run, i);
        const int r = b ? settle_one(d, b, is_equal, is_mismatch) : 0;
        failure = r < 0 ? r : failure;
    }
    return failure;
}

static void note_undefined(struct spw_device *d, const struct spw_replay_op *run)
{
    for (unsigned i = 0; i < run->rebuild->op_count; i++) {
        struct spw_verify_record *w = spw_verify_record_of(d->ordinal, run->rebuild->ops[i]);
        if (w)
            w->leaves_undefined = true;
    }
    spw_verified.undefined_count++;
}

/* How blocks that differed have come out this time, compared with the first. */
struct made_again {
    unsigned same, other, unknown;
};

/* Takes the answers and forgets them, so that new ones can be asked for. */
static struct made_again take_answers(struct spw_device *d, const struct spw_replay_op *run)
{
    struct made_again found = {0};
    for (unsigned i = 0; i < run->rebuild->part_count; i++) {
        struct spw_block *b = written(run, i);
        struct spw_hash made;
        if (!b || !b->check || b->check->answer == 1)
            continue;
        const bool is_known = b->check->after && spw_digest_answer_locked(d, b->check->after, &made) == 1;
        if (is_known && !run->looks)
            b->check->made = made;
        const bool is_same = is_known && spw_hash_equal(made, b->check->made);
        ++*(!is_known ? &found.unknown : is_same ? &found.same : &found.other);
        spw_digest_forget_locked(b->check->after);
        b->check->after = 0;
    }
    return found;
}

/* Finds out whether a difference comes from undefined bytes: then what differs from the true bytes comes out differently if
 * the memory was filled differently, and the same if it was filled the same, since the makers leave a part of it alone. A
 * correct program does not depend on that part. A copy is taken all the same, and from then on what they leave is filled
 * (kept_ops.c), so this is asked once. Returns true if the answer takes another replay. */
static bool looks_into(struct spw_device *d, struct spw_replay_op *run, bool *ret_undefined)
{
    if (spw_rebuild_defined(run->rebuild) == run->rebuild->op_count)
        return false;
    const struct made_again found = take_answers(d, run);
    const bool is_as_expected = !found.unknown && !(run->looks == LOOK_OTHERWISE ? found.same : found.other);
    *ret_undefined = run->looks == LOOK_AGAIN && is_as_expected;
    if (run->looks == LOOK_AGAIN || !is_as_expected)
        return false;
    run->looks++;
    return true;
}

static void wait_for_answers_unlocking(const struct spw_replay_op *run)
{
    struct spw_uses uses = {0};
    for (unsigned i = 0; i < run->rebuild->part_count; i++)
        if (written(run, i))
            spw_uses_merge_locked(&uses, &run->parts[i].block->object.uses);
    (void)spw_uses_wait_unlocking(&uses); /* on failure there are no answers */
}

int spw_verify_finish_unlocking(struct spw_device *d, struct spw_replay_op *run)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    bool is_known = false, is_undefined = false;
    if (!is_compared(run))
        return 0;
    wait_for_answers_unlocking(run);
    if (!run->looks)
        run->different = find_mismatch(d, run, &is_known);
    const struct spw_block *different = run->different;
    if (different && looks_into(d, run, &is_undefined))
        return 1;
    if (is_undefined) {
        note_undefined(d, run);
        return settle(d, run, false, false);
    }
    const bool is_lost = different && !different->has_true_copy;
    const int r = settle(d, run, !different && is_known, different != NULL);
    if (different) {
        spw_verified.mismatch_count += run->mismatch_count;
        follow_from_mismatch(d, run->recorded_op, different, is_lost);
    } else if (is_known)
        spw_verify_record_note_equal_locked(d->ordinal, run->recorded_op);
    return r;
}

bool spw_verify_give_up_locked(struct spw_device *d, struct spw_replay_op *run)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    bool any = false;
    for (unsigned i = 0; i < run->rebuild->part_count; i++) {
        struct spw_block *b = written(run, i);
        if (!b)
            continue;
        b->object.attention &= ~(uint32_t)SPW_UNVERIFIED;
        if (!b->check)
            continue;
        if (b->has_true_copy) {
            any |= b->drops;
            take_copy(d, b);
        }
        spw_comparison_forget_locked(b);
    }
    return any;
}

void spw_verify_take_copies_locked(struct spw_device *d)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    for (uint32_t i = 0; i < d->block_count; i++) {
        struct spw_block *b = d->blocks[i];
        if (!(b->object.attention & SPW_DROPPED) || !b->has_true_copy)
            continue;
        take_copy(d, b);
        spw_comparison_forget_locked(b);
    }
}

void spw_verify_reset(void)
{
    spw_spot_check_reset();
    spw_verify_record_reset();
    spw_read_check_reset();
    memset(&spw_verified, 0, sizeof(spw_verified));
}
