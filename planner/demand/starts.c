/* starts.c - sorts persistent tensors by their idle time around the end of the iteration. */
#include "demand/starts.h"

#include <errno.h>
#include <stdlib.h>

struct idle {
    double us;
    uint64_t bytes;
    uint32_t tensor;
};

static int compare_idle(const void *a, const void *b)
{
    const struct idle *x = a, *y = b;
    if (x->us != y->us)
        return x->us > y->us ? -1 : 1;
    if (x->bytes != y->bytes)
        return x->bytes > y->bytes ? -1 : 1;
    return x->tensor < y->tensor ? -1 : x->tensor > y->tensor;
}

/* before_us[i]: time of the operations before operation i. */
static double idle_us(const struct spw_graph *graph, uint32_t tensor, const double *before_us)
{
    const struct spw_graph_tensor *t = &graph->tensors[tensor];
    if (t->use_count == 0)
        return graph->compute_us;
    const uint32_t first = graph->uses[t->first_use].op, last = graph->uses[t->first_use + t->use_count - 1].op;
    return before_us[first] + graph->compute_us - before_us[last + 1];
}

static size_t list_idle(const struct spw_graph *graph, const uint8_t *start, const double *before_us, struct idle *idle)
{
    size_t count = 0;
    for (uint32_t i = 0; i < graph->tensor_count; i++) {
        const struct spw_graph_tensor *t = &graph->tensors[i];
        if (t->persistent && t->evictable && t->bytes && start[i] != SPW_START_HOST)
            idle[count++] = (struct idle){idle_us(graph, i, before_us), t->bytes, i};
    }
    qsort(idle, count, sizeof *idle, compare_idle);
    return count;
}

static uint64_t bytes_at_start(const struct spw_graph *graph, const uint8_t *start)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < graph->tensor_count; i++) {
        const struct spw_graph_tensor *t = &graph->tensors[i];
        if (t->persistent ? start[i] != SPW_START_HOST : t->initial && t->use_count)
            bytes += t->bytes;
    }
    return bytes;
}

int spw_starts_choose(const struct spw_plan_request *request, uint8_t *start)
{
    const struct spw_graph *graph = request->graph;
    uint64_t bytes = bytes_at_start(graph, start);
    if (bytes <= request->device_bytes || !request->may_copy)
        return bytes <= request->device_bytes ? 0 : -ENOSPC;
    double *before_us = malloc(((size_t)graph->op_count + 1) * sizeof *before_us);
    struct idle *idle = malloc(((size_t)graph->tensor_count + 1) * sizeof *idle);
    int r = before_us && idle ? 0 : -ENOMEM;
    if (r == 0) {
        before_us[0] = 0;
        for (uint32_t i = 0; i < graph->op_count; i++)
            before_us[i + 1] = before_us[i] + graph->ops[i].us;
        const size_t count = list_idle(graph, start, before_us, idle);
        for (size_t i = 0; i < count && bytes > request->device_bytes; i++) {
            start[idle[i].tensor] = SPW_START_HOST;
            bytes -= idle[i].bytes;
        }
        r = bytes <= request->device_bytes ? 0 : -ENOSPC;
    }
    free(before_us);
    free(idle);
    return r;
}
