/* refused.c - words the messages about a refused operation: its sizes and what cannot move, or what went wrong. */
#include "refused.h"

#include <errno.h>
#include <string.h>

#include "give_way.h"
#include "host_memory.h"
#include "hostpool.h"
#include "lock.h"
#include "log.h"
#include "readable.h"
#include "result.h"
#include "see.h"

/* What is allocated on a device, or on all devices, and can be evicted. */
struct stored {
    uint64_t mapped_bytes, host_bytes; /* of all of it, on the device and on the host */
    uint64_t largest_bytes, smallest_bytes;
    uint64_t staying_bytes; /* what cannot leave, and what spillway may still take for itself */
};

static uint64_t round_up(uint64_t bytes, uint64_t unit)
{
    return (bytes + unit - 1) / unit * unit;
}

static void add_tensor(struct stored *to, const struct spw_device *d, uint64_t bytes)
{
    const uint64_t mapped = round_up(bytes, UINT64_C(1) << d->granule_shift);
    to->mapped_bytes += mapped;
    to->host_bytes += round_up(bytes, SPW_HOSTPOOL_GRANULE_BYTES);
    to->largest_bytes = mapped > to->largest_bytes ? mapped : to->largest_bytes;
    to->smallest_bytes = mapped < to->smallest_bytes || !to->smallest_bytes ? mapped : to->smallest_bytes;
}

static struct stored stored_on(const struct spw_device *d)
{
    struct stored on = {.staying_bytes = spw_give_way_to_come_locked(d)};
    for (uint32_t i = 0; i < d->block_count; i++) {
        const struct spw_block *b = d->blocks[i];
        if (b->pinned)
            on.staying_bytes += (uint64_t)b->memory.granules << d->granule_shift;
        else if (!spw_object_is_cached(&b->object))
            add_tensor(&on, d, b->size_bytes);
    }
    return on;
}

/* Returns the bytes on the host when as little as possible is on the device: the room that one tensor leaves there is too
 * small for the next. Never more than all. */
static uint64_t away_bytes(const struct spw_device *d, const struct stored *on)
{
    const uint64_t budget = d->handles.budget_bytes + d->handles.lacking_bytes, granule = UINT64_C(1) << d->granule_shift;
    const uint64_t room = budget > on->staying_bytes ? (budget - on->staying_bytes) / granule * granule : 0;
    if (on->mapped_bytes <= room)
        return 0;
    const uint64_t away = on->mapped_bytes - room + on->largest_bytes - granule;
    return away < on->host_bytes ? away : on->host_bytes;
}

uint64_t spw_refused_host_bytes_locked(const struct spw_device *with, uint64_t more)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    uint64_t away = 0, changing = 0; /* `changing` also covers what is lost between tensors of several sizes */
    for (int i = 0; i < SPW_MAX_DEVICES; i++) {
        const struct spw_device *d = &spw_devices[i];
        struct stored on = stored_on(d);
        if (d == with)
            add_tensor(&on, d, more);
        const uint64_t bytes = away_bytes(d, &on), left = on.host_bytes - bytes;
        const uint64_t spare = on.smallest_bytes < on.largest_bytes ? 2 * on.largest_bytes : on.largest_bytes;
        const uint64_t most = left < spare ? left : spare;
        away += bytes;
        changing = bytes && most > changing ? most : changing;
    }
    return away + changing;
}

/* Returns the bytes of host copies of everything that is allocated. */
static uint64_t host_bytes_for_all(void)
{
    uint64_t bytes = 0;
    for (int i = 0; i < SPW_MAX_DEVICES; i++)
        bytes += stored_on(&spw_devices[i]).host_bytes;
    return bytes;
}

/* Returns a host budget that suffices with the current device budget, unless that is what has just not sufficed. */
static uint64_t host_budget_that_would_do(void)
{
    const uint64_t needed = spw_refused_host_bytes_locked(NULL, 0);
    return needed > spw_host_memory_limit_locked() ? needed : host_bytes_for_all();
}

static void say_why_it_does_not_go(const char *what, const struct spw_device *d, uint64_t bytes, bool host_refused)
{
    static struct spw_log_threshold told_host, told_device;
    const struct spw_hostpool *pool = spw_host_memory_pool_locked();
    if (host_refused)
        spw_warn_of(&told_host, bytes,
                    "out of memory: %s needs %.1f MiB on device %d, and what lies there cannot be evicted: %s "
                    "(SPILLWAY_HOST_BUDGET: %llu bytes) has no room for it; host budget that would do: %llu "
                    "bytes, as far as the program has come" SPW_SEE("no-room"),
                    what, SPW_MIB(bytes), d->ordinal, pool ? spw_hostpool_refusal(pool) : "the machine",
                    (unsigned long long)spw_host_memory_limit_locked(), (unsigned long long)host_budget_that_would_do());
    else
        spw_warn_of(
            &told_device, bytes,
            "out of memory: %s needs %.1f MiB on device %d, and what lies there cannot be evicted: the device has less "
            "memory than the budget says" SPW_SEE("no-room"),
            what, SPW_MIB(bytes), d->ordinal);
}

struct need { /* the need of a set, on the device where no room could be made for it */
    uint64_t bytes, unmovable;
    unsigned tensors;
};

/* The set is still held. Blocks that others hold, because they were handed to a library, cannot move either. */
static struct need need_of(const struct spw_working_set *set)
{
    const struct spw_device *d = set->full;
    struct need n = {0};
    for (uint32_t i = 0; i < d->block_count; i++)
        n.unmovable += spw_give_way_stays(d->blocks[i]) ? (uint64_t)d->blocks[i]->memory.granules << d->granule_shift : 0;
    for (unsigned i = 0; i < set->count; i++) {
        const struct spw_block *b = spw_block_of(set->list[i].object);
        if (b->object.kind != SPW_KIND_BLOCK || b->object.device != d->ordinal || b->pinned)
            continue;
        n.bytes += spw_block_mapped_bytes(d, b);
        n.unmovable -= (uint64_t)b->memory.granules << d->granule_shift;
        n.tensors++;
    }
    return n;
}

void spw_refused_say_what_does_not_fit_locked(const struct spw_op *op, const struct spw_working_set *set, bool host_refused)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    static struct spw_log_threshold told;
    const struct spw_device *d = set->full;
    const struct need n = need_of(set);
    char name[256];
    const char *what = op->function ? spw_readable_name(op->function, name, sizeof(name)) : op->name;
    const uint64_t needed = n.bytes + n.unmovable;
    if (needed <= d->handles.budget_bytes) {
        say_why_it_does_not_go(what, d, n.bytes, host_refused);
        return;
    }
    spw_warn_of(
        &told, needed + d->foreign_bytes,
        "out of device memory: %s touches %.1f MiB at once in %u tensors%s, beside %.1f MiB that cannot move; the "
        "budget of device %d is %.1f MiB; smallest budget that would do: %llu bytes (%.1f MiB), as far as the program "
        "has come" SPW_SEE("budget-too-small"),
        what, SPW_MIB(n.bytes), n.tensors, op->everything ? " (what it touches is not known)" : "", SPW_MIB(n.unmovable),
        d->ordinal, SPW_MIB(d->handles.budget_bytes + d->foreign_bytes), (unsigned long long)(needed + d->foreign_bytes),
        SPW_MIB(needed + d->foreign_bytes));
}

uint64_t spw_refused_needed_bytes_locked(const struct spw_working_set *set)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    const struct need n = need_of(set);
    return n.bytes + n.unmovable;
}

static const char *why(int failure)
{
    return failure == -ESTALE ? "bytes that were to be recomputed are lost"
           : failure == -ETIMEDOUT
               ? "another thread has been in a call of the driver for too long with what would have to leave, "
                 "or with what it touches"
               : strerror(-failure);
}

static bool is_told_elsewhere(int failure)
{
    return failure == -ENOMEM || failure == -ENODEV || failure <= -SPW_RESULT_BASE;
}

void spw_refused_say_why(const struct spw_op *op, int failure)
{
    static struct spw_log_threshold told;
    char name[256];
    if (is_told_elsewhere(failure))
        return;
    spw_warn_of(&told, (uint64_t)-failure,
                "%s is refused with error %d: what it touches cannot be made ready (%s)" SPW_SEE("not-made-ready"),
                op->function ? spw_readable_name(op->function, name, sizeof(name)) : op->name, (int)spw_cuda(failure),
                why(failure));
}

void spw_refused_say_why_not_allocated_locked(const struct spw_device *d, size_t bytes, int failure)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    static struct spw_log_threshold told;
    if (failure >= 0 || is_told_elsewhere(failure))
        return;
    spw_warn_of(&told, (uint64_t)-failure,
                "an allocation of %zu bytes on device %d is refused with error %d: memory for it cannot be made ready "
                "(%s)" SPW_SEE("not-made-ready"),
                bytes, d->ordinal, (int)spw_cuda(failure), why(failure));
}
