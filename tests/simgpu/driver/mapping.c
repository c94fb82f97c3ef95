/* mapping.c - reserved addresses, and physical memory mapped into them with the rules of cuMemMap(). */
#include <stdlib.h>

#include "driver.h"
#include "order.h"
#include "physical.h"
#include "stats.h"

struct reservation {
    struct span span;
};

static struct span_map reservations;

CUresult address_reserve(uint64_t bytes, uint64_t alignment, uint64_t wanted, uint64_t *ret_address)
{
    uint64_t granularity = settings.granularity_bytes, address;
    struct reservation *r;
    if (bytes == 0 || bytes % granularity || (alignment & (alignment - 1)))
        return CUDA_ERROR_INVALID_VALUE;
    if (alignment < granularity)
        alignment = granularity;
    if (!(r = calloc(1, sizeof *r)))
        return CUDA_ERROR_OUT_OF_MEMORY;
    if (wanted && wanted % alignment == 0 && address_take_at(wanted, bytes) == 0) {
        address = wanted;
    } else if (address_take(bytes, alignment, &address) < 0) {
        free(r);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    r->span.start = address;
    r->span.end = address + bytes;
    span_insert(&reservations, &r->span);
    stats.live_reservations++;
    stats.reserve++;
    *ret_address = address;
    return CUDA_SUCCESS;
}

CUresult address_free(uint64_t address, uint64_t bytes)
{
    struct span *r = span_find(&reservations, address);
    const struct block *b = block_from(address);
    if (!r || r->start != address || r->end != address + bytes || (b && b->span.start < address + bytes))
        return CUDA_ERROR_INVALID_VALUE;
    span_remove(&reservations, r);
    address_give(address, bytes);
    free(r);
    stats.live_reservations--;
    stats.address_free++;
    return CUDA_SUCCESS;
}

bool address_is_reserved(uint64_t address)
{
    return span_find(&reservations, address) != NULL;
}

/* The memory of another mapping that is at least as large, in place of what the program asked for: a wrong-map sabotage. */
static uint64_t wrong_offset(const struct physical *p)
{
    for (const struct block *b = block_from(0); b; b = block_from(b->span.end))
        if (b->kind == BLOCK_MAPPING && b->device == p->device && b->physical != p && b->backed_bytes >= p->bytes)
            return b->offset;
    return p->offset;
}

/* Memory that lies behind several addresses is there once. */
static void count_mapped(struct physical *p, uint64_t bytes)
{
    if (p->device)
        device_count_mapped(p->device, (int64_t)bytes - (int64_t)p->mapped_bytes);
    p->mapped_bytes = bytes;
}

CUresult mapping_add(struct context *context, uint64_t address, uint64_t bytes, struct physical *p)
{
    const struct span *r = span_find(&reservations, address);
    const struct block *next = block_from(address);
    uint64_t granularity = settings.granularity_bytes;
    if (bytes == 0 || bytes > p->bytes || bytes % granularity || address % granularity || !r || r->end < address + bytes ||
        (next && next->span.start < address + bytes))
        return CUDA_ERROR_INVALID_VALUE;
    struct block *b = calloc(1, sizeof *b);
    if (!b)
        return CUDA_ERROR_OUT_OF_MEMORY;
    b->kind = BLOCK_MAPPING;
    b->span.start = address;
    b->span.end = address + bytes;
    b->device = p->device;
    b->context = context;
    b->physical = p;
    b->backed_bytes = b->counted_bytes = bytes;
    b->offset = settings_sabotage(SABOTAGE_WRONG_MAP) ? wrong_offset(p) : p->offset;
    b->key = physical_key(p->device, b->offset);
    if (settings_sabotage(SABOTAGE_STALE_MAP))
        physical_poison(p);
    p->mappings++;
    block_add(b);
    p->newest = b->id;
    if (p->mapped_bytes < bytes)
        count_mapped(p, bytes);
    stats.map++;
    return CUDA_SUCCESS;
}

/* How many whole mappings make up exactly the range; 0: they don't. */
static unsigned whole_mappings(uint64_t address, uint64_t bytes)
{
    uint64_t at = address;
    unsigned count = 0;
    while (at < address + bytes) {
        const struct block *b = block_from(at);
        if (!b || b->kind != BLOCK_MAPPING || b->span.start != at)
            return 0;
        at = b->span.end;
        count++;
    }
    return at == address + bytes ? count : 0;
}

CUresult mapping_remove(struct context *context, uint64_t address, uint64_t bytes, unsigned *ret_mappings)
{
    *ret_mappings = whole_mappings(address, bytes);
    if (*ret_mappings == 0)
        return CUDA_ERROR_INVALID_VALUE;
    order_end(context, address, bytes, "cuMemUnmap");
    for (uint64_t at = address; at < address + bytes;) {
        struct block *b = memory_find(at);
        at = b->span.end;
        address_hide(b->span.start, b->backed_bytes);
        block_remove(b);
        if (--b->physical->mappings == 0)
            count_mapped(b->physical, 0);
        physical_drop_if_unused(b->physical);
        free(b);
        stats.unmap++;
    }
    return CUDA_SUCCESS;
}

static bool access_is_valid(const CUmemAccessDesc *desc, const struct block *b)
{
    bool flags = desc->flags == CU_MEM_ACCESS_FLAGS_PROT_NONE || desc->flags == CU_MEM_ACCESS_FLAGS_PROT_READ ||
                 desc->flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    switch (desc->location.type) {
    case CU_MEM_LOCATION_TYPE_DEVICE:
        return flags && device_find(desc->location.id);
    case CU_MEM_LOCATION_TYPE_HOST:
    case CU_MEM_LOCATION_TYPE_HOST_NUMA:
        return flags && !b->device; /* the host can't be let at a device's memory */
    default:
        return false;
    }
}

static void grant(struct block *b, const CUmemAccessDesc *desc)
{
    bool reads = desc->flags != CU_MEM_ACCESS_FLAGS_PROT_NONE, writes = desc->flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    if (desc->location.type != CU_MEM_LOCATION_TYPE_DEVICE) {
        b->host_access = reads;
        return;
    }
    uint32_t bit = UINT32_C(1) << desc->location.id;
    b->readable = reads ? b->readable | bit : b->readable & ~bit;
    b->writable = writes ? b->writable | bit : b->writable & ~bit;
}

CUresult mapping_set_access(uint64_t address, uint64_t bytes, const CUmemAccessDesc *desc, size_t count,
                            unsigned *ret_mappings)
{
    *ret_mappings = whole_mappings(address, bytes);
    if (*ret_mappings == 0 || !desc || count == 0)
        return CUDA_ERROR_INVALID_VALUE;
    for (uint64_t at = address; at < address + bytes; at = memory_find(at)->span.end)
        for (size_t i = 0; i < count; i++)
            if (!access_is_valid(&desc[i], memory_find(at)))
                return CUDA_ERROR_INVALID_VALUE;
    for (uint64_t at = address; at < address + bytes;) {
        struct block *b = memory_find(at);
        at = b->span.end;
        for (size_t i = 0; i < count; i++)
            grant(b, &desc[i]);
        bool reads = b->readable || b->host_access, writes = b->writable || b->host_access;
        if (!reads)
            address_hide(b->span.start, b->backed_bytes);
        else if (physical_map(b->device, b->offset, b->span.start, b->backed_bytes, writes) < 0)
            return CUDA_ERROR_OUT_OF_MEMORY;
    }
    stats.set_access++;
    return CUDA_SUCCESS;
}
