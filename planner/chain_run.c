/* chain_run.c - states as counts of who wants each tensor, stages as operations of which only those needed are run. */
#include "chain_run.h"

#include <errno.h>
#include <stdlib.h>

#include "builder.h"

struct run {
    const struct spw_chain *chain;
    const struct spw_graph *graph;
    struct spw_builder builder;
    /* For each tensor: */
    uint32_t *wanted;  /* states and records that contain it; 0: it may go */
    uint32_t *pending; /* uses of it by operations of the stage at hand that are still to come */
    uint32_t *version; /* that is to be made, while it is found out which operations are needed; SPW_ABSENT: none */
    uint32_t *reader;  /* held tensors: the first stage that reads it, which has to be able to do so again */
    bool *needed;      /* for each operation of the stage at hand */
    bool *fetched;     /* for each group: its state is on its way in, or there */
    uint32_t work;     /* the stage whose input is wanted as the work buffer; SPW_NO_INDEX: none */
};

/* ---- what may go ---- */

/* Made behind the turn, a tensor stays as long as it has uses; made before, and movable, as long as it is wanted. */
static bool may_go(const struct run *run, uint32_t tensor)
{
    const struct spw_graph_tensor *t = &run->graph->tensors[tensor];
    const struct spw_place *place = &run->builder.places[tensor];
    if (place->device == SPW_ABSENT || t->persistent || run->wanted[tensor] || run->pending[tensor])
        return false;
    if (place->next == t->use_count)
        return true;
    return !run->chain->held[tensor] && t->evictable && run->reader[tensor] == SPW_NO_INDEX &&
           place->device <= run->chain->version[tensor];
}

static int let_go(struct run *run, uint32_t tensor)
{
    return may_go(run, tensor) ? spw_build_drop(&run->builder, tensor) : 0;
}

static int let_go_touched(struct run *run, uint32_t op)
{
    const struct spw_graph_op *o = &run->graph->ops[op];
    int r = 0;
    for (uint32_t i = 0; i < o->read_count + o->write_count && r == 0; i++)
        r = let_go(run, run->graph->touched[o->first_read + i].tensor);
    return r;
}

static void want(struct run *run, uint32_t first, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        run->wanted[run->chain->listed[first + i]]++;
}

static int unwant(struct run *run, uint32_t first, uint32_t count)
{
    int r = 0;
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t tensor = run->chain->listed[first + i];
        run->wanted[tensor]--;
        if (r == 0)
            r = let_go(run, tensor);
    }
    return r;
}

static void want_input(struct run *run, uint32_t stage)
{
    want(run, run->chain->stages[stage].first_input, run->chain->stages[stage].input_count);
}

static int unwant_input(struct run *run, uint32_t stage)
{
    return unwant(run, run->chain->stages[stage].first_input, run->chain->stages[stage].input_count);
}

static int set_work(struct run *run, uint32_t stage)
{
    const uint32_t before = run->work;
    run->work = stage;
    if (stage != SPW_NO_INDEX)
        want_input(run, stage);
    return before != SPW_NO_INDEX ? unwant_input(run, before) : 0;
}

/* ---- one stage forward ---- */

/* The tensors whose versions at the turn have to be there when the stage has run. */
static void aim(struct run *run, uint32_t first, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t tensor = run->chain->listed[first + i];
        if (run->builder.places[tensor].device != run->chain->version[tensor])
            run->version[tensor] = run->chain->version[tensor];
    }
}

/* From the last operation to the first: which ones have to be run again, given what they have to make. What the stage can't
 * make is found missing by the operation that reads it. */
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

static void add_pending(struct run *run, uint32_t op, uint32_t by)
{
    const struct spw_graph_op *o = &run->graph->ops[op];
    for (uint32_t i = 0; i < o->read_count; i++)
        run->pending[run->graph->touched[o->first_read + i].tensor] += by;
}

/* What it is to leave behind, the next stage's input or its record or both, has been counted as wanted before. */
static int run_forward(struct run *run, uint32_t index, bool keep_output, bool keep_record)
{
    const struct spw_stage *stage = &run->chain->stages[index], *next = keep_output ? stage + 1 : NULL;
    const uint32_t count = stage->end_op - stage->first_op;
    const bool again = run->builder.next_op > stage->first_op;
    if (again) {
        if (next)
            aim(run, next->first_input, next->input_count);
        if (keep_record)
            aim(run, stage->first_record, stage->record_count);
        find_needed(run, stage);
    }
    for (uint32_t i = 0; i < count; i++) {
        run->needed[i] = run->needed[i] || !again;
        if (run->needed[i])
            add_pending(run, stage->first_op + i, 1);
    }
    int r = 0;
    for (uint32_t i = 0; i < count && r == 0; i++) {
        if (!run->needed[i])
            continue;
        const uint32_t op = stage->first_op + i;
        r = again ? spw_build_replay(&run->builder, op) : spw_build_op(&run->builder);
        add_pending(run, op, UINT32_MAX);
        if (r == 0)
            r = let_go_touched(run, op);
    }
    return r;
}

/* ---- actions ---- */

static int advance(struct run *run, uint32_t from, uint32_t to)
{
    int r = 0;
    for (uint32_t s = from; s < to && r == 0; s++) {
        want_input(run, s + 1);
        r = run_forward(run, s, true, false);
        if (r == 0)
            r = unwant_input(run, s);
        run->work = s + 1;
    }
    return r;
}

/* Counts, or counts no more, what of the stage's input its backward reads. */
static int want_for_backward(struct run *run, uint32_t index, bool on)
{
    const struct spw_stage *stage = &run->chain->stages[index];
    int r = 0;
    for (uint32_t i = 0; i < stage->input_count && r == 0; i++) {
        const uint32_t tensor = run->chain->listed[stage->first_input + i];
        const struct spw_graph_tensor *t = &run->graph->tensors[tensor];
        const uint32_t use = spw_graph_use_from(run->graph, tensor, stage->first_back);
        if (use == t->use_count || run->graph->uses[t->first_use + use].op >= stage->end_back)
            continue;
        run->wanted[tensor] += on ? 1 : UINT32_MAX;
        r = on ? 0 : let_go(run, tensor);
    }
    return r;
}

/* What was kept for it stays for the operations that still read it only. */
static int run_backward(struct run *run, uint32_t index)
{
    const struct spw_stage *stage = &run->chain->stages[index];
    if (run->builder.next_op != stage->first_back)
        return -EINVAL;
    for (uint32_t op = stage->first_back; op < stage->end_back; op++)
        add_pending(run, op, 1);
    int r = unwant(run, stage->first_record, stage->record_count);
    if (r == 0)
        r = want_for_backward(run, index, false);
    for (uint32_t op = stage->first_back; op < stage->end_back && r == 0; op++) {
        r = spw_build_op(&run->builder);
        add_pending(run, op, UINT32_MAX);
        if (r == 0)
            r = let_go_touched(run, op);
    }
    return r;
}

/* Held tensors that no earlier stage reads are not going to be read again by a replay. */
static int release_held(struct run *run, uint32_t index)
{
    const struct spw_stage *stage = &run->chain->stages[index];
    int r = 0;
    for (uint32_t op = stage->first_op; op < stage->end_op && r == 0; op++) {
        const struct spw_graph_op *o = &run->graph->ops[op];
        for (uint32_t i = 0; i < o->read_count && r == 0; i++) {
            const uint32_t tensor = run->graph->touched[o->first_read + i].tensor;
            if (run->reader[tensor] != index)
                continue;
            run->reader[tensor] = SPW_NO_INDEX;
            run->wanted[tensor]--;
            r = let_go(run, tensor);
        }
    }
    return r;
}

/* The input of the first of these stages is in the work buffer. What the last one puts out nobody wants any more. */
static int reverse(struct run *run, uint32_t first, uint32_t end)
{
    int r = 0;
    for (uint32_t s = first; s < end && r == 0; s++) {
        const uint32_t next = s + 1 < end ? s + 1 : SPW_NO_INDEX;
        want(run, run->chain->stages[s].first_record, run->chain->stages[s].record_count);
        r = want_for_backward(run, s, true);
        if (next != SPW_NO_INDEX)
            want_input(run, next);
        if (r == 0)
            r = run_forward(run, s, next != SPW_NO_INDEX, true);
        if (r == 0)
            r = unwant_input(run, s);
        run->work = next;
    }
    for (uint32_t s = end; s-- > first && r == 0;) {
        r = run_backward(run, s);
        if (r == 0)
            r = release_held(run, s);
    }
    return r;
}

static int copy_out(struct run *run, uint32_t stage)
{
    const struct spw_stage *s = &run->chain->stages[stage];
    int r = 0;
    for (uint32_t i = 0; i < s->input_count && r == 0; i++) {
        const uint32_t tensor = run->chain->listed[s->first_input + i];
        const struct spw_place *place = &run->builder.places[tensor];
        if (place->host != run->chain->version[tensor])
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
        if (run->builder.places[tensor].device == SPW_ABSENT)
            r = spw_build_h2d(&run->builder, tensor);
    }
    return r;
}

static int restore(struct run *run, const struct spw_action *action, uint32_t stage)
{
    int r = set_work(run, stage);
    if (r == 0 && action->level == 1)
        r = copy_in(run, stage);
    if (r == 0 && run->fetched[action->state]) {
        run->fetched[action->state] = false;
        r = unwant_input(run, stage);
    }
    return r;
}

static int carry_out(struct run *run, const uint32_t *groups, const struct spw_action *action)
{
    const uint32_t stage = groups[action->state];
    switch (action->kind) {
    case SPW_ACTION_STORE:
        if (action->level == 1)
            return copy_out(run, stage);
        want_input(run, stage);
        return 0;
    case SPW_ACTION_DISCARD:
        return action->level == 1 ? 0 : unwant_input(run, stage);
    case SPW_ACTION_FETCH:
        run->fetched[action->state] = true;
        want_input(run, stage);
        return copy_in(run, stage);
    case SPW_ACTION_RESTORE:
        return restore(run, action, stage);
    case SPW_ACTION_ADVANCE:
        return advance(run, stage, groups[action->to]);
    default:
        return reverse(run, stage, groups[action->state + 1]);
    }
}

/* ---- from the first action to the end of the tail ---- */

static void find_readers(struct run *run)
{
    for (uint32_t s = run->chain->count; s-- > 0;) {
        const struct spw_stage *stage = &run->chain->stages[s];
        for (uint32_t op = stage->first_op; op < stage->end_op; op++) {
            const struct spw_graph_op *o = &run->graph->ops[op];
            for (uint32_t i = 0; i < o->read_count; i++) {
                const uint32_t tensor = run->graph->touched[o->first_read + i].tensor;
                if (run->graph->tensors[tensor].persistent || !run->chain->held[tensor])
                    continue;
                run->reader[tensor] = s;
                run->wanted[tensor] = 1;
            }
        }
    }
}

static int run_all(struct run *run, const uint32_t *groups, const struct spw_reversal *reversal)
{
    for (uint32_t i = 0; i < run->graph->tensor_count; i++) {
        run->version[i] = SPW_ABSENT;
        run->reader[i] = SPW_NO_INDEX;
    }
    find_readers(run);
    run->work = SPW_NO_INDEX;
    int r = set_work(run, 0);
    for (size_t i = 0; i < reversal->count && r == 0; i++)
        r = carry_out(run, groups, &reversal->actions[i]);
    while (r == 0 && run->builder.next_op < run->graph->op_count) {
        r = spw_build_op(&run->builder);
        if (r == 0)
            r = let_go_touched(run, run->builder.next_op - 1);
    }
    return r == 0 ? spw_build_end(&run->builder) : r;
}

int spw_chain_run(const struct spw_chain *chain, const uint32_t *groups, const struct spw_reversal *reversal,
                  const struct spw_plan_request *request, struct spw_schedule *schedule)
{
    const size_t tensors = (size_t)chain->graph->tensor_count + 1;
    struct run run = {.chain = chain,
                      .graph = chain->graph,
                      .wanted = calloc(4 * tensors, sizeof *run.wanted),
                      .needed = calloc((size_t)chain->turn + 1, sizeof *run.needed),
                      .fetched = calloc((size_t)chain->count + 1, sizeof *run.fetched)};
    int r = -ENOMEM;
    if (run.wanted && run.needed && run.fetched) {
        run.pending = run.wanted + tensors;
        run.version = run.wanted + 2 * tensors;
        run.reader = run.wanted + 3 * tensors;
        r = spw_builder_init(&run.builder, chain->graph, schedule, request->device_bytes, request->host_bytes);
    }
    if (r == 0) {
        r = run_all(&run, groups, reversal);
        spw_builder_finish(&run.builder);
    }
    free(run.wanted);
    free(run.needed);
    free(run.fetched);
    return r;
}
