/* remembered.c - keeps shapes that another process has learned, until the program does one of them, and converts shapes
 * to bytes. */
#include "detect/detector.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- as bytes: a header, the steps, the tokens of the besides, the allocs; numbers in the machine's format ---- */

#define MAGIC UINT64_C(0x3165706168737073) /* "spshape1" */

enum { MOST = 1 << 20 /* of each */, LAUNCH = 1, HINT = 2, ALL_FLAGS = LAUNCH | HINT };

struct header {
    uint64_t magic, boundary_live_bytes;
    uint32_t backbone, besides, allocs, zero;
};

struct step { /* backbone + 2 of them, as in struct spw_shape */
    uint64_t token, function;
    int64_t live_bytes;
    uint32_t besides, allocs, flags, zero;
};

struct alloc {
    uint64_t bytes;
    uint32_t kind, freed;
};

static size_t size_of(const struct header *h)
{
    return sizeof(*h) + ((size_t)h->backbone + 2) * sizeof(struct step) + h->besides * sizeof(uint64_t) +
           h->allocs * sizeof(struct alloc);
}

static char *put(char *at, const void *bytes, size_t size)
{
    memcpy(at, bytes, size);
    return at + size;
}

static void encode(const struct spw_shape *shape, const struct header *h, char *at)
{
    at = put(at, h, sizeof(*h));
    for (uint32_t n = 0; n < shape->backbone + 2; n++) {
        const struct spw_shape_step *s = &shape->steps[n];
        const struct step step = {.token = s->token,
                                  .function = s->function,
                                  .live_bytes = s->live_bytes,
                                  .besides = s->besides,
                                  .allocs = s->allocs,
                                  .flags = (s->launch ? LAUNCH : 0) | (s->hint ? HINT : 0)};
        at = put(at, &step, sizeof(step));
    }
    for (uint32_t i = 0; i < shape->beside_count; i++)
        at = put(at, &shape->besides[i].token, sizeof(uint64_t));
    for (uint32_t i = 0; i < shape->alloc_count; i++) {
        const struct spw_shape_alloc *a = &shape->allocs[i];
        at = put(at, &(struct alloc){.bytes = a->bytes, .kind = a->kind, .freed = a->freed}, sizeof(struct alloc));
    }
}

int spw_iteration_save_shape(const struct spw_iteration *detector, uint32_t id, void **ret_bytes, size_t *ret_size)
{
    const struct spw_shape *shape = NULL;
    for (size_t i = 0; i < detector->shape_count && !shape; i++)
        if (detector->shapes[i]->id == id)
            shape = detector->shapes[i];
    if (!shape)
        return -ENOENT;
    const struct header h = {.magic = MAGIC,
                             .boundary_live_bytes = shape->boundary_live_bytes,
                             .backbone = shape->backbone,
                             .besides = shape->beside_count,
                             .allocs = shape->alloc_count};
    char *bytes = malloc(size_of(&h));
    if (!bytes)
        return -ENOMEM;
    encode(shape, &h, bytes);
    *ret_bytes = bytes;
    *ret_size = size_of(&h);
    return 0;
}

static bool take_steps(struct spw_shape *shape, const char *at)
{
    for (uint32_t n = 0; n < shape->backbone + 2; n++) {
        struct step s;
        memcpy(&s, at + n * sizeof(s), sizeof(s));
        const struct spw_shape_step *before = n ? &shape->steps[n - 1] : NULL;
        if (s.besides < (before ? before->besides : 0) || s.allocs < (before ? before->allocs : 0) ||
            s.besides > shape->beside_count || s.allocs > shape->alloc_count || s.flags & ~(uint32_t)ALL_FLAGS ||
            (n == 0 && (s.besides || s.allocs)))
            return false;
        shape->steps[n] = (struct spw_shape_step){.token = s.token,
                                                  .function = s.function,
                                                  .live_bytes = s.live_bytes,
                                                  .besides = s.besides,
                                                  .allocs = s.allocs,
                                                  .launch = s.flags & LAUNCH,
                                                  .hint = (s.flags & HINT) != 0};
    }
    const struct spw_shape_step *end = &shape->steps[shape->backbone + 1];
    return end->besides == shape->beside_count && end->allocs == shape->alloc_count;
}

static bool decode(struct spw_shape *shape, const struct header *h, const char *at)
{
    shape->boundary_live_bytes = h->boundary_live_bytes;
    if (!take_steps(shape, at))
        return false;
    at += ((size_t)shape->backbone + 2) * sizeof(struct step);
    for (uint32_t i = 0; i < shape->beside_count; i++, at += sizeof(uint64_t))
        memcpy(&shape->besides[i].token, at, sizeof(uint64_t));
    for (uint32_t i = 0; i < shape->alloc_count; i++, at += sizeof(struct alloc)) {
        struct alloc a;
        memcpy(&a, at, sizeof(a));
        if (a.freed > 1)
            return false;
        shape->allocs[i] = (struct spw_shape_alloc){.bytes = a.bytes, .kind = a.kind, .freed = a.freed};
    }
    return true;
}

int spw_iteration_remember(struct spw_iteration *detector, const void *bytes, size_t size)
{
    struct header h;
    if (size < sizeof(h))
        return -EBADMSG;
    memcpy(&h, bytes, sizeof(h));
    if (h.magic != MAGIC || h.zero || h.backbone < 1 || h.backbone > MOST || h.besides > MOST || h.allocs > MOST ||
        size_of(&h) != size)
        return -EBADMSG;
    struct spw_remembered *remembered = &detector->remembered;
    if (remembered->count == SPW_REMEMBERED)
        return -ENOSPC;
    struct spw_shape *shape = spw_shape_make_room(h.backbone, h.besides, h.allocs);
    if (!shape)
        return -ENOMEM;
    if (!decode(shape, &h, (const char *)bytes + sizeof(h))) {
        spw_shape_destroy(shape);
        return -EBADMSG;
    }
    spw_shape_complete(shape);
    remembered->shapes[remembered->count++] = shape;
    return 0;
}

/* ---- finding the shape that the program is in ---- */

void spw_remembered_finish(struct spw_remembered *remembered)
{
    while (remembered->count)
        spw_shape_destroy(remembered->shapes[--remembered->count]);
}

struct spw_shape *spw_remembered_take(struct spw_remembered *remembered, const struct spw_context *context,
                                      uint32_t *ret_step)
{
    for (size_t i = 0; i < remembered->count; i++)
        if (spw_shape_locate(remembered->shapes[i], context, false, ret_step)) {
            struct spw_shape *shape = remembered->shapes[i];
            remembered->shapes[i] = remembered->shapes[--remembered->count];
            return shape;
        }
    return NULL;
}
