/* dependents.c - decides whether a block can be dropped, counts what is needed, and lists retained blocks that are not. */
#include "dependents.h"

#include "lock.h"
#include "rebuild.h"
#include "rematerialiser.h"
#include "seek.h"

/* ---- dropping ---- */

/* True if the block has bytes, on the device or on the host, or they can be made. A block that was never written has
 * none. */
static bool has_bytes(const struct spw_block *b)
{
    return !(b->object.attention & SPW_EMPTY) &&
           (b->object.attention & SPW_ABSENT || spw_object_dirty(&b->object) || b->host_copy_valid);
}

static bool block_is_usable(const struct spw_device *d, const struct spw_rebuild_part *p)
{
    const struct spw_block *b = spw_touched_block_locked(p->touch);
    return b && !b->doomed && !b->pinned && b->object.device == d->ordinal && b->content.version == p->version &&
           (p->writers || has_bytes(b));
}

static bool slot_is_usable(const struct spw_device *d, const struct spw_recorded_op_touch *t)
{
    const struct spw_slot *slot = spw_touched_slot_locked(t);
    if (!slot || slot->slab->pinned || slot->slab->object.device != d->ordinal)
        return false;
    return t->lent ? !spw_touch_reads(t) || t->saved : slot->content.version == t->before;
}

static bool all_is_usable(const struct spw_device *d, const struct spw_rebuild *r)
{
    for (unsigned i = 0; i < r->part_count; i++)
        if (!block_is_usable(d, &r->parts[i]))
            return false;
    for (unsigned i = 0; i < r->op_count; i++)
        for (unsigned k = 0; k < r->ops[i]->touch_count; k++)
            if (!r->ops[i]->touches[k].block && !slot_is_usable(d, &r->ops[i]->touches[k]))
                return false;
    return true;
}

bool spw_dependents_can_drop_locked(struct spw_device *d, const struct spw_block *b)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    struct spw_recorded_op *m = b->content.maker;
    struct spw_rebuild rebuild;
    if (!m || b->object.attention & SPW_ABSENT || b->pinned || !has_bytes(b) || spw_seek_forbids_drops_locked() ||
        !spw_rebuild_find(m, &rebuild) || !spw_rebuild_is_good(&rebuild))
        return false;
    const struct spw_rebuild_part *own = spw_rebuild_part_of(&rebuild, &b->content);
    return own && own->writers && all_is_usable(d, &rebuild);
}

/* ---- counts ---- */

static void look_at_slot(struct spw_device *d, struct spw_slot *slot)
{
    if (!slot->kept || slot->content.needed || slot->lent)
        return;
    slot->kept = false;
    spw_slab_give_locked(d, slot, NULL);
}

static void count_slots(struct spw_device *d, const struct spw_recorded_op *m, int32_t step)
{
    for (unsigned i = 0; i < m->touch_count; i++) {
        const struct spw_recorded_op_touch *t = &m->touches[i];
        struct spw_slot *slot = spw_touched_slot_locked(t);
        if (!slot)
            continue;
        *(t->lent ? &slot->lent : &slot->content.needed) += (uint32_t)step;
        look_at_slot(d, slot);
    }
}

static void count(struct spw_device *d, const struct spw_block *b, int32_t step)
{
    struct spw_rebuild rebuild;
    if (!spw_rebuild_find(b->content.maker, &rebuild))
        return; /* cannot happen: the block would not have been dropped */
    for (unsigned i = 0; i < rebuild.part_count; i++) {
        struct spw_block *other = spw_touched_block_locked(rebuild.parts[i].touch);
        if (!other || other == b)
            continue;
        other->content.needed += (uint32_t)step;
        other->beside += rebuild.parts[i].writers ? (uint32_t)step : 0;
        spw_retained_look_locked(d, other);
    }
    for (unsigned i = 0; i < rebuild.op_count; i++)
        count_slots(d, rebuild.ops[i], step);
}

void spw_dependents_add_locked(struct spw_device *d, struct spw_block *b)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    if (b->drops)
        return;
    b->drops = true;
    d->dropping++;
    count(d, b, 1);
}

void spw_dependents_remove_locked(struct spw_device *d, struct spw_block *b)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    if (!b->drops)
        return;
    b->drops = false;
    d->dropping--;
    count(d, b, -1);
    if (spw_rematerialiser)
        spw_rematerialiser->not_dropped(b);
}

/* ---- retained blocks ---- */

bool spw_retained_is_idle_locked(const struct spw_block *b)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    const uint32_t ghost = SPW_FREE | SPW_RETAINED;
    return (b->object.attention & ghost) == ghost && !b->expected && b->content.needed == b->beside &&
           (!b->content.needed || b->drops);
}

void spw_retained_look_locked(struct spw_device *d, struct spw_block *b)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    if (b->idle || !spw_retained_is_idle_locked(b))
        return;
    b->idle = true;
    b->next_idle = d->idle_retained;
    d->idle_retained = b;
}
