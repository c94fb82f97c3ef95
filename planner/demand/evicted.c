/* evicted.c - walks through evicted tensors, and joins them in classes. */
#include "demand/evicted.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "grow.h"

struct spw_evicted {
    const struct spw_graph *graph;
    double *made_us; /* for each use of a tensor: the cost of all its writers up to then */
    bool *gone;
    double *own_us;    /* of evicted tensors: their cost when they were evicted */
    uint32_t *node;    /* for each evicted tensor: its node in a class */
    uint32_t *parents; /* for each node: the next on the way to the root; a root is its own parent */
    double *class_us;  /* for each root */
    size_t node_count, node_room;
    uint32_t *seen, walk; /* for each tensor: the last walk that reached it */
    uint32_t *list;       /* reached in this walk */
    uint32_t list_count;
};

void spw_evicted_destroy(struct spw_evicted *e)
{
    if (!e)
        return;
    free(e->made_us);
    free(e->gone);
    free(e->own_us);
    free(e->node);
    free(e->parents);
    free(e->class_us);
    free(e->seen);
    free(e->list);
    free(e);
}

static void sum_up(struct spw_evicted *e)
{
    for (uint32_t i = 0; i < e->graph->tensor_count; i++) {
        const struct spw_graph_tensor *t = &e->graph->tensors[i];
        double us = 0;
        for (uint32_t k = t->first_use; k < t->first_use + t->use_count; k++) {
            us += e->graph->uses[k].writes ? e->graph->ops[e->graph->uses[k].op].us : 0;
            e->made_us[k] = us;
        }
    }
}

int spw_evicted_create(const struct spw_graph *graph, struct spw_evicted **ret_evicted)
{
    const size_t tensors = (size_t)graph->tensor_count + 1;
    struct spw_evicted *e = calloc(1, sizeof *e);
    if (!e)
        return -ENOMEM;
    e->graph = graph;
    e->made_us = malloc(((size_t)graph->use_count + 1) * sizeof *e->made_us);
    e->gone = calloc(tensors, sizeof *e->gone);
    e->own_us = malloc(tensors * sizeof *e->own_us);
    e->node = malloc(tensors * sizeof *e->node);
    e->node_room = tensors;
    e->parents = malloc(e->node_room * sizeof *e->parents);
    e->class_us = malloc(e->node_room * sizeof *e->class_us);
    e->seen = calloc(tensors, sizeof *e->seen);
    e->list = malloc(tensors * sizeof *e->list);
    if (!e->made_us || !e->gone || !e->own_us || !e->node || !e->parents || !e->class_us || !e->seen || !e->list) {
        spw_evicted_destroy(e);
        return -ENOMEM;
    }
    sum_up(e);
    *ret_evicted = e;
    return 0;
}

void spw_evicted_clear(struct spw_evicted *e)
{
    memset(e->gone, 0, e->graph->tensor_count);
    e->node_count = 0;
}

double spw_evicted_own_us(const struct spw_evicted *e, uint32_t tensor, uint32_t uses)
{
    return uses ? e->made_us[e->graph->tensors[tensor].first_use + uses - 1] : 0;
}

/* ---- walks ---- */

static void meet(struct spw_evicted *e, uint32_t tensor)
{
    if (!e->gone[tensor] || e->seen[tensor] == e->walk)
        return;
    e->seen[tensor] = e->walk;
    e->list[e->list_count++] = tensor;
}

/* Visits the evicted ones among the tensors that it was made from (`up`), or that were made from it. */
static void meet_neighbours(struct spw_evicted *e, uint32_t tensor, bool up, uint64_t *work)
{
    const struct spw_graph *graph = e->graph;
    const struct spw_graph_tensor *t = &graph->tensors[tensor];
    for (uint32_t i = 0; i < t->use_count; i++) {
        const struct spw_use *use = &graph->uses[t->first_use + i];
        if (up ? !use->writes : !use->reads)
            continue;
        const struct spw_graph_op *op = &graph->ops[use->op];
        const struct spw_touched_tensor *touched = &graph->touched[up ? op->first_read : op->first_write];
        const uint32_t count = up ? op->read_count : op->write_count;
        for (uint32_t k = 0; k < count; k++)
            meet(e, touched[k].tensor);
        *work += count;
    }
}

static double walk(struct spw_evicted *e, uint32_t tensor, bool up, const double *times, double *used_us, uint64_t *work)
{
    double us = 0;
    e->walk++;
    e->list_count = 0;
    e->seen[tensor] = e->walk;
    meet_neighbours(e, tensor, up, work);
    for (uint32_t i = 0; i < e->list_count; i++) {
        us += e->own_us[e->list[i]];
        if (times && times[e->list[i]] > *used_us)
            *used_us = times[e->list[i]];
        meet_neighbours(e, e->list[i], up, work);
    }
    return us;
}

double spw_evicted_around_us(struct spw_evicted *e, uint32_t tensor, const double *times, double *used_us, uint64_t *work)
{
    return walk(e, tensor, true, times, used_us, work) + walk(e, tensor, false, times, used_us, work);
}

double spw_evicted_above_us(struct spw_evicted *e, uint32_t tensor, uint64_t *work)
{
    return walk(e, tensor, true, NULL, NULL, work);
}

/* ---- classes ---- */

static uint32_t root_of(struct spw_evicted *e, uint32_t node)
{
    while (e->parents[node] != node)
        node = e->parents[node] = e->parents[e->parents[node]];
    return node;
}

static void list_neighbours(struct spw_evicted *e, uint32_t tensor, uint64_t *work)
{
    e->walk++;
    e->list_count = 0;
    e->seen[tensor] = e->walk;
    meet_neighbours(e, tensor, true, work);
    meet_neighbours(e, tensor, false, work);
}

double spw_evicted_class_us(struct spw_evicted *e, uint32_t tensor, uint64_t *work)
{
    double us = 0;
    list_neighbours(e, tensor, work);
    for (uint32_t i = 0; i < e->list_count; i++) {
        const uint32_t root = root_of(e, e->node[e->list[i]]);
        uint32_t before = 0;
        while (before < i && root_of(e, e->node[e->list[before]]) != root)
            before++;
        if (before == i)
            us += e->class_us[root];
    }
    return us;
}

/* Adds a node for the tensor, in a class of its own. Nodes of tensors that came back remain, since others may have them
 * as parents. */
static int add_node(struct spw_evicted *e, uint32_t tensor)
{
    if (e->node_count == e->node_room) {
        const size_t had = e->node_room;
        if (SPW_RESIZE(e->parents, had, 2 * had) < 0 || SPW_RESIZE(e->class_us, had, 2 * had) < 0)
            return -ENOMEM;
        e->node_room = 2 * had;
    }
    const uint32_t node = (uint32_t)e->node_count++;
    e->node[tensor] = e->parents[node] = node;
    e->class_us[node] = e->own_us[tensor];
    return 0;
}

int spw_evicted_go(struct spw_evicted *e, uint32_t tensor, uint32_t uses)
{
    uint64_t work = 0;
    if (e->gone[tensor] || e->graph->tensors[tensor].persistent)
        return 0;
    e->own_us[tensor] = spw_evicted_own_us(e, tensor, uses);
    if (add_node(e, tensor) < 0)
        return -ENOMEM;
    e->gone[tensor] = true;
    list_neighbours(e, tensor, &work);
    for (uint32_t i = 0; i < e->list_count; i++) {
        const uint32_t mine = root_of(e, e->node[tensor]), other = root_of(e, e->node[e->list[i]]);
        if (mine == other)
            continue;
        e->parents[other] = mine;
        e->class_us[mine] += e->class_us[other];
    }
    return 0;
}

void spw_evicted_come(struct spw_evicted *e, uint32_t tensor)
{
    if (!e->gone[tensor])
        return;
    e->gone[tensor] = false;
    e->class_us[root_of(e, e->node[tensor])] -= e->own_us[tensor];
}
