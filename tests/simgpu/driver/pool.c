/* pool.c - stream-ordered allocation: a freed block is another allocation's memory as soon as the order allows it. */
#include "pool.h"

#include <stdlib.h>

#include "driver.h"
#include "physical.h"
#include "sim.h"
#include "stats.h"

static struct pool *pools;

CUresult pool_create(struct device *device, const CUmemPoolProps *props, bool built_in, struct pool **ret_pool)
{
    struct pool *p = calloc(1, sizeof *p);
    if (!p || handle_add(HANDLE_POOL, p) < 0) {
        free(p);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    p->device = device;
    p->props = *props;
    p->built_in = built_in;
    p->follow_events = p->opportunistic = p->internal_dependencies = 1;
    p->access = device ? UINT32_C(1) << device->ordinal : 0;
    p->next = pools;
    pools = p;
    *ret_pool = p;
    return CUDA_SUCCESS;
}

CUresult pools_init(struct device *device)
{
    CUmemPoolProps props = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                            .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = device->ordinal}};
    CUresult r = pool_create(device, &props, true, &device->default_pool);
    device->current_pool = device->default_pool;
    return r;
}

static void pool_forget_if_unused(struct pool *p)
{
    if (!p->destroyed || p->live > 0 || p->free_blocks)
        return;
    struct pool **at = &pools;
    while (*at != p)
        at = &(*at)->next;
    *at = p->next;
    free(p);
}

void pool_destroy(struct pool *p)
{
    handle_remove(p);
    p->destroyed = true;
    if (p->device && p->device->current_pool == p)
        p->device->current_pool = p->device->default_pool;
    pool_trim(p, 0);
    pool_forget_if_unused(p);
}

static void block_return(struct pool *p, struct block **at)
{
    struct block *b = *at;
    *at = b->next_free;
    p->reserved -= b->counted_bytes;
    op_drop(b->free_op);
    memory_free(b);
}

void pool_trim(struct pool *p, uint64_t keep)
{
    for (struct block **at = &p->free_blocks; *at && p->reserved > keep;) {
        if ((*at)->free_op->state == OP_DONE)
            block_return(p, at);
        else
            at = &(*at)->next_free;
    }
}

void pool_trim_all(void)
{
    struct pool *next;
    for (struct pool *p = pools; p; p = next) {
        next = p->next;
        if (p->free_blocks && (p->destroyed || p->reserved > p->release_threshold))
            pool_trim(p, p->destroyed ? 0 : p->release_threshold);
        pool_forget_if_unused(p);
    }
}

void pool_release_unused(struct device *device)
{
    for (struct pool *p = pools; p; p = p->next)
        if (p->device == device)
            pool_trim(p, 0);
}

/* Whether a freed block may be handed out on `stream` now, and by which rule. What is still to run may touch as much as
 * the block had, so until then it does not shrink. */
static bool reusable(const struct pool *p, const struct block *b, const struct stream *stream, size_t bytes)
{
    struct when next = {stream->timeline.known, stream->timeline.slot, stream->timeline.position + 1};
    if (b->free_op->state != OP_DONE && bytes < b->span.end - b->span.start)
        return false;
    if (b->free_op->when.slot == stream->timeline.slot)
        return true;
    if (p->follow_events && when_ordered(&b->free_op->when, &next))
        return true;
    return p->opportunistic && b->free_op->state == OP_DONE;
}

/* The allocation takes its turn in the stream, behind the free on another one: so does what comes after that stream, the
 * legacy stream among it. */
static void follow_free(struct stream *stream, const struct op *free_op)
{
    const bool is_elsewhere = free_op->when.slot != stream->timeline.slot;
    struct op *mark = is_elsewhere ? op_create(OP_MARK, stream->context, "cuMemAllocAsync") : NULL;
    timeline_follow(&stream->timeline, &free_op->when);
    if (mark)
        (void)stream_submit(stream, mark);
}

static struct block *reuse(struct pool *p, struct stream *stream, size_t bytes)
{
    uint64_t counted = (bytes + 511) & ~(uint64_t)511;
    for (struct block **at = &p->free_blocks; *at; at = &(*at)->next_free) {
        struct block *b = *at;
        if (b->counted_bytes != counted || !reusable(p, b, stream, bytes))
            continue;
        *at = b->next_free;
        follow_free(stream, b->free_op);
        op_drop(b->free_op);
        b->free_op = NULL;
        block_remove(b);
        b->span.end = b->span.start + bytes;
        block_add(b); /* with a new id */
        return b;
    }
    return NULL;
}

static CUresult grow(struct pool *p, struct stream *stream, size_t bytes, struct block **ret_block)
{
    CUresult r = CUDA_ERROR_OUT_OF_MEMORY;
    if (p->props.maxSize == 0 || p->reserved + bytes <= p->props.maxSize)
        r = memory_allocate(stream->context, p->device, BLOCK_POOL, bytes, ret_block);
    if (r == CUDA_SUCCESS) {
        p->reserved += (*ret_block)->counted_bytes;
        if (p->reserved_high < p->reserved)
            p->reserved_high = p->reserved;
    }
    return r;
}

CUresult pool_allocate(struct pool *p, struct stream *stream, size_t bytes, struct block **ret_block)
{
    struct block *b = bytes > 0 ? reuse(p, stream, bytes) : NULL;
    CUresult r = b ? CUDA_SUCCESS : grow(p, stream, bytes, &b);
    if (r == CUDA_ERROR_OUT_OF_MEMORY) { /* what has been freed may be of the wrong size, or still be in use */
        pool_release_unused(p->device);
        r = grow(p, stream, bytes, &b);
    }
    if (r == CUDA_ERROR_OUT_OF_MEMORY) {
        sim_wait_context(stream->context);
        pool_release_unused(p->device);
        r = grow(p, stream, bytes, &b);
    }
    if (r != CUDA_SUCCESS)
        return r;
    b->pool = p;
    p->live++;
    p->used += b->counted_bytes;
    if (p->used_high < p->used)
        p->used_high = p->used;
    *ret_block = b;
    return CUDA_SUCCESS;
}

/* The free takes its turn in the stream, and counts as a write: nobody may use the bytes after it. */
CUresult pool_free(struct block *b, struct stream *stream)
{
    struct op *op = op_create(OP_POOL_FREE, stream->context, "cuMemFreeAsync");
    if (!op || op_touch(op, b->span.start, b->span.end - b->span.start, SIMGPU_WRITES) < 0) {
        op_drop(op);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    op->u.block = b;
    b->free_op = op_keep(op);
    CUresult r = stream_submit(stream, op);
    if (r != CUDA_SUCCESS)
        return r;
    b->pool->live--;
    b->pool->used -= b->counted_bytes;
    b->next_free = b->pool->free_blocks;
    b->pool->free_blocks = b;
    return CUDA_SUCCESS;
}
