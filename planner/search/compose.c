/* compose.c - visits the operations, evicts and restores by the choices, and makes room where they do not suffice. */
#include "search/compose.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "grow.h"
#include "plan/random.h"
#include "search/compose_parts.h"

enum { MOST_DEPTH = 2000 }; /* of replays that other replays need */

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
    free(c->brief);
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

/* ---- bringing back ---- */

static int restore(struct spw_composer *c, uint32_t tensor, uint32_t version, unsigned depth);

static void pin(struct spw_composer *c, const struct spw_touched_tensor *touched, uint32_t count, int by)
{
    for (uint32_t i = 0; i < count; i++)
        c->pins[touched[i].tensor] = (uint16_t)(c->pins[touched[i].tensor] + by);
}

static int note_brief(struct spw_composer *c, const struct spw_touched_tensor *writes, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        if (!spw_composer_is_brief(c->choices[spw_composer_gap(c, writes[i].tensor)]))
            continue;
        if (SPW_GROW(c->brief, c->brief_room, c->brief_count + 1) < 0)
            return -ENOMEM;
        c->brief[c->brief_count++] = writes[i].tensor;
    }
    return 0;
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
        r = spw_composer_make_room(c, spw_build_replay_needs(&c->builder, index));
    for (uint32_t i = 0; i < op->write_count && r == 0; i++)
        spw_along_touch(c, writes[i].tensor);
    if (r == 0)
        r = spw_build_replay(&c->builder, index);
    spw_composer_note_bytes(c);
    c->composed.replayed_us += r == 0 ? op->us : 0;
    if (r == 0)
        r = note_brief(c, writes, op->write_count);
    pin(c, reads, op->read_count + op->write_count, -1);
    return r;
}

/* Makes the version present on the device. Tensors that are brought in for that are spare afterwards. */
static int restore(struct spw_composer *c, uint32_t tensor, uint32_t version, unsigned depth)
{
    const struct spw_builder_place *place = &c->builder.places[tensor];
    if (place->device == version)
        return 0;
    if (place->device == SPW_ABSENT && place->host == version) {
        int r = spw_composer_make_room(c, c->graph->tensors[tensor].bytes);
        spw_along_touch(c, tensor);
        if (r == 0)
            r = spw_build_h2d(&c->builder, tensor);
        if (r == 0) {
            spw_composer_note_bytes(c);
        }
        return r;
    }
    const uint32_t op = spw_lineage_maker(c->graph, tensor, version);
    if (op == SPW_NO_INDEX || !c->request->may_replay || depth > MOST_DEPTH)
        return -ENOSPC;
    const int r = replay(c, op, depth);
    return r == -EINVAL ? -ENOSPC : r; /* a tensor that it would overwrite is still needed */
}

/* ---- choices ---- */

static void digest(uint64_t *state, uint64_t number)
{
    *state ^= number;
    *state = spw_random_next(state);
}

uint64_t spw_choice_digest(const struct spw_graph *graph)
{
    uint64_t state = graph->op_count;
    for (uint32_t i = 0; i < graph->tensor_count; i++)
        digest(&state, graph->tensors[i].use_count);
    for (uint32_t i = 0; i < graph->use_count; i++)
        digest(&state, (uint64_t)graph->uses[i].op << 2 | (uint64_t)graph->uses[i].reads << 1 | graph->uses[i].writes);
    return state;
}

/* ---- one operation ---- */

static int evict_behind(struct spw_composer *c, uint32_t tensor)
{
    const struct spw_graph_tensor *t = &c->graph->tensors[tensor];
    const struct spw_builder_place *place = &c->builder.places[tensor];
    uint8_t *choice = &c->choices[spw_composer_gap(c, tensor)];
    if (place->device == SPW_ABSENT || !(t->evictable || (!t->persistent && place->next == t->use_count)))
        return 0;
    if (spw_build_is_dead(&c->builder, tensor)) {
        if (place->next < t->use_count || *choice < SPW_RETAIN || !c->request->may_replay)
            return spw_composer_drop(c, tensor);
        if (*choice == SPW_RETAIN || !t->evictable || !c->request->may_copy)
            return 0;
        const int r = spw_composer_has_copy(c, tensor) ? 0 : spw_composer_copy_out(c, tensor);
        return r < 0 ? r : spw_composer_drop(c, tensor);
    }
    if (SPW_CHOICE(*choice) == SPW_DROP && spw_composer_is_replayable(c, tensor)) {
        const uint32_t next = spw_build_next_use(&c->builder, tensor), lead = SPW_LEAD(*choice);
        if (lead && next > c->builder.next_op + lead) {
            c->flags |= SPW_OP_UNLIKE; /* it changes the steps before another operation */
            c->early_next[tensor] = c->early[next - lead];
            c->early[next - lead] = tensor;
        }
        return spw_composer_drop(c, tensor);
    }
    if (*choice != SPW_SWAP || !c->request->may_copy)
        return 0;
    if (place->next == t->use_count && c->builder.schedule->start[tensor] != SPW_START_HOST)
        return 0;
    const int r = spw_composer_has_copy(c, tensor) ? 0 : spw_composer_copy_out(c, tensor);
    return r == -ENOSPC ? 0 : r < 0 ? r : spw_composer_drop(c, tensor);
}

/* Drops tensors that were made only on the way, unless they cannot be made again. */
static int drop_brief(struct spw_composer *c)
{
    int r = 0;
    for (; c->brief_count > 0 && r == 0; c->brief_count--) {
        const uint32_t tensor = c->brief[c->brief_count - 1];
        if (!c->wanted[tensor] && c->builder.places[tensor].device != SPW_ABSENT && spw_composer_is_replayable(c, tensor))
            r = spw_composer_drop(c, tensor);
    }
    return r;
}

/* Restores the inputs in several passes, since restoring one may evict another, which then has to be restored again. */
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
    if (r == 0)
        r = drop_brief(c);
    for (uint32_t i = 0; i < count; i++)
        c->wanted[reads[i].tensor] = false;
    return r;
}

/* Restores tensors that should be present ahead of their use. Where that fails, they are restored for their use. */
static int restore_early(struct spw_composer *c, uint32_t index)
{
    int r = 0;
    if (c->early[index] != SPW_NO_INDEX)
        c->flags |= SPW_OP_UNLIKE; /* the choice was made at another operation */
    for (uint32_t tensor = c->early[index]; tensor != SPW_NO_INDEX && r == 0; tensor = c->early_next[tensor]) {
        if (c->builder.places[tensor].device == SPW_ABSENT)
            r = restore(c, tensor, spw_build_current(&c->builder, tensor), 0);
        spw_composer_wants(c, tensor);
    }
    return r == -ENOSPC ? 0 : r;
}

int spw_composer_run_op(struct spw_composer *c, uint32_t index)
{
    const struct spw_graph_op *op = &c->graph->ops[index];
    const struct spw_touched_tensor *touched = &c->graph->touched[op->first_read];
    const uint32_t count = op->read_count + op->write_count;
    int r = restore_early(c, index);
    c->brief_count = 0;
    if (r == 0)
        r = restore_reads(c, touched, op->read_count);
    pin(c, touched, count, 1);
    if (r == 0)
        r = spw_composer_make_room(c, spw_build_op_needs(&c->builder));
    if (r == 0)
        r = spw_build_op(&c->builder);
    spw_composer_note_bytes(c);
    pin(c, touched, count, -1);
    for (uint32_t i = 0; i < count && r == 0; i++)
        r = evict_behind(c, touched[i].tensor);
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
            schedule->start[i] = SPW_START_CLEAN; /* it is never written: one copy serves all iterations */
    }
}

static int evict_at_start(struct spw_composer *c)
{
    int r = 0;
    for (uint32_t i = 0; i < c->graph->tensor_count && r == 0; i++) {
        if (c->builder.places[i].device == SPW_ABSENT)
            continue;
        if (!c->graph->tensors[i].persistent || c->choices[(size_t)c->graph->use_count + i] != SPW_SWAP ||
            !c->request->may_copy || !c->graph->tensors[i].evictable)
            continue;
        r = spw_composer_has_copy(c, i) ? 0 : spw_composer_copy_out(c, i);
        r = r == -ENOSPC ? 0 : r < 0 ? r : spw_composer_drop(c, i);
    }
    return r;
}

static int begin(struct spw_composer *c, struct spw_schedule *schedule)
{
    c->listed_steps = SPW_NO_INDEX;
    c->is_following = false;
    memset(c->early, 0xff, c->graph->op_count * sizeof *c->early);
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
