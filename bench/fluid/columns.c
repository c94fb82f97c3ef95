/* columns.c - makes the columns of the fluid relaxation: which shares are free to choose, and which are decided. */
#include "model.h"

/* Returns what the operation at the instant requires of the value: NONE or ALL if that decides it, else 0. */
static int decided(const struct fluid *m, const struct value *value, uint32_t instant)
{
    const struct spw_graph *graph = m->graph;
    const struct spw_graph_tensor *t = &graph->tensors[value->tensor];
    const uint32_t op = m->instants[instant].op;
    const bool at_end = m->instants[instant].at_end;
    if (instant == 0)
        return value->born != AT_START || !(t->persistent || t->initial) ? NONE : t->persistent && t->evictable ? 0 : ALL;
    if (!born_before(value, op + at_end) || !value->is_useful)
        return NONE;
    if (op == graph->op_count)
        return !t->persistent || value->version != t->last_version ? NONE : t->evictable ? 0 : ALL;
    const uint32_t use = spw_graph_use_from(graph, value->tensor, op);
    const bool touched = use < t->use_count && graph->uses[t->first_use + use].op == op;
    const uint32_t written = touched && graph->uses[t->first_use + use].writes;
    const uint32_t current =
        use == t->use_count ? t->last_version : graph->uses[t->first_use + use].version + (written && at_end);
    if (touched)
        return value->version == current && (at_end || !written || graph->uses[t->first_use + use].reads) ? ALL : NONE;
    if (!t->evictable && (t->persistent || use < t->use_count))
        return value->version == current ? ALL : NONE;
    return value->useful < op ? NONE : 0;
}

static void add_shares(struct fluid *m)
{
    for (uint32_t v = 0; v < m->values.count; v++) {
        const struct value *value = &m->values.list[v];
        const struct spw_graph_tensor *t = &m->graph->tensors[value->tensor];
        const bool copied = m->request.may_copy && t->evictable && value->is_useful;
        for (uint32_t i = 0; i < m->count; i++) {
            const uint32_t op = m->instants[i].op + m->instants[i].at_end;
            const int what = value->is_useful ? decided(m, value, i) : NONE;
            m->x[at(m, v, i)] = what ? what : program_column(&m->program, 0, 1, 0);
            const bool out = copied && value->useful >= op &&
                             (i ? born_before(value, m->instants[i].op) : value->born == AT_START && t->persistent);
            m->h[at(m, v, i)] = out ? program_column(&m->program, 0, 1, 0) : NONE;
        }
        for (uint32_t i = 0; i + 1 < m->count; i++) {
            const bool in = copied && value->useful >= span_first(m, i) && m->h[at(m, v, i)] != NONE;
            m->s[at(m, v, i)] = in ? program_column(&m->program, 0, 1, 0) : NONE;
        }
    }
}

/* Returns true if a replay of the operation in the span can be useful: it has run by then, and some product is useful
 * later. */
static bool may_replay_in(const struct fluid *m, uint32_t op, uint32_t span)
{
    const struct spw_graph_op *o = &m->graph->ops[op];
    if (!m->values.replayable[op] || is_op(m, span) || op >= span_end(m, span))
        return false;
    const uint32_t from = op < span_first(m, span) ? span_first(m, span) : span_end(m, span);
    for (uint32_t i = o->first_write; i < o->first_write + o->write_count; i++) {
        const struct value *made = values_of(&m->values, m->graph->touched[i].tensor, m->graph->touched[i].version);
        if (made && made->is_useful && made->replayable && made->useful >= from)
            return true;
    }
    return false;
}

static void add_replays(struct fluid *m)
{
    for (uint32_t op = 0; op < m->graph->op_count; op++)
        for (uint32_t i = 0; i + 1 < m->count; i++)
            m->r[at(m, op, i)] = may_replay_in(m, op, i) ? program_column(&m->program, 0, 1, 0) : NONE;
}

void fluid_add_columns(struct fluid *m)
{
    add_shares(m);
    add_replays(m);
}
