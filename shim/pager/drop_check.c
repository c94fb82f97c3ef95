/* drop_check.c - goes through everything that a block is made from. */
#include "drop_check.h"

#include <errno.h>

#include "lock.h"
#include "clean_check.h"
#include "rebuild.h"
#include "read_check.h"

enum { MOST_MAKERS = 64 };

/* ---- one thing ---- */

/* Submits the check after all uses of the block, as one more use. */
static int check_block(struct spw_device *d, struct spw_block *b)
{
    const struct spw_read_check_of t = spw_read_check_of_block(b);
    struct spw_stream *s = NULL;
    if (b->object.attention & SPW_ABSENT || spw_clean_check_reader_locked(d, b, &s) < 0)
        s = NULL;
    const int r = spw_read_check_close_locked(d, &t, s);
    if (r == 0)
        spw_clean_check_read_locked(b, s);
    return r;
}

/* No stream of ours is ordered after the users of a slab, so this takes a stream of the program. */
static int check_slot(struct spw_device *d, struct spw_slot *slot)
{
    const struct spw_read_check_of t = spw_read_check_of_slot(slot);
    struct spw_stream *s = spw_clean_check_only_user_locked(d, &slot->slab->object.uses);
    const int r = spw_read_check_close_locked(d, &t, s);
    if (r == 0)
        spw_uses_add_locked(&slot->slab->object.uses, s, s->begun);
    return r;
}

/* Checks a block or a slot. Returns 0 if it is shown to be unchanged, or a question is under way. */
static int check(struct spw_device *d, struct spw_read_check *u, struct spw_block *b, struct spw_slot *slot)
{
    spw_read_check_settle_locked(d, u);
    if (u->state == SPW_READ_CHECK_OPEN)
        return b ? check_block(d, b) : check_slot(d, slot);
    return u->state == SPW_READ_CHECK_UNKNOWN ? -ESTALE : 0;
}

void spw_drop_check_leaving_locked(struct spw_device *d, struct spw_block *b)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    if (spw_read_check_is_relied_on_locked(&b->content.unchanged))
        (void)check(d, &b->content.unchanged, b, NULL);
}

/* ---- all that something is made of ---- */

struct walk { /* the makers of the block, and of dropped blocks that it is made from */
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

/* What is done with each part. `check` gets a block, or a slot, or neither: then the read check is of something that one of
 * the makers wrote to, from before it did. `op` is called with each of the makers. */
struct each {
    int (*check)(struct spw_device *d, struct spw_read_check *u, struct spw_block *b, struct spw_slot *slot,
                 struct spw_block *leaving);
    int (*op)(struct spw_recorded_op *op, struct spw_block *leaving);
};

static int each_touch(struct spw_device *d, struct spw_recorded_op_touch *t, const struct each *each,
                      struct spw_block *leaving)
{
    struct spw_slot *slot = t->block || t->lent ? NULL : spw_touched_slot_locked(t);
    const int r = t->since.state != SPW_READ_CHECK_PASSED ? each->check(d, &t->since, NULL, NULL, leaving) : 0;
    return r == 0 && slot ? each->check(d, &slot->content.unchanged, NULL, slot, leaving) : r;
}

static int each_part(struct spw_device *d, struct walk *w, const struct spw_rebuild *r, const struct each *each,
                     struct spw_block *leaving)
{
    int e = spw_rebuild_is_good(r) ? 0 : -ESTALE;
    for (unsigned i = 0; i < r->part_count && e == 0; i++) {
        struct spw_block *b = spw_touched_block_locked(r->parts[i].touch);
        if (!b || b->content.version != r->parts[i].version)
            return -ESTALE;
        const bool is_dropped = b->object.attention & SPW_DROPPED;
        e = is_dropped && !r->parts[i].writers ? add_maker(w, b->content.maker)
                                               : each->check(d, &b->content.unchanged, b, NULL, leaving);
    }
    for (unsigned i = 0; i < r->op_count && e == 0; i++) {
        e = each->op(r->ops[i], leaving);
        for (unsigned k = 0; k < r->ops[i]->touch_count && e == 0; k++)
            e = each_touch(d, &r->ops[i]->touches[k], each, leaving);
    }
    return e;
}

static int for_each(struct spw_device *d, struct spw_block *leaving, const struct each *each)
{
    struct walk w = {.count = 0};
    struct spw_rebuild rebuild;
    int r = add_maker(&w, leaving->content.maker);
    for (unsigned i = 0; i < w.count && r == 0; i++)
        r = spw_rebuild_find(w.makers[i], &rebuild) ? each_part(d, &w, &rebuild, each, leaving) : -ESTALE;
    return r;
}

/* Makes the eviction wait for the answer. */
static void await(struct spw_block *leaving, uint32_t stream, uint64_t number)
{
    struct spw_uses answer = {0};
    spw_uses_add_locked(&answer, spw_stream_by_id_locked(stream), number);
    spw_uses_merge_locked(&leaving->object.uses, &answer); /* the question may be older than the block's last use */
}

static int ask(struct spw_device *d, struct spw_read_check *u, struct spw_block *b, struct spw_slot *slot,
               struct spw_block *leaving)
{
    if (b || slot ? check(d, u, b, slot) < 0 : u->state == SPW_READ_CHECK_UNKNOWN)
        return -ESTALE;
    if (u->state == SPW_READ_CHECK_PENDING)
        await(leaving, u->stream, spw_stream_by_id_locked(u->stream)->begun);
    return 0;
}

static int ask_of(struct spw_recorded_op *op, struct spw_block *leaving)
{
    const enum spw_saved_state state = spw_recorded_op_variables_locked(op);
    if (state == SPW_SAVED_SEARCHED)
        await(leaving, op->variables.stream, op->variables.number);
    return state == SPW_SAVED_PLAIN || state == SPW_SAVED_SEARCHED ? 0 : -ESTALE;
}

int spw_drop_check_request_locked(struct spw_device *d, struct spw_block *b)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    static const struct each request = {ask, ask_of};
    return for_each(d, b, &request);
}

static int is_shown(struct spw_device *d, struct spw_read_check *u, struct spw_block *b, struct spw_slot *slot,
                    struct spw_block *leaving)
{
    (void)b;
    (void)slot;
    (void)leaving;
    spw_read_check_settle_locked(d, u);
    return u->state == SPW_READ_CHECK_PASSED ? 0 : -ESTALE;
}

static int is_shown_of(struct spw_recorded_op *op, struct spw_block *leaving)
{
    (void)leaving;
    return spw_recorded_op_variables_locked(op) == SPW_SAVED_PLAIN ? 0 : -ESTALE;
}

bool spw_drop_check_passed_locked(struct spw_device *d, struct spw_block *b)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    static const struct each passed = {is_shown, is_shown_of};
    return for_each(d, b, &passed) == 0;
}
