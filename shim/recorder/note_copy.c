/* note_copy.c - what copies and sets mean for a trace: both ends with their sizes, the direction, and the number of
 * bytes. */
#include <stdlib.h>
#include <string.h>

#include "boxes.h"
#include "note.h"
#include "pointer_tables.h"

enum { ENDS = 64 };

struct copy {                 /* one driver call that copies or sets */
    struct spw_record record; /* its op is filled in */
    struct spw_reach few[2 * ENDS], *reach;
    unsigned count, room;
};

static void copy_init(struct copy *c)
{
    c->record = (struct spw_record){.op = {.kind = SPW_OP_KINDS}};
    c->reach = c->few;
    c->count = 0;
    c->room = 2 * ENDS;
}

static CUresult copy_reserve(struct copy *c, size_t ends)
{
    if (ends <= c->room)
        return CUDA_SUCCESS;
    c->reach = ends < SPW_RECORD_TOUCHES ? malloc(ends * sizeof(*c->reach)) : NULL;
    if (c->reach) {
        c->room = (unsigned)ends;
        return CUDA_SUCCESS;
    }
    c->reach = c->few;
    c->record.op.everything = true;
    return CUDA_ERROR_OUT_OF_MEMORY;
}

static void copy_end(struct copy *c)
{
    spw_recorder_op(&c->record, c->reach, c->count);
    if (c->reach != c->few)
        free(c->reach);
}

/* Notes one end: what is touched lies within `span` bytes from the address on. Call for the destination first, then the
 * source, since the direction follows from that order. */
static void end(struct copy *c, CUdeviceptr a, size_t span, enum spw_access access)
{
    if (c->count < c->room)
        c->reach[c->count++] = (struct spw_reach){a, span, access};
}

static void ends(struct copy *c, CUdeviceptr dst, size_t dst_span, CUdeviceptr src, size_t src_span, size_t bytes)
{
    end(c, dst, dst_span, SPW_ACCESS_WRITE);
    end(c, src, src_span, SPW_ACCESS_READ);
    c->record.op.bytes += bytes;
}

/* ---- what is at the ends: the functions that the lines of copies.h call ---- */

static void linear(struct copy *c, CUdeviceptr dst, CUdeviceptr src, size_t bytes)
{
    copy_init(c);
    ends(c, dst, bytes, src, bytes, bytes);
    spw_record_copied(dst, src, bytes);
}

static void linear_with(struct copy *c, CUdeviceptr dst, CUdeviceptr src, size_t bytes, const CUmemcpyAttributes *attributes)
{
    (void)attributes;
    linear(c, dst, src, bytes);
}

static void host_to_device(struct copy *c, CUdeviceptr dst, const void *src, size_t bytes)
{
    linear(c, dst, (CUdeviceptr)(uintptr_t)src, bytes);
}

static void device_to_host(struct copy *c, const void *dst, CUdeviceptr src, size_t bytes)
{
    linear(c, (CUdeviceptr)(uintptr_t)dst, src, bytes);
}

static void to_array(struct copy *c, CUdeviceptr src, size_t bytes)
{
    copy_init(c);
    c->record.op.kind = SPW_OP_COPY_D2H;
    end(c, src, bytes, SPW_ACCESS_READ);
    c->record.op.bytes = bytes;
}

static void box_ends(struct copy *c, const struct spw_box *b)
{
    const size_t bytes = spw_box_bytes(b);
    ends(c, b->to.at, spw_box_span(b, &b->to), b->from.at, spw_box_span(b, &b->from), bytes);
    if (spw_box_is_row(b) || (bytes && bytes <= SPW_POINTER_TABLES_MAX_COPY))
        spw_box_rows(b, spw_record_copied);
}

static void box(struct copy *c, struct spw_box b)
{
    copy_init(c);
    box_ends(c, &b);
}

static void plane(struct copy *c, const CUDA_MEMCPY2D *p)
{
    box(c, spw_box_2d(p));
}

static void volume(struct copy *c, const CUDA_MEMCPY3D *p)
{
    box(c, spw_box_3d(p));
}

static void volume_peer(struct copy *c, const CUDA_MEMCPY3D_PEER *p)
{
    box(c, spw_box_peer(p));
}

static CUresult batch(struct copy *c, const CUdeviceptr *dsts, const CUdeviceptr *srcs, const size_t *sizes, size_t count,
                      const CUmemcpyAttributes *attributes, const size_t *firsts, size_t kinds)
{
    (void)attributes;
    (void)firsts;
    (void)kinds;
    copy_init(c);
    if (copy_reserve(c, 2 * count) != CUDA_SUCCESS)
        return CUDA_ERROR_OUT_OF_MEMORY;
    for (size_t i = 0; i < count; i++) {
        ends(c, dsts[i], sizes[i], srcs[i], sizes[i], sizes[i]);
        spw_record_copied(dsts[i], srcs[i], sizes[i]);
    }
    return CUDA_SUCCESS;
}

static CUresult batch_3d(struct copy *c, const CUDA_MEMCPY3D_BATCH_OP *list, size_t count)
{
    copy_init(c);
    if (copy_reserve(c, 2 * count) != CUDA_SUCCESS)
        return CUDA_ERROR_OUT_OF_MEMORY;
    for (size_t i = 0; i < count; i++) {
        const struct spw_box b = spw_box_batched(&list[i]);
        box_ends(c, &b);
    }
    return CUDA_SUCCESS;
}

static CUresult decompress(struct copy *c, const CUmemDecompressParams *list, size_t count)
{
    copy_init(c);
    c->record.op.kind = SPW_OP_COPY_D2D;
    if (count > SPW_RECORD_TOUCHES || copy_reserve(c, 3 * count) != CUDA_SUCCESS)
        return CUDA_ERROR_OUT_OF_MEMORY;
    for (size_t i = 0; i < count; i++) {
        CUdeviceptr dst = (CUdeviceptr)(uintptr_t)list[i].dst;
        ends(c, dst, list[i].dstNumBytes, (CUdeviceptr)(uintptr_t)list[i].src, list[i].srcNumBytes, list[i].dstNumBytes);
        end(c, (CUdeviceptr)(uintptr_t)list[i].dstActBytes, sizeof(*list[i].dstActBytes), SPW_ACCESS_WRITE);
        spw_record_overwritten(dst, list[i].dstNumBytes);
    }
    return CUDA_SUCCESS;
}

static void from_array(struct copy *c, CUdeviceptr dst, size_t bytes)
{
    copy_init(c);
    c->record.op.kind = SPW_OP_SET;
    c->record.op.bytes = bytes;
    end(c, dst, bytes, SPW_ACCESS_WRITE);
    spw_record_overwritten(dst, bytes);
}

static void set(struct copy *c, CUdeviceptr dst, size_t count, unsigned value, unsigned element_bytes)
{
    (void)value;
    from_array(c, dst, count * element_bytes);
}

static void set_rows(struct copy *c, CUdeviceptr dst, size_t pitch, size_t width, size_t rows, unsigned value,
                     unsigned element_bytes)
{
    set(c, dst, rows ? pitch * (rows - 1) + width * element_bytes : 0, value, 1);
    c->record.op.bytes = width * element_bytes * rows;
}

/* ---- one note per line: calls that name no stream return when the copy is done ---- */

#define COPY(symbol, params, args, stream, describe) \
    void spw_noted_##symbol params \
    { \
        struct copy c; \
        describe; \
        c.record.op.synchronous = strstr(#symbol, "Async") == NULL; \
        copy_end(&c); \
    }
#define COPY_MANY(symbol, params, args, stream, describe) \
    void spw_noted_##symbol params \
    { \
        struct copy c; \
        (void)(describe); \
        copy_end(&c); \
    }
#include "copies.h"
