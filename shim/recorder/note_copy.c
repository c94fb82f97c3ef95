/* note_copy.c - what copies and sets mean for a trace: both ends with their sizes, in which direction, how many bytes. */
#include <stdlib.h>
#include <string.h>

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

/* `span` bytes from the address on hold what is touched; both ends are given, in this order, that the direction shows. */
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

static void host_to_device(struct copy *c, CUdeviceptr dst, const void *src, size_t bytes)
{
    linear(c, dst, (CUdeviceptr)(uintptr_t)src, bytes);
}

static void device_to_host(struct copy *c, CUdeviceptr src, size_t bytes)
{
    copy_init(c);
    c->record.op.kind = SPW_OP_COPY_D2H;
    end(c, src, bytes, SPW_ACCESS_READ);
    c->record.op.bytes = bytes;
}

/* From the first byte of the first row to the last byte of the last one. */
static size_t span(size_t pitch, size_t width, size_t rows)
{
    return rows ? pitch * (rows - 1) + width : 0;
}

static CUdeviceptr address(CUmemorytype type, CUdeviceptr device, const void *host, size_t offset)
{
    CUdeviceptr a = type == CU_MEMORYTYPE_HOST ? (CUdeviceptr)(uintptr_t)host : type == CU_MEMORYTYPE_ARRAY ? 0 : device;
    return a ? a + offset : 0;
}

static void plane(struct copy *c, const CUDA_MEMCPY2D *p)
{
    copy_init(c);
    size_t dst_pitch = p->dstPitch ? p->dstPitch : p->WidthInBytes, src_pitch = p->srcPitch ? p->srcPitch : p->WidthInBytes;
    CUdeviceptr dst = address(p->dstMemoryType, p->dstDevice, p->dstHost, p->dstY * dst_pitch + p->dstXInBytes);
    CUdeviceptr src = address(p->srcMemoryType, p->srcDevice, p->srcHost, p->srcY * src_pitch + p->srcXInBytes);
    ends(c, dst, span(dst_pitch, p->WidthInBytes, p->Height), src, span(src_pitch, p->WidthInBytes, p->Height),
         p->WidthInBytes * p->Height);
    for (size_t y = 0; dst && src && p->WidthInBytes * p->Height <= SPW_POINTER_TABLES_MAX_COPY && y < p->Height; y++)
        spw_record_copied(dst + y * dst_pitch, src + y * src_pitch, p->WidthInBytes);
}

static void volume_ends(struct copy *c, CUdeviceptr dst, size_t dst_pitch, size_t dst_height, CUdeviceptr src,
                        size_t src_pitch, size_t src_height, size_t width, size_t height, size_t depth)
{
    ends(c, dst, span(dst_pitch * dst_height, span(dst_pitch, width, height), depth), src,
         span(src_pitch * src_height, span(src_pitch, width, height), depth), width * height * depth);
    for (size_t y = 0; dst && src && depth == 1 && width * height <= SPW_POINTER_TABLES_MAX_COPY && y < height; y++)
        spw_record_copied(dst + y * dst_pitch, src + y * src_pitch, width);
}

static size_t or_else(size_t value, size_t otherwise)
{
    return value ? value : otherwise;
}

static void volume(struct copy *c, const CUDA_MEMCPY3D *p)
{
    copy_init(c);
    size_t dst_pitch = or_else(p->dstPitch, p->WidthInBytes), src_pitch = or_else(p->srcPitch, p->WidthInBytes);
    size_t dst_height = or_else(p->dstHeight, p->Height), src_height = or_else(p->srcHeight, p->Height);
    volume_ends(
        c,
        address(p->dstMemoryType, p->dstDevice, p->dstHost, (p->dstZ * dst_height + p->dstY) * dst_pitch + p->dstXInBytes),
        dst_pitch, dst_height,
        address(p->srcMemoryType, p->srcDevice, p->srcHost, (p->srcZ * src_height + p->srcY) * src_pitch + p->srcXInBytes),
        src_pitch, src_height, p->WidthInBytes, p->Height, p->Depth);
}

static void volume_peer(struct copy *c, const CUDA_MEMCPY3D_PEER *p)
{
    copy_init(c);
    size_t dst_pitch = or_else(p->dstPitch, p->WidthInBytes), src_pitch = or_else(p->srcPitch, p->WidthInBytes);
    size_t dst_height = or_else(p->dstHeight, p->Height), src_height = or_else(p->srcHeight, p->Height);
    volume_ends(
        c,
        address(p->dstMemoryType, p->dstDevice, p->dstHost, (p->dstZ * dst_height + p->dstY) * dst_pitch + p->dstXInBytes),
        dst_pitch, dst_height,
        address(p->srcMemoryType, p->srcDevice, p->srcHost, (p->srcZ * src_height + p->srcY) * src_pitch + p->srcXInBytes),
        src_pitch, src_height, p->WidthInBytes, p->Height, p->Depth);
}

static CUresult batch(struct copy *c, const CUdeviceptr *dsts, const CUdeviceptr *srcs, const size_t *sizes, size_t count)
{
    copy_init(c);
    if (copy_reserve(c, 2 * count) != CUDA_SUCCESS)
        return CUDA_ERROR_OUT_OF_MEMORY;
    for (size_t i = 0; i < count; i++) {
        ends(c, dsts[i], sizes[i], srcs[i], sizes[i], sizes[i]);
        spw_record_copied(dsts[i], srcs[i], sizes[i]);
    }
    return CUDA_SUCCESS;
}

static CUdeviceptr operand(const CUmemcpy3DOperand *o)
{
    return o->type == CU_MEMCPY_OPERAND_TYPE_POINTER ? o->op.ptr.ptr : 0;
}

static CUresult batch_3d(struct copy *c, const CUDA_MEMCPY3D_BATCH_OP *list, size_t count)
{
    copy_init(c);
    if (copy_reserve(c, 2 * count) != CUDA_SUCCESS)
        return CUDA_ERROR_OUT_OF_MEMORY;
    for (size_t i = 0; i < count; i++) {
        const CUmemcpy3DOperand *dst = &list[i].dst, *src = &list[i].src;
        size_t width = list[i].extent.width, height = list[i].extent.height, depth = list[i].extent.depth;
        volume_ends(c, operand(dst), or_else(dst->op.ptr.rowLength, width), or_else(dst->op.ptr.layerHeight, height),
                    operand(src), or_else(src->op.ptr.rowLength, width), or_else(src->op.ptr.layerHeight, height), width,
                    height, depth);
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
    set(c, dst, span(pitch, width * element_bytes, rows), value, 1);
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
