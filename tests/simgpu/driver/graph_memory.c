/* graph_memory.c - memory that graphs allocate and free. */
#include "graph_memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "driver.h"
#include "graph_call.h"
#include "physical.h"
#include "stats.h"

static struct {
    uint64_t now, high;
} used[MOST_DEVICES], reserved[MOST_DEVICES]; /* bytes */

CUresult graph_memory_create(struct context *context, struct device *device, size_t bytes, struct block **ret_block)
{
    struct graph_memory *m = calloc(1, sizeof *m);
    CUresult r = m ? memory_allocate(context, device, BLOCK_POOL, bytes, ret_block) : CUDA_ERROR_OUT_OF_MEMORY;
    if (r != CUDA_SUCCESS) {
        free(m);
        return r;
    }
    struct block *b = *ret_block;
    b->in_graph = m;
    b->global_refs = 1;
    b->hidden = true;
    address_hide(b->span.start, b->backed_bytes);
    int d = b->device->ordinal;
    reserved[d].now += b->counted_bytes;
    if (reserved[d].high < reserved[d].now)
        reserved[d].high = reserved[d].now;
    return CUDA_SUCCESS;
}

struct block *graph_memory_keep(struct block *b)
{
    b->global_refs++;
    return b;
}

void graph_memory_drop(struct block *b)
{
    if (--b->global_refs > 0)
        return;
    reserved[b->device->ordinal].now -= b->counted_bytes;
    free(b->in_graph);
    memory_free(b);
}

/* ---- nodes ---- */

static bool frees(const struct graph *g, const struct block *b)
{
    for (size_t i = 0; i < g->count; i++)
        if (g->nodes[i]->type == CU_GRAPH_NODE_TYPE_MEM_FREE && g->nodes[i]->block == b)
            return true;
    return false;
}

CUresult graph_memory_to_free(const struct graph *g, CUdeviceptr address, struct block **ret_block)
{
    struct block *b = memory_find(address);
    if (!b || !b->in_graph || b->span.start != address)
        return CUDA_ERROR_INVALID_VALUE;
    const struct graph_memory *m = b->in_graph;
    if (m->freed_inside || (m->freed_outside && (m->owner == g->id || frees(g, b))))
        return CUDA_ERROR_INVALID_VALUE;
    *ret_block = b;
    return CUDA_SUCCESS;
}

void node_take_memory(struct graph_node *n, struct block *b)
{
    struct graph_memory *m = b->in_graph;
    n->block = b;
    if (n->type == CU_GRAPH_NODE_TYPE_MEM_ALLOC)
        m->owner = n->graph->id; /* and the reference that it was made with */
    else if (m->owner == n->graph->id)
        m->freed_inside = graph_memory_keep(b) != NULL;
    else
        m->freed_outside = graph_memory_keep(b) != NULL;
}

struct op *memory_node_op(const struct graph_node *n, struct context *context)
{
    bool allocates = n->type == CU_GRAPH_NODE_TYPE_MEM_ALLOC;
    struct op *op = op_create(allocates ? OP_GRAPH_ALLOC : OP_GRAPH_FREE, context,
                              allocates ? "memory allocation node" : "memory free node");
    if (!op || op_touch(op, n->block->span.start, n->block->span.end - n->block->span.start, SIMGPU_WRITES) < 0) {
        op_drop(op);
        return NULL;
    }
    op->u.block = n->block;
    return op;
}

/* ---- what the host knows ---- */

static void account(struct block *b, bool allocated)
{
    int d = b->device->ordinal;
    if (b->in_graph->allocated == allocated)
        return;
    b->in_graph->allocated = allocated;
    used[d].now += allocated ? b->counted_bytes : -b->counted_bytes;
    if (used[d].high < used[d].now)
        used[d].high = used[d].now;
    stats.live_allocations += allocated ? 1 : -1;
    if (allocated)
        (void)graph_memory_keep(b);
    else
        graph_memory_drop(b);
}

CUresult graph_memory_free(struct block *b, struct stream *s, struct op *after)
{
    struct graph_node node = {.type = CU_GRAPH_NODE_TYPE_MEM_FREE, .block = b};
    if (!b->in_graph->allocated || b->in_graph->freed_inside)
        return CUDA_ERROR_INVALID_VALUE;
    struct op *op = memory_node_op(&node, s->context);
    if (!op)
        return CUDA_ERROR_OUT_OF_MEMORY;
    if (op_after(op, after) < 0) {
        op_drop(op);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    if (after)
        timeline_follow(&s->timeline, &after->when);
    op->name = "cuMemFreeAsync";
    (void)graph_memory_keep(b);
    account(b, false);
    return stream_submit(s, op);
}

CUresult graph_memory_free_now(struct block *b)
{
    const struct graph_memory *m = b->in_graph;
    if (!m->allocated || m->freed_inside)
        return CUDA_ERROR_INVALID_VALUE;
    (void)graph_memory_keep(b);
    sim_spend(settings.profile.free_ns);
    sim_wait_context(b->context);
    CUresult r = m->allocated ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE; /* others may have freed it meanwhile */
    if (r == CUDA_SUCCESS)
        account(b, false);
    if (r == CUDA_SUCCESS)
        graph_memory_vanish(b);
    else
        graph_memory_drop(b);
    return r;
}

/* Whether the node can do its part when the exec is launched now. */
static bool is_ready(const struct exec *e, const struct graph_node *n)
{
    const struct graph_memory *m = n->block->in_graph;
    if (n->type == CU_GRAPH_NODE_TYPE_MEM_ALLOC)
        return !m->allocated || (e->flags & CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH);
    return m->allocated || m->owner == e->graph->origin;
}

CUresult exec_prepare_memory(const struct exec *e, struct stream *s)
{
    const struct graph *g = e->graph;
    CUresult r = CUDA_SUCCESS;
    if (!graph_has_memory_nodes(g))
        return CUDA_SUCCESS;
    for (size_t i = 0; i < g->count; i++)
        if (g->nodes[i]->block && !is_ready(e, g->nodes[i]))
            return CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; r == CUDA_SUCCESS && i < g->count; i++)
        if (g->nodes[i]->type == CU_GRAPH_NODE_TYPE_MEM_ALLOC && g->nodes[i]->block->in_graph->allocated)
            r = graph_memory_free(g->nodes[i]->block, s, e->last);
    return r;
}

void exec_account_memory(const struct exec *e)
{
    const struct graph *g = e->graph;
    for (size_t i = 0; graph_has_memory_nodes(g) && i < g->count; i++)
        if (g->order[i]->block)
            account(g->order[i]->block, g->order[i]->type == CU_GRAPH_NODE_TYPE_MEM_ALLOC);
}

/* ---- what the device does ---- */

void graph_memory_appear(struct block *b)
{
    if (physical_map(b->device, b->offset, b->span.start, b->backed_bytes, true) < 0) {
        fprintf(stderr, "simgpu: the system lets no more mappings be made (vm.max_map_count)\n");
        abort();
    }
    b->hidden = false;
    memset((void *)(uintptr_t)b->span.start, SIMGPU_POISON, b->backed_bytes);
}

void graph_memory_vanish(struct block *b)
{
    address_hide(b->span.start, b->backed_bytes);
    b->hidden = true;
    graph_memory_drop(b);
}

/* ---- counts ---- */

SIMGPU_EXPORT CUresult cuDeviceGraphMemTrim(CUdevice device)
{
    struct call call;
    CUresult r = driver_enter(&call, "cuDeviceGraphMemTrim", NEEDS_INIT);
    if (r == CUDA_SUCCESS && !device_find(device))
        r = CUDA_ERROR_INVALID_DEVICE;
    return driver_leave(&call, r); /* what no graph names any more is gone already */
}

static CUresult enter_attribute(struct call *call, const char *name, CUdevice device, CUgraphMem_attribute attribute,
                                const void *value)
{
    CUresult r = driver_enter(call, name, NEEDS_INIT);
    if (r == CUDA_SUCCESS && !device_find(device))
        r = CUDA_ERROR_INVALID_DEVICE;
    if (r == CUDA_SUCCESS && (!value || attribute > CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH))
        r = CUDA_ERROR_INVALID_VALUE;
    return r;
}

SIMGPU_EXPORT CUresult cuDeviceGetGraphMemAttribute(CUdevice device, CUgraphMem_attribute attribute, void *value)
{
    struct call call;
    CUresult r = enter_attribute(&call, "cuDeviceGetGraphMemAttribute", device, attribute, value);
    if (r == CUDA_SUCCESS)
        *(cuuint64_t *)value = attribute == CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT       ? used[device].now
                               : attribute == CU_GRAPH_MEM_ATTR_USED_MEM_HIGH        ? used[device].high
                               : attribute == CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT ? reserved[device].now
                                                                                     : reserved[device].high;
    return driver_leave(&call, r);
}

/* A high mark can be set to 0 only, and falls to what there is now. */
SIMGPU_EXPORT CUresult cuDeviceSetGraphMemAttribute(CUdevice device, CUgraphMem_attribute attribute, void *value)
{
    struct call call;
    CUresult r = enter_attribute(&call, "cuDeviceSetGraphMemAttribute", device, attribute, value);
    if (r == CUDA_SUCCESS && *(const cuuint64_t *)value != 0)
        r = CUDA_ERROR_INVALID_VALUE;
    if (r == CUDA_SUCCESS && attribute == CU_GRAPH_MEM_ATTR_USED_MEM_HIGH)
        used[device].high = used[device].now;
    else if (r == CUDA_SUCCESS && attribute == CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH)
        reserved[device].high = reserved[device].now;
    else if (r == CUDA_SUCCESS)
        r = CUDA_ERROR_INVALID_VALUE;
    return driver_leave(&call, r);
}
