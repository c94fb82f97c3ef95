/* ledger.c - arenas, the table of granules, and the records of blocks. */
#include "ledger.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "lock.h"
#include "grow.h"
#include "ask.h"
#include "driver.h"
#include "log.h"
#include "result.h"
#include "settings.h"

struct spw_device spw_devices[SPW_MAX_DEVICES];
uint64_t spw_tick, spw_serials;

enum { ARENA_GRANULES = 1 << 20, ARENA_LEAST_GRANULES = 1 << 12, SMALL_BYTES = 32 << 10 };

/* ---- devices ---- */

int spw_granularity(int ordinal, uint64_t *ret_bytes)
{
    CUmemAllocationProp prop;
    size_t granularity = 0;
    int supported = 0;
    if (!spw_driver.cuMemCreate || !spw_driver.cuMemAddressReserve || !spw_driver.cuMemGetAllocationGranularity)
        return -ENOTSUP;
    if (SPW_ASK_QUIETLY(cuDeviceGetAttribute, &supported, CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED,
                        ordinal) != CUDA_SUCCESS ||
        !supported)
        return -ENOTSUP;
    memset(&prop, 0, sizeof(prop));
    prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    prop.location.id = ordinal;
    int r =
        spw_result(SPW_ASK_QUIETLY(cuMemGetAllocationGranularity, &granularity, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
    if (r < 0)
        return r;
    if (granularity == 0 || (granularity & (granularity - 1)))
        return -ENOTSUP;
    *ret_bytes = granularity;
    return 0;
}

size_t spw_small_bytes(uint64_t granule_bytes)
{
    const size_t half = granule_bytes / 2, set = spw_settings_get()->small_bytes;
    return set ? set : half < SMALL_BYTES ? half : SMALL_BYTES;
}

static int read_budget(struct spw_device *d)
{
    size_t total = 0, free_now = 0;
    int r = spw_result(SPW_ASK_QUIETLY(cuDeviceTotalMem_v2, &total, d->ordinal));
    if (r < 0)
        return r;
    if (SPW_ASK_QUIETLY(cuMemGetInfo_v2, &free_now, &total) != CUDA_SUCCESS)
        free_now = total;
    d->total_bytes = total;
    d->handles.device = d->ordinal;
    d->handles.budget_bytes = spw_settings_budget_bytes(spw_settings_get(), d->ordinal, total, free_now);
    return 0;
}

/* A place where data that is no address seldom looks like an address of the arena. What looks like one is read back, and
 * keeps what it would lead to (seek.h). A driver that may choose gives a low place, where eight truth values, a counter or
 * two small integers look like addresses. Here the upper half of an address is 0x7800 to 0x7bff, and the lower half is
 * arbitrary. To look like that by chance takes a half of 32768 or more, or a bfloat16 of 1e34 or more, followed by a
 * zero. */
static const CUdeviceptr ARENA_PLACE = UINT64_C(0x7a0000000000), ARENA_LEAST_PLACE = UINT64_C(0x100000000000);

/* The place is a hint: the driver may choose another one. */
static int reserve_at(struct spw_device *d, uint64_t bytes, CUdeviceptr place)
{
    return spw_result(SPW_ASK_QUIETLY(cuMemAddressReserve, &d->arena, bytes, (size_t)1 << d->granule_shift, place, 0));
}

static int reserve(struct spw_device *d, uint64_t bytes)
{
    const CUdeviceptr below = bytes * (uint64_t)d->ordinal;
    if (below < ARENA_PLACE - ARENA_LEAST_PLACE && reserve_at(d, bytes, ARENA_PLACE - below) == 0)
        return 0;
    return reserve_at(d, bytes, 0);
}

/* The more addresses, the easier it is to find long free ranges. A driver or sandbox that refuses is asked for less. */
static int reserve_arena(struct spw_device *d, uint32_t *ret_granules)
{
    uint64_t least = d->handles.budget_bytes >> d->granule_shift;
    uint32_t granules = ARENA_GRANULES;
    while (granules < 8 * least && granules < SPW_RANGES_MAX_GRANULES)
        granules *= 2;
    for (; granules >= ARENA_LEAST_GRANULES && granules > least; granules /= 2) {
        d->arena_bytes = (uint64_t)granules << d->granule_shift;
        if (reserve(d, d->arena_bytes) == 0) {
            *ret_granules = granules;
            return 0;
        }
    }
    d->arena_bytes = 0;
    return -ENOMEM;
}

static int make_tables(struct spw_device *d, uint32_t granules)
{
    void *table =
        mmap(NULL, granules * sizeof(*d->table), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (table == MAP_FAILED)
        return -ENOMEM;
    d->free_by_granules = calloc(SPW_FREE_BINS, sizeof(*d->free_by_granules));
    int r = d->free_by_granules ? spw_ranges_create(granules, &d->ranges) : -ENOMEM;
    if (r < 0) {
        free(d->free_by_granules);
        d->free_by_granules = NULL;
        (void)munmap(table, granules * sizeof(*d->table));
        return r;
    }
    d->table = table;
    return 0;
}

static void publish_arena(const struct spw_device *d)
{
    if (spw_arena_low == spw_arena_high || d->arena < spw_arena_low)
        spw_arena_low = d->arena;
    if (d->arena + d->arena_bytes > spw_arena_high)
        spw_arena_high = d->arena + d->arena_bytes;
}

/* An allocation below half a granule would waste most of a granule of its own. */
static void size_allocations(struct spw_device *d)
{
    const size_t half = ((size_t)1 << d->granule_shift) / 2;
    d->small_bytes = spw_small_bytes((uint64_t)1 << d->granule_shift);
    d->packed_below_bytes = d->small_bytes > half ? d->small_bytes : half;
}

static int make_device(struct spw_device *d)
{
    uint32_t granules = 0;
    uint64_t granule_bytes;
    int r = d->total_bytes ? 0 : read_budget(d); /* comes first, as the budget also holds for what is passed through */
    if (r < 0)
        return r;
    r = spw_granularity(d->ordinal, &granule_bytes);
    if (r < 0)
        return r;
    d->granule_shift = d->handles.granule_shift = (unsigned)__builtin_ctzll(granule_bytes);
    r = reserve_arena(d, &granules);
    if (r < 0)
        return r;
    r = make_tables(d, granules);
    if (r < 0) {
        (void)SPW_ASK_QUIETLY(cuMemAddressFree, d->arena, d->arena_bytes);
        d->arena_bytes = 0;
        return r;
    }
    size_allocations(d);
    pthread_mutex_init(&d->slow, NULL);
    d->ready = true;
    publish_arena(d);
    return 0;
}

struct spw_device *spw_device_ready_locked(int ordinal, int *ret_r)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    static int warned;
    if (ordinal < 0 || ordinal >= SPW_MAX_DEVICES) {
        *ret_r = -EINVAL;
        return NULL;
    }
    struct spw_device *d = &spw_devices[ordinal];
    if (d->ready)
        return d;
    d->ordinal = ordinal;
    int r = make_device(d);
    if (r < 0) {
        spw_warn_once(
            &warned,
            "device %d: the driver offers no virtual memory management (%s); its allocations are passed through, nothing "
            "can be moved, and what goes beyond the budget is out of memory" SPW_SEE("nothing-moves"),
            ordinal, r == -ENOTSUP ? "not supported" : "refused");
        *ret_r = r;
        return NULL;
    }
    spw_debug("device %d: granularity %zu, budget %llu bytes, arena of %llu bytes at 0x%llx", ordinal,
              (size_t)1 << d->granule_shift, (unsigned long long)d->handles.budget_bytes, (unsigned long long)d->arena_bytes,
              (unsigned long long)d->arena);
    return d;
}

/* ---- blocks ---- */

static int remember(struct spw_device *d, struct spw_block *b)
{
    if (SPW_GROW(d->blocks, d->block_room, d->block_count + 1) < 0)
        return -ENOMEM;
    b->index = d->block_count;
    d->blocks[d->block_count++] = b;
    return 0;
}

static void forget(struct spw_device *d, struct spw_block *b)
{
    struct spw_block *last = d->blocks[--d->block_count];
    d->blocks[b->index] = last;
    last->index = b->index;
}

static void point_table(struct spw_device *d, const struct spw_block *b, struct spw_object *o)
{
    for (uint32_t i = 0; i < b->granules; i++)
        d->table[b->first + i] = o;
}

int spw_block_create_locked(struct spw_device *d, size_t bytes, struct spw_block **ret_block)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    uint64_t granules = (bytes + (((uint64_t)1 << d->granule_shift) - 1)) >> d->granule_shift;
    if (granules > d->arena_bytes >> d->granule_shift)
        return -ENOMEM;
    struct spw_block *b = calloc(1, sizeof(*b));
    if (!b)
        return -ENOMEM;
    int r = spw_ranges_take(d->ranges, (uint32_t)granules, &b->first);
    if (r < 0)
        goto fail;
    b->granules = (uint32_t)granules;
    b->address = d->arena + ((uint64_t)b->first << d->granule_shift);
    b->size_bytes = bytes;
    b->object.kind = SPW_KIND_BLOCK;
    b->object.device = (uint16_t)d->ordinal;
    b->object.attention = SPW_EMPTY;
    r = remember(d, b);
    if (r < 0) {
        spw_ranges_give(d->ranges, b->first, b->granules);
        goto fail;
    }
    point_table(d, b, &b->object);
    *ret_block = b;
    return 0;
fail:
    free(b);
    return r;
}

void spw_block_destroy_record_locked(struct spw_device *d, struct spw_block *b)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    point_table(d, b, NULL);
    forget(d, b);
    free(b);
}

void spw_block_destroy_locked(struct spw_device *d, struct spw_block *b)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    spw_ranges_give(d->ranges, b->first, b->granules);
    spw_block_destroy_record_locked(d, b);
}

static void set_extent(struct spw_device *d, struct spw_block *b, uint32_t first)
{
    b->first = first;
    b->granules = b->memory.granules;
    b->address = d->arena + ((uint64_t)first << d->granule_shift);
    b->size_bytes = spw_block_mapped_bytes(d, b);
    point_table(d, b, &b->object);
}

int spw_block_split_locked(struct spw_device *d, struct spw_block *b, uint32_t keep, struct spw_block **ret_rest)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    struct spw_block *rest = malloc(sizeof(*rest));
    if (!rest)
        return -ENOMEM;
    *rest = *b; /* a user of the one may be using the other */
    rest->memory = (struct spw_memory){0};
    int r = remember(d, rest);
    if (r == 0) {
        r = spw_phys_pool_split_locked(&d->handles, &b->memory, keep, &rest->memory);
        if (r < 0)
            forget(d, rest);
    }
    if (r < 0) {
        free(rest);
        return r;
    }
    set_extent(d, b, b->first);
    set_extent(d, rest, b->first + b->granules);
    *ret_rest = rest;
    return 0;
}

int spw_block_join_locked(struct spw_device *d, struct spw_block *b, struct spw_block *next)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    int r = spw_phys_pool_join_locked(&d->handles, &b->memory, &next->memory);
    if (r < 0)
        return r;
    if (b->object.used < next->object.used)
        b->object.used = next->object.used;
    spw_uses_merge_locked(&b->object.uses, &next->object.uses);
    forget(d, next);
    free(next);
    set_extent(d, b, b->first);
    return 0;
}

/* ---- cached blocks ---- */

static struct spw_block **free_list_of(struct spw_device *d, uint32_t granules)
{
    return &d->free_by_granules[granules < SPW_FREE_BINS ? granules : 0];
}

void spw_block_uncache_this_locked(struct spw_device *d, struct spw_block *b)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    if (b->previous)
        b->previous->next = b->next;
    else
        *free_list_of(d, b->granules) = b->next;
    if (b->next)
        b->next->previous = b->previous;
    b->next = b->previous = NULL;
    b->object.attention &= ~(uint32_t)SPW_FREE;
    d->free_bytes -= spw_block_mapped_bytes(d, b);
}

struct spw_block *spw_block_uncache_locked(struct spw_device *d, uint32_t granules, struct spw_stream *s,
                                           bool *ret_must_wait)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    enum { LOOK_AT = 8 };
    struct spw_block *newest = *free_list_of(d, granules);
    int seen = 0;
    *ret_must_wait = false;
    if (!newest)
        return NULL;
    if (s && newest->granules == granules && !newest->holds && spw_uses_plainly_only(&newest->object.uses, s)) {
        spw_block_uncache_this_locked(d, newest);
        return newest;
    }
    newest = NULL;
    for (struct spw_block *b = *free_list_of(d, granules); b && seen < LOOK_AT; b = b->next) {
        if (b->granules != granules || b->holds)
            continue;
        seen++;
        if (!newest)
            newest = b;
        if (s ? spw_uses_plainly_only(&b->object.uses, s) || spw_uses_only_locked(&b->object.uses, s)
              : spw_uses_done_locked(&b->object.uses)) {
            spw_block_uncache_this_locked(d, b);
            return b;
        }
    }
    if (newest)
        spw_block_uncache_this_locked(d, newest);
    *ret_must_wait = true;
    return newest;
}

static bool way_is_right(const struct spw_block *b)
{
    uint32_t a = b->object.attention;
    bool is_cached = spw_object_is_cached(&b->object);
    switch (b->way) {
    case SPW_QUEUE_NONE:
        return true;
    case SPW_QUEUE_OUT:
        return a & SPW_EVICTING && b->host_copy && (!b->drops || b->has_true_copy) && !is_cached && !b->pinned;
    case SPW_QUEUE_DROPPED:
        return a & SPW_EVICTING && (!spw_object_dirty(&b->object) || b->drops) && !is_cached && !b->pinned;
    case SPW_QUEUE_AWAITED:
        return (a & SPW_EVICTED) != 0;
    case SPW_QUEUE_RETURNED:
        return a & SPW_RESTORING && !is_cached;
    default:
        return false;
    }
}

bool spw_block_check_locked(const struct spw_block *b)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    uint32_t a = b->object.attention;
    if (!way_is_right(b) || (a & SPW_RETAINED && !(a & SPW_FREE) && !b->doomed))
        return false;
    if (b->drops &&
        (!b->content.maker ||
         (!(a & SPW_DROPPED) && !(a & SPW_EVICTING && b->way == (b->has_true_copy ? SPW_QUEUE_OUT : SPW_QUEUE_DROPPED)))))
        return false;
    if (a & SPW_RETAINED)
        a &= ~(uint32_t)(SPW_RETAINED | SPW_FREE);
    if (a & SPW_EMPTY)
        return !b->host_copy_valid && !(a & ~(uint32_t)SPW_EMPTY);
    if (a & SPW_EVICTED)
        return b->host_copy && b->host_copy_valid && !(a & ~(uint32_t)SPW_EVICTED);
    if (a & SPW_DROPPED)
        return b->drops && !b->host_copy == !b->has_true_copy && b->way == SPW_QUEUE_NONE && !(a & ~(uint32_t)SPW_DROPPED);
    if (a & SPW_COPYING && !b->host_copy && !b->proof.reader)
        return false;
    return b->memory.granules == b->granules && (!b->host_copy_valid || b->host_copy);
}

static void forget_memory(struct spw_device *d)
{
    for (uint32_t k = 0; k < d->block_count; k++) {
        if (d->blocks[k]->memory.count > 1)
            free(d->blocks[k]->memory.pieces);
        free(d->blocks[k]);
    }
    if (d->stale.forget)
        d->stale.forget(d);
    spw_phys_pool_reset(&d->handles);
    (void)munmap(d->table, (d->arena_bytes >> d->granule_shift) * sizeof(*d->table));
    spw_ranges_destroy(d->ranges);
    free(d->blocks);
    free(d->free_by_granules);
    free(d->mover);
}

void spw_ledger_reset(void)
{
    for (int i = 0; i < SPW_MAX_DEVICES; i++) {
        struct spw_device *d = &spw_devices[i];
        if (d->ready)
            forget_memory(d);
        free(d->lasting);
        free(d->stash);
        free(d->digests);
        free(d->refusals);
        memset(d, 0, sizeof(*d));
    }
    spw_arena_low = spw_arena_high = 0;
    spw_tick = 0;
}

bool spw_anything_dropped_locked(void)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    for (int i = 0; i < SPW_MAX_DEVICES; i++)
        if (spw_devices[i].dropping)
            return true;
    return false;
}

void spw_fence_locked(struct spw_block *b, struct spw_stream *s)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    if (!spw_streams_others_locked(s))
        return;
    if (!(b->object.attention & SPW_FENCED))
        b->fence = (struct spw_uses){0};
    spw_uses_add_locked(&b->fence, s, s->begun);
    b->object.attention |= SPW_FENCED;
}
