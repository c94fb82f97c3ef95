/* compose_along.c - composes along an earlier composition: operations that no difference affects take over its steps.
 *
 * Both the current place of each tensor and its place in the base at the same operation are known. For most tensors they
 * are the same; a tensor for which they differ is apart. An operation has the same steps as in the base where
 *   - no choice that it uses differs,
 *   - no tensor in its steps is apart, and no replay among them makes one that is brief in only one of the two,
 *   - the bytes that it takes still fit, and
 *   - it depended on nothing else: no tensor was evicted to make room, and none was restored early.
 * Composition then goes on from the same state as if everything had been composed from the beginning. */
#include "search/compose_parts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int init_trail(struct spw_trail *trail, const struct spw_graph *graph)
{
    trail->choices = malloc(spw_choice_count(graph) + 1);
    trail->ops = malloc(((size_t)graph->op_count + 1) * sizeof *trail->ops);
    trail->first = malloc(((size_t)graph->tensor_count + 1) * sizeof *trail->first);
    return trail->choices && trail->ops && trail->first ? spw_schedule_init(&trail->schedule, graph) : -ENOMEM;
}

static void finish_trail(struct spw_trail *trail)
{
    free(trail->choices);
    free(trail->ops);
    free(trail->first);
    spw_schedule_finish(&trail->schedule);
}

int spw_along_init(struct spw_composer *c)
{
    const size_t tensors = (size_t)c->graph->tensor_count + 1;
    c->apart = calloc(tensors, sizeof *c->apart);
    c->touched_at = calloc(tensors, sizeof *c->touched_at);
    c->touched = malloc(tensors * sizeof *c->touched);
    c->then.places = malloc(tensors * sizeof *c->then.places);
    c->changed_in = calloc(c->graph->op_count, sizeof *c->changed_in);
    if (!c->apart || !c->touched_at || !c->touched || !c->then.places || !c->changed_in ||
        init_trail(&c->now, c->graph) < 0 || init_trail(&c->base, c->graph) < 0)
        return -ENOMEM;
    c->then.graph = c->graph;
    return 0;
}

void spw_along_finish(struct spw_composer *c)
{
    free(c->apart);
    free(c->touched_at);
    free(c->touched);
    free(c->then.places);
    free(c->changed_in);
    finish_trail(&c->now);
    finish_trail(&c->base);
}

bool spw_composer_keep(struct spw_composer *composer)
{
    const struct spw_trail kept = composer->now;
    if (!kept.is_whole)
        return false;
    composer->now = composer->base;
    composer->now.is_whole = false;
    composer->base = kept;
    return true;
}

void spw_composer_forget(struct spw_composer *composer)
{
    composer->base.is_whole = false;
}

bool spw_along_is_base(const struct spw_composer *c)
{
    const struct spw_schedule *now = &c->now.schedule, *base = &c->base.schedule;
    return c->is_following && now->count == base->count &&
           memcmp(now->steps, base->steps, now->count * sizeof *now->steps) == 0 &&
           memcmp(now->start, base->start, c->graph->tensor_count) == 0;
}

/* ---- what differs ---- */

static void set_apart(struct spw_composer *c, uint32_t tensor, bool is_apart)
{
    c->apart_count += is_apart - c->apart[tensor];
    c->apart[tensor] = is_apart;
}

/* The choice for the gap after a use affects the use's operation. After a last use it may also affect every
 * recomputation. */
static void note_changed(struct spw_composer *c, size_t index, uint8_t was, uint8_t is)
{
    if (index >= c->graph->use_count)
        return; /* it shows in the places before operation 0 */
    c->changed_in[c->graph->uses[index].op] = c->composition;
    c->is_end_changed |= (was >= SPW_RETAIN) != (is >= SPW_RETAIN);
    c->is_brief_changed |= spw_composer_is_brief(was) || spw_composer_is_brief(is);
}

static bool is_same_place(const struct spw_builder_place *a, const struct spw_builder_place *b)
{
    return a->device == b->device && a->host == b->host;
}

void spw_along_begin(struct spw_composer *c, const uint8_t *choices)
{
    const size_t count = spw_choice_count(c->graph);
    if (!c->base.is_whole)
        return;
    c->is_following = true;
    c->is_end_changed = c->is_brief_changed = false;
    c->composition++;
    c->apart_count = 0;
    memset(c->apart, 0, c->graph->tensor_count * sizeof *c->apart);
    memset(c->touched_at, 0, c->graph->tensor_count * sizeof *c->touched_at);
    c->then.host_bytes = c->builder.host_bytes;
    for (size_t i = 0; i < count; i++)
        if (choices[i] != c->base.choices[i])
            note_changed(c, i, c->base.choices[i], choices[i]);
    for (uint32_t i = 0; i < c->graph->tensor_count; i++) {
        if (is_same_place(&c->now.first[i], &c->base.first[i]))
            continue;
        set_apart(c, i, true);
        c->then.places[i] = c->base.first[i];
    }
}

/* ---- one operation ---- */

/* If no tensor is evicted to make room, each copied or dropped tensor is touched by an operation or replay beside that
 * step. */
static bool is_step_apart(const struct spw_composer *c, const struct spw_step *step)
{
    if (step->kind > SPW_STEP_REPLAY)
        return false;
    const struct spw_graph_op *op = &c->graph->ops[step->id];
    for (uint32_t i = 0; i < op->read_count + op->write_count; i++)
        if (c->apart[c->graph->touched[op->first_read + i].tensor])
            return true;
    return false;
}

/* Before the operation each tensor is in the same gap as in the base at that point. */
static bool is_brief_otherwise(const struct spw_composer *c, const struct spw_step *step)
{
    const struct spw_graph_op *op = &c->graph->ops[step->id];
    for (uint32_t i = 0; step->kind == SPW_STEP_REPLAY && i < op->write_count; i++) {
        const size_t gap = spw_composer_gap(c, c->graph->touched[op->first_write + i].tensor);
        if (spw_composer_is_brief(c->base.choices[gap]) != spw_composer_is_brief(c->now.choices[gap]))
            return true;
    }
    return false;
}

static bool is_known(const struct spw_composer *c, uint32_t op)
{
    const struct spw_composed_op *o = &c->base.ops[op];
    if ((o->flags & SPW_OP_UNLIKE) || c->early[op] != SPW_NO_INDEX || c->changed_in[op] == c->composition ||
        ((o->flags & SPW_OP_CONSULTS) && c->is_end_changed) || o->rise > c->builder.device_bytes - c->builder.used_bytes ||
        o->host_rise > c->builder.host_bytes - c->builder.host_used_bytes)
        return false;
    for (uint32_t i = o->first_step; i < o[1].first_step && c->apart_count; i++)
        if (is_step_apart(c, &c->base.schedule.steps[i]))
            return false;
    for (uint32_t i = o->first_step; i < o[1].first_step && c->is_brief_changed; i++)
        if (is_brief_otherwise(c, &c->base.schedule.steps[i]))
            return false;
    return true;
}

static int take_over(struct spw_composer *c, uint32_t op)
{
    const struct spw_composed_op *o = &c->base.ops[op];
    struct spw_schedule *schedule = &c->now.schedule;
    if (spw_schedule_reserve(schedule, schedule->count + (o[1].first_step - o->first_step)) < 0)
        return -ENOMEM;
    c->flags = o->flags;
    c->most_bytes = c->builder.used_bytes + o->rise;
    c->most_host_bytes = c->builder.host_used_bytes + o->host_rise;
    for (uint32_t i = o->first_step; i < o[1].first_step; i++) {
        const struct spw_step step = c->base.schedule.steps[i];
        schedule->steps[schedule->count++] = step;
        spw_build_known(&c->builder, step);
        c->composed.replayed_us += step.kind == SPW_STEP_REPLAY ? c->graph->ops[step.id].us : 0;
    }
    return 0;
}

/* Applies the base's steps for the operation to `then`. */
static void follow_base(struct spw_composer *c, uint32_t op)
{
    for (uint32_t i = c->base.ops[op].first_step; i < c->base.ops[op + 1].first_step; i++) {
        const struct spw_step step = c->base.schedule.steps[i];
        if (step.kind <= SPW_STEP_REPLAY) {
            const struct spw_graph_op *o = &c->graph->ops[step.id];
            for (uint32_t t = 0; t < o->read_count + o->write_count; t++)
                spw_along_touch(c, c->graph->touched[o->first_read + t].tensor);
        } else {
            spw_along_touch(c, step.id);
        }
        spw_build_known(&c->then, step);
    }
}

void spw_along_touch(struct spw_composer *c, uint32_t tensor)
{
    if (!c->is_following || c->touched_at[tensor] == c->composed.op + 1)
        return;
    c->touched_at[tensor] = c->composed.op + 1;
    c->touched[c->touched_count++] = tensor;
    if (!c->apart[tensor])
        c->then.places[tensor] = c->builder.places[tensor];
}

int spw_along_op(struct spw_composer *c, uint32_t op)
{
    if (is_known(c, op))
        return take_over(c, op);
    c->touched_count = 0;
    follow_base(c, op);
    const int r = spw_composer_run_op(c, op);
    for (uint32_t i = 0; i < c->touched_count; i++) {
        const uint32_t tensor = c->touched[i];
        set_apart(c, tensor, !is_same_place(&c->builder.places[tensor], &c->then.places[tensor]));
    }
    return r;
}
