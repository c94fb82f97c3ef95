/* instants.c - chooses where the fluid relaxation examines memory. */
#include "model.h"

#include <stdlib.h>

#include "bounds/bounds.h"

/* Computes, for each operation, the bytes that are alive and those that have to be present. */
void fluid_sum_up(struct fluid *m)
{
    double *alive = m->alive, *held = m->held;
    const struct spw_graph *graph = m->graph;
    for (uint32_t i = 0; i < graph->tensor_count; i++) {
        const struct spw_graph_tensor *t = &graph->tensors[i];
        if (t->bytes < m->request.smallest_bytes || (t->use_count == 0 && (t->evictable || !t->persistent)))
            continue;
        const bool kept = !t->evictable, whole = t->persistent;
        const uint32_t first = whole || t->initial ? 0 : graph->uses[t->first_use].op;
        const uint32_t end = whole ? graph->op_count : graph->uses[t->first_use + t->use_count - 1].op;
        for (double *sums = alive; sums; sums = kept && sums == alive ? held : NULL) {
            sums[first] += (double)t->bytes;
            if (end < graph->op_count)
                sums[end + 1] -= (double)t->bytes;
        }
    }
    for (uint32_t i = 0; i < graph->op_count; i++) {
        alive[i + 1] += alive[i];
        held[i + 1] += held[i];
    }
    for (uint32_t i = 0; i < graph->op_count; i++) {
        const struct spw_graph_op *op = &graph->ops[i];
        for (uint32_t k = 0; k < op->read_count + op->write_count; k++) {
            const struct spw_touched_tensor *touch = &graph->touched[op->first_read + k];
            const struct spw_graph_tensor *t = &graph->tensors[touch->tensor];
            if (t->evictable && t->bytes >= m->request.smallest_bytes && !(k >= op->read_count && touch->in_place))
                held[i] += (double)t->bytes;
        }
    }
}

static void choose(struct fluid *m, uint32_t op)
{
    m->chosen_count += !m->chosen[op];
    m->chosen[op] = true;
}

/* Cuts the operations into blocks of about the same weight, in bytes that an operation needs. In each block it chooses
 * the operation with the largest cut bound or, if everything fits, the one with the most bytes alive. */
void fluid_choose(struct fluid *m, uint32_t count)
{
    const uint32_t ops = m->graph->op_count;
    double *cuts = fluid_room(ops, sizeof *cuts), all = 0, passed = 0;
    if (spw_bounds_of_ops(m->graph, m->request.device_bytes, m->request.may_copy, m->request.may_replay, cuts) < 0)
        fluid_out_of_memory();
    for (uint32_t i = 0; i < ops; i++)
        all += m->held[i];
    for (uint32_t block = 0, first = 0; block < count && first < ops; block++) {
        uint32_t best = first, end = first;
        do {
            if (cuts[end] > cuts[best] || (cuts[end] == cuts[best] && m->alive[end] > m->alive[best]))
                best = end;
            passed += m->held[end++];
        } while (end < ops && count < ops && passed < all * (block + 1.0) / count);
        choose(m, best);
        first = end;
    }
    free(cuts);
}

/* Lists both the start and the end of a long operation: nothing is replayed in between. */
void fluid_list_instants(struct fluid *m)
{
    const uint32_t ops = m->graph->op_count;
    const double long_us = m->chosen_count < ops ? m->graph->compute_us / m->chosen_count : 0;
    free(m->instants);
    m->instants = fluid_room(2 * (size_t)m->chosen_count + 2, sizeof *m->instants);
    m->instants[0] = (struct instant){0};
    m->count = 1;
    for (uint32_t i = 0; i < ops; i++) {
        if (!m->chosen[i])
            continue;
        m->instants[m->count++] = (struct instant){i, false};
        if (m->graph->ops[i].us >= long_us)
            m->instants[m->count++] = (struct instant){i, true};
    }
    m->instants[m->count++] = (struct instant){ops, false};
}
