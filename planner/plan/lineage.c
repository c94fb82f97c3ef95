/* lineage.c - walks from a tensor back to tensors that are alive, visiting each operation once. */
#include "plan/lineage.h"

#include <errno.h>
#include <stdlib.h>

#include "plan/choice.h"

struct spw_lineage {
    const struct spw_graph *graph;
    uint32_t *seen;                     /* for each operation: the last walk that visited it */
    uint32_t walk, wanted;              /* wanted: the tensor of this walk */
    uint32_t ops[SPW_LINEAGE_MOST_OPS]; /* visited in this walk, in order */
    uint32_t count;
    uint32_t retained[SPW_LINEAGE_MOST_OPS]; /* tensors */
    uint32_t retained_count;
};

int spw_lineage_create(const struct spw_graph *graph, struct spw_lineage **ret_lineage)
{
    struct spw_lineage *lineage = calloc(1, sizeof *lineage);
    if (!lineage)
        return -ENOMEM;
    lineage->graph = graph;
    lineage->seen = calloc(graph->op_count, sizeof *lineage->seen);
    if (!lineage->seen) {
        free(lineage);
        return -ENOMEM;
    }
    *ret_lineage = lineage;
    return 0;
}

void spw_lineage_destroy(struct spw_lineage *lineage)
{
    if (lineage)
        free(lineage->seen);
    free(lineage);
}

/* The version that the tensor has in recorded order just before operation `at`. */
static uint32_t version_at(const struct spw_graph *graph, uint32_t tensor, uint32_t at)
{
    const struct spw_graph_tensor *t = &graph->tensors[tensor];
    const uint32_t next = spw_graph_use_from(graph, tensor, at);
    return next < t->use_count ? graph->uses[t->first_use + next].version : t->last_version;
}

/* Returns true if no operation from `at` on uses the tensor, and it does not carry over. */
static bool is_over(const struct spw_graph *graph, uint32_t tensor, uint32_t at)
{
    const struct spw_graph_tensor *t = &graph->tensors[tensor];
    return !t->persistent && graph->uses[t->first_use + t->use_count - 1].op < at;
}

/* Returns the entry of the tensor among the writes of `op`, or NULL. */
static const struct spw_touched_tensor *write_of(const struct spw_graph *graph, uint32_t op, uint32_t tensor)
{
    const struct spw_touched_tensor *writes = &graph->touched[graph->ops[op].first_write];
    for (uint32_t i = 0; i < graph->ops[op].write_count; i++)
        if (writes[i].tensor == tensor)
            return &writes[i];
    return NULL;
}

/* Returns true if a replay of the operation leaves the tensor alone as a side buffer. */
static bool is_side(const struct spw_graph *graph, uint32_t op, uint32_t tensor)
{
    const struct spw_touched_tensor *write = write_of(graph, op, tensor);
    return write && write->side;
}

uint32_t spw_lineage_maker(const struct spw_graph *graph, uint32_t tensor, uint32_t version)
{
    const uint32_t op = version ? spw_graph_producer(graph, tensor, version) : SPW_NO_INDEX;
    return op != SPW_NO_INDEX && graph->ops[op].replayable && !is_side(graph, op, tensor) ? op : SPW_NO_INDEX;
}

uint32_t spw_lineage_first_maker(const struct spw_graph *graph, uint32_t tensor, uint32_t version)
{
    uint32_t first = spw_lineage_maker(graph, tensor, version);
    while (first != SPW_NO_INDEX && write_of(graph, first, tensor)->in_place)
        first = spw_lineage_maker(graph, tensor, --version);
    return first;
}

/* Adds the operation that makes this version to the list. Returns false if it cannot be recomputed. */
static bool want(struct spw_lineage *lineage, uint32_t tensor, uint32_t version, uint32_t at)
{
    const uint32_t op = spw_lineage_maker(lineage->graph, tensor, version);
    if (op == SPW_NO_INDEX || op >= at)
        return false;
    if (lineage->seen[op] == lineage->walk)
        return true;
    if (lineage->count == SPW_LINEAGE_MOST_OPS)
        return false;
    lineage->seen[op] = lineage->walk;
    lineage->ops[lineage->count++] = op;
    return true;
}

static bool list_retained(struct spw_lineage *lineage, uint32_t tensor)
{
    for (uint32_t i = 0; i < lineage->retained_count; i++)
        if (lineage->retained[i] == tensor)
            return true;
    if (lineage->retained_count == SPW_LINEAGE_MOST_OPS)
        return false;
    lineage->retained[lineage->retained_count++] = tensor;
    return true;
}

/* Returns true if a dead tensor counts as available, since it is retained or would be. */
static bool is_retained(struct spw_lineage *lineage, const struct spw_touched_tensor *touch,
                        const struct spw_lineage_terms *terms)
{
    const struct spw_graph_tensor *t = &lineage->graph->tensors[touch->tensor];
    if (touch->version != t->last_version)
        return false;
    if (terms->choices && terms->choices[t->first_use + t->use_count - 1] >= SPW_RETAIN)
        return true;
    const bool is_leaf = spw_lineage_maker(lineage->graph, touch->tensor, touch->version) == SPW_NO_INDEX;
    return ((is_leaf && terms->retain_leaves) || (t->bytes > 0 && t->bytes <= terms->retain_bytes)) &&
           list_retained(lineage, touch->tensor);
}

uint32_t spw_lineage_retained(const struct spw_lineage *lineage, const uint32_t **ret_tensors)
{
    *ret_tensors = lineage->retained;
    return lineage->retained_count;
}

static bool want_inputs(struct spw_lineage *lineage, uint32_t index, const struct spw_lineage_terms *terms)
{
    const uint32_t at = terms->at;
    const struct spw_graph *graph = lineage->graph;
    const struct spw_graph_op *op = &graph->ops[index];
    for (uint32_t i = 0; i < op->read_count; i++) {
        const struct spw_touched_tensor *touch = &graph->touched[op->first_read + i];
        if (touch->side)
            continue;
        if (touch->in_place) { /* the version before, which exists nowhere any more */
            const bool may_change = touch->tensor == lineage->wanted || is_over(graph, touch->tensor, at);
            if (!may_change || !want(lineage, touch->tensor, touch->version, at))
                return false;
            continue;
        }
        const bool is_gone = is_over(graph, touch->tensor, at);
        if (!is_gone && version_at(graph, touch->tensor, at) != touch->version)
            return false; /* overwritten meanwhile */
        if (is_gone && !is_retained(lineage, touch, terms) && !want(lineage, touch->tensor, touch->version, at))
            return false;
    }
    for (uint32_t i = 0; i < op->write_count; i++) {
        const struct spw_touched_tensor *touch = &graph->touched[op->first_write + i];
        if (touch->side || is_over(graph, touch->tensor, at))
            continue;
        if (touch->tensor != lineage->wanted && version_at(graph, touch->tensor, at) != touch->version)
            return false; /* it holds a newer version that is still needed */
    }
    return true;
}

double spw_lineage_us(struct spw_lineage *lineage, uint32_t tensor, uint32_t version, const struct spw_lineage_terms *terms)
{
    double us = 0;
    lineage->walk++;
    lineage->count = lineage->retained_count = 0;
    lineage->wanted = tensor;
    if (lineage->graph->tensors[tensor].persistent || !want(lineage, tensor, version, terms->at))
        return -1;
    for (uint32_t i = 0; i < lineage->count; i++) {
        if (!want_inputs(lineage, lineage->ops[i], terms))
            return -1;
        us += lineage->graph->ops[lineage->ops[i]].us;
    }
    return us;
}
