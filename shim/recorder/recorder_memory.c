/* recorder_memory.c - keeps the program's allocations, and the addresses that it stores in them. */
#include <string.h>

#include "definitions.h"
#include "driver.h"
#include "pointer_map.h"
#include "iteration_finder.h"
#include "recorder.h"
#include "recorder_parts.h"
#include "sites.h"
#include "status_page.h"
#include "pointer_tables.h"
#include "timing.h"

struct spw_extents spw_recorder_extents;

/* Guarded by the recorder's lock, like everything that follows. */
static uint64_t last_alloc;

/* Memory of each device that is allocated now, and its peak; for the status page. */
static uint64_t live_bytes[SPW_STATUS_DEVICES], live_bytes_peak[SPW_STATUS_DEVICES];

/* ---- allocations ---- */

static void put_free_locked(uint64_t id, uint32_t stream)
{
    struct spw_record r = {.kind = SPW_RECORD_FREE, .free = {.id = id, .stream = stream, .time_ns = spw_note_now.began_ns}};
    spw_record_put_locked(&r);
    spw_iteration_finder_free(id);
}

static bool counts(const struct spw_extent *e)
{
    return e->kind != SPW_ALLOC_HOST && e->kind != SPW_ALLOC_GLOBAL && e->device < SPW_STATUS_DEVICES;
}

static void count_live_locked(const struct spw_extent *e)
{
    if (!counts(e))
        return;
    live_bytes[e->device] += e->bytes;
    if (live_bytes_peak[e->device] < live_bytes[e->device])
        live_bytes_peak[e->device] = live_bytes[e->device];
}

static void count_gone_locked(const struct spw_extent *e)
{
    if (counts(e))
        live_bytes[e->device] -= e->bytes;
}

/* Another allocation lies where this one was noted, so its end was not seen. */
static void stale(void *context, const struct spw_extent *e)
{
    count_gone_locked(e);
    put_free_locked(e->id, 0);
}

/* Returns the site of this call, and walks the stack if that is necessary; releases the lock meanwhile. */
static uint32_t site_unlocking(uint64_t bytes)
{
    struct spw_site_key key =
        spw_site_key_locked(spw_note_now.caller, __builtin_frame_address(0), bytes, spw_recorder_last_function);
    uint32_t site = spw_site_known_locked(key);
    if (site)
        return site;
    struct spw_stack stack;
    bool new_site;
    spw_word_unlock(&spw_recorder_lock);
    spw_site_walk(&stack);
    spw_word_lock(&spw_recorder_lock, SPW_LOCK_RECORDER);
    site = spw_site_learn_locked(key, &stack, &new_site);
    if (new_site)
        spw_define_site_locked(site, &stack);
    return site;
}

void spw_recorder_alloc(enum spw_alloc_kind kind, CUdeviceptr address, uint64_t bytes)
{
    struct spw_stream_facts *stream = spw_stream_facts_of(spw_note_now.stream);
    spw_word_lock(&spw_recorder_lock, SPW_LOCK_RECORDER);
    struct spw_record r = {.kind = SPW_RECORD_ALLOC,
                           .alloc = {.device = spw_recorder_is_of_device(kind) ? stream->device : 0,
                                     .kind = kind,
                                     .address = address,
                                     .bytes = bytes,
                                     .site = kind == SPW_ALLOC_GLOBAL ? 0 : site_unlocking(bytes),
                                     .time_ns = spw_note_now.began_ns}};
    struct spw_extent *e = spw_extents_add(&spw_recorder_extents, address, bytes, stale, NULL);
    if (e) {
        e->id = r.alloc.id = ++last_alloc;
        e->context = kind == SPW_ALLOC_HOST || kind == SPW_ALLOC_VMM ? NULL : stream->context;
        e->kind = (uint8_t)kind;
        e->device = (uint8_t)r.alloc.device;
        count_live_locked(e);
        spw_define_device_locked(stream->device);
        if (kind == SPW_ALLOC_ASYNC)
            r.alloc.stream = spw_stream_number_locked(stream);
        spw_record_put_locked(&r);
        spw_iteration_finder_alloc(&r.alloc);
    }
    spw_word_unlock(&spw_recorder_lock);
}

void spw_record_alloc_once(enum spw_alloc_kind kind, CUdeviceptr address, uint64_t bytes)
{
    spw_word_lock(&spw_recorder_lock, SPW_LOCK_RECORDER);
    struct spw_extent *e = spw_extents_find(&spw_recorder_extents, address);
    bool known = e && e->start == address && e->bytes == bytes;
    spw_word_unlock(&spw_recorder_lock);
    if (!known)
        spw_recorder_alloc(kind, address, bytes);
}

void spw_recorder_free(CUdeviceptr address, bool in_stream_order)
{
    struct spw_stream_facts *stream = NULL;
    if (in_stream_order)
        stream = spw_stream_facts_of(spw_note_now.stream);
    spw_word_lock(&spw_recorder_lock, SPW_LOCK_RECORDER);
    struct spw_extent *e = spw_extents_find(&spw_recorder_extents, address);
    if (e && e->start == address && e->kind != SPW_ALLOC_GLOBAL) {
        put_free_locked(e->id, in_stream_order ? spw_stream_number_locked(stream) : 0);
        count_gone_locked(e);
        spw_pointer_map_forget_all(e);
        spw_extents_remove(&spw_recorder_extents, e);
    }
    spw_word_unlock(&spw_recorder_lock);
}

/* Unmapping may cover several neighbouring allocations. */
void spw_record_free_range(CUdeviceptr address, uint64_t bytes)
{
    for (uint64_t at = 0; at < bytes;) {
        spw_word_lock(&spw_recorder_lock, SPW_LOCK_RECORDER);
        struct spw_extent *e = spw_extents_find(&spw_recorder_extents, address + at);
        uint64_t start = e ? e->start : 0, length = e ? e->bytes : 0;
        spw_word_unlock(&spw_recorder_lock);
        if (!e)
            return;
        spw_recorder_free(start, false);
        at = start + length - address;
    }
}

void spw_record_context_gone(CUcontext context)
{
    spw_timing_context_gone(context);
    spw_word_lock(&spw_recorder_lock, SPW_LOCK_RECORDER);
    for (struct spw_extent *e = spw_recorder_extents.all, *next; e; e = next) {
        next = e->next;
        if (e->context != context)
            continue;
        put_free_locked(e->id, 0);
        count_gone_locked(e);
        spw_pointer_map_forget_all(e);
        spw_extents_remove(&spw_recorder_extents, e);
    }
    spw_context_numbers_gone_locked();
    spw_word_unlock(&spw_recorder_lock);
}

void spw_record_bounds(CUdeviceptr *ret_low, CUdeviceptr *ret_high)
{
    *ret_low = __atomic_load_n(&spw_recorder_extents.low, __ATOMIC_RELAXED);
    *ret_high = __atomic_load_n(&spw_recorder_extents.high, __ATOMIC_RELAXED);
}

/* ---- addresses in memory ---- */

static struct spw_extent *device_extent(CUdeviceptr address)
{
    struct spw_extent *e = spw_extents_find(&spw_recorder_extents, address);
    return spw_recorder_on_device(e) ? e : NULL;
}

static void learn_locked(struct spw_extent *to, uint64_t offset, const char *source, size_t bytes)
{
    for (size_t i = -(to->start + offset) % sizeof(CUdeviceptr); i + sizeof(CUdeviceptr) <= bytes;
         i += sizeof(CUdeviceptr)) {
        CUdeviceptr word;
        memcpy(&word, source + i, sizeof(word));
        if (word - spw_recorder_extents.low < spw_recorder_extents.high - spw_recorder_extents.low &&
            device_extent(word)) /* nearly all words are data */
            spw_pointer_map_add(to, offset + i, word);
    }
}

/* True for host memory that can be read now. */
static bool is_host(CUdeviceptr a, const struct spw_extent *e)
{
    CUmemorytype type = 0;
    if (e)
        return e->kind == SPW_ALLOC_HOST;
    return spw_driver.cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, a) != CUDA_SUCCESS ||
           type == CU_MEMORYTYPE_HOST;
}

void spw_record_copied(CUdeviceptr destination, CUdeviceptr source, size_t bytes)
{
    spw_word_lock(&spw_recorder_lock, SPW_LOCK_RECORDER);
    struct spw_extent *to = device_extent(destination), *from = spw_extents_find(&spw_recorder_extents, source);
    bool small = to && bytes >= sizeof(CUdeviceptr) && bytes <= SPW_POINTER_TABLES_MAX_COPY;
    uint64_t offset = to ? destination - to->start : 0;
    spw_word_unlock(&spw_recorder_lock);
    bool readable = small && !spw_recorder_on_device(from) && is_host(source, from);
    spw_word_lock(&spw_recorder_lock, SPW_LOCK_RECORDER);
    to = to ? device_extent(destination) : NULL; /* another thread may have freed it */
    from = spw_extents_find(&spw_recorder_extents, source);
    if (to && spw_recorder_on_device(from)) {
        spw_pointer_map_copy(to, offset, from, source - from->start, bytes);
    } else if (to) {
        spw_pointer_map_written(to, offset, bytes);
        if (readable)
            learn_locked(to, offset, (const char *)(uintptr_t)source, bytes);
    }
    spw_word_unlock(&spw_recorder_lock);
}

void spw_record_overwritten(CUdeviceptr destination, size_t bytes)
{
    spw_word_lock(&spw_recorder_lock, SPW_LOCK_RECORDER);
    struct spw_extent *to = device_extent(destination);
    if (to)
        spw_pointer_map_written(to, destination - to->start, bytes);
    spw_word_unlock(&spw_recorder_lock);
}

/* ---- for the recorder ---- */

uint64_t spw_recorder_allocs_locked(void)
{
    SPW_ASSERT_LOCKED(&spw_recorder_lock);
    return last_alloc;
}

void spw_recorder_fill_live_bytes(struct spw_status_page *p)
{
    p->device_count = 0;
    for (uint32_t i = 0; i < SPW_STATUS_DEVICES; i++)
        if (live_bytes_peak[i])
            p->devices[p->device_count++] = (struct spw_status_device){.ordinal = i,
                                                                       .physical_bytes = live_bytes[i],
                                                                       .live_bytes = live_bytes[i],
                                                                       .live_bytes_peak = live_bytes_peak[i]};
}

void spw_recorder_memory_reset(void)
{
    spw_extents_clear(&spw_recorder_extents);
    spw_pointer_map_reset();
    last_alloc = 0;
    memset(live_bytes, 0, sizeof(live_bytes));
    memset(live_bytes_peak, 0, sizeof(live_bytes_peak));
}
