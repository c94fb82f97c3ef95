/* fluid.c - the fluid relaxation of model S+ as a linear program.
 *
 * An *instant* is the start of an operation, just after it has taken its bytes, or its end, just before it gives them back.
 * A *span* is the time between two instants, with the operations that start in it. A value is what a tensor holds from one
 * write to the next. For each value and each instant the columns are
 *     x  the share of it that is on the device
 *     h  the share that has been copied out
 * and for each value and each span
 *     s  the share that is copied in during the span
 *     r  the share of its producer that is replayed during it (one column for everything that the producer makes)
 * and for each span its length. The sum of the lengths is minimised.
 *
 * A schedule gives such shares: what is in progress counts as far as it is done, and what happens several times in a span
 * counts once. These rows hold for them:
 *     length >= its operations + replays, >= the copies in, >= the copies out      (three lanes)
 *     x now <= x before + s + r              what was absent has been copied in or made
 *     x before + s + r >= 1                  where an operation in the span reads the value
 *     x before + s + r >= r of a replay      where the replay reads the value
 *     s <= h before                          only what has been copied out completely can be copied in
 *     0 <= h now - h before <= x before + r  what is copied out is present; what was just copied in has its copy
 *                                            already; what the only operation of the span writes is not copied out
 *     x + h + the r up to then >= 1          for a value that an operation will read: otherwise it would be lost
 *     sum of x * bytes + what the operation touches and what may not be evicted <= the budget, at each instant
 *     sum of x over the versions of one tensor <= 1
 * If the span overwrites a tensor, nothing of the older version remains by itself. At the end, each persistent tensor is
 * where it was at the start, in its last version. During an operation that starts at one instant and ends at the next,
 * nothing is replayed. */
#include "model.h"

#include <stdlib.h>

/* Keeps the first versions of persistent tensors: where such a tensor begins matters even if it is overwritten unread. */
static void add_starts(struct fluid *m)
{
    for (uint32_t t = 0; t < m->graph->tensor_count; t++) {
        const uint32_t v = m->values.first[t];
        struct value *value = &m->values.list[v];
        if (m->graph->tensors[t].persistent && m->graph->tensors[t].evictable &&
            m->values.list[v + m->graph->tensors[t].last_version].is_useful)
            value->is_useful = true;
    }
}

struct fluid *fluid_create(const struct fluid_request *request, uint32_t count)
{
    struct fluid *m = fluid_room(1, sizeof *m);
    m->request = *request;
    m->graph = request->graph;
    values_init(&m->values, m->graph, request->smallest_bytes, request->may_replay);
    add_starts(m);
    m->alive = fluid_room(m->graph->op_count + (size_t)1, sizeof *m->alive);
    m->held = fluid_room(m->graph->op_count + (size_t)1, sizeof *m->held);
    m->chosen = fluid_room(m->graph->op_count, sizeof *m->chosen);
    fluid_sum_up(m);
    fluid_choose(m, count < m->graph->op_count ? count : m->graph->op_count);
    return m;
}

uint32_t fluid_operations(const struct fluid *m)
{
    return m->chosen_count;
}

static void clear(struct fluid *m)
{
    program_finish(&m->program);
    free(m->x);
    free(m->h);
    free(m->s);
    free(m->r);
    free(m->length);
}

const struct program *fluid_program(struct fluid *m)
{
    clear(m);
    fluid_list_instants(m);
    const size_t values = (size_t)m->values.count * m->count;
    m->x = fluid_room(values, sizeof *m->x);
    m->h = fluid_room(values, sizeof *m->h);
    m->s = fluid_room(values, sizeof *m->s);
    m->r = fluid_room((size_t)m->graph->op_count * m->count, sizeof *m->r);
    m->length = fluid_room(m->count, sizeof *m->length);
    fluid_add_columns(m);
    fluid_add_rows(m);
    return &m->program;
}

void fluid_destroy(struct fluid *m)
{
    if (!m)
        return;
    clear(m);
    values_finish(&m->values);
    free(m->alive);
    free(m->held);
    free(m->chosen);
    free(m->instants);
    free(m);
}
