/* deferred_unmap.c - keeps the list of addresses that are still mapped to memory which others own by now, and unmaps
 * them. */
#include "deferred_unmap.h"

#include <errno.h>
#include <stdlib.h>

#include "ask.h"
#include "context.h"
#include "hostpool.h"
#include "lock.h"
#include "copy_streams.h"
#include "host_memory.h"
#include "drop_check.h"
#include "result.h"
#include "uses_wait.h"

struct spw_unmap_counts spw_unmap_counts;
bool spw_unmap_is_due;

/* ---- the list ---- */

static void append(struct spw_deferred_unmaps *list, struct spw_deferred_unmap *s)
{
    *(list->last ? &list->last->next : &list->first) = s;
    list->last = s;
    list->granules += s->memory.granules;
    list->forget = spw_unmap_reset;
}

static void unlink_from(struct spw_deferred_unmaps *list, struct spw_deferred_unmap *s)
{
    struct spw_deferred_unmap *before = NULL;
    for (struct spw_deferred_unmap *at = list->first; at != s; at = at->next)
        before = at;
    *(before ? &before->next : &list->first) = s->next;
    if (list->last == s)
        list->last = before;
    list->granules -= s->memory.granules;
}

static void destroy(struct spw_deferred_unmap *s)
{
    while (s->memory.count)
        (void)spw_memory_remove_last(&s->memory);
    free(s);
}

/* ---- leaving ---- */

static struct spw_deferred_unmap *copy_of(const struct spw_block *b)
{
    struct spw_deferred_unmap *s = calloc(1, sizeof(*s));
    for (uint32_t i = 0; s && i < b->memory.count; i++)
        if (spw_memory_append(&s->memory, spw_memory_piece(&b->memory, i)) < 0) {
            destroy(s);
            return NULL;
        }
    return s;
}

static bool note_aliases(struct spw_device *d, struct spw_deferred_unmap *s)
{
    for (uint32_t i = 0; i < s->memory.count; i++) {
        if (spw_alias_map_add(&d->handles.aliases, spw_memory_piece(&s->memory, i).handle, s) == 0)
            continue;
        while (i-- > 0)
            (void)spw_alias_map_remove(&d->handles.aliases, spw_memory_piece(&s->memory, i).handle, s);
        return false;
    }
    return true;
}

static bool may_become_stale(const struct spw_device *d, const struct spw_block *b)
{
    return d->stale.allowed && !b->stale && b->memory.count;
}

/* Not so if a later owner's operations could not be ordered after the block's users, which takes an event for each, or
 * would be gated or held back like them; nor if the host still has to wait for a digest of the block, or for a copy that is
 * not kept. */
bool spw_unmap_can_defer_locked(struct spw_device *d, struct spw_block *b)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    if (!may_become_stale(d, b) || b->object.uses.everybody || spw_uses_gated_locked(&b->object.uses) || b->proof.leaving ||
        b->proof.copied || b->check ||
        (b->drops && ((b->host_copy && !spw_copies_done_locked(d, b)) || !spw_drop_check_passed_locked(d, b))))
        return false;
    const struct spw_stream *reader = b->proof.reader && !b->spot ? spw_stream_by_id_locked(b->proof.reader) : NULL;
    if ((reader && reader->done < b->proof.read_number) || spw_uses_held_back_locked(&b->object.uses, NULL))
        return false;
    return spw_uses_mark_locked(&b->object.uses) == 0;
}

bool spw_unmap_defer_locked(struct spw_device *d, struct spw_block *b)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    if (!may_become_stale(d, b))
        return false;
    const bool is_early = !spw_uses_done_locked(&b->object.uses);
    if (is_early && !spw_unmap_can_defer_locked(d, b))
        return false;
    struct spw_deferred_unmap *s = copy_of(b);
    if (!s || !note_aliases(d, s)) {
        if (s)
            destroy(s);
        return false;
    }
    s->address = b->address;
    s->uses = b->object.uses;
    s->block = b;
    s->first = b->first;
    s->granules = b->granules;
    append(&d->stale, s);
    b->stale = s;
    spw_phys_pool_give_locked(&d->handles, &b->memory, 0);
    spw_unmap_counts.count++;
    spw_unmap_counts.early_count += is_early;
    return true;
}

void spw_unmap_fence_locked(struct spw_device *d, CUmemGenericAllocationHandle piece, struct spw_uses *fence)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    struct spw_deferred_unmap *s = spw_alias_map_newest(&d->handles.aliases, piece);
    if (s && !spw_uses_seen_done_locked(&s->uses) && !spw_uses_done_locked(&s->uses))
        spw_uses_merge_locked(fence, &s->uses);
}

/* ---- the end ---- */

static void give_back_what_was_left(struct spw_device *d, struct spw_deferred_unmap *s)
{
    if (s->block) {
        s->block->stale = NULL;
        return;
    }
    spw_ranges_give(d->ranges, s->first, s->granules);
    if (s->host_copy)
        spw_hostpool_give(spw_host_memory_pool_locked(), s->host_copy, s->host_bytes);
}

/* Its users are done. */
static int unmap(struct spw_device *d, struct spw_deferred_unmap *s)
{
    const size_t bytes = (size_t)s->memory.granules << d->granule_shift;
    const int r = spw_result(SPW_ASK(cuMemUnmap, s->address, bytes));
    if (r < 0)
        return r;
    unlink_from(&d->stale, s);
    for (uint32_t i = 0; i < s->memory.count; i++)
        spw_phys_pool_alias_ends_locked(&d->handles, spw_memory_piece(&s->memory, i), s);
    give_back_what_was_left(d, s);
    destroy(s);
    return 0;
}

int spw_unmap_now_locked(struct spw_device *d, struct spw_block *b)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    if (!b->stale)
        return 0;
    return spw_uses_done_locked(&b->stale->uses) ? unmap(d, b->stale) : -EBUSY;
}

void spw_unmap_sweep_locked(struct spw_device *d, uint64_t keep_granules)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    struct spw_deferred_unmap *next;
    for (struct spw_deferred_unmap *s = d->stale.first; s && d->stale.granules > keep_granules; s = next) {
        next = s->next;
        if (spw_uses_done_locked(&s->uses) && unmap(d, s) < 0)
            return;
    }
}

void spw_unmap_limit_locked(struct spw_device *d)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    spw_unmap_sweep_locked(d, d->handles.budget_bytes >> d->granule_shift);
}

static bool is_any(void)
{
    for (int i = 0; i < SPW_MAX_DEVICES; i++)
        if (spw_devices[i].stale.first)
            return true;
    return false;
}

void spw_unmap_host_waits(void)
{
    struct spw_context_guard guard; /* another stream may be capturing, which forbids this thread to unmap */
    if (!__atomic_load_n(&spw_unmap_counts.count, __ATOMIC_RELAXED))
        return;
    spw_lock();
    if (is_any() && spw_context_enter(&guard, NULL) == 0) {
        for (int i = 0; i < SPW_MAX_DEVICES; i++)
            spw_unmap_sweep_locked(&spw_devices[i], 0);
        spw_context_leave(&guard);
    }
    spw_unlock();
}

static bool is_stale(const struct spw_device *d, const struct spw_deferred_unmap *s)
{
    const struct spw_deferred_unmap *at = d->stale.first;
    while (at && at != s)
        at = at->next;
    return at;
}

static int end_unlocking(struct spw_device *d, struct spw_deferred_unmap *s)
{
    struct spw_uses uses = s->uses; /* a copy: others may end the record meanwhile */
    const int r = spw_uses_wait_unlocking(&uses);
    return r == 0 && is_stale(d, s) && spw_uses_done_locked(&s->uses) ? unmap(d, s) : r;
}

int spw_unmap_all_unlocking(struct spw_device *d)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    int r = 0;
    while (r == 0 && d->stale.first)
        r = end_unlocking(d, d->stale.first);
    return r;
}

/* True if a piece that is mapped at the stale address is in the pool. */
static bool has_pooled_piece(const struct spw_device *d, const struct spw_deferred_unmap *s)
{
    for (uint32_t i = 0; i < s->memory.count; i++)
        if (spw_phys_pool_has_pooled_locked(&d->handles, spw_memory_piece(&s->memory, i)))
            return true;
    return false;
}

/* Returns a stale address that keeps a piece from being released, preferably one that nobody uses any more; NULL if
 * none. */
static struct spw_deferred_unmap *in_the_way(const struct spw_device *d)
{
    struct spw_deferred_unmap *found = NULL;
    for (struct spw_deferred_unmap *s = d->stale.first; s; s = s->next) {
        if (!has_pooled_piece(d, s))
            continue;
        if (spw_uses_done_locked(&s->uses))
            return s;
        found = found ? found : s;
    }
    return found;
}

/* Ends at least one stale address, and more until the pool can serve the block. */
static int end_until_it_is_served_unlocking(struct spw_device *d, const struct spw_block *b)
{
    int r = 0;
    do {
        struct spw_deferred_unmap *s = in_the_way(d);
        r = s ? end_unlocking(d, s) : d->stale.first ? end_unlocking(d, d->stale.first) : 0;
    } while (r == 0 && d->stale.first && spw_phys_pool_unserved_locked(&d->handles, b->granules - b->memory.granules));
    return r;
}

int spw_unmap_clear_unlocking(struct spw_device *d, struct spw_block *b, bool again)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    if (again)
        return spw_unmap_all_unlocking(d);
    if (!b->stale)
        return end_until_it_is_served_unlocking(d, b);
    struct spw_uses uses = b->stale->uses;
    const int r = spw_uses_wait_unlocking(&uses);
    return r < 0 ? r : spw_unmap_now_locked(d, b);
}

bool spw_unmap_one_in_the_way_locked(struct spw_device *d)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    struct spw_deferred_unmap *s = in_the_way(d);
    return s && spw_uses_done_locked(&s->uses) && unmap(d, s) == 0;
}

bool spw_unmap_try_clear_locked(struct spw_device *d, struct spw_block *b)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    if (spw_unmap_now_locked(d, b) < 0)
        return false;
    while (d->stale.first && spw_phys_pool_unserved_locked(&d->handles, b->granules - b->memory.granules))
        if (!spw_unmap_one_in_the_way_locked(d))
            return false;
    return true;
}

void spw_unmap_inherit_locked(struct spw_block *b)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    struct spw_deferred_unmap *s = b->stale;
    s->block = NULL;
    s->host_copy = b->host_copy;
    s->host_bytes = b->host_bytes;
    b->stale = NULL;
    b->host_copy = NULL;
    b->host_bytes = 0;
}

/* ---- doubt ---- */

static void doubt(const struct spw_device *d)
{
    spw_unmap_is_due |= !d->stale.allowed && d->stale.first;
}

void spw_unmap_allow_deferral_locked(struct spw_device *d, bool allowed)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    d->stale.allowed = allowed && !d->stale.refused;
    doubt(d);
}

/* The operation that was begun is in a call by now, so waiting for an event that nobody has recorded yet would never
 * end. */
static bool can_be_waited_for(const struct spw_deferred_unmap *s)
{
    struct spw_uses uses = s->uses;
    return spw_uses_mark_locked(&uses) == 0;
}

void spw_unmap_flush_unlocking(void)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    struct spw_context_guard guard;
    if (spw_context_enter(&guard, NULL) < 0)
        return;
    spw_unmap_is_due = false;
    for (int i = 0; i < SPW_MAX_DEVICES; i++) {
        struct spw_device *d = &spw_devices[i];
        int r = 0;
        while (r == 0 && !d->stale.allowed && d->stale.first && can_be_waited_for(d->stale.first))
            r = end_unlocking(d, d->stale.first);
        doubt(d);
    }
    spw_context_leave(&guard);
}

void spw_unmap_reset(struct spw_device *d)
{
    for (struct spw_deferred_unmap *s = d->stale.first, *next; s; s = next) {
        next = s->next;
        destroy(s);
    }
    d->stale = (struct spw_deferred_unmaps){0};
}
