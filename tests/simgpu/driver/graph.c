/* graph.c - graphs as nodes and edges: building, cloning, walking. */
#include "graph.h"

#include <stdlib.h>
#include <string.h>

#include "driver.h"
#include "graph_memory.h"

static uint64_t next_id = 1; /* of graphs and nodes */

struct graph *graph_create(struct context *context, bool with_handles)
{
    struct graph *g = calloc(1, sizeof *g);
    if (!g || (with_handles && handle_add(HANDLE_GRAPH, g) < 0)) {
        free(g);
        return NULL;
    }
    g->id = next_id++;
    g->context = context;
    return g;
}

static void node_free(struct graph_node *n)
{
    handle_remove(n);
    op_drop(n->op);
    if (n->child)
        graph_destroy(n->child);
    if (n->event)
        event_drop(n->event);
    if (n->block)
        graph_memory_drop(n->block);
    free(n->param_pointers);
    free(n->dependencies.at);
    free(n->dependents.at);
    free(n);
}

void graph_destroy(struct graph *g)
{
    handle_remove(g);
    for (size_t i = 0; i < g->count; i++)
        node_free(g->nodes[i]);
    user_refs_drop(&g->users);
    free(g->nodes);
    free(g->order);
    free(g);
}

/* ---- edges ---- */

static bool list_reserve(struct node_list *list)
{
    if (list->count < list->room)
        return true;
    size_t room = list->room ? 2 * list->room : 4;
    struct graph_node **more = realloc(list->at, room * sizeof(struct graph_node *));
    if (!more)
        return false;
    list->at = more;
    list->room = room;
    return true;
}

static bool list_has(const struct node_list *list, const struct graph_node *n)
{
    size_t i = 0;
    while (i < list->count && list->at[i] != n)
        i++;
    return i < list->count;
}

static void list_remove(struct node_list *list, const struct graph_node *n)
{
    size_t kept = 0;
    for (size_t i = 0; i < list->count; i++)
        if (list->at[i] != n)
            list->at[kept++] = list->at[i];
    list->count = kept;
}

/* An edge that is known to be new. */
static CUresult edge_add(struct graph_node *n, struct graph_node *on)
{
    if (!list_reserve(&n->dependencies) || !list_reserve(&on->dependents))
        return CUDA_ERROR_OUT_OF_MEMORY;
    n->dependencies.at[n->dependencies.count++] = on;
    on->dependents.at[on->dependents.count++] = n;
    return CUDA_SUCCESS;
}

static bool edge_is_there(const struct graph_node *n, const struct graph_node *on)
{
    return n->dependencies.count < on->dependents.count ? list_has(&n->dependencies, on) : list_has(&on->dependents, n);
}

CUresult node_depend(struct graph_node *n, struct graph_node *on)
{
    if (n == on || n->graph != on->graph || edge_is_there(n, on))
        return CUDA_ERROR_INVALID_VALUE;
    return edge_add(n, on);
}

bool node_depend_no_more(struct graph_node *n, struct graph_node *on)
{
    if (!edge_is_there(n, on))
        return false;
    list_remove(&n->dependencies, on);
    list_remove(&on->dependents, n);
    return true;
}

/* ---- nodes ---- */

static struct place place_of(uint64_t address)
{
    const struct block *b = memory_find(address);
    if (!b || !b->device)
        return (struct place){NULL, NULL};
    return (struct place){b->device, b->kind == BLOCK_MAPPING ? NULL : b->context};
}

void places_of(const struct op *op, struct place *ret_source, struct place *ret_target)
{
    *ret_source = *ret_target = (struct place){NULL, NULL};
    if (op && op->kind == OP_COPY) {
        *ret_source = place_of(op->u.copy.source);
        *ret_target = place_of(op->u.copy.target);
    } else if (op && op->kind == OP_SET) {
        *ret_target = place_of(op->u.set.target);
    }
}

void node_replace_op(struct graph_node *n, struct op *op)
{
    op_drop(n->op);
    n->op = op;
    places_of(op, &n->source, &n->target);
    free(n->param_pointers);
    n->param_pointers = NULL;
}

static bool touches_memory(const struct graph_node *n)
{
    return n->type == CU_GRAPH_NODE_TYPE_MEM_ALLOC || n->type == CU_GRAPH_NODE_TYPE_MEM_FREE;
}

static CUresult graph_append(struct graph *g, struct graph_node *n)
{
    if (g->count == g->room) {
        size_t room = g->room ? 2 * g->room : 16;
        struct graph_node **more = realloc(g->nodes, room * sizeof(struct graph_node *));
        if (!more)
            return CUDA_ERROR_OUT_OF_MEMORY;
        g->nodes = more;
        g->room = room;
    }
    if (handle_is(HANDLE_GRAPH, g) && handle_add(HANDLE_NODE, n) < 0)
        return CUDA_ERROR_OUT_OF_MEMORY;
    n->graph = g;
    n->index = g->count;
    n->id = next_id++;
    g->memory_nodes += touches_memory(n);
    g->nodes[g->count++] = n;
    return CUDA_SUCCESS;
}

/* All of them nodes of the graph, and none of them twice. */
static bool all_different(struct graph *g, const CUgraphNode *nodes, size_t count)
{
    uint64_t walk = ++g->walks;
    for (size_t i = 0; i < count; i++) {
        struct graph_node *n = (struct graph_node *)nodes[i];
        if (!handle_is(HANDLE_NODE, n) || n->graph != g || n->mark == walk)
            return false;
        n->mark = walk;
    }
    return true;
}

CUresult graph_add(struct graph *g, CUgraphNodeType type, struct op *op, const CUgraphNode *dependencies, size_t count,
                   struct graph_node **ret_node)
{
    struct graph_node *n = calloc(1, sizeof *n);
    CUresult r = !n                                      ? CUDA_ERROR_OUT_OF_MEMORY
                 : all_different(g, dependencies, count) ? CUDA_SUCCESS
                                                         : CUDA_ERROR_INVALID_VALUE;
    if (r == CUDA_SUCCESS) {
        n->type = type;
        r = graph_append(g, n);
    }
    if (r != CUDA_SUCCESS) {
        op_drop(op);
        free(n);
        return r;
    }
    node_replace_op(n, op);
    for (size_t i = 0; r == CUDA_SUCCESS && i < count; i++)
        r = edge_add(n, (struct graph_node *)dependencies[i]);
    if (r != CUDA_SUCCESS)
        graph_remove(n);
    else
        *ret_node = n;
    return r;
}

void graph_remove(struct graph_node *n)
{
    struct graph *g = n->graph;
    for (size_t i = 0; i < n->dependencies.count; i++)
        list_remove(&n->dependencies.at[i]->dependents, n);
    for (size_t i = 0; i < n->dependents.count; i++)
        list_remove(&n->dependents.at[i]->dependencies, n);
    g->count--;
    for (size_t i = n->index; i < g->count; i++) {
        g->nodes[i] = g->nodes[i + 1];
        g->nodes[i]->index = i;
    }
    g->memory_nodes -= touches_memory(n);
    node_free(n);
}

bool graph_has_memory_nodes(const struct graph *g)
{
    return g->memory_nodes > 0;
}

/* ---- clones ---- */

static CUresult clone_node(const struct graph_node *n, struct graph *into, bool with_handles)
{
    struct graph_node *copy;
    struct op *op = NULL;
    if (n->op && !(op = op_clone(n->op)))
        return CUDA_ERROR_OUT_OF_MEMORY;
    CUresult r = graph_add(into, n->type, op, NULL, 0, &copy);
    if (r != CUDA_SUCCESS)
        return r;
    copy->origin = n->id;
    copy->source = n->source;
    copy->target = n->target;
    copy->event = n->event ? event_keep(n->event) : NULL;
    copy->function = n->function;
    copy->disabled = n->disabled;
    copy->block = n->block ? graph_memory_keep(n->block) : NULL;
    if (n->child && (r = graph_clone(n->child, with_handles, &copy->child)) == CUDA_SUCCESS)
        copy->child->parent = copy;
    return r;
}

CUresult graph_clone(const struct graph *g, bool with_handles, struct graph **ret_graph)
{
    struct graph *copy = graph_create(g->context, with_handles);
    CUresult r = copy ? user_refs_copy(g->users, &copy->users) : CUDA_ERROR_OUT_OF_MEMORY;
    for (size_t i = 0; r == CUDA_SUCCESS && i < g->count; i++)
        r = clone_node(g->nodes[i], copy, with_handles);
    for (size_t i = 0; r == CUDA_SUCCESS && i < g->count; i++)
        for (size_t d = 0; r == CUDA_SUCCESS && d < g->nodes[i]->dependencies.count; d++)
            r = edge_add(copy->nodes[i], copy->nodes[g->nodes[i]->dependencies.at[d]->index]);
    if (r != CUDA_SUCCESS) {
        if (copy)
            graph_destroy(copy);
        return r;
    }
    copy->origin = g->id;
    *ret_graph = copy;
    return CUDA_SUCCESS;
}

struct graph_node *graph_find_clone(const struct graph *clone, const struct graph_node *node)
{
    size_t low = 0, high = clone->count;
    while (low < high) { /* both graphs hold them in the order of their ids; what was added to the clone comes last */
        size_t middle = low + (high - low) / 2;
        uint64_t origin = clone->nodes[middle]->origin;
        if (origin && origin < node->id)
            low = middle + 1;
        else
            high = middle;
    }
    return low < clone->count && clone->nodes[low]->origin == node->id ? clone->nodes[low] : NULL;
}

/* ---- walks ---- */

static void push(struct graph_node **stack, struct graph_node *n, uint64_t walk)
{
    n->mark = walk;
    n->step = 0;
    n->next = *stack;
    *stack = n;
}

bool graph_depends(const struct graph_node *from, const struct graph_node *on)
{
    struct graph_node *stack = NULL;
    uint64_t walk = ++from->graph->walks;
    push(&stack, (struct graph_node *)from, walk);
    while (stack && stack != on) {
        struct graph_node *n = stack;
        stack = n->next;
        for (size_t i = 0; i < n->dependencies.count; i++)
            if (n->dependencies.at[i]->mark != walk)
                push(&stack, n->dependencies.at[i], walk);
    }
    return stack != NULL;
}

/* Puts what `from` depends on into the order, then itself. False: it depends on *ret_offender, which depends on it. */
static bool place(struct graph_node *from, size_t *placed, uint64_t walk, struct graph_node **ret_offender)
{
    const size_t has_its_place = SIZE_MAX;
    struct graph_node *stack = NULL;
    push(&stack, from, walk);
    while (stack) {
        struct graph_node *n = stack;
        if (n->step < n->dependencies.count) {
            struct graph_node *before = n->dependencies.at[n->step++];
            if (before->mark != walk) {
                push(&stack, before, walk);
            } else if (before->step != has_its_place) {
                *ret_offender = before;
                return false;
            }
            continue;
        }
        stack = n->next;
        n->step = has_its_place;
        n->graph->order[(*placed)++] = n;
    }
    return true;
}

CUresult graph_sort(struct graph *g, struct graph_node **ret_offender)
{
    size_t placed = 0;
    uint64_t walk = ++g->walks;
    free(g->order);
    g->order = malloc((g->count + 1) * sizeof(struct graph_node *));
    if (!g->order)
        return CUDA_ERROR_OUT_OF_MEMORY;
    for (size_t i = 0; i < g->count; i++)
        if (g->nodes[i]->mark != walk && !place(g->nodes[i], &placed, walk, ret_offender))
            return CUDA_ERROR_INVALID_VALUE;
    return CUDA_SUCCESS;
}
