/* unmanaged.c - keeps the bills: which piece of the driver's own memory is charged to which device, and for how long. */
#include "unmanaged.h"

#include <errno.h>
#include <stdlib.h>

#include "budget.h"
#include "context.h"
#include "give_way.h"
#include "lock.h"
#include "log.h"
#include "mover.h"
#include "reclaim.h"
#include "deferred_unmap.h"
#include "tables.h"
#include "uses_wait.h"

struct bill {
    uint64_t key; /* an address or a handle; the two cannot be equal, since handles are not device addresses */
    struct spw_device *device;
    uint64_t bytes, number;
    unsigned holders, mappings; /* both 0: no longer charged */
    bool lost;
    UT_hash_handle hh;
};

struct mapping {
    uint64_t address, bytes, handle, bill; /* the number of that bill */
    bool lost;
    UT_hash_handle hh;
};

/* Guarded by the engine lock. */
static struct bill *bills;
static struct mapping *mappings;

static void say_what_does_not_fit(const struct spw_device *d, uint64_t bytes, const char *what)
{
    static struct spw_log_threshold told, told_stuck;
    uint64_t staying = spw_reclaim_unmovable_bytes_locked(d) + d->foreign_bytes, needed;
    uint64_t budget = d->handles.budget_bytes + d->foreign_bytes;
    if (__builtin_add_overflow(staying, bytes, &needed))
        needed = UINT64_MAX;
    if (needed > budget)
        spw_warn_of(
            &told, needed,
            "out of device memory: %s takes %llu bytes, which cannot move, beside %llu that cannot either; the budget of "
            "device %d is %llu bytes; smallest budget that would do: %llu bytes" SPW_SEE("budget-too-small"),
            what, (unsigned long long)bytes, (unsigned long long)staying, d->ordinal, (unsigned long long)budget,
            (unsigned long long)needed);
    else
        spw_warn_of(
            &told_stuck, bytes,
            "out of memory: %s takes %llu bytes on device %d, and what lies there cannot be evicted: %s" SPW_SEE("no-room"),
            what, (unsigned long long)bytes, d->ordinal,
            spw_moved.host_refused_count ? "the host budget (SPILLWAY_HOST_BUDGET) or the machine has no room for it"
                                         : "the device has less memory than the budget says");
}

static void put_on_bill(struct spw_device *d, uint64_t bytes)
{
    d->handles.budget_bytes -= bytes;
    d->foreign_bytes += bytes;
    spw_phys_pool_fit_locked(&d->handles);
}

int spw_unmanaged_take_locked(struct spw_device *d, uint64_t bytes)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    if (bytes > d->handles.budget_bytes || !spw_cached_blocks_make_locked(d, bytes))
        return -ENOMEM;
    spw_unmap_sweep_locked(d, 0);
    if (d->stale.first)
        return -ENOMEM;
    put_on_bill(d, bytes);
    return 0;
}

int spw_unmanaged_take(struct spw_device *d, uint64_t bytes, const char *what)
{
    struct spw_context_guard guard;
    spw_mutex_lock(&d->slow, SPW_LOCK_SLOW);
    spw_lock();
    const bool entered = spw_context_enter(&guard, NULL) == 0;
    spw_waits_begin();
    int r = spw_budget_free_unlocking(d, bytes);
    for (int i = 0; r == -ENOMEM && i < SPW_GIVE_WAY_TIMES && spw_give_way_to_unlocking(d, bytes); i++)
        r = spw_budget_free_unlocking(d, bytes);
    spw_waits_end();
    if (entered)
        spw_context_leave(&guard);
    if (r == 0) {
        put_on_bill(d, bytes);
    } else if (r == -ENOMEM) {
        say_what_does_not_fit(d, bytes, what);
    }
    spw_unlock();
    spw_mutex_unlock(&d->slow);
    return r;
}

void spw_unmanaged_give(struct spw_device *d, uint64_t bytes)
{
    spw_lock();
    spw_device_credit_locked(d, bytes);
    spw_unlock();
}

static struct bill *find_bill(uint64_t key)
{
    struct bill *b;
    HASH_FIND(hh, bills, &key, sizeof(key), b);
    return b;
}

/* Without memory for the record it stays charged for good. */
static void add_bill(uint64_t key, struct spw_device *d, uint64_t bytes)
{
    struct bill *b;
    SPW_TABLE_NEW(bills, key, b, .key = key, .device = d, .bytes = bytes, .number = ++spw_billed_last, .holders = 1);
}

static void settle(struct bill *b)
{
    if (b->holders || b->mappings)
        return;
    spw_device_credit_locked(b->device, b->bytes);
    SPW_TABLE_REMOVE(bills, b);
}

static void let_go(uint64_t key, uint64_t last)
{
    spw_lock();
    struct bill *b = find_bill(key);
    if (b && b->number <= last && b->holders) {
        b->holders--;
        settle(b);
    }
    spw_unlock();
}

static void note(uint64_t key, struct spw_device *d, uint64_t bytes)
{
    spw_lock();
    struct bill *b = find_bill(key);
    if (b) { /* the driver gave it out again, so the free that we missed is over */
        b->holders = b->mappings = 0;
        settle(b);
    }
    add_bill(key, d, bytes);
    spw_unlock();
}

void spw_unmanaged_allocated(CUdeviceptr address, struct spw_device *d, uint64_t bytes)
{
    note(address, d, bytes);
}

void spw_unmanaged_freed(CUdeviceptr address, uint64_t last)
{
    let_go(address, last);
}

int spw_unmanaged_ask_pool(struct spw_pool_ask *a, CUmemoryPool pool, struct spw_device *d, uint64_t bytes, const char *what)
{
    const uint64_t granule = d ? (uint64_t)1 << d->granule_shift : 1;
    *a = (struct spw_pool_ask){0};
    if (!d || !bytes || __builtin_add_overflow(bytes, granule - 1, &bytes))
        return 0; /* of the latter two, the driver says itself what is wrong */
    bytes &= ~(granule - 1);
    int r = spw_unmanaged_take(d, bytes, what);
    if (r < 0)
        return r;
    spw_lock();
    *a = (struct spw_pool_ask){.reserve = spw_pool_reserve_ask_locked(pool, d, bytes), .device = d, .bytes = bytes};
    if (!a->reserve)
        spw_device_credit_locked(d, bytes);
    spw_unlock();
    return a->reserve ? 0 : -ENOMEM;
}

void spw_unmanaged_pool_answered(const struct spw_pool_ask *a, CUdeviceptr address)
{
    if (!a->reserve)
        return;
    spw_lock();
    const uint64_t missing = spw_pool_reserve_answered_locked(a->reserve, a->bytes, address);
    spw_unlock();
    if (!missing || spw_unmanaged_take(a->device, missing, "what a memory pool has reserved") < 0)
        return;
    spw_lock();
    spw_pool_reserve_billed_locked(a->reserve, missing);
    spw_unlock();
}

void spw_unmanaged_made(CUmemGenericAllocationHandle handle, struct spw_device *d, uint64_t bytes)
{
    note(handle, d, bytes);
}

void spw_unmanaged_retained(CUmemGenericAllocationHandle handle)
{
    spw_lock();
    struct bill *b = find_bill(handle);
    if (b)
        b->holders++;
    spw_unlock();
}

void spw_unmanaged_released(CUmemGenericAllocationHandle handle, uint64_t last)
{
    let_go(handle, last);
}

static struct mapping *find_mapping(uint64_t address)
{
    struct mapping *m;
    HASH_FIND(hh, mappings, &address, sizeof(address), m);
    return m;
}

void spw_unmanaged_mapped(CUmemGenericAllocationHandle handle, CUdeviceptr address, uint64_t bytes)
{
    spw_lock();
    struct bill *b = find_bill(handle);
    struct mapping *m = NULL;
    if (b && !find_mapping(address))
        SPW_TABLE_NEW(mappings, address, m, .address = address, .bytes = bytes, .handle = handle, .bill = b->number);
    if (m)
        b->mappings++;
    spw_unlock();
}

void spw_unmanaged_unmapped(CUdeviceptr address, uint64_t bytes)
{
    spw_lock();
    for (uint64_t done = 0; done < bytes;) { /* one call may cover several neighbouring mappings */
        struct mapping *m = find_mapping(address + done);
        if (!m)
            break;
        struct bill *b = find_bill(m->handle);
        const bool counts = b && b->number == m->bill && b->mappings;
        done += m->bytes;
        SPW_TABLE_REMOVE(mappings, m);
        if (counts) {
            b->mappings--;
            settle(b);
        }
    }
    spw_unlock();
}

void spw_unmanaged_reset(void)
{
    SPW_TABLE_FREE(bills);
    SPW_TABLE_FREE(mappings);
}
