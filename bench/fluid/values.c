/* values.c - lists the values that tensors hold from one write to the next. */
#include "values.h"

#include <stdlib.h>

#include "program.h"

const struct value *values_of(const struct values *values, uint32_t tensor, uint32_t version)
{
    const bool small = values->graph->tensors[tensor].bytes < values->smallest_bytes;
    return small ? NULL : &values->list[values->first[tensor] + version];
}

static void find_uses(struct values *values, uint32_t tensor)
{
    const struct spw_graph *graph = values->graph;
    const struct spw_graph_tensor *t = &graph->tensors[tensor];
    struct value *list = &values->list[values->first[tensor]];
    for (uint32_t version = 0; version <= t->last_version; version++)
        list[version] =
            (struct value){.tensor = tensor, .version = version, .born = AT_START, .overwritten = graph->op_count};
    for (uint32_t i = t->first_use; i < t->first_use + t->use_count; i++) {
        const struct spw_use *use = &graph->uses[i];
        struct value *value = &list[use->version];
        if (use->reads) {
            if (value->use_count++ == 0)
                value->first_use = i;
            value->needed = use->op;
            value->is_needed = true;
        }
        if (use->writes) {
            const bool side = use->reads && t->bytes <= SPW_SIDE_BUFFER_BYTES;
            value->overwritten = use->op;
            list[use->version + 1].born = use->op;
            list[use->version + 1].replayable = values->replayable[use->op] && !side;
        }
    }
    if (t->persistent && t->use_count > 0) {
        list[t->last_version].needed = graph->op_count;
        list[t->last_version].is_needed = true;
    }
}

static void find_usefulness(struct values *values)
{
    const struct spw_graph *graph = values->graph;
    for (uint32_t i = 0; i < values->count; i++) {
        const bool counts = graph->tensors[values->list[i].tensor].bytes >= values->smallest_bytes;
        values->list[i].useful = values->list[i].needed;
        values->list[i].is_useful = values->list[i].is_needed && counts;
    }
    for (uint32_t op = graph->op_count; op-- > 0;) {
        const struct spw_graph_op *o = &graph->ops[op];
        uint32_t useful = 0;
        if (!values->replayable[op])
            continue;
        for (uint32_t i = o->first_write; i < o->first_write + o->write_count; i++) {
            const struct value *made = values_of(values, graph->touched[i].tensor, graph->touched[i].version);
            if (made && made->is_useful && made->replayable && made->useful > useful)
                useful = made->useful;
        }
        for (uint32_t i = o->first_read; i < o->first_read + o->read_count && useful; i++) {
            const struct spw_touched_tensor *touch = &graph->touched[i];
            struct value *read = &values->list[values->first[touch->tensor] + touch->version];
            if (graph->tensors[touch->tensor].bytes < values->smallest_bytes || touch->side)
                continue;
            if (useful > read->useful)
                read->useful = useful;
            read->is_useful = true;
        }
    }
}

void values_init(struct values *values, const struct spw_graph *graph, uint64_t smallest_bytes, bool may_replay)
{
    *values = (struct values){.graph = graph, .smallest_bytes = smallest_bytes};
    values->first = fluid_room(graph->tensor_count, sizeof *values->first);
    values->replayable = fluid_room(graph->op_count, sizeof *values->replayable);
    for (uint32_t i = 0; i < graph->tensor_count; i++) {
        values->first[i] = values->count;
        values->count += graph->tensors[i].last_version + 1;
    }
    for (uint32_t i = 0; i < graph->op_count; i++)
        values->replayable[i] = may_replay && spw_graph_can_replay(graph, i);
    values->list = fluid_room(values->count, sizeof *values->list);
    for (uint32_t i = 0; i < graph->tensor_count; i++)
        find_uses(values, i);
    find_usefulness(values);
}

void values_finish(struct values *values)
{
    free(values->first);
    free(values->list);
    free(values->replayable);
    *values = (struct values){0};
}
