/* handles.c - the pool of pieces of physical memory of one device, and how more of them are made. */
#include "handles.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ask.h"
#include "log.h"
#include "result.h"

static uint64_t bytes_of(const struct spw_handles *h, uint32_t granules)
{
    return (uint64_t)granules << h->granule_shift;
}

/* What may still be made. */
static uint64_t unmade_bytes(const struct spw_handles *h)
{
    return h->budget_bytes > h->made_bytes ? h->budget_bytes - h->made_bytes : 0;
}

/* ---- the pool ---- */

static uint32_t bin_position(const struct spw_handles *h, uint32_t granules)
{
    uint32_t low = 0, high = h->bin_count;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (h->bins[middle].granules < granules)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static struct spw_handle_bin *bin_of(struct spw_handles *h, uint32_t granules)
{
    uint32_t i = bin_position(h, granules);
    if (i < h->bin_count && h->bins[i].granules == granules)
        return &h->bins[i];
    struct spw_handle_bin *grown = realloc(h->bins, (h->bin_count + 1) * sizeof(*grown));
    if (!grown)
        return NULL;
    h->bins = grown;
    memmove(&grown[i + 1], &grown[i], (h->bin_count - i) * sizeof(*grown));
    grown[i] = (struct spw_handle_bin){.granules = granules};
    h->bin_count++;
    return &grown[i];
}

static void release(struct spw_handles *h, struct spw_piece piece)
{
    static int warned;
    uint64_t bytes = bytes_of(h, piece.granules);
    CUresult r = SPW_ASK(cuMemRelease, piece.handle);
    if (r != CUDA_SUCCESS) {
        /* The memory may still be taken: it stays on the bill. */
        spw_warn_once(&warned, "the driver refused to release %llu bytes of device memory (error %d); they count as used",
                      (unsigned long long)bytes, (int)r);
        return;
    }
    h->made_bytes -= bytes;
    h->made_count--;
}

static struct spw_piece take_from(struct spw_handles *h, struct spw_handle_bin *bin)
{
    h->pooled_bytes -= bytes_of(h, bin->granules);
    return (struct spw_piece){bin->handles[--bin->count], bin->granules};
}

static void pool(struct spw_handles *h, struct spw_piece piece)
{
    struct spw_handle_bin *bin = bin_of(h, piece.granules);
    if (bin && bin->count == bin->room) {
        uint32_t room = bin->room ? bin->room * 2 : 8;
        CUmemGenericAllocationHandle *grown = realloc(bin->handles, room * sizeof(*grown));
        if (grown) {
            bin->handles = grown;
            bin->room = room;
        }
    }
    if (!bin || bin->count == bin->room) { /* no memory to remember it by */
        release(h, piece);
        return;
    }
    bin->handles[bin->count++] = piece.handle;
    h->pooled_bytes += bytes_of(h, piece.granules);
}

/* The largest pooled pieces go first: few calls make much room. */
static void release_until(struct spw_handles *h, uint64_t made_limit, uint64_t pooled_limit)
{
    for (uint32_t i = h->bin_count; i > 0; i--) {
        struct spw_handle_bin *bin = &h->bins[i - 1];
        while (bin->count && (h->made_bytes > made_limit || h->pooled_bytes > pooled_limit))
            release(h, take_from(h, bin));
    }
}

/* ---- making ---- */

/* -ENOSPC: the device has no room. */
static int make(struct spw_handles *h, uint32_t granules, struct spw_piece *ret_piece)
{
    CUmemAllocationProp prop;
    memset(&prop, 0, sizeof(prop));
    prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    prop.location.id = h->device;
    CUmemGenericAllocationHandle handle = 0;
    int r = spw_result(SPW_ASK(cuMemCreate, &handle, bytes_of(h, granules), &prop, 0));
    if (r < 0)
        return r == -ENOMEM ? -ENOSPC : r;
    h->made_bytes += bytes_of(h, granules);
    h->made_count++;
    if (h->made_bytes_peak < h->made_bytes)
        h->made_bytes_peak = h->made_bytes;
    *ret_piece = (struct spw_piece){handle, granules};
    return 0;
}

/* Others have taken memory on the device: what we have made is all there is for us. */
static void learn_what_lacks(struct spw_handles *h)
{
    static int warned;
    if (h->made_bytes == 0 || h->made_bytes >= h->budget_bytes)
        return;
    spw_warn_once(&warned,
                  "device %d has less memory left than the budget says: %llu bytes are used from here on, and more when "
                  "nothing else helps",
                  h->device, (unsigned long long)h->made_bytes);
    h->lacking_bytes += h->budget_bytes - h->made_bytes;
    h->budget_bytes = h->made_bytes;
}

/* Releases the largest pooled piece, of at least so many granules. Answers how many granules went, 0: there is none. The
 * largest gives the most sizes when it is cut, so that soon nothing has to be cut any more. */
static uint32_t release_one(struct spw_handles *h, uint32_t least)
{
    uint32_t first = bin_position(h, least);
    for (uint32_t i = h->bin_count; i-- > first;)
        while (h->bins[i].count) {
            uint64_t made_count = h->made_count;
            release(h, take_from(h, &h->bins[i]));
            if (h->made_count < made_count) /* else the driver has refused it */
                return h->bins[i].granules;
        }
    return 0;
}

static uint32_t largest_power_of_two(uint32_t most)
{
    return UINT32_C(1) << (31 - __builtin_clz(most));
}

static int make_and_append(struct spw_handles *h, uint32_t granules, struct spw_memory *m)
{
    struct spw_piece piece;
    int r = make(h, granules, &piece);
    if (r < 0)
        return r;
    r = spw_memory_append(m, piece);
    if (r < 0)
        pool(h, piece);
    return r;
}

/* Makes pieces for the pool, two of each size: what nobody had is likely to be what is missing next. */
static void stock(struct spw_handles *h, uint32_t granules)
{
    struct spw_piece piece;
    while (granules && bytes_of(h, granules) <= unmade_bytes(h)) {
        uint32_t part = granules > 1 ? largest_power_of_two(granules / 2) : 1;
        if (make(h, part, &piece) < 0)
            return;
        pool(h, piece);
        granules -= part;
    }
}

/* Makes what no pooled piece is small enough for. Where the budget or the device has no room for that, larger pieces are
 * cut: released and made again as smaller ones, the part that is missing now and the rest for the pool. */
static int make_missing(struct spw_handles *h, uint32_t missing, struct spw_memory *m)
{
    const uint32_t whole = m->granules + missing;
    uint64_t released = 0;
    while (m->granules < whole) {
        uint32_t left = whole - m->granules;
        if (left > SPW_PIECE_GRANULES)
            left = SPW_PIECE_GRANULES;
        int r = -ENOMEM;
        if (bytes_of(h, left) <= unmade_bytes(h))
            r = make_and_append(h, released ? largest_power_of_two(left) : left, m);
        if (r == 0)
            continue;
        uint32_t larger = release_one(h, left);
        if (larger == 0)
            return r;
        released += larger;
    }
    if (released > missing)
        stock(h, (uint32_t)(released - missing));
    return 0;
}

/* Appends pooled pieces of at most *missing granules, the largest first, and takes them off *missing. */
static int take_pooled(struct spw_handles *h, uint32_t *missing, struct spw_memory *m)
{
    for (uint32_t i = bin_position(h, *missing + 1); i > 0 && *missing; i--) {
        struct spw_handle_bin *bin = &h->bins[i - 1];
        while (bin->count && bin->granules <= *missing) {
            struct spw_piece piece = take_from(h, bin);
            int r = spw_memory_append(m, piece);
            if (r < 0) {
                pool(h, piece);
                return r;
            }
            *missing -= piece.granules;
        }
    }
    return 0;
}

uint32_t spw_handles_unserved_locked(const struct spw_handles *h, uint32_t granules)
{
    if (bytes_of(h, granules) <= unmade_bytes(h))
        return 0;
    for (uint32_t i = bin_position(h, granules + 1); i > 0 && granules; i--) {
        const struct spw_handle_bin *bin = &h->bins[i - 1];
        const uint32_t fit = granules / bin->granules;
        granules -= (fit < bin->count ? fit : bin->count) * bin->granules;
    }
    return granules;
}

int spw_handles_take_locked(struct spw_handles *h, uint32_t granules, struct spw_memory *memory)
{
    uint32_t had = memory->count, missing = granules;
    if (bytes_of(h, granules) > spw_handles_room_locked(h))
        return -ENOMEM;
    int r = take_pooled(h, &missing, memory);
    if (r == 0 && missing)
        r = make_missing(h, missing, memory);
    if (r == 0)
        return 0;
    spw_handles_give_locked(h, memory, had);
    if (r != -ENOSPC)
        return r;
    learn_what_lacks(h);
    return -ENOMEM;
}

void spw_handles_give_locked(struct spw_handles *h, struct spw_memory *memory, uint32_t keep)
{
    while (memory->count > keep)
        pool(h, spw_memory_remove_last(memory));
}

bool spw_handles_ask_again_locked(struct spw_handles *h)
{
    bool any = h->lacking_bytes > 0;
    h->budget_bytes += h->lacking_bytes;
    h->lacking_bytes = 0;
    return any;
}

uint64_t spw_handles_room_locked(const struct spw_handles *h)
{
    uint64_t used = h->made_bytes - h->pooled_bytes;
    return h->budget_bytes > used ? h->budget_bytes - used : 0;
}

void spw_handles_fit_locked(struct spw_handles *h)
{
    release_until(h, h->budget_bytes, UINT64_MAX);
}

void spw_handles_trim_locked(struct spw_handles *h, uint64_t keep_bytes)
{
    release_until(h, UINT64_MAX, keep_bytes);
}

void spw_handles_reset(struct spw_handles *h)
{
    for (uint32_t i = 0; i < h->bin_count; i++)
        free(h->bins[i].handles);
    free(h->bins);
    *h = (struct spw_handles){0};
}
