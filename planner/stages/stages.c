/* stages.c - runs stages forward, again and backward, and drops what nothing stored contains any more. */
#include "stages/stages.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "stages/linear_parts.h"

struct runner {
    const struct spw_chain *chain;
    const struct spw_graph *graph;
    struct spw_builder *builder;
    uint32_t *wanted; /* for each tensor: number of stored inputs and records that contain it */
    bool *needed;     /* for each tensor, before a stage runs again: it has to be made */
    bool *again;      /* for each forward operation: it has to be replayed */
    bool *stored;     /* input of stage i: stored[2 * i]; its record: stored[2 * i + 1] */
    uint32_t *part;   /* of stage i: 1 + the stored part of its record; 0: none */
};

/* ---- what is stored ---- */

struct span {
    uint32_t first, count; /* in chain->listed */
};

static struct span items_of(const struct runner *r, uint32_t stage, bool record)
{
    const struct spw_stage *s = &r->chain->stages[stage];
    return record ? (struct span){s->first_record, s->record_count} : (struct span){s->first_input, s->input_count};
}

static void store(struct runner *r, uint32_t stage, bool record)
{
    if (stage >= r->chain->count || r->stored[2 * stage + record])
        return;
    const struct span span = items_of(r, stage, record);
    r->stored[2 * stage + record] = true;
    for (uint32_t i = 0; i < span.count; i++)
        r->wanted[r->chain->listed[span.first + i]]++;
}

/* The version at the turn is what is stored; a later version is a gradient, which is not dropped here. */
static int release(struct runner *r, uint32_t stage, bool record)
{
    if (stage >= r->chain->count || !r->stored[2 * stage + record])
        return 0;
    const struct span span = items_of(r, stage, record);
    r->stored[2 * stage + record] = false;
    int e = 0;
    for (uint32_t i = 0; i < span.count; i++) {
        const uint32_t tensor = r->chain->listed[span.first + i];
        const uint32_t there = r->builder->places[tensor].device;
        if (--r->wanted[tensor] == 0 && there != SPW_ABSENT && there <= r->chain->version[tensor] && e == 0)
            e = spw_build_drop(r->builder, tensor);
    }
    return e;
}

static const struct spw_part *stored_part(const struct runner *r, uint32_t stage)
{
    return &r->chain->parts[r->chain->stages[stage].first_part + r->part[stage] - 1];
}

static void store_part(struct runner *r, uint32_t stage, uint32_t part)
{
    r->part[stage] = part;
    const struct spw_part *p = stored_part(r, stage);
    for (uint32_t i = 0; i < p->count; i++)
        r->wanted[r->chain->part_listed[p->first + i]]++;
}

/* Stores the whole record instead of the part; what is missing has to be made. */
static void widen_part(struct runner *r, uint32_t stage)
{
    const struct spw_part *p = stored_part(r, stage);
    store(r, stage, true);
    for (uint32_t i = 0; i < p->count; i++)
        r->wanted[r->chain->part_listed[p->first + i]]--;
    r->part[stage] = 0;
}

/* ---- after an operation ---- */

/* Returns true if an operation of the stage after `op` reads the tensor's present contents; `again`: one that has to be
 * replayed. */
static bool is_read_on(const struct runner *r, uint32_t tensor, uint32_t op, uint32_t end_op, bool again)
{
    const struct spw_graph_tensor *t = &r->graph->tensors[tensor];
    for (uint32_t n = spw_graph_use_from(r->graph, tensor, op + 1); n < t->use_count; n++) {
        const struct spw_use *use = &r->graph->uses[t->first_use + n];
        if (use->op >= end_op)
            return false;
        if (!again || r->again[use->op])
            return use->reads;
    }
    return false;
}

/* Drops the tensors that the operation touched and nothing needs any more. A held tensor stays for replays of its stage. */
static int clean_up(struct runner *r, uint32_t op, uint32_t end_op, bool again)
{
    const struct spw_graph_op *o = &r->graph->ops[op];
    int e = 0;
    for (uint32_t i = 0; i < o->read_count + o->write_count && e == 0; i++) {
        const uint32_t tensor = r->graph->touched[o->first_read + i].tensor;
        const struct spw_graph_tensor *t = &r->graph->tensors[tensor];
        const struct spw_builder_place *place = &r->builder->places[tensor];
        if (t->persistent || place->device == SPW_ABSENT)
            continue;
        const bool forward = op < r->chain->turn;
        bool done = place->next == t->use_count && (!forward || !r->chain->held[tensor]);
        if (forward && spw_chain_moves(r->chain, tensor))
            done = r->wanted[tensor] == 0 && !is_read_on(r, tensor, op, end_op, again);
        else if (spw_chain_moves(r->chain, tensor) && r->wanted[tensor] == 0)
            done = done || spw_build_is_dead(r->builder, tensor);
        if (done)
            e = spw_build_drop(r->builder, tensor);
    }
    return e;
}

static int run_recorded(struct runner *r, uint32_t first, uint32_t end)
{
    int e = 0;
    for (uint32_t op = first; op < end && e == 0; op++) {
        e = spw_build_op(r->builder);
        if (e == 0)
            e = clean_up(r, op, end, false);
    }
    return e;
}

/* ---- running a stage again ---- */

/* Marks which of the stage's stored items are missing. */
static void mark_missing(struct runner *r, const uint32_t *tensors, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t tensor = tensors[i];
        r->needed[tensor] = r->builder->places[tensor].device != r->chain->version[tensor];
    }
}

/* Marks the operation for replay: its products are no longer needed before it, its inputs are, unless they are present.
 * Returns -EAGAIN if something was in the way and has been dropped, so that more has to be made. */
static int mark_replay(struct runner *r, uint32_t op)
{
    const struct spw_graph_op *o = &r->graph->ops[op];
    r->again[op] = true;
    for (uint32_t i = 0; i < o->write_count; i++) {
        const struct spw_touched_tensor *touch = &r->graph->touched[o->first_write + i];
        if (!touch->side && !touch->in_place)
            r->needed[touch->tensor] = false;
    }
    for (uint32_t i = 0; i < o->read_count + o->write_count; i++) {
        const struct spw_touched_tensor *touch = &r->graph->touched[o->first_read + i];
        const uint32_t there = r->builder->places[touch->tensor].device;
        const bool reads = i < o->read_count;
        if (touch->side || there == touch->version || !spw_chain_moves(r->chain, touch->tensor))
            continue;
        if (!reads && touch->in_place)
            continue; /* handled where it is read */
        if (there != SPW_ABSENT) {
            const int e = spw_build_drop(r->builder, touch->tensor);
            return e < 0 ? e : -EAGAIN;
        }
        if (reads)
            r->needed[touch->tensor] = true;
    }
    return 0;
}

static bool makes_needed(const struct runner *r, uint32_t op)
{
    const struct spw_graph_op *o = &r->graph->ops[op];
    for (uint32_t i = 0; i < o->write_count; i++) {
        const struct spw_touched_tensor *touch = &r->graph->touched[o->first_write + i];
        if (!touch->side && r->needed[touch->tensor])
            return true;
    }
    return false;
}

static void forget_marks(struct runner *r, uint32_t stage)
{
    const struct spw_stage *s = &r->chain->stages[stage];
    for (uint32_t op = s->first_op; op < s->end_op; op++) {
        const struct spw_graph_op *o = &r->graph->ops[op];
        r->again[op] = false;
        for (uint32_t i = 0; i < o->read_count + o->write_count; i++)
            r->needed[r->graph->touched[o->first_read + i].tensor] = false;
    }
}

/* Finds the operations of the stage that have to be replayed, from the last to the first. */
static int mark_stage(struct runner *r, uint32_t stage, bool save)
{
    const struct spw_stage *s = &r->chain->stages[stage];
    int e;
    do {
        forget_marks(r, stage);
        if (stage + 1 < r->chain->count && r->stored[2 * stage + 2])
            mark_missing(r, r->chain->listed + s[1].first_input, s[1].input_count);
        if (save && r->part[stage])
            mark_missing(r, r->chain->part_listed + stored_part(r, stage)->first, stored_part(r, stage)->count);
        else if (save)
            mark_missing(r, r->chain->listed + s->first_record, s->record_count);
        e = 0;
        for (uint32_t op = s->end_op; op-- > s->first_op && e == 0;) {
            if (makes_needed(r, op))
                e = mark_replay(r, op);
        }
    } while (e == -EAGAIN);
    return e;
}

static int run_again(struct runner *r, uint32_t stage, bool save)
{
    const struct spw_stage *s = &r->chain->stages[stage];
    int e = mark_stage(r, stage, save);
    for (uint32_t op = s->first_op; op < s->end_op && e == 0; op++) {
        if (!r->again[op])
            continue;
        e = spw_build_replay(r->builder, op);
        if (e == 0)
            e = clean_up(r, op, s->end_op, true);
    }
    forget_marks(r, stage);
    if (stage + 1 < r->chain->count) {
        const struct span out = items_of(r, stage + 1, false);
        for (uint32_t i = 0; i < out.count; i++)
            r->needed[r->chain->listed[out.first + i]] = false;
    }
    return e;
}

/* ---- actions ---- */

static int forward(struct runner *r, const struct spw_stage_action *action)
{
    const uint32_t stage = action->stage;
    const struct spw_stage *s = &r->chain->stages[stage];
    const bool save = action->act == SPW_ACT_SAVE;
    if (!r->stored[2 * stage] || (save && (action->part > s->part_count || r->part[stage])))
        return -EINVAL;
    /* The later stages have gone backward and need no input. */
    const bool is_last = r->builder->next_op == s->first_back;
    if (!is_last)
        store(r, stage + 1, false);
    if (save && action->part)
        store_part(r, stage, action->part);
    else if (save)
        store(r, stage, true);
    int e;
    if (r->builder->next_op == s->first_op)
        e = run_recorded(r, s->first_op, s->end_op);
    else
        e = run_again(r, stage, save);
    return e == 0 && action->act == SPW_ACT_WALK ? release(r, stage, false) : e;
}

static bool is_read_before(const struct spw_graph *graph, uint32_t tensor, uint32_t op)
{
    const struct spw_graph_tensor *t = &graph->tensors[tensor];
    for (uint32_t n = 0; n < t->use_count && graph->uses[t->first_use + n].op < op; n++)
        if (graph->uses[t->first_use + n].reads)
            return true;
    return false;
}

/* Drops what was held for replays of this stage and has no further use: earlier stages, which may run again, do not read
 * it. */
static int drop_held(struct runner *r, uint32_t stage)
{
    const struct spw_stage *s = &r->chain->stages[stage];
    int e = 0;
    for (uint32_t op = s->first_op; op < s->end_op && e == 0; op++) {
        const struct spw_graph_op *o = &r->graph->ops[op];
        for (uint32_t i = 0; i < o->read_count + o->write_count && e == 0; i++) {
            const uint32_t tensor = r->graph->touched[o->first_read + i].tensor;
            const struct spw_graph_tensor *t = &r->graph->tensors[tensor];
            if (r->chain->held[tensor] && r->builder->places[tensor].device != SPW_ABSENT &&
                r->builder->places[tensor].next == t->use_count && !is_read_before(r->graph, tensor, s->first_op))
                e = spw_build_drop(r->builder, tensor);
        }
    }
    return e;
}

static int backward(struct runner *r, uint32_t stage)
{
    const struct spw_stage *s = &r->chain->stages[stage];
    const bool in_part = r->part[stage] > 0;
    if (r->builder->next_op != s->first_back || !r->stored[2 * stage] || !(in_part || r->stored[2 * stage + 1]))
        return -EINVAL;
    int e = 0;
    if (in_part) {
        widen_part(r, stage);
        e = release(r, stage + 1, false); /* so that no more than the record is made */
    }
    if (in_part && e == 0)
        e = run_again(r, stage, true);
    if (e == 0)
        e = run_recorded(r, s->first_back, s->end_back);
    if (e == 0)
        e = release(r, stage, true);
    if (e == 0)
        e = release(r, stage + 1, false);
    return e == 0 ? drop_held(r, stage) : e;
}

static int copy_out(struct runner *r, uint32_t stage, bool record)
{
    const struct span span = items_of(r, stage, record);
    int e = r->stored[2 * stage + record] ? 0 : -EINVAL;
    for (uint32_t i = 0; i < span.count && e == 0; i++) {
        const uint32_t tensor = r->chain->listed[span.first + i];
        if (r->builder->places[tensor].host != r->builder->places[tensor].device)
            e = spw_build_d2h(r->builder, tensor);
    }
    return e;
}

static int copy_in(struct runner *r, uint32_t stage, bool record)
{
    const struct span span = items_of(r, stage, record);
    int e = 0;
    store(r, stage, record);
    for (uint32_t i = 0; i < span.count && e == 0; i++) {
        const uint32_t tensor = r->chain->listed[span.first + i];
        if (r->builder->places[tensor].device == SPW_ABSENT)
            e = spw_build_h2d(r->builder, tensor);
    }
    return e;
}

static int carry_out(struct runner *r, const struct spw_stage_action *action)
{
    const uint32_t stage = action->stage;
    if (stage >= r->chain->count)
        return -EINVAL;
    switch ((enum spw_stage_act)action->act) {
    case SPW_ACT_WALK:
    case SPW_ACT_KEEP:
    case SPW_ACT_SAVE:
        return forward(r, action);
    case SPW_ACT_BACK:
        return backward(r, stage);
    case SPW_ACT_OUT:
    case SPW_ACT_OUT_RECORD:
        return copy_out(r, stage, action->act == SPW_ACT_OUT_RECORD);
    case SPW_ACT_FORGET:
    case SPW_ACT_FORGET_RECORD:
        return release(r, stage, action->act == SPW_ACT_FORGET_RECORD);
    case SPW_ACT_IN:
    case SPW_ACT_IN_RECORD:
        return copy_in(r, stage, action->act == SPW_ACT_IN_RECORD);
    }
    return -EINVAL;
}

int spw_stages_run(const struct spw_chain *chain, struct spw_builder *builder, const struct spw_stage_action *actions,
                   size_t count, size_t *ret_action)
{
    const size_t tensors = (size_t)chain->graph->tensor_count + 1;
    struct runner r = {.chain = chain, .graph = chain->graph, .builder = builder};
    r.wanted = calloc(tensors, sizeof *r.wanted);
    r.part = calloc(chain->count, sizeof *r.part);
    r.needed = calloc(tensors + chain->turn + 2 * (size_t)chain->count, sizeof *r.needed);
    int e = r.wanted && r.needed && r.part ? 0 : -ENOMEM;
    size_t i = 0;
    if (e == 0) {
        r.again = r.needed + tensors;
        r.stored = r.again + chain->turn;
        store(&r, 0, false);
        for (; i < count; i++) {
            e = carry_out(&r, &actions[i]);
            if (e < 0)
                break;
        }
    }
    if (e == 0 && builder->next_op != chain->tail)
        e = -EINVAL;
    if (e == 0)
        e = run_recorded(&r, chain->tail, chain->graph->op_count);
    if (e == 0)
        e = spw_build_end(builder);
    if (ret_action)
        *ret_action = i;
    free(r.wanted);
    free(r.part);
    free(r.needed);
    return e;
}
