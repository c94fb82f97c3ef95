/* chain_run.c - runs stages, with only the operations that are needed, and translates actions to stages. */
#include "chains/chain_run.h"

#include <errno.h>
#include <stdlib.h>

#include "chains/chain_hold.h"

struct run {
    const struct spw_chain *chain;
    const struct spw_graph *graph;
    struct spw_builder builder;
    struct spw_chain_hold hold;
    /* For each tensor, while the needed operations are searched: the version to be made, or absent. */
    uint32_t *version;
    bool *needed;  /* for each operation of the current stage */
    bool *fetched; /* for each group: its state is being copied in, or has been */
    uint32_t work; /* the stage whose input is in the work buffer; SPW_NO_INDEX: none */
};

/* ---- one stage ---- */

static void aim(struct run *run, uint32_t tensor)
{
    if (run->builder.places[tensor].device != run->chain->version[tensor])
        run->version[tensor] = run->chain->version[tensor];
}

/* Sets the tensors whose versions at the turn have to be present when the stage has run: the next state and its own
 * record. */
static void aim_at(struct run *run, uint32_t index, bool state, bool record)
{
    const struct spw_stage *stage = &run->chain->stages[index], *next = stage + 1;
    for (uint32_t i = 0; state && i < next->input_count; i++) {
        const uint32_t tensor = run->chain->listed[next->first_input + i];
        if (spw_chain_state_wants(&run->hold, index + 1, tensor))
            aim(run, tensor);
    }
    for (uint32_t i = 0; record && i < stage->record_count; i++)
        aim(run, run->chain->listed[stage->first_record + i]);
}

/* Finds, from the last operation to the first, which have to be run again for what they have to make. If the stage cannot
 * make an input, the operation that reads it finds it missing. */
static void find_needed(struct run *run, const struct spw_stage *stage)
{
    for (uint32_t op = stage->end_op; op-- > stage->first_op;) {
        const struct spw_graph_op *o = &run->graph->ops[op];
        const struct spw_touched_tensor *reads = &run->graph->touched[o->first_read];
        const struct spw_touched_tensor *writes = &run->graph->touched[o->first_write];
        bool needed = false;
        for (uint32_t i = 0; i < o->write_count; i++) {
            if (run->version[writes[i].tensor] != writes[i].version)
                continue;
            run->version[writes[i].tensor] = SPW_ABSENT;
            needed = true;
        }
        run->needed[op - stage->first_op] = needed;
        for (uint32_t i = 0; i < o->read_count && needed; i++) {
            if (!reads[i].side && run->builder.places[reads[i].tensor].device != reads[i].version)
                run->version[reads[i].tensor] = reads[i].version;
        }
    }
}

/* Runs a stage. What it has to leave behind has been held before. */
static int run_forward(struct run *run, uint32_t index, bool keep_state, bool keep_record)
{
    const struct spw_stage *stage = &run->chain->stages[index];
    const bool again = run->builder.next_op > stage->first_op;
    if (again) {
        aim_at(run, index, keep_state, keep_record);
        find_needed(run, stage);
    }
    for (uint32_t op = stage->first_op; op < stage->end_op; op++) {
        bool *needed = &run->needed[op - stage->first_op];
        *needed = *needed || !again;
        if (*needed)
            spw_chain_hold_reads(&run->hold, op);
    }
    int r = 0;
    for (uint32_t op = stage->first_op; op < stage->end_op && r == 0; op++) {
        if (!run->needed[op - stage->first_op])
            continue;
        r = again ? spw_build_replay(&run->builder, op) : spw_build_op(&run->builder);
        if (r == 0)
            r = spw_chain_release_reads(&run->hold, op);
    }
    return r;
}

static int run_backward(struct run *run, uint32_t index)
{
    const struct spw_stage *stage = &run->chain->stages[index];
    if (run->builder.next_op != stage->first_back)
        return -EINVAL;
    for (uint32_t op = stage->first_back; op < stage->end_back; op++)
        spw_chain_hold_reads(&run->hold, op);
    int r = spw_chain_release_record(&run->hold, index);
    for (uint32_t op = stage->first_back; op < stage->end_back && r == 0; op++) {
        r = spw_build_op(&run->builder);
        if (r == 0)
            r = spw_chain_release_reads(&run->hold, op);
    }
    return r == 0 ? spw_chain_shrink(&run->hold, index) : r;
}

/* ---- actions ---- */

static int set_work(struct run *run, uint32_t stage)
{
    const uint32_t before = run->work;
    run->work = stage;
    spw_chain_hold_state(&run->hold, stage);
    return before != SPW_NO_INDEX ? spw_chain_release_state(&run->hold, before) : 0;
}

static int advance(struct run *run, uint32_t from, uint32_t to)
{
    int r = 0;
    for (uint32_t s = from; s < to && r == 0; s++) {
        spw_chain_hold_state(&run->hold, s + 1);
        r = run_forward(run, s, true, false);
        if (r == 0)
            r = spw_chain_release_state(&run->hold, s);
        run->work = s + 1;
    }
    return r;
}

/* Reverses these stages, whose first one's input is in the work buffer. The last one's output is not needed any more. */
static int reverse(struct run *run, uint32_t first, uint32_t end)
{
    int r = 0;
    for (uint32_t s = first; s < end && r == 0; s++) {
        const uint32_t next = s + 1 < end ? s + 1 : SPW_NO_INDEX;
        spw_chain_hold_record(&run->hold, s);
        if (next != SPW_NO_INDEX)
            spw_chain_hold_state(&run->hold, next);
        r = run_forward(run, s, next != SPW_NO_INDEX, true);
        if (r == 0)
            r = spw_chain_release_state(&run->hold, s);
        if (r == 0)
            r = spw_chain_release_held(&run->hold, s, first, end);
        run->work = next;
    }
    for (uint32_t s = end; s-- > first && r == 0;)
        r = run_backward(run, s);
    return r;
}

static int copy_out(struct run *run, uint32_t stage)
{
    const struct spw_stage *s = &run->chain->stages[stage];
    int r = 0;
    for (uint32_t i = 0; i < s->input_count && r == 0; i++) {
        const uint32_t tensor = run->chain->listed[s->first_input + i];
        if (run->builder.places[tensor].host != run->chain->version[tensor])
            r = spw_build_d2h(&run->builder, tensor);
    }
    return r;
}

static int copy_in(struct run *run, uint32_t stage)
{
    const struct spw_stage *s = &run->chain->stages[stage];
    int r = 0;
    for (uint32_t i = 0; i < s->input_count && r == 0; i++) {
        const uint32_t tensor = run->chain->listed[s->first_input + i];
        if (run->builder.places[tensor].device == SPW_ABSENT && spw_chain_state_wants(&run->hold, stage, tensor))
            r = spw_build_h2d(&run->builder, tensor);
    }
    return r;
}

static int restore(struct run *run, const struct spw_reversal_action *action, uint32_t stage)
{
    int r = set_work(run, stage);
    if (r == 0 && action->level == 1)
        r = copy_in(run, stage);
    if (r == 0 && run->fetched[action->state]) {
        run->fetched[action->state] = false;
        r = spw_chain_release_state(&run->hold, stage);
    }
    return r;
}

static int carry_out(struct run *run, const uint32_t *groups, const struct spw_reversal_action *action)
{
    const uint32_t stage = groups[action->state];
    switch (action->kind) {
    case SPW_ACTION_STORE:
        if (action->level == 1)
            return copy_out(run, stage);
        spw_chain_hold_state(&run->hold, stage);
        return 0;
    case SPW_ACTION_DISCARD:
        return action->level == 1 ? 0 : spw_chain_release_state(&run->hold, stage);
    case SPW_ACTION_FETCH:
        run->fetched[action->state] = true;
        spw_chain_hold_state(&run->hold, stage);
        return copy_in(run, stage);
    case SPW_ACTION_RESTORE:
        return restore(run, action, stage);
    case SPW_ACTION_ADVANCE:
        return advance(run, stage, groups[action->to]);
    default:
        return reverse(run, stage, groups[action->state + 1]);
    }
}

static int run_all(struct run *run, const uint32_t *groups, const struct spw_reversal *reversal)
{
    for (uint32_t i = 0; i < run->graph->tensor_count; i++)
        run->version[i] = SPW_ABSENT;
    run->work = SPW_NO_INDEX;
    int r = set_work(run, 0);
    for (size_t i = 0; i < reversal->count && r == 0; i++)
        r = carry_out(run, groups, &reversal->actions[i]);
    while (r == 0 && run->builder.next_op < run->graph->op_count) {
        r = spw_build_op(&run->builder);
        if (r == 0)
            r = spw_chain_let_go(&run->hold, run->builder.next_op - 1);
    }
    return r == 0 ? spw_build_end(&run->builder) : r;
}

int spw_chain_run(const struct spw_chain *chain, const uint32_t *groups, const struct spw_reversal *reversal,
                  const struct spw_plan_request *request, struct spw_schedule *schedule)
{
    struct run run = {.chain = chain,
                      .graph = chain->graph,
                      .version = calloc((size_t)chain->graph->tensor_count + 1, sizeof *run.version),
                      .needed = calloc((size_t)chain->turn + 1, sizeof *run.needed),
                      .fetched = calloc((size_t)chain->count + 1, sizeof *run.fetched)};
    int r = spw_chain_hold_init(&run.hold, chain, &run.builder);
    if (r == 0 && !(run.version && run.needed && run.fetched))
        r = -ENOMEM;
    if (r == 0)
        r = spw_builder_init(&run.builder, chain->graph, schedule, request->device_bytes, request->host_bytes);
    if (r == 0) {
        r = run_all(&run, groups, reversal);
        spw_builder_finish(&run.builder);
    }
    spw_chain_hold_finish(&run.hold);
    free(run.version);
    free(run.needed);
    free(run.fetched);
    return r;
}
