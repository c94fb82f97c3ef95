/* copy.c - copies and sets: which lane, how long, which bytes, and when the call may return. */
#include "copy.h"

#include <stdlib.h>
#include <string.h>

#include "driver.h"
#include "exec.h"
#include "stats.h"

enum { MOST_ROWS = 1024 }; /* more rows than that are looked at as one range */

struct place { /* one side of a copy */
    bool device;
    bool pinned;
    const struct device *on;
};

struct copy copy_plain(uint64_t target, uint64_t source, size_t bytes)
{
    return (struct copy){.source = source,
                         .target = target,
                         .width = bytes,
                         .height = 1,
                         .depth = 1,
                         .source_pitch = bytes,
                         .target_pitch = bytes,
                         .source_slice = bytes,
                         .target_slice = bytes};
}

static uint64_t extent(size_t pitch, size_t slice, const struct copy *c)
{
    return (c->depth - 1) * slice + (c->height - 1) * pitch + c->width;
}

static CUresult locate(uint64_t address, uint64_t bytes, enum side side, struct place *ret_place)
{
    const struct block *b = memory_find(address);
    uint64_t bad;
    *ret_place = (struct place){0};
    if (!b || b->free_op) {
        /* An address of nobody's is pageable host memory, unless it is one that only a device can mean. */
        return side == SIDE_DEVICE || address_is_reserved(address) || b ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
    }
    if (!memory_reachable(NULL, address, bytes, false, &bad) && b->kind != BLOCK_REGISTERED && b->kind != BLOCK_GLOBAL)
        return CUDA_ERROR_INVALID_VALUE;
    ret_place->pinned = true;
    ret_place->device = b->device != NULL;
    ret_place->on = b->device;
    return CUDA_SUCCESS;
}

static int touch_rows(struct op *op, uint64_t start, size_t pitch, size_t slice, const struct copy *c, unsigned how)
{
    bool dense = c->height * c->depth == 1 || (pitch == c->width && (c->depth == 1 || slice == pitch * c->height));
    if (dense || c->height * c->depth > MOST_ROWS)
        return op_touch(op, start, extent(pitch, slice, c), how);
    for (size_t z = 0; z < c->depth; z++)
        for (size_t y = 0; y < c->height; y++)
            if (op_touch(op, start + z * slice + y * pitch, c->width, how) < 0)
                return -1;
    return 0;
}

static enum copy_direction direction_of(const struct place *source, const struct place *target)
{
    if (source->device)
        return target->device ? COPY_D2D : COPY_D2H;
    return target->device ? COPY_H2D : COPY_H2H;
}

/* Lane and time. A copy between devices goes over the link of its source. */
static void schedule(struct op *op, const struct place *source, const struct place *target)
{
    const struct profile *p = &settings.profile;
    const struct copy *c = &op->u.copy;
    double bytes = (double)(c->width * c->height * c->depth), gbps;
    const struct device *on = source->on ? source->on : target->on ? target->on : op->context->device;
    struct lane *lanes = devices[on->ordinal].lanes;
    switch (c->direction) {
    case COPY_H2D:
        op->lane = &lanes[LANE_H2D];
        gbps = source->pinned ? p->h2d_gbps : p->pageable_gbps;
        break;
    case COPY_D2H:
        op->lane = &lanes[LANE_D2H];
        gbps = target->pinned ? p->d2h_gbps : p->pageable_gbps;
        break;
    case COPY_D2D:
        op->lane = source->on == target->on ? &lanes[LANE_COMPUTE] : &lanes[LANE_D2H];
        gbps = source->on == target->on ? p->memory_gbps / 2 : p->d2h_gbps;
        break;
    default:
        op->lane = &lanes[LANE_H2D];
        gbps = p->pageable_gbps;
    }
    op->work_ns = p->copy_latency_ns + sim_bytes_ns(bytes, gbps);
}

/* The operation with everything but staging. */
static CUresult make(struct context *context, const char *name, const struct copy *copy, const struct place *source,
                     const struct place *target, struct op **ret_op)
{
    struct op *op = op_create(OP_COPY, context, name);
    if (!op)
        return CUDA_ERROR_OUT_OF_MEMORY;
    op->u.copy = *copy;
    op->u.copy.direction = direction_of(source, target);
    schedule(op, source, target);
    int r = 0;
    if (source->pinned) /* pageable memory is only touched by the host, inside the call */
        r = touch_rows(op, copy->source, copy->source_pitch, copy->source_slice, copy, SIMGPU_READS_SOME);
    if (target->pinned && r == 0)
        r = touch_rows(op, copy->target, copy->target_pitch, copy->target_slice, copy, SIMGPU_WRITES);
    if (r < 0) {
        op_drop(op);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    *ret_op = op;
    return CUDA_SUCCESS;
}

static CUresult locate_both(const struct copy *c, enum side source, enum side target, struct place *ret_source,
                            struct place *ret_target)
{
    CUresult r = locate(c->source, extent(c->source_pitch, c->source_slice, c), source, ret_source);
    return r == CUDA_SUCCESS ? locate(c->target, extent(c->target_pitch, c->target_slice, c), target, ret_target) : r;
}

/* Reads the whole source now. */
static CUresult stage(struct op *op)
{
    struct copy *c = &op->u.copy;
    size_t bytes = extent(c->source_pitch, c->source_slice, c);
    c->staged = malloc(bytes);
    if (!c->staged)
        return CUDA_ERROR_OUT_OF_MEMORY;
    return exec_read(c->staged, c->source, bytes) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult copy_make(struct context *context, const char *name, struct copy copy, enum side source, enum side target,
                   struct op **ret_op)
{
    struct place from, to;
    if (!copy.width || !copy.height || !copy.depth)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult r = locate_both(&copy, source, target, &from, &to);
    return r == CUDA_SUCCESS ? make(context, name, &copy, &from, &to, ret_op) : r;
}

CUresult copy_submit(struct context *context, CUstream handle, const char *name, struct copy copy, enum side source,
                     enum side target, bool waits)
{
    struct stream *s;
    struct place from, to;
    struct op *op;
    CUresult r = stream_to_use(context, handle, &s);
    if (r != CUDA_SUCCESS || !copy.width || !copy.height || !copy.depth)
        return r;
    r = locate_both(&copy, source, target, &from, &to);
    if (r == CUDA_SUCCESS)
        r = make(s->context, name, &copy, &from, &to, &op);
    if (r != CUDA_SUCCESS)
        return r;
    sim_spend(settings.profile.copy_ns);
    if (s->capture)
        return waits ? (op_drop(op), stream_refuse(s, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED)) : stream_run(s, op);
    const bool is_pageable = !from.pinned && op->u.copy.direction == COPY_H2D;
    if ((is_pageable || copy.reads_now) && (r = stage(op)) != CUDA_SUCCESS) {
        op_drop(op);
        return r;
    }
    if (is_pageable)
        sim_spend(sim_bytes_ns((double)(copy.width * copy.height * copy.depth), settings.profile.pageable_gbps));
    waits = waits || (!to.pinned && op->u.copy.direction == COPY_D2H) || op->u.copy.direction == COPY_H2H;
    op_keep(op);
    r = stream_run(s, op);
    if (r == CUDA_SUCCESS && waits && (op->u.copy.direction != COPY_D2D)) {
        sim_wait(op);
        r = context->error;
    }
    op_drop(op);
    return r;
}

CUresult set_make(struct context *context, const char *name, struct set set, struct op **ret_op)
{
    uint64_t row = (uint64_t)set.width * set.element_bytes, bad;
    if (set.target % set.element_bytes || (set.height > 1 && set.pitch < row) || !row || !set.height)
        return CUDA_ERROR_INVALID_VALUE;
    if (!memory_reachable(NULL, set.target, (set.height - 1) * set.pitch + row, true, &bad))
        return CUDA_ERROR_INVALID_VALUE;
    struct op *op = op_create(OP_SET, context, name);
    if (!op)
        return CUDA_ERROR_OUT_OF_MEMORY;
    op->u.set = set;
    op->work_ns = settings.profile.copy_latency_ns + sim_bytes_ns((double)(row * set.height), settings.profile.memory_gbps);
    struct copy rows = {.width = row, .height = set.height, .depth = 1};
    if (touch_rows(op, set.target, set.pitch, set.pitch * set.height, &rows, SIMGPU_WRITES) < 0) {
        op_drop(op);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    *ret_op = op;
    return CUDA_SUCCESS;
}

CUresult set_submit(struct context *context, CUstream handle, const char *name, struct set set, bool waits)
{
    struct stream *s;
    struct op *op;
    CUresult r = stream_to_use(context, handle, &s);
    if (r != CUDA_SUCCESS || !set.width || !set.height)
        return r;
    r = set_make(s->context, name, set, &op);
    if (r != CUDA_SUCCESS)
        return r;
    sim_spend(settings.profile.copy_ns);
    const struct block *b = memory_find(set.target);
    waits = waits && b && !b->device; /* a set of device memory never waits, one of host memory does */
    if (!waits)
        return stream_run(s, op);
    op_keep(op);
    r = stream_run(s, op);
    if (r == CUDA_SUCCESS) {
        sim_wait(op);
        r = context->error;
    }
    op_drop(op);
    return r;
}
