/* read_check.c - takes the digests of memory that is believed to be only read, and compares them. */
#include "read_check.h"

#include <errno.h>

#include "lock.h"
#include "devices.h"
#include "digest.h"
#include "op.h"
#include "slab.h"
#include "versioned.h"

struct spw_read_check_counts spw_read_check_counts;

/* ---- digests ---- */

static void forget(uint32_t *ticket)
{
    if (*ticket)
        spw_digest_forget_locked(*ticket);
    *ticket = 0;
}

/* The whole block or slab is fenced: all of it is hashed, and later work of `s` may touch a part. */
static void fence(struct spw_device *d, struct spw_object *o, struct spw_stream *s)
{
    if (o->kind == SPW_KIND_BLOCK)
        spw_fence_locked(spw_block_of(o), s);
    else
        spw_slab_fence_locked((struct spw_slab *)o, s);
    spw_uses_add_locked(&d->replays, s, s->begun);
}

/* The digest comes behind all uses by other streams, which are not ordered with `s`: their writes in the meantime would
 * look like a change. Their later work comes behind it; in a stream of ours, the caller ensures that. The result is sent at
 * once, since the stream may not exist any more when the answer is wanted. */
static int hash(struct spw_device *d, struct spw_stream *s, const struct spw_read_check_of *t, uint32_t *ret_ticket)
{
    struct spw_object *o = spw_object_at_locked(t->address);
    int r = spw_uses_order_locked(&o->uses, s);
    if (r == 0)
        r = spw_digest_ask_locked(d, s->context, s->handle, t->address, t->bytes, ret_ticket);
    if (r < 0) {
        *ret_ticket = 0;
        return r;
    }
    if (!s->ours)
        fence(d, o, s);
    r = spw_digests_send_locked(d, s->handle);
    if (r < 0)
        forget(ret_ticket);
    return r;
}

static void give_up(struct spw_read_check *u)
{
    forget(&u->base);
    forget(&u->check);
    u->state = SPW_READ_CHECK_UNKNOWN;
    spw_read_check_counts.unknown_count++;
}

static void refute(struct spw_device *d, struct spw_read_check *u)
{
    spw_read_check_counts.refuted_count++;
    spw_launch_classes_refuted_locked(d->ordinal, u->readers);
    give_up(u);
}

void spw_read_check_settle_locked(struct spw_device *d, struct spw_read_check *u)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    struct spw_hash before, now;
    int r = u->check ? spw_digest_answer_locked(d, u->base, &before) : 0;
    while (r > 0 && u->check && (r = spw_digest_answer_locked(d, u->check, &now)) > 0) {
        if (!spw_hash_equal(before, now)) {
            refute(d, u);
            return;
        }
        u->check = spw_digest_step_locked(u->check);
    }
    if (r < 0)
        give_up(u);
    if (u->check || u->state != SPW_READ_CHECK_PENDING)
        return;
    u->state = SPW_READ_CHECK_PASSED;
    u->readers = 0;
    spw_read_check_counts.shown_count++;
}

/* ---- later digests ---- */

int spw_read_check_close_locked(struct spw_device *d, const struct spw_read_check_of *t, struct spw_stream *s)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    struct spw_read_check *u = &t->what->unchanged;
    uint32_t ticket = 0;
    if (s && hash(d, s, t, &ticket) == 0) {
        if (u->check)
            spw_digest_chain_locked(u->check, ticket);
        else
            u->check = ticket;
        u->state = SPW_READ_CHECK_PENDING;
        u->toucher = 0;
        u->stream = s->id;
        spw_read_check_counts.checked_count++;
        return 0;
    }
    give_up(u);
    return -ESTALE;
}

/* ---- touches ---- */

/* What operations of an earlier epoch relied on does not matter any more. */
static void rely(struct spw_read_check *u)
{
    if (u->epoch != spw_version_epoch) {
        spw_read_check_forget_locked(u);
        *u = (struct spw_read_check){.epoch = spw_version_epoch};
    }
    u->is_relied_on = true;
}

bool spw_read_check_is_relied_on_locked(const struct spw_read_check *u)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    return u->is_relied_on && u->epoch == spw_version_epoch;
}

void spw_read_check_rely_locked(struct spw_recorded_op *recorded_op)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    spw_ticket_release = spw_digest_forget_locked;
    for (unsigned i = 0; i < recorded_op->touch_count; i++)
        if (!recorded_op->touches[i].lent)
            rely(&recorded_op->touches[i].what->unchanged);
}

static struct spw_read_check_of thing_at(CUdeviceptr address)
{
    struct spw_object *o = spw_object_at_locked(address);
    return o->kind == SPW_KIND_BLOCK ? spw_read_check_of_block(spw_block_of(o))
                                     : spw_read_check_of_slot(spw_slab_slot_at_locked((struct spw_slab *)o, address));
}

void spw_read_check_read_locked(const struct spw_recorded_op *recorded_op, struct spw_stream *s)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    for (unsigned i = 0; i < recorded_op->touch_count; i++) {
        const struct spw_recorded_op_touch *t = &recorded_op->touches[i];
        const struct spw_read_check *u = &t->what->unchanged;
        if (t->lent || u->state != SPW_READ_CHECK_OPEN || !spw_read_check_is_relied_on_locked(u))
            continue;
        const struct spw_read_check_of thing = thing_at(t->address);
        (void)spw_read_check_close_locked(&spw_devices[thing.object->device], &thing, s);
    }
}

/* A kept operation has left this content and was not known to write it. It is hashed before another operation can change it
 * back: run again, the first one would write the same. */
static void touch(struct spw_device *d, const struct spw_op *op, const struct spw_read_check_of *t)
{
    struct spw_read_check *u = &t->what->unchanged;
    const uint64_t order = op->recorded_op && !op->recorded_op->is_void ? op->recorded_op->order : 0;
    spw_read_check_settle_locked(d, u);
    if (!u->base && u->state == SPW_READ_CHECK_PASSED) {
        spw_read_check_counts.based_count++;
        if (hash(d, op->stream, t, &u->base) < 0)
            give_up(u);
    }
    if (u->state == SPW_READ_CHECK_OPEN && u->toucher && u->toucher != order)
        (void)spw_read_check_close_locked(d, t, op->stream);
    if (u->state == SPW_READ_CHECK_UNKNOWN)
        return;
    u->state = SPW_READ_CHECK_OPEN;
    u->toucher = order;
    u->readers |= spw_launch_class_bit_of(op->function);
}

void spw_read_check_touch_locked(const struct spw_op *op, uint64_t clock)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    struct spw_device *d = op->function && !op->everything ? spw_device_of_stream_locked(op->stream) : NULL;
    for (unsigned i = 0; d && i < op->count - op->read_only; i++) {
        const struct spw_versioned *v = spw_op_believes_hit(op, i) ? spw_versioned_at_locked(op->hits[i], NULL) : NULL;
        if (!v || !spw_read_check_is_relied_on_locked(&v->unchanged) || v->version > clock)
            continue;
        const struct spw_read_check_of t = thing_at(op->hits[i]);
        if (t.object->device == d->ordinal)
            touch(d, op, &t);
        else
            give_up(&t.what->unchanged);
    }
}

/* ---- in place ---- */

bool spw_read_check_pass_on_locked(const struct spw_op *op, struct spw_recorded_op_touch *t)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    struct spw_device *d = &spw_devices[t->block->object.device];
    struct spw_read_check *u = &t->what->unchanged;
    const struct spw_read_check_of thing = spw_read_check_of_block(t->block);
    spw_read_check_settle_locked(d, u);
    if (u->state == SPW_READ_CHECK_OPEN)
        (void)spw_read_check_close_locked(d, &thing, op->stream);
    if (u->state == SPW_READ_CHECK_PENDING) {
        t->since = *u;
        u->base = u->check = 0;
    }
    return u->state != SPW_READ_CHECK_UNKNOWN;
}

void spw_read_check_forget_locked(struct spw_read_check *u)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    forget(&u->base);
    forget(&u->check);
}

void spw_read_check_renew_locked(struct spw_block *b)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    struct spw_read_check *u = &b->content.unchanged;
    forget(&u->base);
    forget(&u->check);
    if (u->state != SPW_READ_CHECK_UNKNOWN)
        u->state = SPW_READ_CHECK_PASSED;
}

void spw_read_check_reset(void)
{
    spw_read_check_counts = (struct spw_read_check_counts){0};
    spw_ticket_release = NULL;
}
