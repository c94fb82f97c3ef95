/* copy_streams.c - makes the copy streams, and asks how far they have come. */
#include "copy_streams.h"

#include <errno.h>
#include <stdlib.h>

#include "lock.h"
#include "ask.h"
#include "context.h"
#include "devices.h"
#include "driver.h"
#include "uses_wait.h"

static struct spw_stream *make_stream(CUcontext context)
{
    CUstream handle = NULL;
    if (SPW_ASK(cuStreamCreate, &handle, CU_STREAM_NON_BLOCKING) != CUDA_SUCCESS)
        return NULL;
    struct spw_stream *s = spw_stream_adopt_locked(handle, context);
    if (!s)
        (void)SPW_ASK(cuStreamDestroy_v2, handle);
    return s;
}

int spw_copy_streams_ready_locked(struct spw_device *d, CUcontext context)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    if (!d->mover)
        d->mover = calloc(1, sizeof(*d->mover));
    if (!d->mover)
        return -ENOMEM;
    struct spw_mover *m = d->mover;
    if (m->out && m->in)
        return 0;
    if (!m->context)
        m->context = spw_devices_primary_locked(context);
    struct spw_context_guard guard;
    int r = spw_context_enter(&guard, m->context);
    if (r < 0)
        return r;
    if (!m->out)
        m->out = make_stream(m->context);
    if (!m->in)
        m->in = make_stream(m->context);
    spw_context_leave(&guard);
    return m->out && m->in ? 0 : -ENOMEM;
}

struct spw_stream *spw_stream_beside_locked(struct spw_device *d)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    struct spw_mover *m = d->mover;
    struct spw_context_guard guard;
    if (m && !m->beside && m->context && spw_context_enter(&guard, m->context) == 0) {
        m->beside = make_stream(m->context);
        spw_context_leave(&guard);
    }
    return m ? m->beside : NULL;
}

int spw_copy_streams_out_locked(struct spw_device *d, CUcontext context, struct spw_stream **ret_stream)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    int r = spw_copy_streams_ready_locked(d, context);
    if (r == 0)
        *ret_stream = d->mover->out;
    return r;
}

/* True if the block's uses already include the last operation of `s`, so that whatever is submitted there next comes after
 * them. */
static bool is_last_use(const struct spw_uses *u, const struct spw_stream *s)
{
    for (unsigned i = 0; s && i < u->count; i++)
        if (u->stream[i] == s->id && u->number[i] == s->begun)
            return true;
    return false;
}

static struct spw_stream *make_out(struct spw_mover *m, unsigned i)
{
    struct spw_context_guard guard;
    if (!m->outs[i] && spw_context_enter(&guard, m->context) == 0) {
        m->outs[i] = make_stream(m->context);
        spw_context_leave(&guard);
    }
    return m->outs[i];
}

int spw_copy_streams_out_of_locked(struct spw_device *d, struct spw_block *b, struct spw_stream **ret_stream)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    int r = spw_copy_streams_out_locked(d, b->context, ret_stream);
    if (r < 0 || !spw_streams_gated_locked())
        return r;
    struct spw_uses *u = &b->object.uses;
    struct spw_mover *m = d->mover;
    const bool is_done = spw_uses_done_locked(u);
    for (unsigned i = 0; i < (is_done ? SPW_OUTS : SPW_OUTS - 1);
         i++) { /* the last stream is kept for blocks that are out of use */
        const bool is_last = is_last_use(u, m->outs[i]);
        if ((!is_last && spw_uses_beyond_locked(&m->behind[i], u)) || !make_out(m, i))
            continue;
        if (!is_last)
            spw_uses_merge_locked(&m->behind[i], u);
        *ret_stream = m->outs[i];
        return 0;
    }
    return is_done ? 0 : -EBUSY;
}

void spw_copy_streams_reads_locked(struct spw_block *b, struct spw_stream *s, bool gated)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    b->leave_stream = s->id;
    b->leave_number = s->begun;
    if (gated)
        spw_stream_gate_locked(s);
}

int spw_copy_streams_gather_uses_locked(struct spw_device *d, struct spw_block *b, struct spw_stream **ret_stream)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    struct spw_stream *s;
    int r = spw_copy_streams_out_of_locked(d, b, &s);
    const bool gated = r == 0 && spw_uses_gated_locked(&b->object.uses);
    if (r == 0)
        r = spw_uses_order_locked(&b->object.uses, s);
    if (r < 0)
        return r;
    spw_uses_gather_locked(&b->object.uses, s, spw_stream_next_locked(s));
    if (gated)
        spw_stream_gate_locked(s);
    *ret_stream = s;
    return 0;
}

/* Returns true if the gated work that the copy out of the block waits for is done. */
static bool has_begun(struct spw_mover *m, const struct spw_block *b)
{
    for (unsigned i = 0; m && i < SPW_OUTS; i++)
        if (m->outs[i] && m->outs[i]->id == b->leave_stream && !spw_uses_done_locked(&m->behind[i])) {
            spw_uses_late_locked(&m->behind[i]);
            return false;
        }
    return true;
}

static struct spw_uses copy_out_of(const struct spw_block *b)
{
    struct spw_uses out = {0};
    if (b->leave_stream)
        spw_uses_add_locked(&out, spw_stream_by_id_locked(b->leave_stream), b->leave_number);
    return out;
}

int spw_copy_streams_wait_unlocking(struct spw_device *d, struct spw_block *b)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    int r = spw_uses_wait_a_while_unlocking(&b->object.uses);
    while (r == -ETIME && spw_is_copying_out_locked(b) && has_begun(d->mover, b)) {
        struct spw_uses out = copy_out_of(b);
        r = spw_uses_wait_unlocking(&out);
        if (r == 0)
            r = spw_uses_wait_a_while_unlocking(&b->object.uses);
    }
    return r;
}

struct spw_uses spw_copies_locked(const struct spw_device *d, const struct spw_block *b, bool both)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    struct spw_uses copies = {0};
    if (d->mover && d->mover->in)
        spw_uses_add_locked(&copies, d->mover->in, b->restore_number);
    if (both && b->proof.reader) /* first, because the copy out is later where both are on one stream */
        spw_uses_add_locked(&copies, spw_stream_by_id_locked(b->proof.reader), b->proof.read_number);
    if (both && b->leave_stream)
        spw_uses_add_locked(&copies, spw_stream_by_id_locked(b->leave_stream), b->leave_number);
    if (b->object.attention & SPW_FENCED)
        spw_uses_merge_locked(&copies, &b->fence);
    return copies;
}

bool spw_copies_done_locked(struct spw_device *d, const struct spw_block *b)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    struct spw_uses copies = spw_copies_locked(d, b, true);
    return spw_uses_done_locked(&copies);
}

bool spw_is_copying_out_locked(const struct spw_block *b)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    struct spw_uses out = copy_out_of(b);
    return !spw_uses_done_locked(&out);
}
