/* chain_hold.c - counts, for each tensor, what needs it. */
#include "chains/chain_hold.h"

#include <errno.h>
#include <stdlib.h>

static bool has_use(const struct spw_graph *graph, uint32_t tensor, uint32_t first_op, uint32_t end_op)
{
    const struct spw_graph_tensor *t = &graph->tensors[tensor];
    const uint32_t use = spw_graph_use_from(graph, tensor, first_op);
    return use < t->use_count && graph->uses[t->first_use + use].op < end_op;
}

/* Returns true if the tensor can be dropped. One made after the turn stays as long as it has uses; one made before the
 * turn, and movable, as long as it is needed. */
static bool may_go(const struct spw_chain_hold *hold, uint32_t tensor)
{
    const struct spw_graph_tensor *t = &hold->chain->graph->tensors[tensor];
    const struct spw_builder_place *place = &hold->builder->places[tensor];
    if (place->device == SPW_ABSENT || t->persistent || hold->wanted[tensor] || hold->pending[tensor])
        return false;
    if (place->next == t->use_count)
        return true;
    return !hold->chain->held[tensor] && t->evictable && hold->reader[tensor] == SPW_NO_INDEX &&
           place->device <= hold->chain->version[tensor];
}

static int let_go(struct spw_chain_hold *hold, uint32_t tensor)
{
    return may_go(hold, tensor) ? spw_build_drop(hold->builder, tensor) : 0;
}

static int unwant(struct spw_chain_hold *hold, uint32_t tensor, uint32_t by)
{
    hold->wanted[tensor] -= by;
    return let_go(hold, tensor);
}

/* ---- states ---- */

bool spw_chain_state_wants(const struct spw_chain_hold *hold, uint32_t stage, uint32_t tensor)
{
    if (stage >= hold->end)
        return false;
    const struct spw_stage *first = &hold->chain->stages[stage], *last = &hold->chain->stages[hold->end - 1];
    return has_use(hold->chain->graph, tensor, first->first_op, last->end_op) ||
           has_use(hold->chain->graph, tensor, last->first_back, first->end_back);
}

void spw_chain_hold_state(struct spw_chain_hold *hold, uint32_t stage)
{
    const struct spw_stage *s = &hold->chain->stages[stage];
    hold->states[stage]++;
    for (uint32_t i = 0; i < s->input_count; i++) {
        const uint32_t tensor = hold->chain->listed[s->first_input + i];
        hold->wanted[tensor] += spw_chain_state_wants(hold, stage, tensor);
    }
}

int spw_chain_release_state(struct spw_chain_hold *hold, uint32_t stage)
{
    const struct spw_stage *s = &hold->chain->stages[stage];
    int r = 0;
    hold->states[stage]--;
    for (uint32_t i = 0; i < s->input_count && r == 0; i++) {
        const uint32_t tensor = hold->chain->listed[s->first_input + i];
        if (spw_chain_state_wants(hold, stage, tensor))
            r = unwant(hold, tensor, 1);
    }
    return r;
}

int spw_chain_shrink(struct spw_chain_hold *hold, uint32_t end)
{
    const uint32_t before = hold->end;
    int r = 0;
    for (uint32_t k = 0; k < before && r == 0; k++) {
        const struct spw_stage *s = &hold->chain->stages[k];
        for (uint32_t i = 0; hold->states[k] && i < s->input_count && r == 0; i++) {
            const uint32_t tensor = hold->chain->listed[s->first_input + i];
            hold->end = before;
            const bool wanted = spw_chain_state_wants(hold, k, tensor);
            hold->end = end;
            if (wanted && !spw_chain_state_wants(hold, k, tensor))
                r = unwant(hold, tensor, hold->states[k]);
        }
    }
    hold->end = end;
    return r;
}

int spw_chain_release_held(struct spw_chain_hold *hold, uint32_t stage, uint32_t first, uint32_t end)
{
    const struct spw_graph *graph = hold->chain->graph;
    const struct spw_stage *stages = hold->chain->stages;
    int r = 0;
    for (uint32_t op = stages[stage].first_op; op < stages[stage].end_op && r == 0; op++) {
        const struct spw_graph_op *o = &graph->ops[op];
        for (uint32_t i = 0; i < o->read_count && r == 0; i++) {
            const uint32_t tensor = graph->touched[o->first_read + i].tensor;
            const uint32_t reader = hold->reader[tensor];
            if (reader == SPW_NO_INDEX || reader < first ||
                has_use(graph, tensor, stages[stage].end_op, stages[end - 1].end_op))
                continue;
            hold->reader[tensor] = SPW_NO_INDEX;
            r = unwant(hold, tensor, 1);
        }
    }
    return r;
}

/* ---- records and operations ---- */

void spw_chain_hold_record(struct spw_chain_hold *hold, uint32_t stage)
{
    const struct spw_stage *s = &hold->chain->stages[stage];
    for (uint32_t i = 0; i < s->record_count; i++)
        hold->wanted[hold->chain->listed[s->first_record + i]]++;
    for (uint32_t i = 0; i < s->input_count; i++) {
        const uint32_t tensor = hold->chain->listed[s->first_input + i];
        hold->wanted[tensor] += has_use(hold->chain->graph, tensor, s->first_back, s->end_back);
    }
}

int spw_chain_release_record(struct spw_chain_hold *hold, uint32_t stage)
{
    const struct spw_stage *s = &hold->chain->stages[stage];
    int r = 0;
    for (uint32_t i = 0; i < s->record_count && r == 0; i++)
        r = unwant(hold, hold->chain->listed[s->first_record + i], 1);
    for (uint32_t i = 0; i < s->input_count && r == 0; i++) {
        const uint32_t tensor = hold->chain->listed[s->first_input + i];
        if (has_use(hold->chain->graph, tensor, s->first_back, s->end_back))
            r = unwant(hold, tensor, 1);
    }
    return r;
}

void spw_chain_hold_reads(struct spw_chain_hold *hold, uint32_t op)
{
    const struct spw_graph_op *o = &hold->chain->graph->ops[op];
    for (uint32_t i = 0; i < o->read_count; i++)
        hold->pending[hold->chain->graph->touched[o->first_read + i].tensor]++;
}

int spw_chain_release_reads(struct spw_chain_hold *hold, uint32_t op)
{
    const struct spw_graph_op *o = &hold->chain->graph->ops[op];
    for (uint32_t i = 0; i < o->read_count; i++)
        hold->pending[hold->chain->graph->touched[o->first_read + i].tensor]--;
    return spw_chain_let_go(hold, op);
}

int spw_chain_let_go(struct spw_chain_hold *hold, uint32_t op)
{
    const struct spw_graph_op *o = &hold->chain->graph->ops[op];
    int r = 0;
    for (uint32_t i = 0; i < o->read_count + o->write_count && r == 0; i++)
        r = let_go(hold, hold->chain->graph->touched[o->first_read + i].tensor);
    return r;
}

/* ---- begin and end ---- */

static void find_readers(struct spw_chain_hold *hold)
{
    const struct spw_graph *graph = hold->chain->graph;
    for (uint32_t s = hold->chain->count; s-- > 0;) {
        const struct spw_stage *stage = &hold->chain->stages[s];
        for (uint32_t op = stage->first_op; op < stage->end_op; op++) {
            const struct spw_graph_op *o = &graph->ops[op];
            for (uint32_t i = 0; i < o->read_count; i++) {
                const uint32_t tensor = graph->touched[o->first_read + i].tensor;
                if (graph->tensors[tensor].persistent || !hold->chain->held[tensor])
                    continue;
                hold->reader[tensor] = s;
                hold->wanted[tensor] = 1;
            }
        }
    }
}

int spw_chain_hold_init(struct spw_chain_hold *hold, const struct spw_chain *chain, struct spw_builder *builder)
{
    const size_t tensors = (size_t)chain->graph->tensor_count + 1;
    *hold = (struct spw_chain_hold){.chain = chain,
                                    .builder = builder,
                                    .end = chain->count,
                                    .wanted = calloc(tensors, sizeof *hold->wanted),
                                    .pending = calloc(tensors, sizeof *hold->pending),
                                    .reader = malloc(tensors * sizeof *hold->reader),
                                    .states = calloc((size_t)chain->count + 1, sizeof *hold->states)};
    if (!hold->wanted || !hold->pending || !hold->reader || !hold->states)
        return -ENOMEM;
    for (size_t i = 0; i < tensors; i++)
        hold->reader[i] = SPW_NO_INDEX;
    find_readers(hold);
    return 0;
}

void spw_chain_hold_finish(struct spw_chain_hold *hold)
{
    free(hold->wanted);
    free(hold->pending);
    free(hold->reader);
    free(hold->states);
    *hold = (struct spw_chain_hold){0};
}
