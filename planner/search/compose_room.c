/* compose_room.c - tracks which tensors are on the device, and chooses those to evict where room is short. */
#include "search/compose_parts.h"

#include <errno.h>
#include <string.h>

enum { LISTED = 1, SPARE = 2 };

#define CHEAP 0.3 /* a tensor is recomputed instead of copied if that takes less than this share of the copies' time */

/* ---- which tensors are there ---- */

/* The lists are updated only when a tensor has to be evicted: most operations find the room that they need. */

static void enter(struct spw_composer *c, uint32_t tensor)
{
    if (c->where[tensor] != SPW_NO_INDEX)
        return;
    c->where[tensor] = c->resident_count;
    c->resident[c->resident_count++] = tensor;
}

static void leave(struct spw_composer *c, uint32_t tensor)
{
    const uint32_t place = c->where[tensor], moved = c->resident[--c->resident_count];
    c->resident[place] = moved;
    c->where[moved] = place;
    c->where[tensor] = SPW_NO_INDEX;
}

static void set_spare(struct spw_composer *c, uint32_t tensor)
{
    if (!(c->spareness[tensor] & LISTED))
        c->spare[c->spare_count++] = tensor;
    c->spareness[tensor] = LISTED | SPARE;
}

/* Sets the lists to the state before operation 0. */
static void list_at_start(struct spw_composer *c)
{
    c->resident_count = c->spare_count = 0;
    memset(c->where, 0xff, c->graph->tensor_count * sizeof *c->where);
    memset(c->spareness, 0, c->graph->tensor_count * sizeof *c->spareness);
    for (uint32_t i = 0; i < c->graph->tensor_count; i++) {
        const struct spw_graph_tensor *t = &c->graph->tensors[i];
        if (t->persistent ? c->now.schedule.start[i] == SPW_START_HOST : !t->initial || t->use_count == 0)
            continue;
        enter(c, i);
        if (c->now.first[i].device == SPW_ABSENT)
            leave(c, i);
    }
    c->listed_steps = c->now.ops[0].first_step;
}

static void list_op(struct spw_composer *c, const struct spw_step *step)
{
    const struct spw_graph_op *op = &c->graph->ops[step->id];
    const struct spw_touched_tensor *reads = &c->graph->touched[op->first_read],
                                    *writes = &c->graph->touched[op->first_write];
    for (uint32_t i = 0; i < op->write_count; i++) {
        if (step->kind == SPW_STEP_REPLAY && writes[i].side)
            continue;
        enter(c, writes[i].tensor);
        if (step->kind == SPW_STEP_REPLAY)
            set_spare(c, writes[i].tensor);
    }
    for (uint32_t i = 0; i < op->read_count + op->write_count && step->kind == SPW_STEP_OP; i++)
        c->spareness[reads[i].tensor] &= LISTED;
}

/* Updates the lists by the steps since the last update. */
static void bring_up_lists(struct spw_composer *c)
{
    if (c->listed_steps == SPW_NO_INDEX)
        list_at_start(c);
    for (; c->listed_steps < c->now.schedule.count; c->listed_steps++) {
        const struct spw_step *step = &c->now.schedule.steps[c->listed_steps];
        if (step->kind <= SPW_STEP_REPLAY) {
            list_op(c, step);
        } else if (step->kind == SPW_STEP_DROP) {
            leave(c, step->id);
        } else if (step->kind == SPW_STEP_H2D) {
            enter(c, step->id);
            set_spare(c, step->id);
        }
    }
}

void spw_composer_wants(struct spw_composer *c, uint32_t tensor)
{
    bring_up_lists(c);
    c->spareness[tensor] &= LISTED;
}

/* ---- steps ---- */

void spw_composer_note_bytes(struct spw_composer *c)
{
    if (c->builder.used_bytes > c->most_bytes)
        c->most_bytes = c->builder.used_bytes;
    if (c->builder.host_used_bytes > c->most_host_bytes)
        c->most_host_bytes = c->builder.host_used_bytes;
}

int spw_composer_drop(struct spw_composer *c, uint32_t tensor)
{
    spw_along_touch(c, tensor);
    return spw_build_drop(&c->builder, tensor);
}

int spw_composer_copy_out(struct spw_composer *c, uint32_t tensor)
{
    spw_along_touch(c, tensor);
    const int r = spw_build_d2h(&c->builder, tensor);
    if (r == -ENOSPC) /* no room on the host */
        c->flags |= SPW_OP_UNLIKE;
    spw_composer_note_bytes(c);
    return r;
}

/* Returns true if the tensor is dead and kept on the device for replays: it is not evicted. */
static bool is_retained(const struct spw_composer *c, uint32_t tensor)
{
    const struct spw_graph_tensor *t = &c->graph->tensors[tensor];
    return !t->persistent && c->builder.places[tensor].next == t->use_count && t->use_count &&
           c->choices[t->first_use + t->use_count - 1] == SPW_RETAIN && c->request->may_replay;
}

/* ---- making room ---- */

/* Returns the time to recompute the tensor's contents for its use by operation `at`; < 0: they cannot be recomputed. */
static double recompute_us(struct spw_composer *c, uint32_t tensor, uint32_t at)
{
    c->flags |= SPW_OP_CONSULTS;
    return spw_lineage_us(c->lineage, tensor, spw_build_current(&c->builder, tensor),
                          &(struct spw_lineage_terms){.at = at, .choices = c->choices});
}

bool spw_composer_is_replayable(struct spw_composer *c, uint32_t tensor)
{
    const uint32_t next = spw_build_next_use(&c->builder, tensor);
    return c->request->may_replay && next != SPW_NO_INDEX && recompute_us(c, tensor, next) >= 0;
}

/* Returns a spare tensor that can be dropped: one that is never read again, else the one that is read last. */
static uint32_t choose_spare(struct spw_composer *c, bool wanted)
{
    uint32_t best = SPW_NO_INDEX, kept = 0;
    uint64_t best_next = 0;
    for (uint32_t i = 0; i < c->spare_count; i++) {
        const uint32_t tensor = c->spare[i];
        if (c->where[tensor] == SPW_NO_INDEX || !(c->spareness[tensor] & SPARE)) {
            c->spareness[tensor] = 0;
            continue;
        }
        c->spare[kept++] = tensor;
        const uint32_t next = spw_build_next_use(&c->builder, tensor);
        if (c->pins[tensor] || c->wanted[tensor] != wanted || (best != SPW_NO_INDEX && next <= best_next) ||
            !c->graph->tensors[tensor].evictable || is_retained(c, tensor))
            continue;
        if (next != SPW_NO_INDEX && !spw_composer_has_copy(c, tensor) && !spw_composer_is_replayable(c, tensor))
            continue;
        best = tensor;
        best_next = next;
    }
    c->spare_count = kept;
    return best;
}

/* Returns how far away its next use is. A tensor that carries over is used again in the next iteration. */
static uint64_t distance(const struct spw_composer *c, uint32_t tensor)
{
    const uint32_t next = spw_build_next_use(&c->builder, tensor);
    const struct spw_graph_tensor *t = &c->graph->tensors[tensor];
    if (next != SPW_NO_INDEX)
        return next - c->builder.next_op + 1;
    return (uint64_t)c->graph->op_count - c->builder.next_op + (t->use_count ? c->graph->uses[t->first_use].op : 0) + 1;
}

/* Returns the tensor with the latest next use, weighted by its size up to what is needed. `by_replay`: among those that
 * can be recomputed, weighted by how cheap that is. `wanted`: among the next operation's inputs. */
static uint32_t choose_victim(struct spw_composer *c, uint64_t needed, bool by_replay, bool wanted)
{
    uint32_t best = SPW_NO_INDEX;
    double best_score = 0;
    for (uint32_t i = 0; i < c->resident_count; i++) {
        const uint32_t tensor = c->resident[i];
        const struct spw_graph_tensor *t = &c->graph->tensors[tensor];
        if (c->pins[tensor] || c->wanted[tensor] != wanted || t->bytes == 0 || !t->evictable || is_retained(c, tensor))
            continue;
        double score = (double)distance(c, tensor) * (double)(t->bytes < needed ? t->bytes : needed);
        if (by_replay) {
            const uint32_t next = spw_build_next_use(&c->builder, tensor);
            const double us = next == SPW_NO_INDEX ? -1 : recompute_us(c, tensor, next);
            if (us < 0)
                continue;
            score /= us + 1e-3;
        }
        if (score > best_score) {
            best = tensor;
            best_score = score;
        }
    }
    return best;
}

static int evict(struct spw_composer *c, uint32_t tensor, bool by_replay)
{
    int r = 0;
    if (!by_replay && !spw_composer_has_copy(c, tensor))
        r = spw_composer_copy_out(c, tensor);
    if (r < 0)
        return r;
    uint8_t *choice = &c->choices[spw_composer_gap(c, tensor)];
    *choice = by_replay ? (uint8_t)(SPW_DROP | (*choice & SPW_BRIEF)) : SPW_SWAP;
    c->composed.repairs++;
    return spw_composer_drop(c, tensor);
}

/* Returns true if recomputing takes less than a share of the time of the copies: the lanes are mostly full where memory
 * is short. */
static bool is_cheap_replay(struct spw_composer *c, uint32_t tensor)
{
    const struct spw_graph_tensor *t = &c->graph->tensors[tensor];
    const uint32_t next = spw_build_next_use(&c->builder, tensor);
    if (!c->request->may_replay || next == SPW_NO_INDEX || spw_composer_has_copy(c, tensor))
        return false;
    const double us = recompute_us(c, tensor, next);
    return us >= 0 && us < CHEAP * (t->d2h_us + t->h2d_us);
}

/* Evicts one more tensor that is not spare. Returns -ENOSPC if no tensor can be evicted. */
static int evict_one(struct spw_composer *c, uint64_t needed, bool wanted)
{
    uint32_t victim;
    int r = -ENOSPC;
    if (c->request->may_copy && (victim = choose_victim(c, needed, false, wanted)) != SPW_NO_INDEX)
        r = evict(c, victim, is_cheap_replay(c, victim));
    if (r == -ENOSPC && c->request->may_replay && (victim = choose_victim(c, needed, true, wanted)) != SPW_NO_INDEX)
        r = evict(c, victim, true);
    return r;
}

static int drop_spare(struct spw_composer *c, bool wanted)
{
    const uint32_t victim = choose_spare(c, wanted);
    if (victim == SPW_NO_INDEX)
        return -ENOSPC;
    c->spareness[victim] &= LISTED;
    return spw_composer_drop(c, victim);
}

/* Evicts the next operation's inputs last, since they have to be restored at once. */
int spw_composer_make_room(struct spw_composer *c, uint64_t needs)
{
    while (needs > c->builder.device_bytes - c->builder.used_bytes) {
        c->flags |= SPW_OP_UNLIKE; /* the choice depends on all resident tensors */
        bring_up_lists(c);
        const uint64_t needed = needs - (c->builder.device_bytes - c->builder.used_bytes);
        int r = -ENOSPC;
        for (int wanted = 0; wanted < 2 && r == -ENOSPC; wanted++) {
            r = drop_spare(c, wanted);
            if (r == -ENOSPC)
                r = evict_one(c, needed, wanted);
        }
        if (r < 0)
            return r;
    }
    return 0;
}
