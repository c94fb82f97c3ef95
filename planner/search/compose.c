/* compose.c - goes through the operations, evicts and restores by the choices, and makes room where they don't suffice. */
#include "search/compose.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "search/compose_parts.h"

enum { MOST_DEPTH = 2000 }; /* of replays for replays */

void spw_composer_destroy(struct spw_composer *c)
{
    if (!c)
        return;
    spw_lineage_destroy(c->lineage);
    spw_along_finish(c);
    free(c->pins);
    free(c->wanted);
    free(c->resident);
    free(c->where);
    free(c->spare);
    free(c->spareness);
    free(c->early);
    free(c->early_next);
    free(c);
}

int spw_composer_create(const struct spw_plan_request *request, struct spw_composer **ret_composer)
{
    const size_t tensors = (size_t)request->graph->tensor_count + 1;
    struct spw_composer *c = calloc(1, sizeof *c);
    if (!c)
        return -ENOMEM;
    c->request = request;
    c->graph = request->graph;
    c->pins = calloc(tensors, sizeof *c->pins);
    c->wanted = calloc(tensors, sizeof *c->wanted);
    c->resident = malloc(tensors * sizeof *c->resident);
    c->where = malloc(tensors * sizeof *c->where);
    c->spare = malloc(tensors * sizeof *c->spare);
    c->spareness = calloc(tensors, sizeof *c->spareness);
    c->early = malloc(c->graph->op_count * sizeof *c->early);
    c->early_next = malloc(tensors * sizeof *c->early_next);
    if (!c->pins || !c->wanted || !c->resident || !c->where || !c->spare || !c->spareness || !c->early || !c->early_next ||
        spw_along_init(c) < 0 || spw_lineage_create(c->graph, &c->lineage) < 0) {
        spw_composer_destroy(c);
        return -ENOMEM;
    }
    *ret_composer = c;
    return 0;
}

/* ---- who is there ---- */

void spw_composer_enter(struct spw_composer *c, uint32_t tensor)
{
    if (c->where[tensor] != SPW_NO_INDEX)
        return;
    c->where[tensor] = c->resident_count;
    c->resident[c->resident_count++] = tensor;
}

void spw_composer_leave(struct spw_composer *c, uint32_t tensor)
{
    const uint32_t place = c->where[tensor], moved = c->resident[--c->resident_count];
    c->resident[place] = moved;
    c->where[moved] = place;
    c->where[tensor] = SPW_NO_INDEX;
}

void spw_composer_set_spare(struct spw_composer *c, uint32_t tensor)
{
    if (!(c->spareness[tensor] & SPW_LISTED))
        c->spare[c->spare_count++] = tensor;
    c->spareness[tensor] = SPW_LISTED | SPW_SPARE;
}

/* ---- steps ---- */

static void note_bytes(struct spw_composer *c)
{
    if (c->builder.used_bytes > c->most_bytes)
        c->most_bytes = c->builder.used_bytes;
    if (c->builder.host_used_bytes > c->most_host_bytes)
        c->most_host_bytes = c->builder.host_used_bytes;
}

static int drop(struct spw_composer *c, uint32_t tensor)
{
    spw_along_touch(c, tensor);
    const int r = spw_build_drop(&c->builder, tensor);
    if (r == 0)
        spw_composer_leave(c, tensor);
    return r;
}

static int copy_out(struct spw_composer *c, uint32_t tensor)
{
    spw_along_touch(c, tensor);
    const int r = spw_build_d2h(&c->builder, tensor);
    if (r == -ENOSPC) /* no room on the host */
        c->flags |= SPW_OP_UNLIKE;
    note_bytes(c);
    return r;
}

/* The gap that the tensor is in: index of its choice. */
static size_t gap_of(const struct spw_composer *c, uint32_t tensor)
{
    const uint32_t next = c->builder.places[tensor].next;
    return next ? c->graph->tensors[tensor].first_use + next - 1 : (size_t)c->graph->use_count + tensor;
}

/* Dead, and kept on the device for replays: nobody takes it away. */
static bool is_retained(const struct spw_composer *c, uint32_t tensor)
{
    const struct spw_graph_tensor *t = &c->graph->tensors[tensor];
    return !t->persistent && c->builder.places[tensor].next == t->use_count && t->use_count &&
           c->choices[t->first_use + t->use_count - 1] == SPW_RETAIN && c->request->may_replay;
}

static bool has_good_copy(const struct spw_composer *c, uint32_t tensor)
{
    const struct spw_place *place = &c->builder.places[tensor];
    return place->host != SPW_ABSENT && place->host == spw_build_current(&c->builder, tensor);
}

/* ---- making room ---- */

/* The time to recompute what the tensor holds for its use by operation `at`; < 0: it can't be. */
static double recompute_us(struct spw_composer *c, uint32_t tensor, uint32_t at)
{
    c->flags |= SPW_OP_CONSULTS;
    return spw_lineage_us(c->lineage, tensor, spw_build_current(&c->builder, tensor),
                          &(struct spw_lineage_terms){.at = at, .choices = c->choices});
}

/* Whether what the tensor holds can be dropped here and recomputed for its next use. */
static bool is_replayable(struct spw_composer *c, uint32_t tensor)
{
    const uint32_t next = spw_build_next_use(&c->builder, tensor);
    return c->request->may_replay && next != SPW_NO_INDEX && recompute_us(c, tensor, next) >= 0;
}

/* A spare tensor that may go: one that nobody will read, else the one read last. */
static uint32_t choose_spare(struct spw_composer *c, bool wanted)
{
    uint32_t best = SPW_NO_INDEX, kept = 0;
    uint64_t best_next = 0;
    for (uint32_t i = 0; i < c->spare_count; i++) {
        const uint32_t tensor = c->spare[i];
        if (c->where[tensor] == SPW_NO_INDEX || !(c->spareness[tensor] & SPW_SPARE)) {
            c->spareness[tensor] = 0;
            continue;
        }
        c->spare[kept++] = tensor;
        const uint32_t next = spw_build_next_use(&c->builder, tensor);
        if (c->pins[tensor] || c->wanted[tensor] != wanted || (best != SPW_NO_INDEX && next <= best_next) ||
            !c->graph->tensors[tensor].evictable || is_retained(c, tensor))
            continue;
        if (next != SPW_NO_INDEX && !has_good_copy(c, tensor) && !is_replayable(c, tensor))
            continue;
        best = tensor;
        best_next = next;
    }
    c->spare_count = kept;
    return best;
}

/* How far off its next use is; what carries over is used again in the next iteration. */
static uint64_t distance(const struct spw_composer *c, uint32_t tensor)
{
    const uint32_t next = spw_build_next_use(&c->builder, tensor);
    const struct spw_graph_tensor *t = &c->graph->tensors[tensor];
    if (next != SPW_NO_INDEX)
        return next - c->builder.next_op + 1;
    return (uint64_t)c->graph->op_count - c->builder.next_op + (t->use_count ? c->graph->uses[t->first_use].op : 0) + 1;
}

/* What is used last of all, weighted by its size up to what is needed. `by_replay`: what can be recomputed, cheap ones
 * first. `wanted`: among what the next operation reads. */
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
    if (!by_replay && !has_good_copy(c, tensor))
        r = copy_out(c, tensor);
    if (r < 0)
        return r;
    c->choices[gap_of(c, tensor)] = by_replay ? SPW_DROP : SPW_SWAP;
    c->composed.repairs++;
    return drop(c, tensor);
}

/* Evicts one more tensor that is not spare. -ENOSPC: there is none that may go. */
static int evict_one(struct spw_composer *c, uint64_t needed, bool wanted)
{
    uint32_t victim;
    int r = -ENOSPC;
    if (c->request->may_copy && (victim = choose_victim(c, needed, false, wanted)) != SPW_NO_INDEX)
        r = evict(c, victim, false);
    if (r == -ENOSPC && c->request->may_replay && (victim = choose_victim(c, needed, true, wanted)) != SPW_NO_INDEX)
        r = evict(c, victim, true);
    return r;
}

static int drop_spare(struct spw_composer *c, bool wanted)
{
    const uint32_t victim = choose_spare(c, wanted);
    if (victim == SPW_NO_INDEX)
        return -ENOSPC;
    c->spareness[victim] &= SPW_LISTED;
    return drop(c, victim);
}

/* What the next operation reads goes last, since it has to come back at once. */
static int make_room(struct spw_composer *c, uint64_t needs)
{
    while (needs > c->builder.device_bytes - c->builder.used_bytes) {
        c->flags |= SPW_OP_UNLIKE; /* who goes depends on everyone who is there */
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

/* ---- bringing back ---- */

static int restore(struct spw_composer *c, uint32_t tensor, uint32_t version, unsigned depth);

static void pin(struct spw_composer *c, const struct spw_touched_tensor *touched, uint32_t count, int by)
{
    for (uint32_t i = 0; i < count; i++)
        c->pins[touched[i].tensor] = (uint16_t)(c->pins[touched[i].tensor] + by);
}

static int replay(struct spw_composer *c, uint32_t index, unsigned depth)
{
    const struct spw_graph_op *op = &c->graph->ops[index];
    const struct spw_touched_tensor *reads = &c->graph->touched[op->first_read],
                                    *writes = &c->graph->touched[op->first_write];
    int r = 0;
    pin(c, reads, op->read_count + op->write_count, 1);
    for (uint32_t i = 0; i < op->read_count && r == 0; i++)
        if (!reads[i].side && c->builder.places[reads[i].tensor].device != reads[i].version)
            r = restore(c, reads[i].tensor, reads[i].version, depth + 1);
    if (r == 0)
        r = make_room(c, spw_build_replay_needs(&c->builder, index));
    for (uint32_t i = 0; i < op->write_count && r == 0; i++)
        spw_along_touch(c, writes[i].tensor);
    if (r == 0)
        r = spw_build_replay(&c->builder, index);
    note_bytes(c);
    c->composed.replayed_us += r == 0 ? op->us : 0;
    pin(c, reads, op->read_count + op->write_count, -1);
    for (uint32_t i = 0; i < op->write_count && r == 0; i++) {
        if (writes[i].side)
            continue;
        spw_composer_enter(c, writes[i].tensor);
        spw_composer_set_spare(c, writes[i].tensor);
    }
    return r;
}

/* Has the version on the device, where it is not yet. Whatever is brought in for that is spare afterwards. */
static int restore(struct spw_composer *c, uint32_t tensor, uint32_t version, unsigned depth)
{
    const struct spw_place *place = &c->builder.places[tensor];
    if (place->device == version)
        return 0;
    if (place->device == SPW_ABSENT && place->host == version) {
        int r = make_room(c, c->graph->tensors[tensor].bytes);
        spw_along_touch(c, tensor);
        if (r == 0)
            r = spw_build_h2d(&c->builder, tensor);
        if (r == 0) {
            note_bytes(c);
            spw_composer_enter(c, tensor);
            spw_composer_set_spare(c, tensor);
        }
        return r;
    }
    const uint32_t op = spw_lineage_maker(c->graph, tensor, version);
    if (op == SPW_NO_INDEX || !c->request->may_replay || depth > MOST_DEPTH)
        return -ENOSPC;
    const int r = replay(c, op, depth);
    return r == -EINVAL ? -ENOSPC : r; /* what it would overwrite is still wanted */
}

/* ---- one operation ---- */

static int evict_behind(struct spw_composer *c, uint32_t tensor)
{
    const struct spw_graph_tensor *t = &c->graph->tensors[tensor];
    const struct spw_place *place = &c->builder.places[tensor];
    uint8_t *choice = &c->choices[gap_of(c, tensor)];
    if (place->device == SPW_ABSENT || !(t->evictable || (!t->persistent && place->next == t->use_count)))
        return 0;
    if (spw_build_is_dead(&c->builder, tensor)) {
        if (place->next < t->use_count || *choice < SPW_RETAIN || !c->request->may_replay)
            return drop(c, tensor);
        if (*choice == SPW_RETAIN || !t->evictable || !c->request->may_copy)
            return 0;
        const int r = has_good_copy(c, tensor) ? 0 : copy_out(c, tensor);
        return r < 0 ? r : drop(c, tensor);
    }
    if (SPW_CHOICE(*choice) == SPW_DROP && is_replayable(c, tensor)) {
        const uint32_t next = spw_build_next_use(&c->builder, tensor), lead = SPW_LEAD(*choice);
        if (lead && next > c->builder.next_op + lead) {
            c->flags |= SPW_OP_UNLIKE; /* it changes what comes before another operation */
            c->early_next[tensor] = c->early[next - lead];
            c->early[next - lead] = tensor;
        }
        return drop(c, tensor);
    }
    if (*choice != SPW_SWAP || !c->request->may_copy)
        return 0;
    if (place->next == t->use_count && c->builder.schedule->start[tensor] != SPW_START_HOST)
        return 0;
    const int r = has_good_copy(c, tensor) ? 0 : copy_out(c, tensor);
    return r == -ENOSPC ? 0 : r < 0 ? r : drop(c, tensor);
}

/* Restoring one may take what another holds, which then has to come back once more. */
static int restore_reads(struct spw_composer *c, const struct spw_touched_tensor *reads, uint32_t count)
{
    enum { PASSES = 4 };
    int r = 0;
    bool is_whole = false;
    for (uint32_t i = 0; i < count; i++)
        c->wanted[reads[i].tensor] = true;
    for (int pass = 0; pass < PASSES && r == 0 && !is_whole; pass++) {
        is_whole = true;
        for (uint32_t i = 0; i < count && r == 0; i++) {
            if (c->builder.places[reads[i].tensor].device == reads[i].version)
                continue;
            is_whole = false;
            r = restore(c, reads[i].tensor, reads[i].version, 0);
        }
    }
    for (uint32_t i = 0; i < count; i++)
        c->wanted[reads[i].tensor] = false;
    return r;
}

/* What is to be there ahead of its use; where that does not work out, it is restored for its use. */
static int restore_early(struct spw_composer *c, uint32_t index)
{
    int r = 0;
    if (c->early[index] != SPW_NO_INDEX)
        c->flags |= SPW_OP_UNLIKE; /* the choice was made elsewhere */
    for (uint32_t tensor = c->early[index]; tensor != SPW_NO_INDEX && r == 0; tensor = c->early_next[tensor]) {
        if (c->builder.places[tensor].device == SPW_ABSENT)
            r = restore(c, tensor, spw_build_current(&c->builder, tensor), 0);
        c->spareness[tensor] &= SPW_LISTED;
    }
    return r == -ENOSPC ? 0 : r;
}

int spw_composer_run_op(struct spw_composer *c, uint32_t index)
{
    const struct spw_graph_op *op = &c->graph->ops[index];
    const struct spw_touched_tensor *touched = &c->graph->touched[op->first_read];
    const uint32_t count = op->read_count + op->write_count;
    int r = restore_early(c, index);
    if (r == 0)
        r = restore_reads(c, touched, op->read_count);
    pin(c, touched, count, 1);
    if (r == 0)
        r = make_room(c, spw_build_op_needs(&c->builder));
    if (r == 0)
        r = spw_build_op(&c->builder);
    note_bytes(c);
    pin(c, touched, count, -1);
    for (uint32_t i = op->read_count; i < count && r == 0; i++)
        spw_composer_enter(c, touched[i].tensor);
    for (uint32_t i = 0; i < count && r == 0; i++) {
        c->spareness[touched[i].tensor] &= SPW_LISTED;
        r = evict_behind(c, touched[i].tensor);
    }
    return r;
}

/* ---- the beginning and the end ---- */

static void place_persistent(struct spw_composer *c, struct spw_schedule *schedule)
{
    for (uint32_t i = 0; i < c->graph->tensor_count; i++) {
        const struct spw_graph_tensor *t = &c->graph->tensors[i];
        const size_t behind = t->use_count ? t->first_use + t->use_count - 1 : (size_t)c->graph->use_count + i;
        schedule->start[i] = SPW_START_DEVICE;
        if (!t->persistent || !t->evictable || !c->request->may_copy)
            continue;
        if (c->choices[behind] == SPW_SWAP)
            schedule->start[i] = SPW_START_HOST;
        else if (t->last_version == 0 && c->choices[(size_t)c->graph->use_count + i] == SPW_SWAP)
            schedule->start[i] = SPW_START_CLEAN; /* nobody ever writes it: one copy serves all iterations */
    }
}

static int evict_at_start(struct spw_composer *c)
{
    int r = 0;
    for (uint32_t i = 0; i < c->graph->tensor_count && r == 0; i++) {
        if (c->builder.places[i].device == SPW_ABSENT)
            continue;
        spw_composer_enter(c, i);
        if (!c->graph->tensors[i].persistent || c->choices[(size_t)c->graph->use_count + i] != SPW_SWAP ||
            !c->request->may_copy || !c->graph->tensors[i].evictable)
            continue;
        r = has_good_copy(c, i) ? 0 : copy_out(c, i);
        r = r == -ENOSPC ? 0 : r < 0 ? r : drop(c, i);
    }
    return r;
}

static int begin(struct spw_composer *c, struct spw_schedule *schedule)
{
    c->resident_count = c->spare_count = 0;
    c->is_following = false;
    memset(c->where, 0xff, c->graph->tensor_count * sizeof *c->where);
    memset(c->early, 0xff, c->graph->op_count * sizeof *c->early);
    memset(c->spareness, 0, c->graph->tensor_count * sizeof *c->spareness);
    memset(c->wanted, 0, c->graph->tensor_count * sizeof *c->wanted);
    memset(c->pins, 0, c->graph->tensor_count * sizeof *c->pins);
    place_persistent(c, schedule);
    return spw_builder_init(&c->builder, c->graph, schedule, c->request->device_bytes, c->request->host_bytes);
}

static int compose(struct spw_composer *c)
{
    struct spw_trail *now = &c->now;
    int r = evict_at_start(c);
    if (r == 0)
        memcpy(now->first, c->builder.places, c->graph->tensor_count * sizeof *now->first);
    spw_along_begin(c, now->choices);
    for (uint32_t op = 0; op < c->graph->op_count && r == 0; op++) {
        const uint64_t bytes = c->builder.used_bytes, host_bytes = c->builder.host_used_bytes;
        c->composed.op = op;
        c->flags = 0;
        c->most_bytes = bytes;
        c->most_host_bytes = host_bytes;
        now->ops[op].first_step = (uint32_t)now->schedule.count;
        r = c->is_following ? spw_along_op(c, op) : spw_composer_run_op(c, op);
        now->ops[op].flags = c->flags;
        now->ops[op].rise = c->most_bytes - bytes;
        now->ops[op].host_rise = c->most_host_bytes - host_bytes;
    }
    now->ops[c->graph->op_count].first_step = (uint32_t)now->schedule.count;
    return r < 0 ? r : spw_build_end(&c->builder);
}

int spw_compose(struct spw_composer *composer, uint8_t *choices, struct spw_schedule *schedule,
                struct spw_composed *ret_composed)
{
    struct spw_trail *now = &composer->now;
    composer->choices = choices;
    composer->composed = (struct spw_composed){0};
    memcpy(now->choices, choices, spw_choice_count(composer->graph));
    int r = begin(composer, &now->schedule);
    if (r == 0) {
        r = compose(composer);
        spw_builder_finish(&composer->builder);
    }
    now->is_whole = r == 0;
    composer->composed.is_kept = r == 0 && spw_along_is_base(composer);
    if (r == 0)
        r = spw_schedule_copy(schedule, &now->schedule, composer->graph);
    *ret_composed = composer->composed;
    return r == -EINVAL ? -ENOSPC : r;
}
