/* comparison.c - asks for the digests of one block's comparison and compares them. */
#include "comparison.h"

#include <errno.h>
#include <stdlib.h>

#include "clean_check.h"
#include "digest.h"
#include "lock.h"
#include "log.h"
#include "mover.h"

/* Asks for a digest of what the block holds at this point of the stream. */
static int ask(struct spw_device *d, struct spw_block *b, struct spw_stream *s, uint32_t *ret_ticket)
{
    int r = spw_digest_ask_locked(d, s->context, s->handle, b->address, b->size_bytes, ret_ticket);
    if (r == 0) {
        r = spw_digests_send_locked(d, s->handle);
        if (r < 0)
            spw_digest_forget_locked(*ret_ticket);
    }
    spw_uses_add_locked(&b->object.uses, s, s->begun);
    if (r < 0)
        *ret_ticket = 0;
    return r;
}

/* Returns true if the copy has a digest. If none can ever be had, the device drops nothing any more. */
static bool has_digest(struct spw_device *d, struct spw_block *b)
{
    uint32_t ticket;
    if (b->proof.copied || b->proof.known)
        return true;
    struct spw_stream *s = spw_stream_by_id_locked(b->leave_stream); /* the stream of the copy */
    if (ask(d, b, s, &ticket) == -ENOTSUP) {
        d->is_blind = true;
        spw_warn("device %d: what is computed again cannot be compared with what it stands for, so nothing will be" SPW_SEE(
                     "driver-refused"),
                 d->ordinal);
    } else
        spw_digest_forget_locked(ticket);
    b->leave_number = s->begun;
    return false;
}

int spw_comparison_begin_with_copy_locked(struct spw_device *d, struct spw_block *b)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    struct spw_comparison *check = has_digest(d, b) ? calloc(1, sizeof(*check)) : NULL;
    if (!check)
        return -ENOMEM;
    b->check = check;
    b->has_true_copy = true;
    return 0;
}

void spw_comparison_begin_locked(struct spw_device *d, struct spw_block *b)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    struct spw_comparison *check = calloc(1, sizeof(*check));
    if (!check || spw_clean_check_digest_locked(d, b, &check->before) < 0) {
        free(check);
        return;
    }
    b->check = check;
}

void spw_comparison_made_locked(struct spw_device *d, struct spw_block *b, struct spw_stream *s)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    (void)ask(d, b, s, &b->check->after); /* without an answer the true bytes are taken */
}

static bool is_known(struct spw_device *d, struct spw_block *b, struct spw_hash *ret_hash)
{
    if (!b->has_true_copy)
        return spw_digest_answer_locked(d, b->check->before, ret_hash) == 1;
    spw_clean_check_copies_done_locked(d, b);
    *ret_hash = b->proof.hash;
    return b->proof.known;
}

int spw_comparison_answer_locked(struct spw_device *d, struct spw_block *b)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    struct spw_hash before, after;
    if (!is_known(d, b, &before) || !b->check->after || spw_digest_answer_locked(d, b->check->after, &after) != 1)
        return -EIO;
    return spw_hash_equal(before, after);
}

void spw_comparison_forget_locked(struct spw_block *b)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    if (!b->check)
        return;
    spw_digest_forget_locked(b->check->before);
    spw_digest_forget_locked(b->check->after);
    free(b->check);
    b->check = NULL;
    b->has_true_copy = false;
    if (b->object.attention & SPW_DROPPED)
        spw_mover_drop_host_copy_locked(b);
}
