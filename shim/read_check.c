/* read_check.c - the two digests of what is believed to be only read, and all that something is made of. */
#include "read_check.h"

#include <errno.h>

#include "devices.h"
#include "digest.h"
#include "dependents.h"
#include "op.h"
#include "clean_check.h"
#include "rebuild.h"
#include "settings.h"
#include "slab.h"

enum { MOST_MAKERS = 64 };

struct spw_read_check_counts spw_read_check_counts;

/* Something with a version, where it lies. */
struct thing {
    struct spw_versioned *what;
    struct spw_object *object;
    CUdeviceptr address;
    size_t bytes;
};

static struct thing of_block(struct spw_block *b)
{
    return (struct thing){&b->content, &b->object, b->address, b->size_bytes};
}

static struct thing of_slot(struct spw_slot *slot)
{
    return (struct thing){&slot->content, &slot->slab->object, spw_slot_address(slot), slot->size_bytes};
}

/* ---- digests ---- */

static void forget(uint32_t *ticket)
{
    if (*ticket)
        spw_digest_forget_locked(*ticket);
    *ticket = 0;
}

static size_t step_of(size_t bytes)
{
    const size_t step = (bytes + SPW_READ_CHECK_WHOLE - 1) / SPW_READ_CHECK_WHOLE;
    return step < SPW_SAMPLE_SHARE ? step : SPW_SAMPLE_SHARE;
}

/* It is sent at once: who knows whether the stream is there when the answer is wanted. */
static int hash(struct spw_device *d, const struct spw_stream *s, const struct thing *t, uint32_t *ret_ticket)
{
    const bool is_whole = t->bytes <= SPW_READ_CHECK_WHOLE || spw_settings_get()->verify_every == 1;
    const struct spw_sample sample = spw_sample_of(t->address, t->bytes, t->what->unchanged.choice, step_of(t->bytes));
    int r = is_whole ? spw_digest_ask_locked(d, s->context, s->handle, t->address, t->bytes, ret_ticket)
                     : spw_digest_sample_alone_locked(d, s->context, s->handle, &sample, ret_ticket);
    if (r < 0) {
        *ret_ticket = 0;
        return r;
    }
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

/* Looks at the answers, where there may be some. */
static void settle(struct spw_device *d, struct spw_read_check *u)
{
    struct spw_hash before, now;
    if (u->state != SPW_READ_CHECK_PENDING)
        return;
    const int was = spw_digest_answer_locked(d, u->base, &before), is = spw_digest_answer_locked(d, u->check, &now);
    if (was == 0 || is == 0)
        return;
    if (was < 0 || is < 0) {
        give_up(u);
    } else if (spw_hash_equal(before, now)) {
        forget(&u->check);
        u->state = SPW_READ_CHECK_PASSED;
        u->readers = 0;
        spw_read_check_counts.shown_count++;
    } else {
        spw_read_check_counts.refuted_count++;
        spw_writesets_refuted_locked(d->ordinal, u->readers);
        give_up(u);
    }
}

/* ---- touches ---- */

/* What operations of an epoch that is over relied on is nobody's any more. */
static void rely(struct spw_read_check *u)
{
    if (u->epoch != spw_version_epoch) {
        spw_read_check_forget_locked(u);
        *u = (struct spw_read_check){.epoch = spw_version_epoch};
    }
    u->is_relied_on = true;
}

static bool is_relied_on(const struct spw_read_check *u)
{
    return u->is_relied_on && u->epoch == spw_version_epoch;
}

void spw_read_check_rely_locked(struct spw_recorded_op *recorded_op)
{
    spw_ticket_release = spw_digest_forget_locked;
    for (unsigned i = 0; i < recorded_op->touch_count; i++)
        if (!recorded_op->touches[i].lent)
            rely(&recorded_op->touches[i].what->unchanged);
}

static void touch(struct spw_device *d, const struct spw_op *op, const struct thing *t)
{
    struct spw_read_check *u = &t->what->unchanged;
    settle(d, u);
    if (!u->base && u->state == SPW_READ_CHECK_PASSED) {
        u->choice = (uint32_t)t->what->version;
        spw_read_check_counts.based_count++;
        if (hash(d, op->stream, t, &u->base) < 0)
            give_up(u);
    }
    if (u->state == SPW_READ_CHECK_UNKNOWN)
        return;
    forget(&u->check);
    u->state = SPW_READ_CHECK_OPEN;
    u->readers |= spw_writeset_bit_of(op->function);
}

void spw_read_check_touch_locked(const struct spw_op *op, uint64_t clock)
{
    struct spw_device *d = op->function && !op->everything ? spw_device_of_stream_locked(op->stream) : NULL;
    for (unsigned i = 0; d && i < op->count - op->read_only; i++) {
        const struct spw_versioned *v = spw_op_believes_hit(op, i) ? spw_versioned_at_locked(op->hits[i], NULL) : NULL;
        if (!v || !is_relied_on(&v->unchanged) || v->version > clock)
            continue;
        struct spw_object *o = spw_object_at_locked(op->hits[i]);
        const struct thing t = o->kind == SPW_KIND_BLOCK
                                   ? of_block(spw_block_of(o))
                                   : of_slot(spw_slab_slot_at_locked((struct spw_slab *)o, op->hits[i]));
        if (o->device == d->ordinal)
            touch(d, op, &t);
        else
            give_up(&t.what->unchanged);
    }
}

/* ---- the second digest ---- */

/* Behind all uses of the thing, of which it is one. */
static int check_block(struct spw_device *d, struct spw_block *b)
{
    const struct thing t = of_block(b);
    struct spw_stream *s;
    const int r = b->object.attention & SPW_ABSENT ? -ESTALE : spw_clean_check_reader_locked(d, b, &s);
    if (r < 0 || hash(d, s, &t, &b->content.unchanged.check) < 0)
        return -ESTALE;
    spw_clean_check_read_locked(d, b, s);
    b->content.unchanged.stream = s->id;
    return 0;
}

/* No stream of ours is ordered behind what uses a slab: it takes one of the program's. */
static int check_slot(struct spw_device *d, struct spw_slot *slot)
{
    const struct thing t = of_slot(slot);
    struct spw_stream *s = spw_clean_check_only_user_locked(d, &slot->slab->object.uses);
    if (!s || hash(d, s, &t, &slot->content.unchanged.check) < 0)
        return -ESTALE;
    spw_uses_add_locked(&slot->slab->object.uses, s, s->begun);
    slot->content.unchanged.stream = s->id;
    return 0;
}

/* 0: it is shown, or asked about. */
static int check(struct spw_device *d, struct spw_block *b, struct spw_slot *slot)
{
    struct spw_read_check *u = b ? &b->content.unchanged : &slot->content.unchanged;
    settle(d, u);
    if (u->state == SPW_READ_CHECK_OPEN) {
        u->state = SPW_READ_CHECK_PENDING;
        if ((b ? check_block(d, b) : check_slot(d, slot)) < 0)
            give_up(u);
    }
    return u->state == SPW_READ_CHECK_UNKNOWN ? -ESTALE : 0;
}

void spw_read_check_leaving_locked(struct spw_device *d, struct spw_block *b)
{
    if (is_relied_on(&b->content.unchanged))
        (void)check(d, b, NULL);
}

/* ---- all that something is made of ---- */

struct walk { /* makers of the block and of those that it is made of and that are dropped themselves */
    struct spw_recorded_op *makers[MOST_MAKERS];
    unsigned count;
};

static int add_maker(struct walk *w, struct spw_recorded_op *maker)
{
    for (unsigned i = 0; i < w->count; i++)
        if (w->makers[i] == maker)
            return 0;
    if (!maker || w->count == MOST_MAKERS)
        return -ESTALE;
    w->makers[w->count++] = maker;
    return 0;
}

/* Of a block, a slot, or neither: then it was of what one of the makers wrote to, before it did. */
typedef int each_fn(struct spw_device *d, struct spw_read_check *u, struct spw_block *b, struct spw_slot *slot,
                    void *context);

static int each_touch(struct spw_device *d, struct spw_recorded_op_touch *t, each_fn *fn, void *context)
{
    struct spw_slot *slot = t->block || t->lent ? NULL : spw_touched_slot_locked(t);
    const int r = t->since.state != SPW_READ_CHECK_PASSED ? fn(d, &t->since, NULL, NULL, context) : 0;
    return r == 0 && slot ? fn(d, &slot->content.unchanged, NULL, slot, context) : r;
}

static int each_part(struct spw_device *d, struct walk *w, const struct spw_rebuild *r, each_fn *fn, void *context)
{
    int e = spw_rebuild_is_good(r) ? 0 : -ESTALE;
    for (unsigned i = 0; i < r->part_count && e == 0; i++) {
        struct spw_block *b = spw_touched_block_locked(r->parts[i].touch);
        if (!b || b->content.version != r->parts[i].version)
            return -ESTALE;
        const bool is_dropped = b->object.attention & SPW_DROPPED;
        e = is_dropped && !r->parts[i].writers ? add_maker(w, b->content.maker)
                                               : fn(d, &b->content.unchanged, b, NULL, context);
    }
    for (unsigned i = 0; i < r->op_count; i++)
        for (unsigned k = 0; k < r->ops[i]->touch_count && e == 0; k++)
            e = each_touch(d, &r->ops[i]->touches[k], fn, context);
    return e;
}

static int for_each(struct spw_device *d, const struct spw_block *b, each_fn *fn, void *context)
{
    struct walk w = {.count = 0};
    struct spw_rebuild rebuild;
    int r = add_maker(&w, b->content.maker);
    for (unsigned i = 0; i < w.count && r == 0; i++)
        r = spw_rebuild_find(w.makers[i], &rebuild) ? each_part(d, &w, &rebuild, fn, context) : -ESTALE;
    return r;
}

/* Who leaves waits for the answer. */
static int ask(struct spw_device *d, struct spw_read_check *u, struct spw_block *b, struct spw_slot *slot, void *context)
{
    struct spw_block *leaving = context;
    struct spw_uses answer = {0};
    if (b || slot ? check(d, b, slot) < 0 : u->state == SPW_READ_CHECK_UNKNOWN)
        return -ESTALE;
    if (u->state == SPW_READ_CHECK_PENDING) {
        struct spw_stream *s = spw_stream_by_id_locked(u->stream);
        spw_uses_add_locked(&answer, s, s->begun);
        spw_uses_merge_locked(&leaving->object.uses, &answer); /* it may have been asked before the block's last use */
    }
    return 0;
}

int spw_read_check_request_locked(struct spw_device *d, struct spw_block *b)
{
    return for_each(d, b, ask, b);
}

static int is_shown(struct spw_device *d, struct spw_read_check *u, struct spw_block *b, struct spw_slot *slot,
                    void *context)
{
    settle(d, u);
    return u->state == SPW_READ_CHECK_PASSED ? 0 : -ESTALE;
}

bool spw_read_check_passed_locked(struct spw_device *d, const struct spw_block *b)
{
    return for_each(d, b, is_shown, NULL) == 0;
}

/* ---- what is written again ---- */

bool spw_read_check_pass_on_locked(const struct spw_op *op, struct spw_recorded_op_touch *t)
{
    struct spw_device *d = &spw_devices[t->block->object.device];
    struct spw_read_check *u = &t->what->unchanged;
    const struct thing thing = of_block(t->block);
    settle(d, u);
    if (u->state == SPW_READ_CHECK_OPEN) {
        u->state = SPW_READ_CHECK_PENDING;
        u->stream = op->stream->id;
        if (hash(d, op->stream, &thing, &u->check) < 0)
            give_up(u);
    }
    if (u->state == SPW_READ_CHECK_PENDING) {
        t->since = *u;
        u->base = u->check = 0;
    }
    return u->state != SPW_READ_CHECK_UNKNOWN;
}

void spw_read_check_forget_locked(struct spw_read_check *u)
{
    forget(&u->base);
    forget(&u->check);
}

void spw_read_check_renew_locked(struct spw_block *b)
{
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
