/* graph_update.c - giving an executable graph the parameters of another graph of the same shape. */
#include "driver.h"
#include "graph.h"
#include "module.h"

/* ---- pairing ---- */

struct pairing {
    struct graph *target, *graph;
    uint64_t target_walk, walk; /* who has a pair already */
    struct graph_node *open;    /* nodes of `graph` whose dependencies are still to be paired */
    size_t count;
    CUgraphExecUpdateResultInfo *info;
};

static bool refuse(CUgraphExecUpdateResultInfo *info, CUgraphExecUpdateResult result, struct graph_node *node,
                   struct graph_node *from)
{
    info->result = result;
    info->errorNode = (CUgraphNode)node;
    info->errorFromNode = (CUgraphNode)from;
    return false;
}

static bool paired(const struct pairing *p, const struct graph_node *n)
{
    return n->mark == (n->graph == p->graph ? p->walk : p->target_walk);
}

/* False: one of them has another pair. */
static bool pair(struct pairing *p, struct graph_node *old, struct graph_node *new)
{
    if (paired(p, old) || paired(p, new))
        return paired(p, old) && paired(p, new) && new->pair == old;
    old->mark = p->target_walk;
    new->mark = p->walk;
    new->pair = old;
    new->next = p->open;
    p->open = new;
    p->count++;
    return true;
}

/* Nodes that nothing depends on are paired in the order in which they were added. */
static bool pair_exits(struct pairing *p)
{
    size_t o = 0;
    for (size_t i = 0; i < p->graph->count; i++) {
        struct graph_node *new = p->graph->nodes[i];
        if (new->dependents.count > 0)
            continue;
        while (o < p->target->count && p->target->nodes[o]->dependents.count > 0)
            o++;
        if (o == p->target->count)
            return refuse(p->info, CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED, new, NULL);
        (void)pair(p, p->target->nodes[o++], new);
    }
    return true;
}

/* The rest is paired along the edges, in the order in which those were made. */
static bool pair_dependencies(struct pairing *p, struct graph_node *new)
{
    struct graph_node *old = new->pair;
    if (old->type != new->type)
        return refuse(p->info, CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED, new, NULL);
    if (old->dependencies.count != new->dependencies.count)
        return refuse(p->info, CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED, new, NULL);
    for (size_t d = 0; d < new->dependencies.count; d++)
        if (!pair(p, old->dependencies.at[d], new->dependencies.at[d]))
            return refuse(p->info, CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED, new, new->dependencies.at[d]);
    return true;
}

/* Afterwards `pair` of each node leads to its counterpart. Child graphs are paired, too. */
static bool pair_all(struct graph *target, struct graph *graph, CUgraphExecUpdateResultInfo *info)
{
    struct pairing p = {target, graph, ++target->walks, ++graph->walks, NULL, 0, info};
    bool same = target->count == graph->count || refuse(info, CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED, NULL, NULL);
    same = same && pair_exits(&p);
    while (same && p.open) {
        struct graph_node *new = p.open;
        p.open = new->next;
        same = pair_dependencies(&p, new);
    }
    if (same && p.count < graph->count) /* what is left hangs on a cycle */
        same = refuse(info, CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED, NULL, NULL);
    for (size_t i = 0; same && i < graph->count; i++)
        if (graph->nodes[i]->child)
            same = pair_all(graph->nodes[i]->pair->child, graph->nodes[i]->child, info);
    return same;
}

/* ---- parameters ---- */

static const struct context *context_of(const void *handle, const struct op *op)
{
    const struct function *f = function_resolve(handle);
    return f && f->module ? f->module->context : op->context;
}

static bool same_place(const struct place *a, const struct place *b)
{
    return a->device == b->device && (a->context == b->context || !a->context || !b->context);
}

static bool same_dimensions(const struct set *a, const struct set *b)
{
    if (a->height == 1 && b->height == 1)
        return true;
    return a->height == b->height && a->width == b->width && a->pitch == b->pitch && a->element_bytes == b->element_bytes;
}

static CUgraphExecUpdateResult compare(const struct graph_node *n, const struct op *op, const void *function,
                                       const struct place *source, const struct place *target)
{
    if (n->type == CU_GRAPH_NODE_TYPE_KERNEL)
        return context_of(n->function, n->op) == context_of(function, op)
                   ? CU_GRAPH_EXEC_UPDATE_SUCCESS
                   : CU_GRAPH_EXEC_UPDATE_ERROR_UNSUPPORTED_FUNCTION_CHANGE;
    bool same = same_place(&n->source, source) && same_place(&n->target, target);
    if (n->type == CU_GRAPH_NODE_TYPE_MEMCPY)
        same = same && n->op->u.copy.direction == op->u.copy.direction;
    if (n->type == CU_GRAPH_NODE_TYPE_MEMSET)
        same = same && same_dimensions(&n->op->u.set, &op->u.set);
    return same ? CU_GRAPH_EXEC_UPDATE_SUCCESS : CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED;
}

CUgraphExecUpdateResult update_allows(const struct graph_node *n, const struct op *op, const void *function)
{
    struct place source, target;
    places_of(op, &source, &target);
    return compare(n, op, function, &source, &target);
}

static bool check_all(struct graph *graph, CUgraphExecUpdateResultInfo *info)
{
    bool fine = true;
    for (size_t i = 0; fine && i < graph->count; i++) {
        struct graph_node *new = graph->nodes[i];
        CUgraphExecUpdateResult result = compare(new->pair, new->op, new->function, &new->source, &new->target);
        if (new->block != new->pair->block) /* another allocation would be another address */
            result = CU_GRAPH_EXEC_UPDATE_ERROR_NOT_SUPPORTED;
        if (result != CU_GRAPH_EXEC_UPDATE_SUCCESS)
            fine = refuse(info, result, new, NULL);
        else if (new->child)
            fine = check_all(new->child, info);
    }
    return fine;
}

/* ---- the change ---- */

/* Copies every template to where it will go, and the references to user objects. */
static bool prepare(struct graph *target, struct graph *graph)
{
    bool there = user_refs_copy(graph->users, &target->next_users) == CUDA_SUCCESS;
    for (size_t i = 0; there && i < graph->count; i++) {
        struct graph_node *new = graph->nodes[i];
        if (new->op)
            there = (new->pair->done = op_clone(new->op)) != NULL;
        if (there && new->child)
            there = prepare(new->pair->child, new->child);
    }
    return there;
}

static void forget(struct graph *target)
{
    user_refs_drop(&target->next_users);
    for (size_t i = 0; i < target->count; i++) {
        op_drop(target->nodes[i]->done);
        target->nodes[i]->done = NULL;
        if (target->nodes[i]->child)
            forget(target->nodes[i]->child);
    }
}

/* *replaced: what user objects were referred to before. */
static void commit(struct graph *target, struct graph *graph, struct user_ref **replaced)
{
    user_refs_move(replaced, &target->users);
    user_refs_move(&target->users, &target->next_users);
    for (size_t i = 0; i < graph->count; i++) {
        struct graph_node *new = graph->nodes[i], *old = new->pair;
        if (new->op)
            node_replace_op(old, old->done);
        old->done = NULL;
        old->source = new->source;
        old->target = new->target;
        old->function = new->function;
        if (new->event) {
            event_keep(new->event);
            event_drop(old->event);
            old->event = new->event;
        }
        if (new->child)
            commit(old->child, new->child, replaced);
    }
}

CUresult exec_update(struct exec *e, struct graph *target, struct graph *graph, CUgraphExecUpdateResultInfo *info)
{
    *info = (CUgraphExecUpdateResultInfo){.result = CU_GRAPH_EXEC_UPDATE_ERROR};
    if (!pair_all(target, graph, info) || !check_all(graph, info))
        return CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
    if (!prepare(target, graph)) {
        forget(target);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    commit(target, graph, &e->held);
    if (e->launches == 0)
        user_refs_drop(&e->held);
    info->result = CU_GRAPH_EXEC_UPDATE_SUCCESS;
    return CUDA_SUCCESS;
}
