/* stash.c - gives out units of one pinned block for each device. */
#include "stash.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lock.h"
#include "ask.h"
#include "driver.h"
#include "result.h"

enum { UNIT = 256 };

struct spw_stash {
    struct spw_block *block; /* a block of ours, always resident */
    uint32_t next;           /* unit where the search begins */
    uint32_t units;
    bool taken[];
};

static uint64_t units_of(uint64_t bytes)
{
    return (bytes + UNIT - 1) / UNIT;
}

bool spw_stash_is_open_locked(const struct spw_device *d)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    return d->stash;
}

int spw_stash_open_locked(struct spw_device *d, struct spw_block *b)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    const uint32_t units = (uint32_t)(b->size_bytes / UNIT);
    struct spw_stash *stash = calloc(1, sizeof(*stash) + units);
    if (!stash)
        return -ENOMEM;
    stash->units = units;
    stash->block = b;
    d->stash = stash;
    return 0;
}

struct spw_block *spw_stash_block_locked(const struct spw_device *d)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    return d->stash ? d->stash->block : NULL;
}

struct spw_block *spw_stash_close_locked(struct spw_device *d)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    struct spw_block *b = spw_stash_block_locked(d);
    if (!b || memchr(d->stash->taken, true, d->stash->units))
        return NULL;
    free(d->stash);
    d->stash = NULL;
    return b;
}

/* Returns the first of `count` free units in a row in [from, end), or `end` if there are none. */
static uint32_t find_room(const struct spw_stash *stash, uint32_t from, uint32_t end, uint32_t count)
{
    uint32_t free = 0;
    for (uint32_t i = from; i < end; i++) {
        free = stash->taken[i] ? 0 : free + 1;
        if (free == count)
            return i + 1 - count;
    }
    return end;
}

/* Takes units below `end`, preferably from `next` on. */
static int take(struct spw_stash *stash, uint64_t bytes, uint32_t next, uint32_t end, uint32_t *ret_first)
{
    if (!bytes || units_of(bytes) > end)
        return -ENOSPC;
    const uint32_t count = (uint32_t)units_of(bytes);
    uint32_t first = find_room(stash, next, end, count);
    if (first == end)
        first = find_room(stash, 0, end, count);
    if (first == end)
        return -ENOSPC;
    memset(stash->taken + first, true, count);
    *ret_first = first;
    return 0;
}

static uint32_t units_for_long(const struct spw_stash *stash)
{
    return stash->units / 2;
}

/* Searches the half first that is not for long-lived contents. */
int spw_stash_take_locked(struct spw_device *d, uint64_t bytes, uint32_t *ret_offset)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    struct spw_stash *stash = d->stash;
    uint32_t first = 0;
    const int r = stash ? take(stash, bytes, units_for_long(stash), stash->units, &first) : -ENOSPC;
    if (r == 0)
        *ret_offset = first * UNIT;
    return r;
}

int spw_stash_take_for_long_locked(struct spw_device *d, uint64_t bytes, uint32_t *ret_offset)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    struct spw_stash *stash = d->stash;
    uint32_t first = 0;
    const int r = stash ? take(stash, bytes, stash->next, units_for_long(stash), &first) : -ENOSPC;
    if (r < 0)
        return r;
    stash->next = first + (uint32_t)units_of(bytes);
    *ret_offset = first * UNIT;
    return 0;
}

uint64_t spw_stash_rounded(uint64_t bytes)
{
    return units_of(bytes) * UNIT;
}

uint64_t spw_stash_moment_bytes_locked(const struct spw_device *d)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    const struct spw_stash *stash = d->stash;
    return stash ? (uint64_t)(stash->units - units_for_long(stash)) * UNIT : 0;
}

void spw_stash_give_locked(struct spw_device *d, uint32_t offset, uint64_t bytes)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    struct spw_stash *stash = d->stash;
    if (stash)
        memset(stash->taken + offset / UNIT, false, units_of(bytes));
}

CUdeviceptr spw_stash_address_locked(const struct spw_device *d, uint32_t offset)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    return d->stash->block->address + offset;
}

void spw_stash_used_locked(struct spw_device *d, struct spw_stream *s, uint64_t number)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    spw_uses_add_locked(&d->stash->block->object.uses, s, number);
}

int spw_stash_clear_locked(struct spw_device *d, struct spw_stream *s, uint64_t number, uint64_t bytes, uint32_t offset)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    int r = d->stash ? spw_uses_order_locked(&d->stash->block->object.uses, s) : -ENOSPC;
    if (r == 0)
        r = spw_result(SPW_ASK_QUIETLY(cuMemsetD8Async, spw_stash_address_locked(d, offset), 0, bytes, s->handle));
    if (r == 0)
        spw_stash_used_locked(d, s, number);
    return r;
}

static int copy(struct spw_device *d, struct spw_stream *s, uint64_t number, CUdeviceptr to, CUdeviceptr from,
                uint64_t bytes)
{
    struct spw_uses *uses = &d->stash->block->object.uses;
    int r = spw_uses_order_locked(uses, s);
    if (r == 0)
        r = spw_result(SPW_ASK_QUIETLY(cuMemcpyDtoDAsync_v2, to, from, bytes, s->handle));
    if (r == 0)
        spw_uses_add_locked(uses, s, number);
    return r;
}

int spw_stash_save_locked(struct spw_device *d, struct spw_stream *s, uint64_t number, CUdeviceptr address, uint64_t bytes,
                          uint32_t offset)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    return d->stash ? copy(d, s, number, d->stash->block->address + offset, address, bytes) : -ENOSPC;
}

int spw_stash_load_locked(struct spw_device *d, struct spw_stream *s, uint64_t number, CUdeviceptr address, uint64_t bytes,
                          uint32_t offset)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    return d->stash ? copy(d, s, number, address, d->stash->block->address + offset, bytes) : -ENOSPC;
}
