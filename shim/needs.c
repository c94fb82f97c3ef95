/* needs.c - whether a block can be dropped, the counts of what is needed, and the ghosts that live by them. */
#include "needs.h"

#include "carry.h"
#include "room.h"
#include "verify.h"

/* ---- whom an operation touched ---- */

struct spw_block *spw_touched_block_locked(const struct spw_rerun_touch *t)
{
    struct spw_object *o = t->block ? spw_object_at_locked(t->address) : NULL;
    if (!o || o->kind != SPW_KIND_BLOCK || spw_object_is_cached(o))
        return NULL;
    struct spw_block *b = spw_block_of(o);
    return b->address == t->address && b->serial == t->serial ? b : NULL;
}

struct spw_slot *spw_touched_slot_locked(const struct spw_rerun_touch *t)
{
    struct spw_object *o = t->block ? NULL : spw_object_at_locked(t->address);
    if (!o || o->kind != SPW_KIND_SLAB)
        return NULL;
    struct spw_slab *slab = (struct spw_slab *)o;
    const uint64_t i = (t->address - slab->backing->address) / slab->slot_bytes;
    if (i >= slab->slot_count || slab->slots[i].serial != t->serial)
        return NULL;
    return slab->slots[i].size_bytes || slab->slots[i].kept ? &slab->slots[i] : NULL;
}

static const struct spw_rerun_touch *touch_of(const struct spw_rerun *m, const struct spw_block *b)
{
    for (unsigned i = 0; i < m->touch_count; i++)
        if (m->touches[i].block && m->touches[i].address == b->address && m->touches[i].serial == b->serial)
            return &m->touches[i];
    return NULL;
}

/* ---- dropping ---- */

/* There are bytes, here or on the host, or they can be made: those of a block that was never written are just any. */
static bool has_bytes(const struct spw_block *b)
{
    return !(b->object.attention & SPW_EMPTY) &&
           (b->object.attention & SPW_ABSENT || spw_object_dirty(&b->object) || b->host_copy_valid);
}

static bool block_is_usable(const struct spw_device *d, const struct spw_rerun_touch *t)
{
    const struct spw_block *b = spw_touched_block_locked(t);
    if (!b || b->doomed || b->pinned || b->object.device != d->ordinal)
        return false;
    if (spw_touch_writes(t))
        return b->content.version == t->after && (spw_touch_makes(t) || (!spw_touch_reads(t) && has_bytes(b)));
    return b->content.version == t->before && has_bytes(b);
}

static bool slot_is_usable(const struct spw_device *d, const struct spw_rerun_touch *t)
{
    const struct spw_slot *slot = spw_touched_slot_locked(t);
    if (!slot || slot->slab->pinned || slot->slab->object.device != d->ordinal)
        return false;
    if (!spw_touch_writes(t))
        return slot->content.version == t->before;
    return !spw_touch_reads(t) || t->saved;
}

bool spw_replay_can_drop_locked(struct spw_device *d, const struct spw_block *b)
{
    const struct spw_rerun *m = b->content.maker;
    if (!m || b->object.attention & SPW_ABSENT || b->pinned || !has_bytes(b) || !spw_rerun_is_good(m))
        return false;
    const struct spw_rerun_touch *own = touch_of(m, b);
    if (!own || !spw_touch_makes(own) || own->after != b->content.version)
        return false;
    for (unsigned i = 0; i < m->touch_count; i++) {
        const struct spw_rerun_touch *t = &m->touches[i];
        if (t != own && !(t->block ? block_is_usable(d, t) : slot_is_usable(d, t)))
            return false;
    }
    return true;
}

/* ---- counts ---- */

static void look_at_slot(struct spw_device *d, struct spw_slot *slot)
{
    if (!slot->kept || slot->content.needed || slot->lent)
        return;
    slot->kept = false;
    spw_slab_give_locked(d, slot, NULL, false);
}

static void count(struct spw_device *d, const struct spw_block *b, int32_t step)
{
    const struct spw_rerun *m = b->content.maker;
    for (unsigned i = 0; i < m->touch_count; i++) {
        const struct spw_rerun_touch *t = &m->touches[i];
        struct spw_block *other = spw_touched_block_locked(t);
        struct spw_slot *slot = spw_touched_slot_locked(t);
        if (other && other != b) {
            other->content.needed += (uint32_t)step;
            other->beside += spw_touch_makes(t) ? (uint32_t)step : 0;
            spw_ghost_look_locked(d, other);
        } else if (slot) {
            *(spw_touch_writes(t) ? &slot->lent : &slot->content.needed) += (uint32_t)step;
            look_at_slot(d, slot);
        }
    }
}

void spw_needs_add_locked(struct spw_device *d, struct spw_block *b)
{
    if (b->drops)
        return;
    b->drops = true;
    d->dropping++;
    count(d, b, 1);
}

void spw_needs_remove_locked(struct spw_device *d, struct spw_block *b)
{
    if (!b->drops)
        return;
    b->drops = false;
    d->dropping--;
    count(d, b, -1);
    if (b->check && !(b->object.attention & SPW_UNVERIFIED))
        spw_verify_forget_locked(b);
}

/* ---- ghosts ---- */

bool spw_ghost_wanted_locked(struct spw_device *d, struct spw_block *b, bool planned)
{
    (void)d;
    if (b->content.needed || planned) {
        b->object.attention |= SPW_GHOST;
        return true;
    }
    if (!b->drops && b->content.maker) {
        spw_rerun_let_go(b->content.maker);
        b->content = (struct spw_versioned){0};
    }
    return false;
}

bool spw_ghost_keep_locked(struct spw_device *d, struct spw_block *b)
{
    const bool is_ghost = b->content.needed || b->object.attention & SPW_GHOST;
    if (!is_ghost || !(b->object.attention & SPW_EVICTING))
        spw_carry_forget_locked(d, b);
    if (!is_ghost || !(b->object.attention & (SPW_EVICTING | SPW_DROPPED)))
        spw_needs_remove_locked(d, b);
    if (is_ghost) {
        b->object.attention |= SPW_FREE | SPW_GHOST;
        spw_ghost_look_locked(d, b);
        return true;
    }
    if (b->object.attention & SPW_DROPPED)
        b->object.attention ^= SPW_DROPPED | SPW_EMPTY;
    spw_rerun_let_go(b->content.maker);
    b->content = (struct spw_versioned){0};
    return false;
}

/* Nobody wants its bytes: neither a plan nor what is made of them. Two that one operation writes may need each other's
 * addresses without being wanted themselves. */
static bool is_idle(const struct spw_block *b)
{
    const uint32_t ghost = SPW_FREE | SPW_GHOST;
    return (b->object.attention & ghost) == ghost && !b->expected && b->content.needed == b->beside &&
           (!b->content.needed || b->drops);
}

void spw_ghost_look_locked(struct spw_device *d, struct spw_block *b)
{
    if (b->idle || !is_idle(b))
        return;
    b->idle = true;
    b->next_idle = d->idle_ghosts;
    d->idle_ghosts = b;
}

static void end_ghost(struct spw_device *d, struct spw_block *b)
{
    if (b->content.needed) { /* its address is */
        spw_carry_forget_locked(d, b);
        spw_needs_remove_locked(d, b);
        if (b->object.attention & SPW_DROPPED)
            b->object.attention ^= SPW_DROPPED | SPW_EMPTY;
        return;
    }
    b->object.attention &= ~(uint32_t)(SPW_FREE | SPW_GHOST);
    spw_room_retire_block_locked(d, b); /* what that was made of may be idle now */
}

void spw_ghosts_sweep_locked(struct spw_device *d)
{
    struct spw_block *held = NULL;
    while (d->idle_ghosts) {
        struct spw_block *b = d->idle_ghosts;
        d->idle_ghosts = b->next_idle;
        if (is_idle(b) && (b->holds || b->chain)) {
            b->next_idle = held;
            held = b;
            continue;
        }
        b->idle = false;
        if (is_idle(b))
            end_ghost(d, b);
    }
    d->idle_ghosts = held;
}

void spw_ghosts_context_gone_locked(CUcontext context)
{
    for (int k = 0; k < SPW_MAX_DEVICES; k++) {
        struct spw_device *d = &spw_devices[k];
        for (uint32_t i = 0; d->ready && i < d->block_count; i++) {
            struct spw_block *b = d->blocks[i];
            if (b->context != context || !(b->object.attention & SPW_GHOST))
                continue;
            b->expected = 0;
            spw_ghost_look_locked(d, b);
        }
        if (d->ready)
            spw_ghosts_sweep_locked(d);
    }
}
