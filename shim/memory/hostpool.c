/* hostpool.c - slabs of host memory, each with its own free ranges; a take uses the slab where it fits best. */
#include "hostpool.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "grow.h"
#include "ranges.h"

#define GRANULE         SPW_HOSTPOOL_GRANULE_BYTES
#define MIB             ((size_t)1 << 20)
#define HUGE_PAGE_BYTES (2 * MIB)

/* The smallest size of a slab, if the limit allows it, so that small tensors share one: an eighth of a small limit, but 64
 * MiB at most; a sixteenth of a large pool (few slabs, long ranges), but 512 MiB at most. */
#define FIRST_STEP_MAX_BYTES (64 * MIB)
#define STEP_MAX_BYTES       (512 * MIB)

/* What is left to others on the machine: a part of what the pool could have, within bounds. */
#define RESERVE_SHARE     32
#define RESERVE_MIN_BYTES ((int64_t)(16 * MIB))
#define RESERVE_MAX_BYTES ((int64_t)(1024 * MIB))

/* Memory from alloc_pinned is pinned as a whole. Mapped memory is pinned in pieces from its low end: [0, pinned_bytes) is
 * pinned, normally all of it or none. It is a part only if unpin failed halfway; then the slab stays in use. */
struct slab {
    char *address;
    size_t bytes;
    size_t pinned_bytes;
    bool from_alloc;
    struct spw_ranges *extents; /* in granules from `address` */
};

struct spw_hostpool {
    const struct spw_host_ops *ops;
    void *ctx;
    size_t limit_bytes, held_bytes, in_use_bytes, in_use_peak_bytes;
    size_t refused_gives;
    const char *refusal;
    struct slab *slabs; /* by ascending address */
    size_t slab_count, slab_room;
    struct spw_hostpool *next; /* the next of all pools */
};

static struct spw_hostpool *pools;

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

static size_t larger(size_t a, size_t b)
{
    return a > b ? a : b;
}

static size_t round_up(size_t bytes, size_t unit)
{
    return (bytes + unit - 1) / unit * unit;
}

/* Returns how many slabs begin at or below the address: only the last of them can hold it. */
static size_t slabs_up_to(const struct spw_hostpool *pool, const char *address)
{
    size_t low = 0, high = pool->slab_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (pool->slabs[middle].address <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static struct slab *slab_of(const struct spw_hostpool *pool, const char *address)
{
    size_t below = slabs_up_to(pool, address);
    if (below == 0)
        return NULL;
    struct slab *slab = &pool->slabs[below - 1];
    return (size_t)(address - slab->address) < slab->bytes ? slab : NULL;
}

/* ---- one slab, and the calls outside ---- */

/* Unpins from the end. After a failure, a part from the low end is still pinned. */
static int unpin_slab(const struct spw_hostpool *pool, struct slab *slab)
{
    while (slab->pinned_bytes > 0) {
        size_t begin = (slab->pinned_bytes - 1) / SPW_HOSTPOOL_PIN_BYTES * SPW_HOSTPOOL_PIN_BYTES;
        int r = pool->ops->unpin(pool->ctx, slab->address + begin, slab->pinned_bytes - begin);
        if (r < 0)
            return r;
        slab->pinned_bytes = begin;
    }
    return 0;
}

static int pin_slab(const struct spw_hostpool *pool, struct slab *slab)
{
    if (pool->ops->pin == NULL)
        return -EOPNOTSUPP;
    while (slab->pinned_bytes < slab->bytes) {
        size_t piece = smaller(slab->bytes - slab->pinned_bytes, SPW_HOSTPOOL_PIN_BYTES);
        int r = pool->ops->pin(pool->ctx, slab->address + slab->pinned_bytes, piece);
        if (r < 0)
            return r;
        slab->pinned_bytes += piece;
    }
    return 0;
}

/* Pageable memory counts as available until it is touched. It is touched here, so that the next growth is measured against
 * what is really left. */
static void touch(const struct slab *slab)
{
    for (size_t offset = slab->pinned_bytes; offset < slab->bytes; offset += GRANULE)
        *(volatile char *)(slab->address + offset) = 0;
}

static bool map_slab(const struct spw_hostpool *pool, struct slab *slab)
{
    slab->address = pool->ops->map(pool->ctx, slab->bytes);
    return slab->address != NULL;
}

/* Gets memory for slab->bytes, of the best kind available: pinned, from the driver, pageable. */
static int obtain(const struct spw_hostpool *pool, struct slab *slab)
{
    bool mapped = map_slab(pool, slab);
    if (mapped && pin_slab(pool, slab) == 0)
        return 0;
    if (mapped && unpin_slab(pool, slab) < 0) {
        touch(slab);
        return 0;
    }
    if (pool->ops->alloc_pinned != NULL) {
        if (mapped) /* the pages that the refused pin touched are released before others are requested */
            pool->ops->unmap(pool->ctx, slab->address, slab->bytes);
        slab->address = pool->ops->alloc_pinned(pool->ctx, slab->bytes);
        if (slab->address != NULL) {
            slab->pinned_bytes = slab->bytes;
            slab->from_alloc = true;
            return 0;
        }
        mapped = mapped && map_slab(pool, slab);
    }
    if (!mapped)
        return -ENOMEM;
    touch(slab);
    return 0;
}

/* Returns a negative errno if a piece cannot be unpinned: the slab is as usable as before, with fewer bytes pinned. */
static int return_memory(const struct spw_hostpool *pool, struct slab *slab)
{
    if (slab->from_alloc) {
        pool->ops->free_pinned(pool->ctx, slab->address, slab->bytes);
        return 0;
    }
    int r = unpin_slab(pool, slab);
    if (r < 0)
        return r;
    pool->ops->unmap(pool->ctx, slab->address, slab->bytes);
    return 0;
}

/* ---- the pool's slabs ---- */

static int add_slab(struct spw_hostpool *pool, size_t bytes, struct slab **ret_slab)
{
    struct slab slab = {.bytes = bytes};

    int r = SPW_GROW(pool->slabs, pool->slab_room, pool->slab_count + 1);
    if (r < 0)
        return r;
    r = spw_ranges_create((uint32_t)(bytes / GRANULE), &slab.extents);
    if (r < 0)
        return r;
    r = obtain(pool, &slab);
    if (r < 0) {
        spw_ranges_destroy(slab.extents);
        return r;
    }

    size_t at = slabs_up_to(pool, slab.address);
    memmove(&pool->slabs[at + 1], &pool->slabs[at], (pool->slab_count - at) * sizeof(slab));
    pool->slabs[at] = slab;
    pool->slab_count++;
    pool->held_bytes += bytes;
    *ret_slab = &pool->slabs[at];
    return 0;
}

static bool is_empty(const struct slab *slab)
{
    return spw_ranges_in_use(slab->extents) == 0;
}

static int remove_slab(struct spw_hostpool *pool, size_t at)
{
    int r = return_memory(pool, &pool->slabs[at]);
    if (r < 0)
        return r;
    pool->held_bytes -= pool->slabs[at].bytes;
    spw_ranges_destroy(pool->slabs[at].extents);
    pool->slab_count--;
    memmove(&pool->slabs[at], &pool->slabs[at + 1], (pool->slab_count - at) * sizeof(struct slab));
    return 0;
}

/* Returns the slab whose closest free range leaves the least: full slabs stay full and empty ones empty. Pinned slabs are
 * preferred. */
static struct slab *best_slab(const struct spw_hostpool *pool, uint32_t granules)
{
    struct slab *best = NULL;
    int64_t best_cost = INT64_MAX;

    for (size_t i = 0; i < pool->slab_count && best_cost > 0; i++) {
        struct slab *slab = &pool->slabs[i];
        int64_t cost = spw_ranges_leftover(slab->extents, granules);
        if (cost < 0)
            continue;
        if (slab->pinned_bytes < slab->bytes)
            cost += SPW_RANGES_MAX_GRANULES;
        if (cost < best_cost) {
            best = slab;
            best_cost = cost;
        }
    }
    return best;
}

/* ---- growing ---- */

static size_t step_bytes(const struct spw_hostpool *pool)
{
    size_t first = smaller(larger(pool->limit_bytes / 8, HUGE_PAGE_BYTES), FIRST_STEP_MAX_BYTES);
    size_t later = smaller(pool->held_bytes / 16, STEP_MAX_BYTES);
    return larger(first, later) / HUGE_PAGE_BYTES * HUGE_PAGE_BYTES;
}

/* Returns how many bytes a new slab may have by the limit and by the machine. Negative: that many have to be released
 * before there can be one. Notes which of the two is tighter, for messages. */
static int64_t allowance(struct spw_hostpool *pool)
{
    int64_t by_limit = (int64_t)(pool->limit_bytes - pool->held_bytes);
    int64_t available = pool->ops->available != NULL ? pool->ops->available(pool->ctx) : INT64_MAX;
    if (available < 0)
        available = 0;
    int64_t reserve = (available / 2 + (int64_t)pool->held_bytes / 2) / (RESERVE_SHARE / 2);
    reserve = reserve < RESERVE_MIN_BYTES ? RESERVE_MIN_BYTES : reserve;
    reserve = reserve > RESERVE_MAX_BYTES ? RESERVE_MAX_BYTES : reserve;
    int64_t by_machine = available - reserve;

    bool limit_is_tighter = by_limit <= by_machine;
    pool->refusal = limit_is_tighter ? "the host budget" : "what the machine and its control groups have left";
    return limit_is_tighter ? by_limit : by_machine;
}

static size_t empty_bytes(const struct spw_hostpool *pool)
{
    size_t bytes = 0;
    for (size_t i = 0; i < pool->slab_count; i++)
        if (is_empty(&pool->slabs[i]))
            bytes += pool->slabs[i].bytes;
    return bytes;
}

/* Makes a slab that holds `bytes`. Empty slabs, each of them too short, are released if that makes enough room. */
static int grow(struct spw_hostpool *pool, size_t bytes, struct slab **ret_slab)
{
    int64_t most = allowance(pool);
    if (most < (int64_t)bytes) {
        if ((int64_t)empty_bytes(pool) < (int64_t)bytes - most)
            return -ENOMEM;
        size_t lacking = smaller((size_t)((int64_t)bytes - most), pool->held_bytes);
        (void)spw_hostpool_trim(pool, pool->held_bytes - lacking);
        most = allowance(pool);
        if (most < (int64_t)bytes)
            return -ENOMEM;
    }

    /* A multiple of the request: tensors come in layers of equal ones, and so nothing is left over between them. */
    size_t wanted = round_up(larger(bytes, step_bytes(pool) / bytes * bytes), HUGE_PAGE_BYTES);
    const size_t left = pool->limit_bytes - pool->held_bytes;
    wanted = left < wanted + step_bytes(pool) ? left : wanted; /* the remainder would be lost */
    wanted = smaller(wanted, (size_t)most / GRANULE * GRANULE);
    int r = add_slab(pool, wanted, ret_slab);
    if (r < 0 && wanted > bytes)
        r = add_slab(pool, bytes, ret_slab);
    if (r < 0)
        pool->refusal = "the system, which maps no more memory";
    return r;
}

/* ---- for callers ---- */

int spw_hostpool_create(const struct spw_host_ops *ops, void *ctx, size_t limit_bytes, struct spw_hostpool **ret_pool)
{
    if (ops->map == NULL || ops->unmap == NULL || (ops->pin == NULL) != (ops->unpin == NULL) ||
        (ops->alloc_pinned == NULL) != (ops->free_pinned == NULL))
        return -EINVAL;
    struct spw_hostpool *pool = calloc(1, sizeof(*pool));
    if (pool == NULL)
        return -ENOMEM;
    pool->ops = ops;
    pool->ctx = ctx;
    pool->limit_bytes = smaller(limit_bytes, INT64_MAX / 2) / GRANULE * GRANULE;
    pool->refusal = "";
    pool->next = pools;
    pools = pool;
    *ret_pool = pool;
    return 0;
}

void spw_hostpool_destroy(struct spw_hostpool *pool)
{
    if (pool == NULL)
        return;
    struct spw_hostpool **link = &pools;
    while (*link != pool)
        link = &(*link)->next;
    *link = pool->next;
    for (size_t i = 0; i < pool->slab_count; i++) {
        (void)return_memory(pool, &pool->slabs[i]);
        spw_ranges_destroy(pool->slabs[i].extents);
    }
    free(pool->slabs);
    free(pool);
}

int spw_hostpool_take(struct spw_hostpool *pool, size_t bytes, void **ret_address)
{
    if (bytes == 0)
        return -EINVAL;
    if (bytes > pool->limit_bytes || bytes > SPW_RANGES_MAX_GRANULES * GRANULE) {
        pool->refusal = "the host budget";
        return -ENOMEM;
    }
    bytes = round_up(bytes, GRANULE);
    uint32_t granules = (uint32_t)(bytes / GRANULE), first;

    struct slab *slab = best_slab(pool, granules);
    if (slab == NULL) {
        int r = grow(pool, bytes, &slab);
        if (r < 0)
            return r;
    }
    int r = spw_ranges_take(slab->extents, granules, &first);
    if (r < 0)
        return r;
    pool->in_use_bytes += bytes;
    pool->in_use_peak_bytes = larger(pool->in_use_peak_bytes, pool->in_use_bytes);
    *ret_address = slab->address + first * GRANULE;
    return 0;
}

void spw_hostpool_give(struct spw_hostpool *pool, void *address, size_t bytes)
{
    if (address == NULL)
        return;
    struct slab *slab = slab_of(pool, address);
    if (slab == NULL || bytes > slab->bytes) {
        pool->refused_gives++;
        return;
    }
    uint32_t before = spw_ranges_in_use(slab->extents);
    uint32_t first = (uint32_t)((size_t)((char *)address - slab->address) / GRANULE);
    spw_ranges_give(slab->extents, first, (uint32_t)(round_up(bytes, GRANULE) / GRANULE));
    pool->in_use_bytes -= (before - spw_ranges_in_use(slab->extents)) * GRANULE;
}

void *spw_hostpool_move(struct spw_hostpool *pool, void *address, size_t bytes)
{
    void *to;
    spw_hostpool_give(pool, address, bytes);
    if (spw_hostpool_take(pool, bytes, &to) < 0)
        return address; /* cannot happen: what was just given back is free */
    if (to != address)
        memmove(to, address, bytes);
    return to;
}

size_t spw_hostpool_trim(struct spw_hostpool *pool, size_t keep_bytes)
{
    size_t before = pool->held_bytes;
    for (size_t i = pool->slab_count; i-- > 0 && pool->held_bytes > keep_bytes;)
        if (is_empty(&pool->slabs[i]))
            (void)remove_slab(pool, i);
    return before - pool->held_bytes;
}

bool spw_hostpool_is_ours(const void *address)
{
    for (const struct spw_hostpool *pool = pools; pool; pool = pool->next)
        if (slab_of(pool, address))
            return true;
    return false;
}

bool spw_hostpool_is_pinned(const struct spw_hostpool *pool, const void *address, size_t bytes)
{
    const struct slab *slab = slab_of(pool, address);
    if (slab == NULL)
        return false;
    size_t offset = (size_t)((const char *)address - slab->address);
    return offset < slab->pinned_bytes && bytes <= slab->pinned_bytes - offset;
}

size_t spw_hostpool_contiguous_bytes(const struct spw_hostpool *pool, const void *address)
{
    const struct slab *slab = slab_of(pool, address);
    if (slab == NULL)
        return 0;
    size_t offset = (size_t)((const char *)address - slab->address);
    if (slab->from_alloc || offset >= slab->pinned_bytes)
        return slab->bytes - offset;
    return smaller(slab->pinned_bytes - offset, SPW_HOSTPOOL_PIN_BYTES - offset % SPW_HOSTPOOL_PIN_BYTES);
}

size_t spw_hostpool_limit(const struct spw_hostpool *pool)
{
    return pool->limit_bytes;
}

size_t spw_hostpool_bytes_in_use(const struct spw_hostpool *pool)
{
    return pool->in_use_bytes;
}

size_t spw_hostpool_bytes_in_use_peak(const struct spw_hostpool *pool)
{
    return pool->in_use_peak_bytes;
}

size_t spw_hostpool_bytes_held(const struct spw_hostpool *pool)
{
    return pool->held_bytes;
}

size_t spw_hostpool_bytes_pinned(const struct spw_hostpool *pool)
{
    size_t bytes = 0;
    for (size_t i = 0; i < pool->slab_count; i++)
        bytes += pool->slabs[i].pinned_bytes;
    return bytes;
}

const char *spw_hostpool_refusal(const struct spw_hostpool *pool)
{
    return pool->refusal;
}

bool spw_hostpool_check(const struct spw_hostpool *pool)
{
    size_t held = 0, in_use = 0;
    for (size_t i = 0; i < pool->slab_count; i++) {
        const struct slab *slab = &pool->slabs[i];
        if (i > 0 && slab[-1].address + slab[-1].bytes > slab->address)
            return false;
        if (slab->pinned_bytes > slab->bytes || spw_ranges_granules(slab->extents) != slab->bytes / GRANULE)
            return false;
        if (!spw_ranges_check(slab->extents))
            return false;
        held += slab->bytes;
        in_use += spw_ranges_in_use(slab->extents) * GRANULE;
    }
    return pool->refused_gives == 0 && held == pool->held_bytes && in_use == pool->in_use_bytes && in_use <= held &&
           held <= pool->limit_bytes;
}
