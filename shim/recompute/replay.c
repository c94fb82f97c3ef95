/* replay.c - makes dropped blocks again: finds what that takes and in which order, and rescues what depends on a block. */
#include "replay.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "grow.h"
#include "residency.h"
#include "transfers.h"
#include "op.h"
#include "log.h"
#include "mover.h"
#include "replay_op.h"
#include "reclaim.h"

/* ---- what it takes ---- */

struct chain {               /* the blocks to be made, in order; the last is the one that is wanted */
    struct spw_block **list; /* each has its place in `chain`; a block that is not made yet is needed by others that are not,
                                so it stays, whatever the program frees */
    uint32_t *last;          /* by place: the place of the last block that is made from this one */
    uint32_t count, room;
};

static int chain_add(struct chain *c, struct spw_block *b)
{
    if (b->chain)
        return 0;
    if (SPW_GROW(c->list, c->room, c->count + 1) < 0)
        return -ENOMEM;
    c->list[c->count++] = b;
    b->chain = c->count;
    return 0;
}

static int by_version(const void *a, const void *b)
{
    const struct spw_block *x = *(struct spw_block *const *)a, *y = *(struct spw_block *const *)b;
    return x->content.version < y->content.version ? -1 : x->content.version > y->content.version;
}

/* A block that is read has a smaller version than what is made from it, so this is an order in which they can be made. */
static void chain_sort(struct chain *c)
{
    if (c->count)
        qsort(c->list, c->count, sizeof(struct spw_block *), by_version);
    for (uint32_t i = 0; i < c->count; i++)
        c->list[i]->chain = i + 1;
}

/* Returns the dropped block that this part reads only; NULL: it needs none made. */
static struct spw_block *dropped_input(const struct spw_rebuild_part *p)
{
    struct spw_block *b = p->writers ? NULL : spw_touched_block_locked(p->touch);
    return b && b->object.attention & SPW_DROPPED ? b : NULL;
}

/* True if another output of the same operation is made earlier. */
static bool made_before(const struct spw_block *b)
{
    const struct spw_recorded_op *m = b->content.maker;
    for (unsigned k = 0; k < m->touch_count; k++) {
        const struct spw_recorded_op_touch *t = &m->touches[k];
        const struct spw_block *other = spw_touch_writes(t) ? spw_touched_block_locked(t) : NULL;
        if (other && other->chain && other->chain < b->chain && other->content.maker == m)
            return true;
    }
    return false;
}

static int chain_find_last(struct chain *c)
{
    struct spw_rebuild rebuild;
    c->last = calloc((size_t)c->count + 1, sizeof(*c->last));
    if (!c->last)
        return -ENOMEM;
    for (uint32_t i = 0; i < c->count; i++) {
        if (made_before(c->list[i]) || !spw_rebuild_find(c->list[i]->content.maker, &rebuild))
            continue;
        for (unsigned k = 0; k < rebuild.part_count; k++) {
            const struct spw_block *input = dropped_input(&rebuild.parts[k]);
            if (input)
                c->last[input->chain - 1] = i;
        }
    }
    return 0;
}

/* Keeps a block that is about to be dropped and that something is made from: room that is made on the way could drop it. */
static void keep_input(struct spw_device *d, const struct spw_rebuild_part *p)
{
    struct spw_block *b = p->writers ? NULL : spw_touched_block_locked(p->touch);
    if (b && b->drops && !(b->object.attention & SPW_DROPPED))
        spw_transfer_cancel_locked(d, b);
}

static int chain_add_inputs(struct spw_device *d, struct chain *c, struct spw_block *b)
{
    struct spw_rebuild rebuild;
    int r = spw_rebuild_find(b->content.maker, &rebuild) ? 0 : -ESTALE;
    for (unsigned k = 0; r == 0 && k < rebuild.part_count; k++) {
        keep_input(d, &rebuild.parts[k]);
        struct spw_block *input = dropped_input(&rebuild.parts[k]);
        r = input ? chain_add(c, input) : 0;
    }
    return r;
}

/* Adds to the list the dropped blocks that its blocks are made from, and sorts it. */
static int chain_complete(struct spw_device *d, struct chain *c)
{
    for (uint32_t i = 0; i < c->count; i++) {
        const int r = chain_add_inputs(d, c, c->list[i]);
        if (r < 0)
            return r;
    }
    chain_sort(c);
    return chain_find_last(c);
}

/* Takes the blocks from `place` on off the chain; the earlier ones that something later is made from, too. */
static void chain_finish(struct chain *c, uint32_t place)
{
    for (uint32_t i = 0; i < c->count; i++)
        if (i >= place || (c->last && c->last[i] >= place))
            c->list[i]->chain = 0;
    free(c->list);
    free(c->last);
}

/* ---- in order ---- */

/* Takes the blocks that nothing later is made from off the chain. Lists the retained blocks among them, which nobody else
 * uses and which can be dropped again once nobody holds them, and returns how many. */
static uint32_t take_served(struct chain *c, uint32_t place, struct spw_block **ret_ghosts)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < place; i++) {
        struct spw_block *b = c->list[i];
        if (c->last[i] != place || !b->chain)
            continue;
        b->chain = 0;
        if (b->object.attention & SPW_RETAINED && (b->content.needed || b->expected))
            ret_ghosts[count++] = b;
    }
    return count;
}

/* Makes the block at this place, unless it was made along with another. */
static int make_step_unlocking(struct spw_device *d, struct chain *c, uint32_t place, struct spw_stream *s,
                               struct spw_block **ghosts)
{
    struct spw_replay_op run;
    if (!(c->list[place]->object.attention & SPW_DROPPED))
        return 0;
    int r = spw_replay_op_begin(&run, c->list[place]->content.maker);
    if (r == 0)
        r = spw_replay_op_run_unlocking(&run, d, s);
    const uint32_t count = r == 0 ? take_served(c, place, ghosts) : 0;
    spw_replay_op_end_locked(&run);
    for (uint32_t i = 0; i < count && d->making == 1; i++)
        (void)spw_transfer_drop_locked(d, ghosts[i]);
    return r;
}

static int make_chain_unlocking(struct spw_device *d, struct chain *c, struct spw_stream *s, enum spw_replay_reason reason)
{
    uint32_t place = 0;
    int r = chain_complete(d, c);
    struct spw_block **ghosts = r == 0 ? calloc((size_t)c->count + 1, sizeof(*ghosts)) : NULL;
    if (r == 0 && !ghosts)
        r = -ENOMEM;
    for (; r == 0 && place < c->count; place++) {
        const size_t bytes = spw_block_mapped_bytes(d, c->list[place]);
        r = make_step_unlocking(d, c, place, s, ghosts);
        if (r < 0)
            break;
        spw_replayed.count[reason]++;
        spw_replayed.bytes[reason] += bytes;
    }
    chain_finish(c, place);
    free(ghosts);
    spw_replayed.failed_count += r < 0;
    return r;
}

static int make_unlocking(struct spw_device *d, struct spw_block *b, struct spw_stream *s, enum spw_replay_reason reason)
{
    struct chain chain = {0};
    b->holds++;
    d->making++;
    int r = chain_add(&chain, b);
    if (r == 0)
        r = make_chain_unlocking(d, &chain, s, reason);
    d->making--;
    b->chain = 0;
    spw_release_hold_locked(d, b);
    return r;
}

int spw_replay_make_unlocking(struct spw_device *d, struct spw_block *b, struct spw_stream *s)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    return make_unlocking(d, b, s, SPW_REPLAY_DEMAND);
}

/* ---- what a plan says ---- */

/* Returns the first output that is dropped and that this operation is to make; NULL: none is. Outputs that were evicted
 * with a copy, or are about to be, are brought in or stay. */
static struct spw_block *wanted_output(struct spw_device *d, const struct spw_recorded_op *recorded_op)
{
    struct spw_block *wanted = NULL;
    for (unsigned i = 0; i < recorded_op->touch_count; i++) {
        struct spw_block *b =
            spw_touch_writes(&recorded_op->touches[i]) ? spw_touched_block_locked(&recorded_op->touches[i]) : NULL;
        if (!b || b->doomed)
            continue;
        if (!(b->object.attention & SPW_DROPPED))
            (void)spw_transfer_prefetch_locked(d, b);
        else if (b->content.maker == recorded_op && !wanted)
            wanted = b;
    }
    return wanted;
}

/* Lets outputs leave that are being dropped with a copy for comparison, however long the copy takes: if they stayed,
 * nothing would be compared, and they would be copied again each time. */
static int see_compared_off_unlocking(struct spw_device *d, const struct spw_recorded_op *recorded_op, bool may_wait)
{
    int r = 0;
    for (unsigned i = 0; i < recorded_op->touch_count && r == 0; i++) {
        struct spw_block *b =
            spw_touch_writes(&recorded_op->touches[i]) ? spw_touched_block_locked(&recorded_op->touches[i]) : NULL;
        if (b && b->check && b->drops && !(b->object.attention & SPW_DROPPED))
            r = may_wait ? spw_transfer_wait_for_unlocking(d, b) : -EAGAIN;
    }
    return r;
}

static uint64_t lacking_bytes(const struct spw_device *d, const struct spw_rebuild *rebuild)
{
    uint64_t bytes = 0;
    for (unsigned i = 0; i < rebuild->part_count; i++) {
        const struct spw_block *b = spw_touched_block_locked(rebuild->parts[i].touch);
        if (b && b->object.attention & SPW_ABSENT)
            bytes += spw_block_lacking_bytes(d, b);
    }
    return bytes;
}

/* Makes room without waiting for anybody. */
static bool has_room(struct spw_device *d, uint64_t bytes)
{
    spw_retained_all_sweep_locked(d);
    (void)spw_transfer_reap_locked(d);
    return spw_cached_blocks_make_locked(d, bytes);
}

int spw_replay_operation_unlocking(struct spw_device *d, struct spw_recorded_op *recorded_op, struct spw_stream *s,
                                   bool may_wait)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    struct spw_rebuild rebuild;
    int r = see_compared_off_unlocking(d, recorded_op, may_wait);
    struct spw_block *b = r == 0 ? wanted_output(d, recorded_op) : NULL;
    if (!b || !spw_rebuild_find(recorded_op, &rebuild))
        return r;
    const uint64_t bytes = lacking_bytes(d, &rebuild);
    s = spw_replay_op_beside_locked(d, recorded_op, s);
    if (!may_wait && !has_room(d, bytes))
        return -EAGAIN;
    b->holds++;
    r = spw_reclaim_make_of_idle_unlocking(d, bytes);
    if (r > 0)
        r = b->object.attention & SPW_DROPPED ? make_unlocking(d, b, s, SPW_REPLAY_PLAN) : 0;
    else
        spw_replayed.postponed_count += r == 0;
    spw_release_hold_locked(d, b);
    return r;
}

/* ---- rescue ---- */

static bool depends_on(const struct spw_block *b, const struct spw_versioned *what)
{
    struct spw_rebuild rebuild;
    return &b->content != what && (!spw_rebuild_find(b->content.maker, &rebuild) || spw_rebuild_touches(&rebuild, what));
}

/* True for a retained block that nothing is to be made from as things are. What could be needs this one, which can be made
 * only as long as what it is made from is unchanged. */
static bool is_idle_ghost(const struct spw_block *b)
{
    const uint32_t ghost = SPW_FREE | SPW_RETAINED;
    return (b->object.attention & ghost) == ghost && b->content.needed == b->beside;
}

/* Returns the one with the smallest version, so that nothing that is made on the way is dropped again and met once more. */
static struct spw_block *next_to_rescue(const struct spw_device *d, const struct spw_versioned *what)
{
    struct spw_block *next = NULL;
    for (uint32_t i = 0; i < d->block_count; i++) {
        struct spw_block *b = d->blocks[i];
        if (b->drops && (!what || depends_on(b, what)) && !is_idle_ghost(b) &&
            (!next || b->content.version < next->content.version))
            next = b;
    }
    return next;
}

static void say_what_is_lost(const struct spw_device *d, const struct spw_block *b, const struct spw_versioned *what, int r)
{
    static struct spw_log_threshold told;
    char of[64] = "all that is kept for that";
    for (unsigned i = 0; what && i < b->content.maker->touch_count; i++)
        if (b->content.maker->touches[i].what == what)
            (void)snprintf(of, sizeof(of), "%llu bytes at 0x%llx", (unsigned long long)b->content.maker->touches[i].bytes,
                           (unsigned long long)b->content.maker->touches[i].address);
    spw_warn_of(&told, b->size_bytes,
                "out of memory: %zu bytes at 0x%llx on device %d are to be computed again from %s, and cannot be now (%s); "
                "what would change the latter is refused" SPW_SEE("not-made-ready"),
                b->size_bytes, (unsigned long long)b->address, d->ordinal, of,
                r == -ENOMEM ? "no room" : "the driver refuses");
}

/* Gives up idle retained blocks: they could not be made any more when somebody wants them. */
static void let_idle_ghosts_go(struct spw_device *d, const struct spw_versioned *what)
{
    for (uint32_t i = 0; i < d->block_count; i++) {
        struct spw_block *b = d->blocks[i];
        if (!b->drops || !is_idle_ghost(b) || (what && !depends_on(b, what)))
            continue;
        spw_transfer_forget_locked(d, b);
        spw_dependents_remove_locked(d, b);
        if (b->object.attention & SPW_DROPPED)
            spw_block_become_locked(b, SPW_RESIDENCY_EMPTY);
    }
}

int spw_replay_rescue_unlocking(struct spw_device *d, const struct spw_versioned *what, bool is_known, struct spw_stream *s)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    if (is_known)
        let_idle_ghosts_go(d, what);
    for (struct spw_block *b = next_to_rescue(d, what); b; b = next_to_rescue(d, what)) {
        if (!(b->object.attention & SPW_DROPPED)) {
            spw_transfer_forget_locked(d, b); /* it was being dropped */
            if (b->drops)
                return -EBUSY;
            continue;
        }
        const int r = make_unlocking(d, b, s, SPW_REPLAY_RESCUE);
        if (r < 0) {
            say_what_is_lost(d, b, what, r);
            return r;
        }
    }
    return 0;
}

void spw_replay_reset(void)
{
    memset(&spw_replayed, 0, sizeof(spw_replayed));
}
