/* memory.c - addresses and what lies behind them: allocations, registered host memory, variables of modules. */
#include "memory.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "driver.h"
#include "order.h"
#include "physical.h"
#include "stats.h"

enum { PAGE = 4096 };

static struct span_map blocks;
static struct extents addresses; /* the free part of the window that all device addresses come from */
static uint64_t next_id = 1;

/* Of the process, so that nothing else comes to lie there. NULL: some of it is taken. */
static void *occupy(uint64_t hint, uint64_t bytes)
{
    int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | (hint ? MAP_FIXED_NOREPLACE : 0);
    void *there = mmap((void *)(uintptr_t)hint, bytes, PROT_NONE, flags, -1, 0);
    return there == MAP_FAILED ? NULL : there;
}

#define MOST_WATCHED (UINT64_C(1) << 38)

/* The thread sanitizer watches a small part of the address space only, and the kernel chooses places there alone. */
#ifdef __SANITIZE_THREAD__
enum { IS_ANYWHERE_WATCHED = false };
#else
enum { IS_ANYWHERE_WATCHED = true };
#endif

/* Reserves the window. A fixed place makes addresses the same in every run; smaller ones are for places with less room. */
CUresult memory_init(void)
{
    const struct {
        uint64_t hint, bytes;
    } windows[] = {{settings.window, UINT64_C(1) << 42},
                   {UINT64_C(0x200000000000), UINT64_C(1) << 45},
                   {0, UINT64_C(1) << 42},
                   {0, UINT64_C(1) << 38},
                   {0, UINT64_C(1) << 35}};
    for (size_t i = 0; i < sizeof windows / sizeof windows[0]; i++) {
        if ((i == 0 && !settings.window) || (!IS_ANYWHERE_WATCHED && (windows[i].hint || windows[i].bytes > MOST_WATCHED)))
            continue;
        void *window = occupy(windows[i].hint, windows[i].bytes);
        if (!window)
            continue;
        uint64_t start = (uint64_t)(uintptr_t)window, end = start + windows[i].bytes;
        start = (start + (2 << 20)) & ~(uint64_t)((2 << 20) - 1);
        return extents_init(&addresses, start, end) == 0 ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
    }
    fprintf(stderr, "simgpu: no room for device addresses\n");
    return CUDA_ERROR_OUT_OF_MEMORY;
}

int address_take(uint64_t bytes, uint64_t alignment, uint64_t *ret_address)
{
    return extents_take(&addresses, bytes, alignment, ret_address);
}

/* Outside the window too, where the process has nothing. */
int address_take_at(uint64_t address, uint64_t bytes)
{
    if (extents_take_at(&addresses, address, bytes) == 0)
        return 0;
    if (!IS_ANYWHERE_WATCHED || address % PAGE || address > UINT64_MAX - bytes || !occupy(address, bytes))
        return -EBUSY;
    extents_give(&addresses, address, bytes);
    return extents_take_at(&addresses, address, bytes);
}

void address_give(uint64_t address, uint64_t bytes)
{
    extents_give(&addresses, address, bytes);
}

/* ---- finding ---- */

struct block *memory_find(uint64_t address)
{
    return (struct block *)span_find(&blocks, address);
}

static bool block_allows(const struct block *b, const struct device *device, bool writes)
{
    uint32_t bit = UINT32_C(1) << device->ordinal;
    return ((writes ? b->writable : b->readable) & bit) != 0;
}

bool memory_reachable(const struct device *device, uint64_t address, uint64_t bytes, bool writes, uint64_t *ret_first_bad)
{
    uint64_t end = address + bytes;
    while (address < end) {
        const struct block *b = memory_find(address);
        if (!b || (device && (b->hidden || (b->kind == BLOCK_MAPPING && !block_allows(b, device, writes))))) {
            *ret_first_bad = address;
            return false;
        }
        address = b->span.end;
    }
    return true;
}

uint64_t memory_key(uint64_t address, uint64_t bytes, uint64_t *ret_bytes)
{
    const struct span *s = span_from(&blocks, address);
    uint64_t limit = address + bytes;
    const struct block *b = (const struct block *)s;
    if (s && s->start <= address) {
        *ret_bytes = (limit < s->end ? limit : s->end) - address;
        return b->key + (address - s->start);
    }
    *ret_bytes = s && s->start < limit ? s->start - address : bytes;
    return address;
}

void block_add(struct block *b)
{
    b->id = next_id++;
    span_insert(&blocks, &b->span);
}

void block_remove(struct block *b)
{
    span_remove(&blocks, &b->span);
}

struct block *block_from(uint64_t address)
{
    return (struct block *)span_from(&blocks, address);
}

/* ---- allocation ---- */

static uint64_t pages(uint64_t bytes)
{
    return (bytes + PAGE - 1) & ~(uint64_t)(PAGE - 1);
}

/* Host memory that the driver allocates: anonymous pages, inside the window so that its addresses are ours too. */
static int back_host(struct block *b)
{
    int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE;
    void *at = (void *)(uintptr_t)b->span.start;
    if (mmap(at, b->backed_bytes, PROT_READ | PROT_WRITE, flags, -1, 0) == MAP_FAILED)
        return -ENOMEM;
    b->key = b->span.start;
    stats.host_bytes += b->backed_bytes;
    return 0;
}

static int back_device(struct block *b)
{
    int r = physical_take(b->device, b->backed_bytes, b->counted_bytes, &b->offset);
    if (r < 0)
        return r;
    r = physical_map(b->device, b->offset, b->span.start, b->backed_bytes, true);
    if (r < 0) {
        physical_give(b->device, b->offset, b->backed_bytes, b->counted_bytes);
        return r;
    }
    b->key = physical_key(b->device, b->offset);
    memset((void *)(uintptr_t)b->span.start, SIMGPU_POISON, b->backed_bytes);
    device_count_mapped(b->device, (int64_t)b->counted_bytes);
    return 0;
}

CUresult memory_allocate(struct context *context, struct device *device, enum block_kind kind, size_t bytes,
                         struct block **ret_block)
{
    struct block *b = bytes > 0 && bytes < UINT64_C(1) << 44 ? calloc(1, sizeof *b) : NULL;
    uint64_t address;
    if (bytes == 0)
        return CUDA_ERROR_INVALID_VALUE;
    if (!b)
        return CUDA_ERROR_OUT_OF_MEMORY;
    b->kind = kind;
    b->context = context;
    b->device = device;
    b->backed_bytes = pages(bytes);
    b->counted_bytes = (bytes + 511) & ~(uint64_t)511;
    b->readable = b->writable = ~UINT32_C(0);
    b->host_access = !device || kind == BLOCK_MANAGED;
    if (address_take(b->backed_bytes + PAGE, PAGE, &address) < 0) { /* and a page that nobody may touch */
        free(b);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    b->span.start = address;
    b->span.end = address + bytes;
    if ((b->device ? back_device(b) : back_host(b)) < 0) {
        address_give(address, b->backed_bytes + PAGE);
        free(b);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    block_add(b);
    order_forget(b->span.start, bytes);
    *ret_block = b;
    return CUDA_SUCCESS;
}

void memory_free(struct block *b)
{
    order_forget(b->span.start, b->span.end - b->span.start);
    block_remove(b);
    address_hide(b->span.start, b->backed_bytes);
    if (b->device) {
        physical_give(b->device, b->offset, b->backed_bytes, b->counted_bytes);
        device_count_mapped(b->device, -(int64_t)b->counted_bytes);
    } else {
        stats.host_bytes -= b->backed_bytes;
    }
    address_give(b->span.start, b->backed_bytes + PAGE);
    free(b);
}

/* ---- memory of the program that the device may use ---- */

static struct block *foreign_block(struct context *context, enum block_kind kind, uint64_t start, uint64_t bytes)
{
    struct block *b = calloc(1, sizeof *b);
    if (!b)
        return NULL;
    b->kind = kind;
    b->context = context;
    b->span.start = b->key = start;
    b->span.end = start + bytes;
    b->readable = b->writable = ~UINT32_C(0);
    b->host_access = true;
    return b;
}

CUresult memory_register(struct context *context, void *address, size_t bytes, unsigned flags)
{
    uint64_t start = (uint64_t)(uintptr_t)address;
    if (!address || bytes == 0 || start + bytes < start)
        return CUDA_ERROR_INVALID_VALUE;
    if (span_meets(&blocks, start, start + bytes))
        return CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
    struct block *b = foreign_block(context, BLOCK_REGISTERED, start, bytes);
    if (!b)
        return CUDA_ERROR_OUT_OF_MEMORY;
    b->flags = flags;
    b->backed_bytes = bytes;
    stats.host_bytes += bytes;
    block_add(b);
    return CUDA_SUCCESS;
}

void memory_unregister(struct block *b)
{
    order_forget(b->span.start, b->span.end - b->span.start);
    block_remove(b);
    stats.host_bytes -= b->backed_bytes;
    free(b);
}

void memory_free_context(const struct context *context)
{
    struct block *next;
    for (struct block *b = block_from(0); b; b = next) {
        next = block_from(b->span.end);
        if (b->context != context || b->in_graph)
            continue;
        if (b->kind == BLOCK_REGISTERED)
            memory_unregister(b);
        else if (b->kind == BLOCK_DEVICE || b->kind == BLOCK_MANAGED || b->kind == BLOCK_HOST) {
            stats.live_allocations -= b->kind != BLOCK_HOST;
            memory_free(b);
        }
    }
}

CUresult memory_add_global(struct context *context, void *address, size_t bytes)
{
    uint64_t start = (uint64_t)(uintptr_t)address;
    struct block *b = memory_find(start);
    if (b && b->kind == BLOCK_GLOBAL) { /* the same image, loaded once more */
        b->global_refs++;
        return CUDA_SUCCESS;
    }
    if (span_meets(&blocks, start, start + bytes) || bytes == 0)
        return CUDA_ERROR_INVALID_IMAGE;
    b = foreign_block(context, BLOCK_GLOBAL, start, bytes);
    if (!b)
        return CUDA_ERROR_OUT_OF_MEMORY;
    b->device = context->device;
    b->global_refs = 1;
    block_add(b);
    return CUDA_SUCCESS;
}

void memory_remove_global(void *address)
{
    struct block *b = memory_find((uint64_t)(uintptr_t)address);
    if (!b || b->kind != BLOCK_GLOBAL || --b->global_refs > 0)
        return;
    order_forget(b->span.start, b->span.end - b->span.start);
    block_remove(b);
    free(b);
}
