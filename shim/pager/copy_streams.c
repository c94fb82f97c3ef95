/* copy_streams.c - makes the copy streams, and asks how far they are. */
#include "copy_streams.h"

#include <errno.h>
#include <stdlib.h>

#include "lock.h"
#include "ask.h"
#include "context.h"
#include "devices.h"
#include "driver.h"

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

int spw_copy_streams_gather_uses_locked(struct spw_device *d, struct spw_block *b)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    int r = spw_copy_streams_ready_locked(d, b->context);
    if (r == 0)
        r = spw_uses_order_locked(&b->object.uses, d->mover->out);
    if (r < 0)
        return r;
    struct spw_stream *s = d->mover->out;
    spw_uses_gather_locked(&b->object.uses, s, spw_stream_next_locked(s));
    return 0;
}

struct spw_uses spw_copies_locked(const struct spw_device *d, const struct spw_block *b, bool both)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    struct spw_uses copies = {0};
    if (d->mover && d->mover->in)
        spw_uses_add_locked(&copies, d->mover->in, b->restore_number);
    if (both && b->proof.reader) /* before what follows, which is later where it is of the same stream */
        spw_uses_add_locked(&copies, spw_stream_by_id_locked(b->proof.reader), b->proof.read_number);
    if (both && d->mover && d->mover->out)
        spw_uses_add_locked(&copies, d->mover->out, b->leave_number);
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

bool spw_is_copying_out_locked(const struct spw_device *d, const struct spw_block *b)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    struct spw_uses out = {0};
    if (!d->mover || !d->mover->out)
        return false;
    spw_uses_add_locked(&out, d->mover->out, b->leave_number);
    return !spw_uses_done_locked(&out);
}
