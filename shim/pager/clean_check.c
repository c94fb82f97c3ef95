/* clean_check.c - asks for the digests that prove a tensor unwritten, and draws the conclusions. */
#include "clean_check.h"

#include "digest.h"
#include "op.h"
#include "capture.h"
#include "lock.h"
#include "copy_streams.h"
#include "versions.h"

struct spw_clean_check_counts spw_clean_check_counts;

void spw_clean_check_note_locked(const struct spw_op *op)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    const unsigned doubtful = op->believed ? op->count - op->read_only : 0;
    for (unsigned i = 0; i < doubtful; i++) {
        if (spw_op_writes_hit(op, i))
            continue;
        struct spw_object *o = spw_in_arena(op->hits[i]) ? spw_object_at_locked(op->hits[i]) : NULL;
        if (o && o->kind == SPW_KIND_BLOCK)
            spw_clean_check_assume(&spw_block_of(o)->proof, op->function);
    }
}

/* ---- digests ---- */

static void forget(uint32_t *ticket)
{
    if (*ticket)
        spw_digest_forget_locked(*ticket);
    *ticket = 0;
}

/* Returns the program's only stream that still uses the block. On a course it may also be the only one that has used it:
 * the host is not far ahead of the device then, so a digest submitted there runs soon, unless a gate is in its way. The
 * stream came after whatever our own streams wrote, but not after the earlier uses that operations of ours stand for. NULL:
 * there is none. */
static struct spw_stream *last_user(const struct spw_device *d, struct spw_uses *uses, bool is_on_course)
{
    struct spw_stream *found[2] = {NULL, NULL}; /* index 0: a stream that has used it; index 1: one that still does */
    unsigned counts[2] = {0, 0};
    for (unsigned i = 0; i < uses->count; i++) {
        struct spw_stream *s = spw_stream_by_id_locked(uses->stream[i]);
        const bool still = s->done < uses->number[i];
        counts[still] += !s->ours;
        if (!s->ours)
            found[still] = s;
    }
    const bool still = counts[1] || !is_on_course;
    struct spw_stream *s = found[still];
    if (!d->mover || counts[still] != 1 || uses->everybody || spw_uses_hidden_locked(uses) ||
        s->context != d->mover->context || spw_stream_is_gated_locked(s) || !spw_stream_is_reachable_locked(s) ||
        spw_stream_in_call_locked(s))
        return NULL;
    return spw_is_capturing(s->handle) ? NULL : s;
}

struct spw_stream *spw_clean_check_only_user_locked(const struct spw_device *d, struct spw_uses *uses)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    return last_user(d, uses, true);
}

/* Finds the stream on which a digest comes after all uses of the block. Negative: there is none now. */
int spw_clean_check_reader_locked(struct spw_device *d, struct spw_block *b, struct spw_stream **ret_stream)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    /* Until the first use of a block that was brought back, its former users, and those of its memory, need not have waited
     * for the copy in. */
    *ret_stream = b->way == SPW_QUEUE_RETURNED ? NULL : last_user(d, &b->object.uses, b->expected);
    if (*ret_stream)
        return 0;
    return spw_copy_streams_gather_uses_locked(d, b, ret_stream);
}

void spw_clean_check_read_locked(struct spw_block *b, struct spw_stream *s)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    spw_uses_add_locked(&b->object.uses, s, s->begun);
    if (s->ours)
        spw_copy_streams_reads_locked(b, s, false);
    /* If the block stays, whoever writes it is ordered after this read. */
    b->proof.reader = s->id;
    b->proof.read_number = s->begun;
    b->object.attention |= SPW_COPYING;
}

/* Submits a digest of the block's bytes on `s`. Even on failure a part of it may be under way. */
static int ask(struct spw_device *d, struct spw_block *b, struct spw_stream *s, uint32_t *ret_ticket)
{
    int r = spw_digest_ask_locked(d, s->context, s->handle, b->address, b->size_bytes, ret_ticket);
    if (r == 0) {
        r = spw_digests_send_locked(d, s->handle);
        if (r < 0)
            forget(ret_ticket);
    }
    spw_clean_check_read_locked(b, s);
    return r;
}

/* Takes the answer to a ticket, and releases the ticket. Returns false if there is no answer. */
static bool take_answer(struct spw_device *d, uint32_t *ticket, struct spw_hash *ret_hash)
{
    const bool known = *ticket && spw_digest_answer_locked(d, *ticket, ret_hash) == 1;
    forget(ticket);
    return known;
}

/* Takes the answer to the first digest as soon as it is known, since tickets are few. Also notes that the digest is done,
 * so that nobody need ask its stream. */
static bool know_copy(struct spw_device *d, struct spw_block *b)
{
    struct spw_stream *s = spw_stream_by_id_locked(b->proof.reader);
    if (s && s->done < b->proof.read_number)
        s->done = b->proof.read_number;
    if (!b->proof.known)
        b->proof.known = take_answer(d, &b->proof.copied, &b->proof.hash);
    return b->proof.known;
}

/* ---- a block's way ---- */

void spw_clean_check_void_locked(struct spw_block *b)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    forget(&b->proof.copied);
    b->proof.known = false;
}

void spw_clean_check_copying_locked(struct spw_device *d, struct spw_block *b)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    struct spw_stream *s;
    spw_clean_check_void_locked(b);
    b->proof.believed = false;
    if (spw_versions_kept && !b->proof.is_spared && spw_clean_check_reader_locked(d, b, &s) == 0)
        (void)ask(d, b, s, &b->proof.copied); /* without a digest it will be copied again rather than believed */
}

static void copy_rather(struct spw_block *b)
{
    spw_clean_check_counts.unproven_count++;
    spw_object_soil(&b->object);
}

int spw_clean_check_ask_locked(struct spw_device *d, struct spw_block *b)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    if (!b->proof.believed || spw_object_dirty(&b->object))
        return 0;
    if (!b->host_copy_valid || !(b->proof.known || b->proof.copied)) {
        copy_rather(b);
        return 0;
    }
    struct spw_stream *s;
    const int r = spw_clean_check_reader_locked(d, b, &s);
    if (r < 0)
        return r;
    if (ask(d, b, s, &b->proof.leaving) < 0)
        copy_rather(b);
    return 0;
}

int spw_clean_check_digest_locked(struct spw_device *d, struct spw_block *b, uint32_t *ret_ticket)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    struct spw_stream *s;
    const int r = spw_clean_check_reader_locked(d, b, &s);
    return r < 0 ? r : ask(d, b, s, ret_ticket);
}

bool spw_clean_check_forbids_locked(struct spw_device *d, struct spw_block *b)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    struct spw_hash now;
    if (!b->proof.leaving)
        return false;
    const bool answered = take_answer(d, &b->proof.leaving, &now), known = know_copy(d, b);
    if (answered && known && spw_hash_equal(now, b->proof.hash)) {
        spw_clean_check_counts.proven_count++;
        b->proof.believed = false;
        return false;
    }
    if (answered && known) {
        spw_launch_classes_refuted_locked(d->ordinal, b->proof.readers);
        spw_object_soil(&b->object);
    } else
        copy_rather(b);
    return true;
}

void spw_clean_check_cancel_locked(struct spw_block *b)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    forget(&b->proof.leaving);
}

void spw_clean_check_copies_done_locked(struct spw_device *d, struct spw_block *b)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    if (b->host_copy_valid)
        (void)know_copy(d, b);
    else
        spw_clean_check_void_locked(b);
}

void spw_clean_check_gone_locked(struct spw_device *d, struct spw_block *b)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    spw_clean_check_cancel_locked(b);
    b->proof.believed = false;
    spw_clean_check_copies_done_locked(d, b);
    b->proof.reader = 0;
}

void spw_clean_check_forget_locked(struct spw_block *b)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    spw_clean_check_void_locked(b);
    spw_clean_check_cancel_locked(b);
    b->proof.believed = false;
}

/* ---- a belief was wrong ---- */

void spw_clean_check_settle_slow_unlocking(void)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    spw_launch_classes_doubted = false;
    spw_unlock();
    int r = spw_versions_break();
    spw_lock();
    if (r < 0)
        spw_launch_classes_doubted = true; /* dropped blocks could not be made again: the next operation tries again */
}

void spw_clean_check_reset(void)
{
    spw_clean_check_counts = (struct spw_clean_check_counts){0};
    spw_launch_classes_refuted_count = 0;
    spw_launch_classes_doubted = false;
}
