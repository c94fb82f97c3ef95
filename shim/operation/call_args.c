/* call_args.c - copies the arguments of a driver call, and submits the call again with the copies. */
#include "call_args.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "arena.h"
#include "ask.h"
#include "driver.h"
#include "hostpool.h"
#include "kernel_types.h"
#include "layout.h"
#include "outside.h"
#include "result.h"
#include "scan.h"

enum { IMAGE_ALIGNMENT = 64 }; /* of a tensor map; no other parameter needs more */

struct spw_kept_call_args {
    enum spw_call_args_kind kind;
    union {
        struct {
            CUlaunchConfig config; /* its attributes lie behind this struct */
            void **params;         /* point into `image`; NULL: the image is a packed buffer, or there are no parameters */
            unsigned char *image;
            size_t image_bytes;
            bool is_packed;
        } launch;
        struct {
            CUdeviceptr to, from;
            size_t bytes;
        } copy;
        CUDA_MEMCPY2D plane;
        CUDA_MEMCPY3D volume;
        struct {
            CUdeviceptr to;
            size_t pitch, width, rows;
            uint32_t value, element_bytes;
        } set;
    };
};

static bool is_packed(const struct spw_call_args *s)
{
    return s->launch.extra && s->launch.extra[0] != CU_LAUNCH_PARAM_END;
}

/* The step at which the scan reads words of the parameter (scan.h). */
static size_t step_of(const struct spw_param *p)
{
    return (p->offset_bytes | p->size_bytes) % 8 ? 4 : 8;
}

/* ---- whether it can be kept ---- */

enum attribute { KEPT, DROPPED, REFUSED };

/* Attributes that let the launch overlap the operation before it are dropped: without them it is ordered more strictly. */
static enum attribute look_at_attribute(CUlaunchAttributeID id)
{
    switch (id) {
    case CU_LAUNCH_ATTRIBUTE_IGNORE:
    case CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION:
        return DROPPED;
    case CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW:
    case CU_LAUNCH_ATTRIBUTE_COOPERATIVE:
    case CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY:
    case CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION:
    case CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
    case CU_LAUNCH_ATTRIBUTE_PRIORITY:
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP:
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN:
    case CU_LAUNCH_ATTRIBUTE_PREFERRED_CLUSTER_DIMENSION:
    case CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
    case CU_LAUNCH_ATTRIBUTE_NVLINK_UTIL_CENTRIC_SCHEDULING:
        return KEPT;
    default: /* events, nodes of graphs, and attributes of newer drivers */
        return REFUSED;
    }
}

static bool bytes_lead_outside(const void *source, size_t bytes, size_t step)
{
    CUdeviceptr word;
    for (size_t at = 0; at + sizeof(word) <= bytes; at += step) {
        memcpy(&word, (const char *)source + at, sizeof(word));
        if (spw_leads_outside(word))
            return true;
    }
    return false;
}

/* For a parameter that is an address itself. In a structure, any word may be left over from something else. */
static bool is_pageable(const void *param, size_t bytes)
{
    CUdeviceptr word = 0;
    if (bytes == sizeof(word))
        memcpy(&word, param, sizeof(word));
    return spw_leads_to_pageable_memory(word);
}

/* Returns how many bytes of a parameter can hold addresses. A parameter shorter than a word holds none. */
static size_t bytes_to_look_at(const struct spw_layout *layout, unsigned i)
{
    return spw_layout_is_number(layout, i) ? 0 : layout->params[i].size_bytes;
}

static enum spw_replay_verdict launch_verdict(const struct spw_call_args *s)
{
    const struct spw_layout *layout = s->launch.layout;
    const void *buffer;
    size_t bytes;
    for (unsigned i = 0; i < s->launch.config.numAttrs; i++)
        if (look_at_attribute(s->launch.config.attrs[i].id) == REFUSED)
            return SPW_REPLAY_EVENTS;
    if (is_packed(s)) {
        if (s->launch.params || spw_scan_buffer(s->launch.extra, &buffer, &bytes) < 0)
            return SPW_REPLAY_UNPARSED;
        return bytes_lead_outside(buffer, bytes, layout->known && !layout->loose ? 8 : 4) ? SPW_REPLAY_OUTSIDE_MEMORY
                                                                                          : SPW_REPLAYABLE;
    }
    if (!layout->known || (!s->launch.params && layout->param_count))
        return SPW_REPLAY_UNPARSED;
    for (unsigned i = 0; i < layout->param_count; i++) {
        const struct spw_param *p = &layout->params[i];
        const size_t looked_at = bytes_to_look_at(layout, i);
        if (bytes_lead_outside(s->launch.params[i], looked_at, step_of(p)) || is_pageable(s->launch.params[i], looked_at))
            return SPW_REPLAY_OUTSIDE_MEMORY;
    }
    return SPW_REPLAYABLE;
}

static bool is_ours(CUmemorytype type, CUdeviceptr address)
{
    return (type == CU_MEMORYTYPE_DEVICE || type == CU_MEMORYTYPE_UNIFIED) && spw_in_arena(address);
}

enum spw_replay_verdict spw_call_args_verdict(const struct spw_call_args *s)
{
    bool ours = false;
    switch (s->kind) {
    case SPW_SUBMIT_OTHER:
        return SPW_REPLAY_OTHER_CALL;
    case SPW_SUBMIT_LAUNCH:
        return launch_verdict(s);
    case SPW_SUBMIT_COPY:
        ours = spw_in_arena(s->copy.to) && spw_in_arena(s->copy.from);
        break;
    case SPW_SUBMIT_PLANE:
        ours =
            is_ours(s->plane->srcMemoryType, s->plane->srcDevice) && is_ours(s->plane->dstMemoryType, s->plane->dstDevice);
        break;
    case SPW_SUBMIT_VOLUME:
        ours = is_ours(s->volume->srcMemoryType, s->volume->srcDevice) &&
               is_ours(s->volume->dstMemoryType, s->volume->dstDevice);
        break;
    case SPW_SUBMIT_SET:
        ours = spw_in_arena(s->set.to);
        break;
    }
    return ours ? SPW_REPLAYABLE : SPW_REPLAY_OUTSIDE_MEMORY;
}

/* ---- where addresses are ---- */

/* `offset` is the word's offset in the parameter image. */
static bool is_address(const struct spw_call_args *s, CUdeviceptr word, size_t offset)
{
    if (!spw_in_arena(word))
        return false;
    for (unsigned i = 0; i < s->launch.doubted_count; i++)
        if (s->launch.doubted[i] * sizeof(word) == offset)
            return false;
    return true;
}

static uint64_t mix_places(const struct spw_call_args *s, uint64_t places, const void *source, size_t offset, size_t bytes,
                           size_t step)
{
    CUdeviceptr word;
    for (size_t at = 0; at + sizeof(word) <= bytes; at += step) {
        memcpy(&word, (const char *)source + at, sizeof(word));
        if (is_address(s, word, offset + at))
            places = (places ^ (offset + at + 1)) * UINT64_C(0x100000001b3);
    }
    return places;
}

uint64_t spw_call_args_places(const struct spw_call_args *s)
{
    const struct spw_layout *layout = s->launch.layout;
    uint64_t places = UINT64_C(0xcbf29ce484222325);
    const void *buffer;
    size_t bytes;
    if (is_packed(s))
        return spw_scan_buffer(s->launch.extra, &buffer, &bytes) < 0
                   ? 0
                   : mix_places(s, places, buffer, 0, bytes, layout->known && !layout->loose ? 8 : 4);
    for (unsigned i = 0; s->launch.params && i < layout->param_count; i++) {
        const struct spw_param *p = &layout->params[i];
        places = mix_places(s, places, s->launch.params[i], p->offset_bytes, bytes_to_look_at(layout, i), step_of(p));
    }
    return places;
}

/* ---- numbers ---- */

static void take_geometry(const CUlaunchConfig *c, uint32_t ret[])
{
    const uint32_t geometry[SPW_CALL_ARGS_GEOMETRY] = {c->gridDimX,  c->gridDimY,  c->gridDimZ,      c->blockDimX,
                                                       c->blockDimY, c->blockDimZ, c->sharedMemBytes};
    memcpy(ret, geometry, sizeof(geometry));
}

struct numbers {
    uint32_t *list;
    unsigned count;
};

static void add_number(struct numbers *n, uint32_t number)
{
    if (n->count < SPW_CALL_ARGS_NUMBERS)
        n->list[n->count++] = number;
    else
        n->list[n->count - 1] = (n->list[n->count - 1] ^ number) * UINT32_C(0x01000193);
}

/* Only the first `looked_at` bytes can hold addresses. */
static void add_numbers(struct numbers *n, const struct spw_call_args *s, const void *source, size_t offset, size_t bytes,
                        size_t looked_at)
{
    for (size_t at = 0; at < bytes;) {
        const char *from = (const char *)source + at;
        CUdeviceptr word = 0;
        uint32_t number = 0;
        if (at + sizeof(word) <= looked_at)
            memcpy(&word, from, sizeof(word));
        const bool leads = is_address(s, word, offset + at);
        memcpy(&number, from, bytes - at < sizeof(number) ? bytes - at : sizeof(number));
        add_number(n, leads ? 0 : number);
        at += leads ? sizeof(word) : sizeof(number);
    }
}

unsigned spw_call_args_numbers(const struct spw_call_args *s, uint32_t ret_numbers[])
{
    struct numbers n = {.list = ret_numbers, .count = SPW_CALL_ARGS_GEOMETRY};
    const void *buffer;
    size_t bytes;
    take_geometry(&s->launch.config, ret_numbers);
    if (is_packed(s)) {
        if (spw_scan_buffer(s->launch.extra, &buffer, &bytes) == 0)
            add_numbers(&n, s, buffer, 0, bytes, bytes);
        return n.count;
    }
    for (unsigned i = 0; s->launch.params && i < s->launch.layout->param_count; i++)
        add_numbers(&n, s, s->launch.params[i], s->launch.layout->params[i].offset_bytes,
                    s->launch.layout->params[i].size_bytes, bytes_to_look_at(s->launch.layout, i));
    return n.count;
}

/* ---- types ---- */

void spw_call_args_declared(const struct spw_call_args *s, struct spw_declared *ret_declared)
{
    enum { NAME_BYTES = 4096 };
    struct spw_kernel_types types;
    char name[NAME_BYTES];
    const struct spw_no_hits except = {s->launch.doubted, s->launch.doubted_count};
    *ret_declared = (struct spw_declared){0};
    if (is_packed(s) || !s->launch.params ||
        strlen(spw_function_name(s->launch.function, name, sizeof(name))) >= NAME_BYTES - 1)
        return;
    spw_kernel_types_read(name, s->launch.layout, &types);
    spw_kernel_types_of_hits(&types, s->launch.layout, s->launch.params, spw_arena_low, spw_arena_high, except,
                             ret_declared);
}

/* ---- keeping ---- */

/* Returns the size of the packed buffer, or of the image that the layout describes. */
static size_t image_bytes(const struct spw_call_args *s, const void **ret_buffer)
{
    size_t bytes = s->launch.layout->image_bytes;
    *ret_buffer = NULL;
    if (is_packed(s))
        (void)spw_scan_buffer(s->launch.extra, ret_buffer, &bytes);
    return bytes;
}

size_t spw_call_args_bytes(const struct spw_call_args *s)
{
    const void *buffer;
    size_t bytes = sizeof(struct spw_kept_call_args);
    if (s->kind != SPW_SUBMIT_LAUNCH)
        return bytes;
    bytes += s->launch.config.numAttrs * sizeof(CUlaunchAttribute);
    if (!is_packed(s))
        bytes += s->launch.layout->param_count * sizeof(void *);
    return bytes + image_bytes(s, &buffer) + IMAGE_ALIGNMENT;
}

static unsigned keep_attributes(const struct spw_call_args *s, CUlaunchAttribute *room)
{
    unsigned n = 0;
    for (unsigned i = 0; i < s->launch.config.numAttrs; i++)
        if (look_at_attribute(s->launch.config.attrs[i].id) == KEPT)
            room[n++] = s->launch.config.attrs[i];
    return n;
}

static void keep_launch(const struct spw_call_args *s, struct spw_kept_call_args *kept)
{
    const struct spw_layout *layout = s->launch.layout;
    CUlaunchAttribute *attributes = (CUlaunchAttribute *)(kept + 1);
    void **params = (void **)(attributes + s->launch.config.numAttrs);
    const bool packed = is_packed(s);
    char *behind = (char *)(params + (packed ? 0 : layout->param_count));
    const void *buffer;
    kept->launch.config = s->launch.config;
    kept->launch.config.attrs = attributes;
    kept->launch.config.numAttrs = keep_attributes(s, attributes);
    kept->launch.image = (unsigned char *)behind + (-(uintptr_t)behind & (IMAGE_ALIGNMENT - 1));
    kept->launch.image_bytes = image_bytes(s, &buffer);
    kept->launch.is_packed = packed;
    kept->launch.params = packed || !layout->param_count ? NULL : params;
    if (packed)
        memcpy(kept->launch.image, buffer, kept->launch.image_bytes);
    else
        memset(kept->launch.image, 0, kept->launch.image_bytes); /* clears the gaps between parameters */
    for (unsigned i = 0; !packed && i < layout->param_count; i++) {
        params[i] = kept->launch.image + layout->params[i].offset_bytes;
        memcpy(params[i], s->launch.params[i], layout->params[i].size_bytes);
    }
}

struct spw_kept_call_args *spw_call_args_keep(const struct spw_call_args *s, void *memory)
{
    struct spw_kept_call_args *kept = memory;
    kept->kind = s->kind;
    switch (s->kind) {
    case SPW_SUBMIT_OTHER:
        break;
    case SPW_SUBMIT_LAUNCH:
        keep_launch(s, kept);
        break;
    case SPW_SUBMIT_COPY:
        kept->copy.to = s->copy.to;
        kept->copy.from = s->copy.from;
        kept->copy.bytes = s->copy.bytes;
        break;
    case SPW_SUBMIT_PLANE:
        kept->plane = *s->plane;
        break;
    case SPW_SUBMIT_VOLUME:
        kept->volume = *s->volume;
        break;
    case SPW_SUBMIT_SET:
        kept->set.to = s->set.to;
        kept->set.pitch = s->set.pitch;
        kept->set.width = s->set.width;
        kept->set.rows = s->set.rows;
        kept->set.value = s->set.value;
        kept->set.element_bytes = s->set.element_bytes;
        break;
    }
    return kept;
}

unsigned spw_call_args_move(struct spw_kept_call_args *kept, CUdeviceptr from, uint64_t bytes, CUdeviceptr to)
{
    unsigned moved = 0;
    CUdeviceptr word;
    if (kept->kind == SPW_SUBMIT_SET && kept->set.to - from < bytes) {
        kept->set.to += to - from;
        return 1;
    }
    for (size_t at = 0; kept->kind == SPW_SUBMIT_LAUNCH && at + sizeof(word) <= kept->launch.image_bytes;
         at += sizeof(word)) {
        memcpy(&word, kept->launch.image + at, sizeof(word));
        if (word - from >= bytes)
            continue;
        word += to - from;
        memcpy(kept->launch.image + at, &word, sizeof(word));
        moved++;
    }
    return moved;
}

/* ---- submitting it again ---- */

static CUresult send_launch(const struct spw_kept_call_args *kept, CUfunction function, CUstream stream)
{
    CUlaunchConfig c = kept->launch.config;
    size_t bytes = kept->launch.image_bytes;
    void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, kept->launch.image, CU_LAUNCH_PARAM_BUFFER_SIZE, &bytes,
                     CU_LAUNCH_PARAM_END};
    void **packed = kept->launch.is_packed ? extra : NULL;
    c.hStream = stream;
    if (c.numAttrs)
        return SPW_ASK(cuLaunchKernelEx, &c, function, kept->launch.params, packed);
    return SPW_ASK(cuLaunchKernel, function, c.gridDimX, c.gridDimY, c.gridDimZ, c.blockDimX, c.blockDimY, c.blockDimZ,
                   c.sharedMemBytes, stream, kept->launch.params, packed);
}

static CUresult send_row(const struct spw_kept_call_args *kept, CUstream stream)
{
    const uint32_t value = kept->set.value;
    if (kept->set.element_bytes == 1)
        return SPW_ASK(cuMemsetD8Async, kept->set.to, (unsigned char)value, kept->set.width, stream);
    if (kept->set.element_bytes == 2)
        return SPW_ASK(cuMemsetD16Async, kept->set.to, (unsigned short)value, kept->set.width, stream);
    return SPW_ASK(cuMemsetD32Async, kept->set.to, value, kept->set.width, stream);
}

static CUresult send_rows(const struct spw_kept_call_args *kept, CUstream stream)
{
    const uint32_t value = kept->set.value;
    const size_t pitch = kept->set.pitch, width = kept->set.width, rows = kept->set.rows;
    if (kept->set.element_bytes == 1)
        return SPW_ASK(cuMemsetD2D8Async, kept->set.to, pitch, (unsigned char)value, width, rows, stream);
    if (kept->set.element_bytes == 2)
        return SPW_ASK(cuMemsetD2D16Async, kept->set.to, pitch, (unsigned short)value, width, rows, stream);
    return SPW_ASK(cuMemsetD2D32Async, kept->set.to, pitch, value, width, rows, stream);
}

int spw_call_args_send(const struct spw_kept_call_args *kept, CUfunction function, CUstream stream)
{
    switch (kept->kind) {
    case SPW_SUBMIT_LAUNCH:
        return spw_result(send_launch(kept, function, stream));
    case SPW_SUBMIT_COPY:
        return spw_result(SPW_ASK(cuMemcpyDtoDAsync_v2, kept->copy.to, kept->copy.from, kept->copy.bytes, stream));
    case SPW_SUBMIT_PLANE:
        return spw_result(SPW_ASK(cuMemcpy2DAsync_v2, &kept->plane, stream));
    case SPW_SUBMIT_VOLUME:
        return spw_result(SPW_ASK(cuMemcpy3DAsync_v2, &kept->volume, stream));
    case SPW_SUBMIT_SET:
        return spw_result(kept->set.rows == 1 ? send_row(kept, stream) : send_rows(kept, stream));
    case SPW_SUBMIT_OTHER:
        break;
    }
    return -EINVAL;
}
