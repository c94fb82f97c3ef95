/* again.c - visits the operations of a stage from the last to the first, and adds up those that make what is needed. */
#include "chains/again.h"

#include <errno.h>
#include <stdlib.h>

struct search {
    const struct spw_chain *chain;
    uint32_t *version; /* of each tensor that is needed; SPW_NO_INDEX: none */
    bool *input;       /* it is in the stage's input */
};

static void want(const struct search *s, uint32_t first, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t tensor = s->chain->listed[first + i];
        if (!s->input[tensor])
            s->version[tensor] = s->chain->version[tensor];
    }
}

static void forget(const struct search *s, uint32_t first, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        s->version[s->chain->listed[first + i]] = SPW_NO_INDEX;
}

static bool moves(const struct search *s, uint32_t tensor)
{
    return !s->chain->graph->tensors[tensor].persistent && !s->chain->held[tensor];
}

static double time_of(const struct search *s, const struct spw_stage *stage)
{
    const struct spw_graph *graph = s->chain->graph;
    double us = 0;
    for (uint32_t op = stage->end_op; op-- > stage->first_op;) {
        const struct spw_graph_op *o = &graph->ops[op];
        const struct spw_touched_tensor *reads = &graph->touched[o->first_read], *writes = &graph->touched[o->first_write];
        bool needed = false;
        for (uint32_t i = 0; i < o->write_count; i++) {
            if (s->version[writes[i].tensor] != writes[i].version)
                continue;
            s->version[writes[i].tensor] = SPW_NO_INDEX;
            needed = true;
        }
        us += needed ? o->us : 0;
        for (uint32_t i = 0; i < o->read_count && needed; i++) {
            if (!reads[i].side && moves(s, reads[i].tensor) && !s->input[reads[i].tensor])
                s->version[reads[i].tensor] = reads[i].version;
        }
    }
    for (uint32_t op = stage->first_op; op < stage->end_op; op++) {
        const struct spw_graph_op *o = &graph->ops[op];
        for (uint32_t i = 0; i < o->read_count + o->write_count; i++)
            s->version[graph->touched[o->first_read + i].tensor] = SPW_NO_INDEX;
    }
    return us;
}

static double time_to_make(const struct search *s, const struct spw_stage *stage, const struct spw_stage *next, bool record)
{
    if (next)
        want(s, next->first_input, next->input_count);
    if (record)
        want(s, stage->first_record, stage->record_count);
    const double us = time_of(s, stage);
    if (next)
        forget(s, next->first_input, next->input_count);
    return us;
}

int spw_chain_again(const struct spw_chain *chain, struct spw_again *ret_again)
{
    const size_t tensors = (size_t)chain->graph->tensor_count + 1;
    struct search s = {chain, calloc(tensors, sizeof *s.version), calloc(tensors, sizeof *s.input)};
    const int r = s.version && s.input ? 0 : -ENOMEM;
    for (size_t i = 0; i < tensors && r == 0; i++)
        s.version[i] = SPW_NO_INDEX;
    for (uint32_t k = 0; k < chain->count && r == 0; k++) {
        const struct spw_stage *stage = &chain->stages[k], *next = k + 1 < chain->count ? stage + 1 : NULL;
        for (uint32_t i = 0; i < stage->input_count; i++)
            s.input[chain->listed[stage->first_input + i]] = true;
        ret_again[k] = (struct spw_again){.walk_us = time_to_make(&s, stage, next, false),
                                          .record_us = time_to_make(&s, stage, NULL, true),
                                          .both_us = time_to_make(&s, stage, next, true)};
        for (uint32_t i = 0; i < stage->input_count; i++)
            s.input[chain->listed[stage->first_input + i]] = false;
    }
    free(s.version);
    free(s.input);
    return r;
}
