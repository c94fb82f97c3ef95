/* rows.c - makes the rows of the fluid relaxation; fluid.c says what they mean and why they hold. */
#include "model.h"

#include <math.h>

static void term(struct fluid *m, int column, double factor)
{
    if (column >= 0)
        program_term(&m->program, column, factor);
}

static int replay_of(const struct fluid *m, const struct value *value, uint32_t span)
{
    return value->born == AT_START || !value->replayable ? NONE : m->r[at(m, value->born, span)];
}

static bool is_overwritten_in(const struct fluid *m, const struct value *value, uint32_t span)
{
    return value->overwritten >= span_first(m, span) && value->overwritten < span_end(m, span);
}

/* Returns the first operation from `op` on that reads the value, or SPW_NO_INDEX. */
static uint32_t first_reader(const struct fluid *m, const struct value *value, uint32_t op)
{
    const struct spw_use *uses = &m->graph->uses[value->first_use];
    uint32_t low = 0, high = value->use_count;
    while (low < high) {
        const uint32_t middle = (low + high) / 2;
        if (uses[middle].op < op)
            low = middle + 1;
        else
            high = middle;
    }
    return low < value->use_count ? uses[low].op : SPW_NO_INDEX;
}

/* In each span the lanes take no longer than the span. */
static void add_lanes(struct fluid *m)
{
    const double unit = m->graph->compute_us;
    for (uint32_t i = 0; i + 1 < m->count; i++) {
        double ops_us = 0;
        for (uint32_t op = span_first(m, i); op < span_end(m, i); op++)
            ops_us += m->graph->ops[op].us;
        m->length[i] = program_column(&m->program, ops_us / unit, is_op(m, i) ? ops_us / unit : INFINITY, 1);
        if (!is_op(m, i)) {
            program_row(&m->program, ops_us / unit, INFINITY);
            term(m, m->length[i], 1);
            for (uint32_t op = 0; op < m->graph->op_count; op++)
                term(m, m->r[at(m, op, i)], -m->graph->ops[op].us / unit);
        }
        program_row(&m->program, 0, INFINITY);
        term(m, m->length[i], 1);
        for (uint32_t v = 0; v < m->values.count; v++)
            term(m, m->s[at(m, v, i)], -m->graph->tensors[m->values.list[v].tensor].h2d_us / unit);
        program_row(&m->program, 0, INFINITY);
        term(m, m->length[i], 1);
        for (uint32_t v = 0; v < m->values.count; v++) {
            const double us = m->graph->tensors[m->values.list[v].tensor].d2h_us / unit;
            if (m->h[at(m, v, i + 1)] == NONE)
                continue;
            term(m, m->h[at(m, v, i + 1)], -us);
            term(m, m->h[at(m, v, i)], us);
        }
    }
}

static bool born_in(const struct fluid *m, const struct value *value, uint32_t span)
{
    return value->born != AT_START && value->born >= span_first(m, span) && value->born < span_end(m, span);
}

static void add_memory(struct fluid *m)
{
    const double budget = (double)m->request.device_bytes;
    for (uint32_t i = 1; i < m->count; i++) {
        program_row(&m->program, -INFINITY, 1 - m->held[m->instants[i].op] / budget);
        for (uint32_t v = 0; v < m->values.count; v++)
            term(m, m->x[at(m, v, i)], (double)m->graph->tensors[m->values.list[v].tensor].bytes / budget);
    }
    for (uint32_t t = 0; t < m->graph->tensor_count; t++)
        for (uint32_t i = 0; i < m->count; i++) {
            const uint32_t first = m->values.first[t], end = first + m->graph->tensors[t].last_version + 1;
            int versions = 0;
            for (uint32_t v = first; v < end; v++)
                versions += m->x[at(m, v, i)] >= 0;
            if (versions < 2)
                continue;
            program_row(&m->program, -INFINITY, 1);
            for (uint32_t v = first; v < end; v++)
                term(m, m->x[at(m, v, i)], 1);
        }
}

/* Returns true if all of the value is present at some time in the span in any case. */
static bool is_there(const struct fluid *m, const struct value *value, uint32_t v, uint32_t span)
{
    return m->x[at(m, v, span)] == ALL || born_in(m, value, span);
}

static void add_there(struct fluid *m, const struct value *value, uint32_t v, uint32_t span)
{
    term(m, m->x[at(m, v, span)], 1);
    term(m, m->s[at(m, v, span)], 1);
    term(m, replay_of(m, value, span), 1);
}

/* At least `share` (a column, or ALL) of the value has to be present in the span. */
static void add_read(struct fluid *m, const struct value *value, uint32_t span, int share)
{
    const uint32_t v = (uint32_t)(value - m->values.list);
    if (is_there(m, value, v, span))
        return;
    program_row(&m->program, share == ALL ? 1 : 0, INFINITY);
    add_there(m, value, v, span);
    term(m, share, -1);
}

static void add_span(struct fluid *m, uint32_t span)
{
    const struct spw_graph *graph = m->graph;
    for (uint32_t op = 0; op < graph->op_count; op++) {
        const bool recorded = op >= span_first(m, span) && op < span_end(m, span);
        const int replay = m->r[at(m, op, span)];
        const struct spw_touched_tensor *reads = &graph->touched[graph->ops[op].first_read];
        for (uint32_t i = 0; i < graph->ops[op].read_count && (recorded || replay != NONE); i++) {
            const struct value *value = values_of(&m->values, reads[i].tensor, reads[i].version);
            if (!value)
                continue;
            if (recorded)
                add_read(m, value, span, ALL);
            if (replay != NONE && !reads[i].side && !(recorded && !reads[i].in_place))
                add_read(m, value, span, replay);
        }
    }
}

/* x now <= x before + s + r; s <= h before; 0 <= h now - h before <= x before + r. */
static void add_moves(struct fluid *m, uint32_t v, uint32_t span)
{
    const struct value *value = &m->values.list[v];
    const bool born = born_in(m, value, span), gone = is_overwritten_in(m, value, span);
    const int before = m->x[at(m, v, span)], now = m->x[at(m, v, span + 1)];
    const int out_before = m->h[at(m, v, span)], out_now = m->h[at(m, v, span + 1)];
    if ((now >= 0 || now == ALL) && (gone || !(born || before == ALL))) {
        program_row(&m->program, now == ALL ? 1 : 0, INFINITY);
        if (!gone)
            term(m, before, 1);
        term(m, m->s[at(m, v, span)], 1);
        term(m, replay_of(m, value, span), 1);
        term(m, now, -1);
    }
    if (m->s[at(m, v, span)] != NONE) {
        program_row(&m->program, 0, INFINITY);
        term(m, gone && out_now != NONE ? out_now : out_before, 1);
        term(m, m->s[at(m, v, span)], -1);
    }
    if (out_now != NONE && out_before != NONE) {
        program_row(&m->program, 0, INFINITY);
        term(m, out_now, 1);
        term(m, out_before, -1);
    }
    if (out_now != NONE && !born && before != ALL) {
        program_row(&m->program, 0, INFINITY);
        term(m, before, 1);
        term(m, replay_of(m, value, span), 1);
        term(m, out_now, -1);
        term(m, out_before, 1);
    } else if (out_now != NONE && gone && is_op(m, span)) {
        program_row(&m->program, 0, INFINITY);
        term(m, out_before, 1);
        term(m, out_now, -1);
    }
}

/* Enough of a value that an operation at or after the instant reads is left, including the replays up to then. */
static void add_recovery(struct fluid *m, uint32_t v, uint32_t instant)
{
    const struct value *value = &m->values.list[v];
    const struct spw_graph *graph = m->graph;
    const uint32_t from = m->instants[instant].op + m->instants[instant].at_end;
    uint32_t reader = first_reader(m, value, from);
    reader = reader == SPW_NO_INDEX ? graph->op_count : reader;
    const bool carries = value->is_needed && value->needed == graph->op_count;
    if (m->x[at(m, v, instant)] == ALL || (m->x[at(m, v, instant)] == NONE && m->h[at(m, v, instant)] == NONE) ||
        (reader == graph->op_count && !carries))
        return;
    program_row(&m->program, 1, INFINITY);
    term(m, m->x[at(m, v, instant)], 1);
    term(m, m->h[at(m, v, instant)], 1);
    for (uint32_t span = instant; span + 1 < m->count && span_first(m, span) <= reader; span++)
        term(m, replay_of(m, value, span), 1);
}

/* At the end each persistent tensor is where it was at the start. */
static void add_cycle(struct fluid *m, uint32_t tensor)
{
    const struct spw_graph_tensor *t = &m->graph->tensors[tensor];
    const uint32_t first = m->values.first[tensor], last = first + t->last_version;
    if (!t->persistent || !t->evictable || !m->values.list[last].is_useful)
        return;
    const int *sides[] = {m->x, m->h};
    for (int i = 0; i < 2; i++) {
        const int end = sides[i][at(m, last, m->count - 1)], start = sides[i][at(m, first, 0)];
        if (start < 0)
            continue;
        program_row(&m->program, 0, INFINITY);
        term(m, end, 1);
        term(m, start, -1);
    }
}

void fluid_add_rows(struct fluid *m)
{
    add_lanes(m);
    add_memory(m);
    for (uint32_t span = 0; span + 1 < m->count; span++) {
        add_span(m, span);
        for (uint32_t v = 0; v < m->values.count; v++)
            add_moves(m, v, span);
    }
    for (uint32_t v = 0; v < m->values.count; v++)
        for (uint32_t i = 0; i < m->count; i++)
            add_recovery(m, v, i);
    for (uint32_t t = 0; t < m->graph->tensor_count; t++)
        add_cycle(m, t);
}
