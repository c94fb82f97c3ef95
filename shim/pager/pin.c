/* pin.c - keeps allocations resident for ever: those that graphs, textures and other processes know by address. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "residency.h"
#include "transfers.h"
#include "context.h"
#include "engine.h"
#include "follower.h"
#include "give_way.h"
#include "lasting.h"
#include "lock.h"
#include "log.h"
#include "mover.h"
#include "pin.h"
#include "rematerialiser.h"
#include "reclaim.h"
#include "slab.h"
#include "uses_wait.h"

bool spw_pinning_everything;
_Thread_local int spw_pin_failure;

static const char *pinned_why = "";
static const char why_earlier[] = "a graph, a texture or a variable may have its address from an earlier allocation";

/* Something is in flight with its bytes, or with the memory where they are. */
#define UNDER_WAY ((uint32_t)SPW_RESTORING | SPW_COPYING | SPW_FENCED)

/* Waits for copies into the block and for former users of its memory. A copy out need not be waited for: it may come after
 * what the program does next, and is void from here on. */
static int let_arrive_unlocking(struct spw_device *d, struct spw_block *b)
{
    struct spw_uses into = spw_copies_locked(d, b, false);
    int r = spw_uses_wait_unlocking(&into);
    if (r < 0)
        return r;
    spw_block_arrived_locked(b);
    b->object.attention &= ~(uint32_t)SPW_FENCED;
    struct spw_uses all = spw_copies_locked(d, b, true);
    r = spw_uses_wait_a_while_unlocking(&all);
    if (r == 0)
        b->object.attention &= ~(uint32_t)SPW_COPYING;
    return r == -ETIME ? 0 : r;
}

/* Brings the bytes in place for any stream, and pins the block. Nothing that is made from it is dropped meanwhile, since
 * from here on nobody tells when the block is written. */
static int bring_in_for_good(struct spw_device *d, struct spw_block *b)
{
    int r = 0;
    b->holds++;
    d->making++;
    if (b->content.needed)
        r = spw_rescue_unlocking(d, &b->content, true, NULL);
    spw_transfer_cancel_locked(d, b);
    if (r == 0 && b->object.attention & SPW_ABSENT)
        r = spw_engine_make_resident_unlocking(d, b);
    if (r == 0 && b->object.attention & UNDER_WAY)
        r = let_arrive_unlocking(d, b);
    if (r == 0 && !b->pinned && !b->doomed)
        b->pinned = true;
    if (spw_plan_follower_any)
        spw_follower->pin(b);
    d->making--;
    spw_object_soil(&b->object); /* whoever knows the address may write at any time */
    spw_release_hold_locked(d, b);
    return r;
}

static int pin_slab(struct spw_device *d, struct spw_slab *slab)
{
    int r = 0;
    slab->pinned = true; /* from here on nothing is dropped that would be made from its contents */
    for (uint32_t i = 0; i < slab->slot_count && r == 0; i++)
        if (slab->slots[i].content.needed || slab->slots[i].lent)
            r = spw_rescue_unlocking(d, &slab->slots[i].content, true, NULL);
    return r;
}

static int pin_one(struct spw_device *d, CUdeviceptr address)
{
    struct spw_object *o = spw_object_at_locked(address);
    if (o && o->kind == SPW_KIND_SLAB)
        return pin_slab(d, (struct spw_slab *)o);
    if (!o || o->kind != SPW_KIND_BLOCK || o->attention & SPW_FREE ||
        (spw_block_of(o)->pinned && !(o->attention & UNDER_WAY)))
        return 0;
    return bring_in_for_good(d, spw_block_of(o));
}

struct due { /* addresses that something knows together */
    const CUdeviceptr *list;
    size_t count;
};

static int by_address(const void *a, const void *b)
{
    const CUdeviceptr x = *(const CUdeviceptr *)a, y = *(const CUdeviceptr *)b;
    return x < y ? -1 : x > y;
}

/* Returns the bytes of all due blocks that are not pinned yet, each counted once; without memory for sorting, each time. */
static uint64_t due_bytes(const struct spw_device *d, const struct due *due)
{
    CUdeviceptr *sorted = malloc(due->count * sizeof(*sorted));
    const struct spw_object *last = NULL;
    uint64_t bytes = 0;
    if (sorted) {
        memcpy(sorted, due->list, due->count * sizeof(*sorted));
        qsort(sorted, due->count, sizeof(*sorted), by_address);
    }
    for (size_t i = 0; i < due->count; i++) {
        struct spw_object *o = spw_object_at_locked(sorted ? sorted[i] : due->list[i]);
        if (o && o != last && o->device == d->ordinal && o->kind == SPW_KIND_BLOCK && !spw_block_of(o)->pinned)
            bytes += spw_block_mapped_bytes(d, spw_block_of(o));
        last = o;
    }
    free(sorted);
    return bytes;
}

static uint64_t lacking_at(const struct spw_device *d, CUdeviceptr address)
{
    const struct due due = {&address, 1};
    return due_bytes(d, &due);
}

/* `bytes` would have to stay in addition to what stays already. */
static void say_what_does_not_fit_locked(const struct spw_device *d, uint64_t bytes, const char *why)
{
    static struct spw_log_threshold told;
    const uint64_t pinned = spw_reclaim_unmovable_bytes_locked(d), needed = bytes + pinned;
    if (needed > d->handles.budget_bytes)
        spw_warn_of(
            &told, needed + d->foreign_bytes,
            "out of device memory: %.1f MiB have to stay on device %d from here on (%s), beside %.1f MiB that do already; "
            "its budget is %.1f MiB; smallest budget that would do: %llu bytes (%.1f MiB), as far as the program "
            "has come" SPW_SEE("budget-too-small"),
            SPW_MIB(bytes), d->ordinal, why, SPW_MIB(pinned), SPW_MIB(d->handles.budget_bytes + d->foreign_bytes),
            (unsigned long long)(needed + d->foreign_bytes), SPW_MIB(needed + d->foreign_bytes));
    else
        spw_warn_of(&told, needed,
                    "out of memory: %.1f MiB have to stay on device %d from here on (%s), and what lies there cannot be "
                    "evicted" SPW_SEE("no-room"),
                    SPW_MIB(bytes), d->ordinal, why);
}

/* Pins one address of those that are due. With `due` NULL nothing is logged if it does not fit. Returns 0 or a negative
 * result. */
static int pin(CUdeviceptr address, const struct due *due, const char *why)
{
    struct spw_device *d = spw_device_of_address(address);
    if (!d)
        return 0;
    struct spw_context_guard guard;
    spw_mutex_lock(&d->slow, SPW_LOCK_SLOW);
    spw_lock();
    bool entered = spw_context_enter(&guard, NULL) == 0;
    int r = pin_one(d, address);
    for (int i = 0; r == -ENOMEM && i < SPW_GIVE_WAY_TIMES && spw_give_way_to_unlocking(d, lacking_at(d, address)); i++)
        r = pin_one(d, address);
    if (entered)
        spw_context_leave(&guard);
    pinned_why = why;
    if (r < 0 && due)
        say_what_does_not_fit_locked(d, due_bytes(d, due), why);
    spw_unlock();
    spw_mutex_unlock(&d->slow);
    return r;
}

void spw_pin_addresses(const CUdeviceptr *list, size_t count, const char *why)
{
    const struct due due = {list, count};
    int r = 0;
    for (size_t i = 0; i < count && r == 0; i++)
        r = pin(list[i], &due, why);
    spw_pin_failure = r < 0 ? r : spw_pin_failure;
}

void spw_pin_address(CUdeviceptr address, const char *why)
{
    spw_pin_addresses(&address, 1, why);
}

void spw_pin_lasting(CUdeviceptr address, const char *why)
{
    spw_lock();
    spw_lasting_add_locked(address);
    spw_unlock();
    spw_pin_address(address, why);
}

static void add_of_node(const CUdeviceptr *list, size_t count)
{
    spw_lock();
    for (size_t i = 0; i < count; i++)
        spw_lasting_add_of_node_locked(list[i]);
    spw_unlock();
}

void spw_pin_of_node(const CUdeviceptr *list, size_t count, const char *why)
{
    add_of_node(list, count);
    spw_pin_addresses(list, count, why);
}

void spw_pin_of_kernel_node(const CUdeviceptr *list, size_t count, const char *why)
{
    int r = 0;
    add_of_node(list, count);
    for (size_t i = 0; i < count && r == 0; i++)
        r = pin(list[i], NULL, why);
}

int spw_pin_allocated(CUdeviceptr address)
{
    spw_lock();
    const struct spw_object *o = spw_object_at_locked(address);
    const bool is_due = o && !spw_object_pinned(o) && (spw_pinning_everything || spw_lasting_in_locked(address));
    spw_unlock();
    const struct due due = {&address, 1};
    return is_due ? pin(address, &due, spw_pinning_everything ? "everything is" : why_earlier) : 0;
}

static bool is_to_stay(const struct spw_device *d, const struct spw_block *b, bool all)
{
    return all || spw_lasting_among_locked(d, b->first, (uint64_t)b->first + b->granules);
}

static void say_what_does_not_fit_of_blocks_locked(const struct spw_device *d, bool all)
{
    uint64_t bytes = 0;
    for (uint32_t k = 0; k < d->block_count; k++) {
        const struct spw_block *b = d->blocks[k];
        if (!b->pinned && !spw_object_is_cached(&b->object) && is_to_stay(d, b, all))
            bytes += spw_block_mapped_bytes(d, b);
    }
    say_what_does_not_fit_locked(d, bytes, all ? "everything is" : why_earlier);
}

/* Pins all blocks of a device, or those in which addresses last. Starts again if the list changes while the lock is
 * released. */
static void pin_blocks(struct spw_device *d, bool all)
{
    struct spw_context_guard guard;
    spw_mutex_lock(&d->slow, SPW_LOCK_SLOW);
    spw_lock();
    const bool entered = spw_context_enter(&guard, NULL) == 0;
    int failure = 0;
    for (uint32_t k = 0; k < d->block_count; k++) {
        struct spw_block *b = d->blocks[k];
        uint32_t before = d->block_count;
        if (!is_to_stay(d, b, all))
            continue;
        int r = pin_one(d, b->address);
        if (r < 0)
            failure = r;
        else if (before != d->block_count)
            k = UINT32_MAX;
    }
    if (failure < 0) {
        spw_pin_failure = failure;
        say_what_does_not_fit_of_blocks_locked(d, all);
    }
    if (entered)
        spw_context_leave(&guard);
    spw_unlock();
    spw_mutex_unlock(&d->slow);
}

static void pin_blocks_of_all(bool all)
{
    for (int i = 0; i < SPW_MAX_DEVICES; i++)
        if (spw_devices[i].ready)
            pin_blocks(&spw_devices[i], all);
}

void spw_pin_everything(const char *why)
{
    spw_lock();
    bool first = !spw_pinning_everything;
    spw_pinning_everything = true;
    atomic_store_explicit(&spw_lasting_any, true, memory_order_relaxed);
    spw_unlock();
    if (first)
        spw_warn("everything stays resident from here on: %s" SPW_SEE("nothing-moves"), why);
    pin_blocks_of_all(true);
}

void spw_pin_all_of_nodes(void)
{
    spw_lock();
    spw_lasting_nodes_last_locked();
    spw_unlock();
    pin_blocks_of_all(false);
}

/* What could not be pinned is tried again before the next graph. */
void spw_pin_before_graph(void)
{
    const int earlier = spw_pin_failure;
    if (!atomic_exchange(&spw_lasting_unpinned, false))
        return;
    spw_pin_failure = 0;
    pin_blocks_of_all(false);
    if (spw_pin_failure < 0)
        spw_lasting_unpinned = true;
    else
        spw_pin_failure = earlier;
}

uint64_t spw_pinned_bytes_locked(const char **ret_why)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    *ret_why = pinned_why;
    uint64_t bytes = 0;
    for (int i = 0; i < SPW_MAX_DEVICES; i++) {
        const struct spw_device *d = &spw_devices[i];
        for (uint32_t k = 0; k < d->block_count; k++)
            if (d->blocks[k]->pinned && spw_object_at_locked(d->blocks[k]->address) == &d->blocks[k]->object)
                bytes += spw_block_mapped_bytes(d, d->blocks[k]); /* without the slabs */
    }
    return bytes;
}
