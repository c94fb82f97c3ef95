/* graph_params.c - parameters of graph nodes into operations, and back. */
#include "graph_params.h"

#include <stdlib.h>
#include <string.h>

#include "driver.h"
#include "graph_memory.h"
#include "launch.h"

CUresult params_from_generic(const CUgraphNodeParams *g, struct node_params *ret)
{
    *ret = (struct node_params){.type = g->type};
    switch (g->type) {
    case CU_GRAPH_NODE_TYPE_KERNEL:
        memcpy(&ret->kernel, &g->kernel, sizeof ret->kernel);
        return CUDA_SUCCESS;
    case CU_GRAPH_NODE_TYPE_MEMCPY:
        ret->memcpy = g->memcpy.copyParams;
        return CUDA_SUCCESS;
    case CU_GRAPH_NODE_TYPE_MEMSET:
        memcpy(&ret->memset, &g->memset, sizeof ret->memset);
        return CUDA_SUCCESS;
    case CU_GRAPH_NODE_TYPE_HOST:
        memcpy(&ret->host, &g->host, sizeof ret->host);
        return CUDA_SUCCESS;
    case CU_GRAPH_NODE_TYPE_GRAPH:
        ret->child = g->graph.graph;
        return g->graph.ownership == CU_GRAPH_CHILD_GRAPH_OWNERSHIP_CLONE ? CUDA_SUCCESS : CUDA_ERROR_NOT_SUPPORTED;
    case CU_GRAPH_NODE_TYPE_EMPTY:
        return CUDA_SUCCESS;
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
        ret->event = g->eventWait.event;
        return CUDA_SUCCESS;
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
        ret->event = g->eventRecord.event;
        return CUDA_SUCCESS;
    case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
        ret->pool = g->alloc.poolProps;
        ret->bytes = g->alloc.bytesize;
        return CUDA_SUCCESS;
    case CU_GRAPH_NODE_TYPE_MEM_FREE:
        ret->address = g->free.dptr;
        return CUDA_SUCCESS;
    default:
        return CUDA_ERROR_NOT_SUPPORTED;
    }
}

static CUresult kernel_op(struct context *context, const CUDA_KERNEL_NODE_PARAMS *p, struct op **ret_op)
{
    struct launch l = {{p->gridDimX, p->gridDimY, p->gridDimZ},
                       {p->blockDimX, p->blockDimY, p->blockDimZ},
                       p->sharedMemBytes,
                       p->kernelParams,
                       p->extra};
    return launch_make(context, p->func ? (const void *)p->func : (const void *)p->kern, &l, ret_op);
}

static CUresult copy_op(struct context *context, const CUDA_MEMCPY3D *p, struct op **ret_op)
{
    struct copy copy;
    enum side source, target;
    CUresult r = copy_request_3d(p, &copy, &source, &target);
    return r == CUDA_SUCCESS ? copy_make(context, "memcpy node", copy, source, target, ret_op) : r;
}

static CUresult set_op(struct context *context, const CUDA_MEMSET_NODE_PARAMS *p, struct op **ret_op)
{
    struct set set = {.target = p->dst,
                      .width = p->width,
                      .height = p->height,
                      .pitch = p->pitch,
                      .element_bytes = p->elementSize,
                      .value = p->value};
    if (p->elementSize != 1 && p->elementSize != 2 && p->elementSize != 4)
        return CUDA_ERROR_INVALID_VALUE;
    return set_make(context, "memset node", set, ret_op);
}

CUresult params_make_op(struct context *context, const struct node_params *p, struct op **ret_op)
{
    *ret_op = NULL;
    switch (p->type) {
    case CU_GRAPH_NODE_TYPE_KERNEL:
        return kernel_op(context, &p->kernel, ret_op);
    case CU_GRAPH_NODE_TYPE_MEMCPY:
        return copy_op(context, &p->memcpy, ret_op);
    case CU_GRAPH_NODE_TYPE_MEMSET:
        return set_op(context, &p->memset, ret_op);
    case CU_GRAPH_NODE_TYPE_HOST:
        if (!p->host.fn)
            return CUDA_ERROR_INVALID_VALUE;
        if (!(*ret_op = op_create(OP_HOST_FUNCTION, context, "host node")))
            return CUDA_ERROR_OUT_OF_MEMORY;
        (*ret_op)->u.host.function = p->host.fn;
        (*ret_op)->u.host.data = p->host.userData;
        return CUDA_SUCCESS;
    default:
        return CUDA_SUCCESS;
    }
}

/* Memory of a device as a pool would give it; nothing that could be shared. */
static CUresult check_allocation(const struct context *context, const struct node_params *p)
{
    const CUmemPoolProps *props = &p->pool;
    if (props->allocType != CU_MEM_ALLOCATION_TYPE_PINNED || props->handleTypes != CU_MEM_HANDLE_TYPE_NONE ||
        props->location.type != CU_MEM_LOCATION_TYPE_DEVICE || !device_find(props->location.id))
        return CUDA_ERROR_INVALID_VALUE;
    return props->location.id == context->device->ordinal ? CUDA_SUCCESS : CUDA_ERROR_NOT_SUPPORTED;
}

static CUresult take_memory(struct context *context, struct node_params *p, struct graph_node *n)
{
    struct block *b = NULL;
    CUresult r;
    if (n->graph->parent) /* a child graph takes no memory nodes */
        return CUDA_ERROR_INVALID_VALUE;
    if (p->type == CU_GRAPH_NODE_TYPE_MEM_ALLOC) {
        r = check_allocation(context, p);
        if (r == CUDA_SUCCESS)
            r = graph_memory_create(context, context->device, p->bytes, &b);
    } else {
        r = graph_memory_to_free(n->graph, p->address, &b);
    }
    if (r == CUDA_SUCCESS) {
        node_take_memory(n, b);
        p->address = b->span.start;
    }
    return r;
}

static CUresult set_event(const struct node_params *p, struct graph_node *n)
{
    if (!handle_is(HANDLE_EVENT, p->event))
        return CUDA_ERROR_INVALID_VALUE;
    struct event *e = event_keep((struct event *)p->event);
    if (n->event)
        event_drop(n->event);
    n->event = e;
    return CUDA_SUCCESS;
}

/* Memory nodes have no double, and what is being destroyed with its owner can't be given away. */
static CUresult set_child(const struct node_params *p, struct graph_node *n)
{
    struct graph *child = (struct graph *)p->child, *copy;
    if (!handle_is(HANDLE_GRAPH, child) || graph_has_memory_nodes(child))
        return CUDA_ERROR_INVALID_VALUE;
    CUresult r = graph_clone(child, true, &copy);
    if (r != CUDA_SUCCESS)
        return r;
    if (n->child)
        graph_destroy(n->child);
    n->child = copy;
    copy->parent = n;
    return CUDA_SUCCESS;
}

CUresult params_finish_node(struct context *context, struct node_params *p, struct graph_node *n)
{
    switch (p->type) {
    case CU_GRAPH_NODE_TYPE_KERNEL:
        n->function = n->op->u.run.handle;
        return CUDA_SUCCESS;
    case CU_GRAPH_NODE_TYPE_GRAPH:
        return set_child(p, n);
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
        return set_event(p, n);
    case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
    case CU_GRAPH_NODE_TYPE_MEM_FREE:
        return take_memory(context, p, n);
    default:
        return CUDA_SUCCESS;
    }
}

static bool one_dimensional(const struct copy *c)
{
    return c->height == 1 && c->depth == 1;
}

static bool is_empty(const struct op *op)
{
    if (op->kind == OP_COPY)
        return op->u.copy.width == 0 || op->u.copy.height == 0 || op->u.copy.depth == 0;
    return op->kind == OP_SET && (op->u.set.width == 0 || op->u.set.height == 0);
}

/* What the documentation allows for a single node of an exec. */
static bool exec_allows(const struct graph_node *n, const struct op *op)
{
    if (op->kind == OP_COPY && (!one_dimensional(&op->u.copy) || !one_dimensional(&n->op->u.copy)))
        return false;
    const void *function = op->kind == OP_KERNEL ? op->u.run.handle : NULL;
    return !is_empty(op) && update_allows(n, op, function) == CU_GRAPH_EXEC_UPDATE_SUCCESS;
}

static CUresult change_child(struct node_params *p, struct graph_node *n, struct exec *exec)
{
    CUgraphExecUpdateResultInfo info;
    if (!exec)
        return set_child(p, n);
    if (!handle_is(HANDLE_GRAPH, p->child))
        return CUDA_ERROR_INVALID_VALUE;
    CUresult r = exec_update(exec, n->child, (struct graph *)p->child, &info);
    return r == CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE ? CUDA_ERROR_INVALID_VALUE : r;
}

CUresult params_change_node(struct context *context, struct node_params *p, struct graph_node *n, struct exec *exec)
{
    struct op *op = NULL;
    if (n->type != p->type)
        return CUDA_ERROR_INVALID_VALUE;
    if (p->type == CU_GRAPH_NODE_TYPE_MEM_ALLOC || p->type == CU_GRAPH_NODE_TYPE_MEM_FREE)
        return CUDA_ERROR_NOT_SUPPORTED;
    if (p->type == CU_GRAPH_NODE_TYPE_GRAPH)
        return change_child(p, n, exec);
    if (p->event)
        return set_event(p, n);
    CUresult r = params_make_op(context, p, &op);
    if (r == CUDA_SUCCESS && op && exec && !exec_allows(n, op))
        r = CUDA_ERROR_INVALID_VALUE;
    if (r != CUDA_SUCCESS) {
        op_drop(op);
        return r;
    }
    if (op)
        node_replace_op(n, op);
    return params_finish_node(context, p, n);
}

static CUresult kernel_params(struct graph_node *n, CUDA_KERNEL_NODE_PARAMS *ret)
{
    struct op *op = n->op;
    const struct simgpu_kernel *k = op->u.run.kernel;
    const struct simgpu_launch *l = &op->u.run.launch;
    if (!n->param_pointers && !(n->param_pointers = calloc(k->param_count + 1, sizeof(void *))))
        return CUDA_ERROR_OUT_OF_MEMORY;
    for (uint32_t i = 0; i < k->param_count; i++)
        n->param_pointers[i] = (char *)op->u.run.image + k->params[i].offset_bytes;
    bool library = handle_is(HANDLE_KERNEL, n->function);
    *ret = (CUDA_KERNEL_NODE_PARAMS){.func = library ? NULL : (CUfunction)n->function,
                                     .kern = library ? (CUkernel)n->function : NULL,
                                     .gridDimX = l->grid[0],
                                     .gridDimY = l->grid[1],
                                     .gridDimZ = l->grid[2],
                                     .blockDimX = l->block[0],
                                     .blockDimY = l->block[1],
                                     .blockDimZ = l->block[2],
                                     .sharedMemBytes = l->shared_bytes,
                                     .kernelParams = n->param_pointers,
                                     .ctx = (CUcontext)op->context};
    return CUDA_SUCCESS;
}

static void copy_params(const struct copy *c, CUDA_MEMCPY3D *ret)
{
    *ret = (CUDA_MEMCPY3D){.srcMemoryType = CU_MEMORYTYPE_UNIFIED,
                           .srcDevice = c->source,
                           .srcPitch = c->source_pitch,
                           .srcHeight = c->source_pitch ? c->source_slice / c->source_pitch : 0,
                           .dstMemoryType = CU_MEMORYTYPE_UNIFIED,
                           .dstDevice = c->target,
                           .dstPitch = c->target_pitch,
                           .dstHeight = c->target_pitch ? c->target_slice / c->target_pitch : 0,
                           .WidthInBytes = c->width,
                           .Height = c->height,
                           .Depth = c->depth};
}

CUresult params_of_node(struct graph_node *n, struct node_params *ret, CUgraphNodeType type)
{
    if (n->type != type)
        return CUDA_ERROR_INVALID_VALUE;
    *ret = (struct node_params){.type = type};
    switch (type) {
    case CU_GRAPH_NODE_TYPE_KERNEL:
        return kernel_params(n, &ret->kernel);
    case CU_GRAPH_NODE_TYPE_MEMCPY:
        copy_params(&n->op->u.copy, &ret->memcpy);
        break;
    case CU_GRAPH_NODE_TYPE_MEMSET: {
        const struct set *s = &n->op->u.set;
        ret->memset = (CUDA_MEMSET_NODE_PARAMS){s->target, s->pitch, s->value, s->element_bytes, s->width, s->height};
        break;
    }
    case CU_GRAPH_NODE_TYPE_HOST:
        ret->host = (CUDA_HOST_NODE_PARAMS){n->op->u.host.function, n->op->u.host.data};
        break;
    case CU_GRAPH_NODE_TYPE_GRAPH:
        ret->child = (CUgraph)n->child;
        break;
    case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
    case CU_GRAPH_NODE_TYPE_MEM_FREE:
        ret->address = n->block->span.start;
        ret->bytes = n->block->span.end - n->block->span.start;
        ret->pool = (CUmemPoolProps){.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                                     .location = {CU_MEM_LOCATION_TYPE_DEVICE, n->block->device->ordinal}};
        break;
    default:
        ret->event = (CUevent)n->event;
    }
    return CUDA_SUCCESS;
}
