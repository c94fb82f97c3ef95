/* phys_pool.c - the pool of pieces of physical memory of one device, and making and releasing them. */
#include "phys_pool.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ask.h"
#include "grow.h"
#include "lock.h"
#include "log.h"
#include "phys_pool_parts.h"
#include "remake.h"
#include "result.h"

/* ---- the pool ---- */

uint32_t spw_phys_pool_bin_position(const struct spw_phys_pool *h, uint32_t granules)
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

static struct spw_phys_bin *bin_of(struct spw_phys_pool *h, uint32_t granules)
{
    uint32_t i = spw_phys_pool_bin_position(h, granules);
    if (i < h->bin_count && h->bins[i].granules == granules)
        return &h->bins[i];
    if (SPW_GROW(h->bins, h->bin_room, h->bin_count + 1) < 0)
        return NULL;
    memmove(&h->bins[i + 1], &h->bins[i], (h->bin_count - i) * sizeof(*h->bins));
    h->bins[i] = (struct spw_phys_bin){.granules = granules};
    h->bin_count++;
    return &h->bins[i];
}

static void release(struct spw_phys_pool *h, struct spw_piece piece)
{
    static int warned;
    uint64_t bytes = spw_phys_pool_bytes_of(h, piece.granules);
    CUresult r = SPW_ASK(cuMemRelease, piece.handle);
    if (r != CUDA_SUCCESS) {
        /* The memory may still be taken, so it continues to count. */
        spw_warn_once(&warned,
                      "the driver refused to release %llu bytes of device memory (error %d); they count as used" SPW_SEE(
                          "driver-refused"),
                      (unsigned long long)bytes, (int)r);
        return;
    }
    h->made_bytes -= bytes;
    h->made_count--;
    h->made_of[piece.granules]--;
}

void spw_phys_pool_release(struct spw_phys_pool *h, struct spw_piece piece)
{
    if (spw_alias_map_any(&h->aliases) && spw_alias_map_defer_release(&h->aliases, piece.handle))
        h->lingering_bytes += spw_phys_pool_bytes_of(h, piece.granules);
    else
        release(h, piece);
}

void spw_phys_pool_alias_ends_locked(struct spw_phys_pool *h, struct spw_piece piece, const struct spw_deferred_unmap *stale)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    if (!spw_alias_map_remove(&h->aliases, piece.handle, stale))
        return;
    h->lingering_bytes -= spw_phys_pool_bytes_of(h, piece.granules);
    release(h, piece);
}

struct spw_piece spw_phys_pool_take_from(struct spw_phys_pool *h, struct spw_phys_bin *bin)
{
    h->pooled_bytes -= spw_phys_pool_bytes_of(h, bin->granules);
    return (struct spw_piece){bin->handles[--bin->count], bin->granules};
}

bool spw_phys_pool_take_releasable_from(struct spw_phys_pool *h, struct spw_phys_bin *bin, struct spw_piece *ret_piece)
{
    for (uint32_t i = bin->count; i-- > 0;) {
        const CUmemGenericAllocationHandle handle = bin->handles[i];
        if (spw_alias_map_has(&h->aliases, handle))
            continue;
        bin->handles[i] = bin->handles[bin->count - 1];
        bin->handles[bin->count - 1] = handle;
        *ret_piece = spw_phys_pool_take_from(h, bin);
        return true;
    }
    return false;
}

void spw_phys_pool_keep(struct spw_phys_pool *h, struct spw_piece piece)
{
    struct spw_phys_bin *bin = bin_of(h, piece.granules);
    if (!bin || SPW_GROW(bin->handles, bin->room, bin->count + 1) < 0) { /* no memory to remember it */
        spw_phys_pool_release(h, piece);
        return;
    }
    bin->handles[bin->count++] = piece.handle;
    h->pooled_bytes += spw_phys_pool_bytes_of(h, piece.granules);
}

/* The largest pooled pieces are released first, as few calls make much room. Pieces whose release is deferred are released
 * later by themselves. */
static void release_until(struct spw_phys_pool *h, uint64_t made_limit, uint64_t pooled_limit)
{
    for (uint32_t i = h->bin_count; i > 0; i--) {
        struct spw_phys_bin *bin = &h->bins[i - 1];
        while (bin->count && (h->made_bytes - h->lingering_bytes > made_limit || h->pooled_bytes > pooled_limit))
            spw_phys_pool_release(h, spw_phys_pool_take_from(h, bin));
    }
}

/* ---- making ---- */

/* Returns -ENOSPC if the device has no room. */
int spw_phys_pool_make(struct spw_phys_pool *h, uint32_t granules, struct spw_piece *ret_piece)
{
    CUmemAllocationProp prop;
    memset(&prop, 0, sizeof(prop));
    prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    prop.location.id = h->device;
    CUmemGenericAllocationHandle handle = 0;
    int r = spw_result(SPW_ASK(cuMemCreate, &handle, spw_phys_pool_bytes_of(h, granules), &prop, 0));
    if (r < 0)
        return r == -ENOMEM ? -ENOSPC : r;
    h->made_bytes += spw_phys_pool_bytes_of(h, granules);
    h->made_count++;
    h->made_of[granules]++;
    if (h->made_bytes_peak < h->made_bytes)
        h->made_bytes_peak = h->made_bytes;
    *ret_piece = (struct spw_piece){handle, granules};
    return 0;
}

/* Others have taken memory on the device: no more can be had than what exists. */
void spw_phys_pool_learn_what_lacks(struct spw_phys_pool *h)
{
    static int warned;
    if (h->made_bytes == 0 || h->made_bytes >= h->budget_bytes)
        return;
    spw_warn_once(&warned,
                  "device %d has less memory left than the budget says: %llu bytes are used from here on, and more when "
                  "nothing else helps" SPW_SEE("less-memory"),
                  h->device, (unsigned long long)h->made_bytes);
    h->lacking_bytes += h->budget_bytes - h->made_bytes;
    h->budget_bytes = h->made_bytes;
}

uint64_t spw_phys_pool_releasable_bytes(const struct spw_phys_pool *h, uint32_t first_bin, uint32_t end_bin)
{
    const bool any = spw_alias_map_any(&h->aliases);
    uint64_t granules = 0;
    for (uint32_t i = first_bin; i < end_bin; i++)
        for (uint32_t k = 0; k < h->bins[i].count; k++)
            granules += any && spw_alias_map_has(&h->aliases, h->bins[i].handles[k]) ? 0 : h->bins[i].granules;
    return granules << h->granule_shift;
}

/* ---- taking and giving ---- */

uint32_t spw_phys_pool_unserved_locked(const struct spw_phys_pool *h, uint32_t granules)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    const uint64_t unmade_bytes = spw_phys_pool_unmade_bytes(h), bytes = spw_phys_pool_bytes_of(h, granules);
    if (bytes <= unmade_bytes || bytes <= unmade_bytes + spw_phys_pool_releasable_bytes(h, 0, h->bin_count))
        return 0;
    for (uint32_t i = spw_phys_pool_bin_position(h, granules + 1); i > 0 && granules; i--) {
        const struct spw_phys_bin *bin = &h->bins[i - 1];
        const uint32_t fit = granules / bin->granules;
        granules -= (fit < bin->count ? fit : bin->count) * bin->granules;
    }
    return granules;
}

static uint32_t pooled_of(const struct spw_phys_pool *h, uint32_t granules)
{
    const uint32_t i = spw_phys_pool_bin_position(h, granules);
    return i < h->bin_count && h->bins[i].granules == granules ? h->bins[i].count : 0;
}

bool spw_phys_pool_suits_locked(const struct spw_phys_pool *h, uint32_t granules)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    const uint32_t rest = granules % SPW_PIECE_GRANULES, whole = granules / SPW_PIECE_GRANULES;
    return spw_phys_pool_bytes_of(h, granules) <= spw_phys_pool_unmade_bytes(h) ||
           ((!rest || pooled_of(h, rest)) && (!whole || pooled_of(h, SPW_PIECE_GRANULES) >= whole));
}

bool spw_phys_pool_has_pooled_locked(const struct spw_phys_pool *h, struct spw_piece piece)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    const uint32_t i = spw_phys_pool_bin_position(h, piece.granules);
    if (i == h->bin_count || h->bins[i].granules != piece.granules)
        return false;
    for (uint32_t k = 0; k < h->bins[i].count; k++)
        if (h->bins[i].handles[k] == piece.handle)
            return true;
    return false;
}

int spw_phys_pool_take_locked(struct spw_phys_pool *h, uint32_t granules, struct spw_memory *memory)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    const uint32_t had = memory->count, whole = memory->granules + granules;
    if (spw_phys_pool_bytes_of(h, granules) > spw_phys_pool_room_locked(h))
        return -ENOMEM;
    int r = 0;
    while (r == 0 && memory->granules < whole) {
        const uint32_t left = whole - memory->granules;
        r = spw_pieces_take_locked(h, left < SPW_PIECE_GRANULES ? left : SPW_PIECE_GRANULES, memory);
    }
    if (r == 0)
        return 0;
    spw_phys_pool_give_locked(h, memory, had);
    if (r != -ENOSPC)
        return r;
    spw_phys_pool_learn_what_lacks(h);
    return -ENOMEM;
}

void spw_phys_pool_give_locked(struct spw_phys_pool *h, struct spw_memory *memory, uint32_t keep)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    while (memory->count > keep)
        spw_phys_pool_keep(h, spw_memory_remove_last(memory));
}

int spw_phys_pool_split_locked(struct spw_phys_pool *h, struct spw_memory *memory, uint32_t keep, struct spw_memory *rest)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    return spw_memory_split(memory, keep, rest);
}

int spw_phys_pool_join_locked(struct spw_phys_pool *h, struct spw_memory *into, struct spw_memory *from)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    return spw_memory_join(into, from);
}

bool spw_phys_pool_ask_again_locked(struct spw_phys_pool *h)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    bool any = h->lacking_bytes > 0;
    h->budget_bytes += h->lacking_bytes;
    h->lacking_bytes = 0;
    return any;
}

uint64_t spw_phys_pool_room_locked(const struct spw_phys_pool *h)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    uint64_t used = h->made_bytes - h->pooled_bytes;
    return h->budget_bytes > used ? h->budget_bytes - used : 0;
}

void spw_phys_pool_fit_locked(struct spw_phys_pool *h)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    release_until(h, h->budget_bytes, UINT64_MAX);
}

void spw_phys_pool_trim_locked(struct spw_phys_pool *h, uint64_t keep_bytes)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    release_until(h, UINT64_MAX, keep_bytes);
}

void spw_phys_pool_reset(struct spw_phys_pool *h)
{
    for (uint32_t i = 0; i < h->bin_count; i++)
        free(h->bins[i].handles);
    free(h->bins);
    spw_alias_map_reset(&h->aliases);
    *h = (struct spw_phys_pool){0};
}
