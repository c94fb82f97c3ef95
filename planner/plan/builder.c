/* builder.c - tracks what each step needs and leaves behind, in the order of the steps. */
#include "plan/builder.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int place_persistent(struct spw_builder *b, uint32_t tensor)
{
    const uint64_t bytes = b->graph->tensors[tensor].bytes;
    struct spw_builder_place *place = &b->places[tensor];
    const uint8_t start = b->schedule->start[tensor];
    if (start != SPW_START_HOST) {
        place->device = 0;
        b->used_bytes += bytes;
    }
    if (start != SPW_START_DEVICE) {
        place->host = 0;
        b->host_used_bytes += bytes;
    }
    return b->used_bytes > b->device_bytes || b->host_used_bytes > b->host_bytes ? -ENOSPC : 0;
}

int spw_builder_init(struct spw_builder *builder, const struct spw_graph *graph, struct spw_schedule *schedule,
                     uint64_t device_bytes, uint64_t host_bytes)
{
    *builder =
        (struct spw_builder){.graph = graph, .schedule = schedule, .device_bytes = device_bytes, .host_bytes = host_bytes};
    schedule->count = 0;
    builder->places = malloc(((size_t)graph->tensor_count + 1) * sizeof *builder->places);
    if (!builder->places)
        return -ENOMEM;
    int r = 0;
    for (uint32_t i = 0; i < graph->tensor_count && r == 0; i++) {
        const struct spw_graph_tensor *t = &graph->tensors[i];
        builder->places[i] = (struct spw_builder_place){.device = SPW_ABSENT, .host = SPW_ABSENT};
        if (t->persistent) {
            r = place_persistent(builder, i);
        } else if (t->initial) {
            builder->places[i].device = 0;
            builder->used_bytes += t->bytes;
            r = builder->used_bytes > device_bytes ? -ENOSPC : 0;
        }
    }
    for (uint32_t i = 0; i < graph->tensor_count && r == 0; i++)
        if (graph->tensors[i].initial && !graph->tensors[i].persistent && graph->tensors[i].use_count == 0)
            r = spw_build_drop(builder, i); /* no later step would */
    if (r < 0)
        spw_builder_finish(builder);
    return r;
}

void spw_builder_finish(struct spw_builder *builder)
{
    free(builder->places);
    builder->places = NULL;
}

bool spw_build_is_dead(const struct spw_builder *builder, uint32_t tensor)
{
    const struct spw_graph_tensor *t = &builder->graph->tensors[tensor];
    const uint32_t next = builder->places[tensor].next;
    return next < t->use_count ? !builder->graph->uses[t->first_use + next].reads : !t->persistent;
}

static void forget_host_copy(struct spw_builder *b, uint32_t tensor)
{
    if (b->places[tensor].host == SPW_ABSENT)
        return;
    b->places[tensor].host = SPW_ABSENT;
    b->host_used_bytes -= b->graph->tensors[tensor].bytes;
}

/* ---- operations ---- */

static void after_read(struct spw_builder *b, uint32_t tensor)
{
    const struct spw_graph_tensor *t = &b->graph->tensors[tensor];
    if (++b->places[tensor].next == t->use_count && !t->persistent && b->host_bytes != UINT64_MAX)
        forget_host_copy(b, tensor); /* a replay may need it, but it would count until the end */
}

static void after_write(struct spw_builder *b, const struct spw_touched_tensor *write)
{
    struct spw_builder_place *place = &b->places[write->tensor];
    place->device = write->version;
    place->next += !write->in_place;
    forget_host_copy(b, write->tensor);
}

static uint64_t op_needs(const struct spw_builder *b, uint32_t op, bool is_replay)
{
    const struct spw_graph_op *o = &b->graph->ops[op];
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < o->write_count; i++) {
        const struct spw_touched_tensor *touch = &b->graph->touched[o->first_write + i];
        if (b->places[touch->tensor].device == SPW_ABSENT && !(is_replay && touch->side))
            bytes += b->graph->tensors[touch->tensor].bytes;
    }
    return bytes;
}

uint64_t spw_build_op_needs(const struct spw_builder *builder)
{
    return builder->next_op < builder->graph->op_count ? op_needs(builder, builder->next_op, false) : 0;
}

uint64_t spw_build_replay_needs(const struct spw_builder *builder, uint32_t op)
{
    return op_needs(builder, op, true);
}

int spw_build_op(struct spw_builder *builder)
{
    const struct spw_graph *graph = builder->graph;
    const uint32_t index = builder->next_op;
    if (index >= graph->op_count)
        return -EINVAL;
    const struct spw_graph_op *op = &graph->ops[index];
    const struct spw_touched_tensor *reads = &graph->touched[op->first_read], *writes = &graph->touched[op->first_write];
    for (uint32_t i = 0; i < op->read_count; i++)
        if (builder->places[reads[i].tensor].device != reads[i].version)
            return -EINVAL;
    const uint64_t needs = op_needs(builder, index, false);
    if (needs > builder->device_bytes - builder->used_bytes)
        return -ENOSPC;
    const int r = spw_schedule_add(builder->schedule, SPW_STEP_OP, index);
    if (r < 0)
        return r;

    builder->used_bytes += needs;
    builder->next_op++;
    for (uint32_t i = 0; i < op->read_count; i++)
        after_read(builder, reads[i].tensor);
    for (uint32_t i = 0; i < op->write_count; i++)
        after_write(builder, &writes[i]);
    return 0;
}

/* Whether a replay may write the tensor: see model S+ in docs/planning.md. */
static bool may_rewrite(const struct spw_builder *b, const struct spw_touched_tensor *touch)
{
    const struct spw_graph_tensor *t = &b->graph->tensors[touch->tensor];
    const uint32_t there = b->places[touch->tensor].device;
    if (touch->in_place)
        return !t->persistent; /* its version is checked where it is read */
    if (there == SPW_ABSENT || there == touch->version)
        return true;
    return !t->persistent && b->next_op > t->free_after;
}

int spw_build_replay(struct spw_builder *builder, uint32_t op)
{
    const struct spw_graph *graph = builder->graph;
    if (op >= builder->next_op || !graph->ops[op].replayable)
        return -EINVAL;
    const struct spw_graph_op *o = &graph->ops[op];
    const struct spw_touched_tensor *reads = &graph->touched[o->first_read], *writes = &graph->touched[o->first_write];
    for (uint32_t i = 0; i < o->read_count; i++)
        if (!reads[i].side && builder->places[reads[i].tensor].device != reads[i].version)
            return -EINVAL;
    for (uint32_t i = 0; i < o->write_count; i++)
        if (!writes[i].side && !may_rewrite(builder, &writes[i]))
            return -EINVAL;
    const uint64_t needs = op_needs(builder, op, true);
    if (needs > builder->device_bytes - builder->used_bytes)
        return -ENOSPC;
    const int r = spw_schedule_add(builder->schedule, SPW_STEP_REPLAY, op);
    if (r < 0)
        return r;

    builder->used_bytes += needs;
    for (uint32_t i = 0; i < o->write_count; i++)
        if (!writes[i].side)
            builder->places[writes[i].tensor].device = writes[i].version;
    return 0;
}

/* ---- copies and drops ---- */

int spw_build_d2h(struct spw_builder *builder, uint32_t tensor)
{
    const struct spw_graph_tensor *t = &builder->graph->tensors[tensor];
    struct spw_builder_place *place = &builder->places[tensor];
    if (!t->evictable || place->device == SPW_ABSENT || place->host == place->device)
        return -EINVAL;
    const uint64_t needs = place->host == SPW_ABSENT ? t->bytes : 0;
    if (needs > builder->host_bytes - builder->host_used_bytes)
        return -ENOSPC;
    const int r = spw_schedule_add(builder->schedule, SPW_STEP_D2H, tensor);
    if (r < 0)
        return r;
    builder->host_used_bytes += needs;
    place->host = place->device;
    return 0;
}

int spw_build_h2d(struct spw_builder *builder, uint32_t tensor)
{
    const struct spw_graph_tensor *t = &builder->graph->tensors[tensor];
    struct spw_builder_place *place = &builder->places[tensor];
    if (place->host == SPW_ABSENT || place->device != SPW_ABSENT)
        return -EINVAL;
    if (t->bytes > builder->device_bytes - builder->used_bytes)
        return -ENOSPC;
    const int r = spw_schedule_add(builder->schedule, SPW_STEP_H2D, tensor);
    if (r < 0)
        return r;
    builder->used_bytes += t->bytes;
    place->device = place->host;
    return 0;
}

int spw_build_drop(struct spw_builder *builder, uint32_t tensor)
{
    const struct spw_graph_tensor *t = &builder->graph->tensors[tensor];
    struct spw_builder_place *place = &builder->places[tensor];
    if (place->device == SPW_ABSENT || (!t->evictable && (t->persistent || place->next < t->use_count)))
        return -EINVAL;
    const int r = spw_schedule_add(builder->schedule, SPW_STEP_DROP, tensor);
    if (r < 0)
        return r;
    place->device = SPW_ABSENT;
    builder->used_bytes -= t->bytes;
    return 0;
}

int spw_build_drop_dead(struct spw_builder *builder, uint32_t op)
{
    const struct spw_graph_op *o = &builder->graph->ops[op];
    int r = 0;
    for (uint32_t i = 0; i < o->read_count + o->write_count && r == 0; i++) {
        const uint32_t tensor = builder->graph->touched[o->first_read + i].tensor;
        const struct spw_graph_tensor *t = &builder->graph->tensors[tensor];
        if (!t->persistent && builder->places[tensor].next == t->use_count && builder->places[tensor].device != SPW_ABSENT)
            r = spw_build_drop(builder, tensor);
    }
    return r;
}

/* ---- steps that are known to be possible ---- */

static void repeat_op(struct spw_builder *b, uint32_t op)
{
    const struct spw_graph_op *o = &b->graph->ops[op];
    const struct spw_touched_tensor *reads = &b->graph->touched[o->first_read], *writes = &b->graph->touched[o->first_write];
    b->next_op++;
    for (uint32_t i = 0; i < o->read_count; i++)
        after_read(b, reads[i].tensor);
    for (uint32_t i = 0; i < o->write_count; i++) {
        if (b->places[writes[i].tensor].device == SPW_ABSENT)
            b->used_bytes += b->graph->tensors[writes[i].tensor].bytes;
        after_write(b, &writes[i]);
    }
}

static void repeat_replay(struct spw_builder *b, uint32_t op)
{
    const struct spw_graph_op *o = &b->graph->ops[op];
    const struct spw_touched_tensor *writes = &b->graph->touched[o->first_write];
    for (uint32_t i = 0; i < o->write_count; i++) {
        struct spw_builder_place *place = &b->places[writes[i].tensor];
        if (writes[i].side)
            continue;
        if (place->device == SPW_ABSENT)
            b->used_bytes += b->graph->tensors[writes[i].tensor].bytes;
        place->device = writes[i].version;
    }
}

void spw_build_known(struct spw_builder *builder, struct spw_step step)
{
    const struct spw_graph *graph = builder->graph;
    if (step.kind == SPW_STEP_OP) {
        repeat_op(builder, step.id);
    } else if (step.kind == SPW_STEP_REPLAY) {
        repeat_replay(builder, step.id);
    } else {
        struct spw_builder_place *place = &builder->places[step.id];
        const uint64_t bytes = graph->tensors[step.id].bytes;
        if (step.kind == SPW_STEP_D2H) {
            builder->host_used_bytes += place->host == SPW_ABSENT ? bytes : 0;
            place->host = place->device;
        } else if (step.kind == SPW_STEP_H2D) {
            builder->used_bytes += bytes;
            place->device = place->host;
        } else {
            builder->used_bytes -= bytes;
            place->device = SPW_ABSENT;
        }
    }
}

/* Copies out and drops what started on the host or clean, before anything is copied in. */
static int bring_out(struct spw_builder *b, uint32_t tensor)
{
    const struct spw_graph_tensor *t = &b->graph->tensors[tensor];
    const struct spw_builder_place *place = &b->places[tensor];
    int r = 0;
    if (!t->persistent)
        return place->device == SPW_ABSENT ? 0 : spw_build_drop(b, tensor);
    if (b->schedule->start[tensor] == SPW_START_DEVICE)
        return 0;
    if (place->host != t->last_version)
        r = place->device == t->last_version ? spw_build_d2h(b, tensor) : -EINVAL;
    if (r == 0 && b->schedule->start[tensor] == SPW_START_HOST && place->device != SPW_ABSENT)
        r = spw_build_drop(b, tensor);
    return r;
}

static int bring_in(struct spw_builder *b, uint32_t tensor)
{
    const struct spw_graph_tensor *t = &b->graph->tensors[tensor];
    struct spw_builder_place *place = &b->places[tensor];
    if (!t->persistent || b->schedule->start[tensor] == SPW_START_HOST || place->device == t->last_version)
        return 0;
    if (place->device != SPW_ABSENT || place->host != t->last_version)
        return -EINVAL;
    return spw_build_h2d(b, tensor);
}

int spw_build_end(struct spw_builder *builder)
{
    if (builder->next_op < builder->graph->op_count)
        return -EINVAL;
    int r = 0;
    for (uint32_t i = 0; i < builder->graph->tensor_count && r == 0; i++)
        r = bring_out(builder, i);
    for (uint32_t i = 0; i < builder->graph->tensor_count && r == 0; i++)
        r = bring_in(builder, i);
    return r;
}
