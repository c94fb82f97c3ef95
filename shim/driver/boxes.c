/* boxes.c - reads the structures that describe copies of rows and layers. */
#include "boxes.h"

#include <stdint.h>

static size_t or_else(size_t value, size_t otherwise)
{
    return value ? value : otherwise;
}

static CUdeviceptr base(CUmemorytype type, CUdeviceptr device, const void *host)
{
    if (type == CU_MEMORYTYPE_DEVICE || type == CU_MEMORYTYPE_UNIFIED)
        return device;
    return type == CU_MEMORYTYPE_HOST ? (CUdeviceptr)(uintptr_t)host : 0;
}

static struct spw_box_end end(CUdeviceptr base, size_t row_bytes, size_t layer_rows, size_t x, size_t y, size_t z)
{
    const size_t offset = (z * layer_rows + y) * row_bytes + x;
    return (struct spw_box_end){base ? base + offset : 0, row_bytes, layer_rows};
}

/* In each of the structures, both sides of a copy have the same members, except for the first letters. */
#define BASE(p, side)   base(p->side##MemoryType, p->side##Device, p->side##Host)
#define PITCH(p, side)  or_else(p->side##Pitch, p->WidthInBytes)
#define END_2D(p, side) end(BASE(p, side), PITCH(p, side), p->Height, p->side##XInBytes, p->side##Y, 0)
#define END_3D(p, side) \
    end(BASE(p, side), PITCH(p, side), or_else(p->side##Height, p->Height), p->side##XInBytes, p->side##Y, p->side##Z)
#define BOX_3D(p) ((struct spw_box){END_3D(p, dst), END_3D(p, src), p->WidthInBytes, p->Height, p->Depth})

struct spw_box spw_box_2d(const CUDA_MEMCPY2D *p)
{
    return p ? (struct spw_box){END_2D(p, dst), END_2D(p, src), p->WidthInBytes, p->Height, 1} : (struct spw_box){0};
}

struct spw_box spw_box_3d(const CUDA_MEMCPY3D *p)
{
    return p ? BOX_3D(p) : (struct spw_box){0};
}

struct spw_box spw_box_peer(const CUDA_MEMCPY3D_PEER *p)
{
    return p ? BOX_3D(p) : (struct spw_box){0};
}

static struct spw_box_end operand(const CUmemcpy3DOperand *o, const CUextent3D *extent)
{
    if (o->type != CU_MEMCPY_OPERAND_TYPE_POINTER)
        return (struct spw_box_end){0, extent->width, extent->height};
    return (struct spw_box_end){o->op.ptr.ptr, or_else(o->op.ptr.rowLength, extent->width),
                                or_else(o->op.ptr.layerHeight, extent->height)};
}

struct spw_box spw_box_batched(const CUDA_MEMCPY3D_BATCH_OP *p)
{
    return p ? (struct spw_box){operand(&p->dst, &p->extent), operand(&p->src, &p->extent), p->extent.width,
                                p->extent.height, p->extent.depth}
             : (struct spw_box){0};
}

size_t spw_box_bytes(const struct spw_box *box)
{
    size_t bytes;
    if (__builtin_mul_overflow(box->width, box->rows, &bytes) || __builtin_mul_overflow(bytes, box->layers, &bytes))
        return SIZE_MAX;
    return bytes;
}

size_t spw_box_span(const struct spw_box *box, const struct spw_box_end *end)
{
    if (!spw_box_bytes(box))
        return 0;
    return ((box->layers - 1) * end->layer_rows + box->rows - 1) * end->row_bytes + box->width;
}

void spw_box_rows(const struct spw_box *box, void (*each)(CUdeviceptr to, CUdeviceptr from, size_t bytes))
{
    if (!box->to.at || !box->from.at)
        return;
    for (size_t z = 0; z < box->layers; z++)
        for (size_t y = 0; y < box->rows; y++)
            each(box->to.at + (z * box->to.layer_rows + y) * box->to.row_bytes,
                 box->from.at + (z * box->from.layer_rows + y) * box->from.row_bytes, box->width);
}
