/* retire.c - decides what becomes of a block that the program has freed and nobody holds. */
#include "retire.h"

#include "lock.h"
#include "clean_check.h"
#include "deferred_unmap.h"
#include "dependents.h"
#include "mover.h"
#include "rematerialiser.h"
#include "residency.h"
#include "transfer_queues.h"

/* ---- apart ---- */

/* Destroys a block without memory. What is still mapped at its address keeps that address, and the host copy. */
static void destroy(struct spw_device *d, struct spw_block *b)
{
    if (b->stale) {
        spw_unmap_inherit_locked(b);
        spw_block_destroy_record_locked(d, b);
        return;
    }
    spw_mover_drop_host_copy_locked(b);
    spw_block_destroy_locked(d, b);
}

int spw_dissolve_block_locked(struct spw_device *d, struct spw_block *b)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    b->host_copy_valid = false;
    int r = spw_mover_detach_locked(d, b);
    if (r < 0)
        return r;
    destroy(d, b);
    return 0;
}

/* For memory that the driver has refused to unmap: makes the block whole again if it can. Returns true if it is resident or
 * has no memory; false if it is stuck, and then nobody is given its address again. */
static bool settle_stuck(struct spw_device *d, struct spw_block *b)
{
    if (!b->memory.count || !(b->object.attention & SPW_ABSENT) || spw_mover_attach_locked(d, b) == 0)
        return true;
    return !b->memory.count;
}

/* ---- retained ---- */

bool spw_retained_wanted_locked(struct spw_device *d, struct spw_block *b, bool planned)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    (void)d;
    if (b->content.needed || planned) {
        b->object.attention |= SPW_RETAINED;
        return true;
    }
    if (!b->drops && b->content.maker)
        spw_version_clear_locked(&b->content);
    return false;
}

bool spw_retained_keep_locked(struct spw_device *d, struct spw_block *b)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    const bool is_ghost = b->content.needed || b->object.attention & SPW_RETAINED;
    if (!is_ghost && b->drops && spw_rematerialiser)
        spw_rematerialiser->unclaimed(b);
    if (!is_ghost || !(b->object.attention & SPW_EVICTING))
        spw_transfer_forget_locked(d, b);
    if (!is_ghost || !(b->object.attention & (SPW_EVICTING | SPW_DROPPED)))
        spw_dependents_remove_locked(d, b);
    if (is_ghost) {
        b->object.attention |= SPW_FREE | SPW_RETAINED;
        spw_retained_look_locked(d, b);
        return true;
    }
    if (b->object.attention & SPW_DROPPED)
        spw_block_become_locked(b, SPW_RESIDENCY_EMPTY);
    spw_version_clear_locked(&b->content);
    return false;
}

/* ---- retired ---- */

void spw_retire_block_locked(struct spw_device *d, struct spw_block *b)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    b->pinned = false;
    if (spw_retained_keep_locked(d, b))
        return;
    spw_clean_check_forget_locked(b);
    if (!settle_stuck(d, b)) {
        b->doomed = true; /* a second free is refused */
        return;
    }
    if (!b->memory.count) {
        destroy(d, b);
        return;
    }
    spw_object_clean(&b->object);
    b->object.attention &= ~(uint32_t)(SPW_COPYING | SPW_FENCED | SPW_LOOKED); /* its uses cover these */
    b->host_copy_valid = false;
    if (b->host_copy && spw_copies_done_locked(d, b))
        spw_mover_drop_host_copy_locked(b);
    spw_block_cache_locked(d, b);
}

void spw_release_hold_locked(struct spw_device *d, struct spw_block *b)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    if (--b->holds == 0 && b->doomed) {
        b->doomed = false;
        spw_block_stay_locked(b);
        spw_retire_block_locked(d, b);
    }
}

/* ---- retained blocks that nobody needs any more ---- */

static void end_ghost(struct spw_device *d, struct spw_block *b)
{
    if (b->content.needed) { /* its address is still needed */
        spw_transfer_forget_locked(d, b);
        spw_dependents_remove_locked(d, b);
        if (b->object.attention & SPW_DROPPED)
            spw_block_become_locked(b, SPW_RESIDENCY_EMPTY);
        return;
    }
    b->object.attention &= ~(uint32_t)(SPW_FREE | SPW_RETAINED);
    spw_retire_block_locked(d, b); /* what it was made from may be idle now */
}

void spw_retained_all_sweep_locked(struct spw_device *d)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    struct spw_block *held = NULL;
    while (d->idle_retained) {
        struct spw_block *b = d->idle_retained;
        d->idle_retained = b->next_idle;
        if (spw_retained_is_idle_locked(b) && (b->holds || b->chain)) {
            b->next_idle = held;
            held = b;
            continue;
        }
        b->idle = false;
        if (spw_retained_is_idle_locked(b))
            end_ghost(d, b);
    }
    d->idle_retained = held;
}

void spw_retained_all_context_gone_locked(CUcontext context)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    for (int k = 0; k < SPW_MAX_DEVICES; k++) {
        struct spw_device *d = &spw_devices[k];
        for (uint32_t i = 0; d->ready && i < d->block_count; i++) {
            struct spw_block *b = d->blocks[i];
            if (b->context == context)
                spw_retained_look_locked(d, b);
        }
        if (d->ready)
            spw_retained_all_sweep_locked(d);
    }
}
