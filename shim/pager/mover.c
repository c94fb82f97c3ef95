/* mover.c - maps, unmaps and copies blocks, and manages their host copies. */
#include "mover.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lock.h"
#include "ask.h"
#include "bandwidth.h"
#include "context.h"
#include "counters.h"
#include "driver.h"
#include "hostpool.h"
#include "log.h"
#include "clean_check.h"
#include "residency.h"
#include "result.h"
#include "deferred_unmap.h"
#include "uses_wait.h"

struct spw_moved spw_moved;

/* ---- host copies ---- */

void spw_mover_drop_host_copy_locked(struct spw_block *b)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    if (b->host_copy)
        spw_hostpool_give(spw_host_memory_pool_locked(), b->host_copy, b->host_bytes);
    b->host_copy = NULL;
    b->host_bytes = 0;
    b->host_copy_valid = false;
    spw_clean_check_void_locked(b);
    b->object.attention &= ~(uint32_t)SPW_COPYING;
}

void spw_mover_keep_locked(struct spw_device *d, struct spw_block *b)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    spw_clean_check_cancel_locked(b);
    spw_block_stay_locked(b);
    if (b->host_copy && !spw_copies_done_locked(d, b))
        b->object.attention |= SPW_COPYING;
}

int spw_mover_order_locked(struct spw_device *d, struct spw_block *b, struct spw_stream *s, bool writes)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    if (!(b->object.attention & (SPW_RESTORING | SPW_COPYING | SPW_FENCED)))
        return 0;
    if (spw_copies_done_locked(d, b)) {
        spw_block_arrived_locked(b);
        b->object.attention &= ~(uint32_t)(SPW_COPYING | SPW_FENCED);
        spw_clean_check_copies_done_locked(d, b);
        return 0;
    }
    struct spw_uses copies = spw_copies_locked(d, b, writes);
    return spw_uses_order_locked(&copies, s);
}

static bool is_void(const struct spw_block *b)
{
    return spw_object_dirty(&b->object) || !b->host_copy_valid || spw_object_is_cached(&b->object);
}

/* The block is resident, and nothing that was made again is about to be compared with its host copy. */
static bool can_do_without_host_copy(const struct spw_block *b)
{
    return b->host_copy && !(b->object.attention & (SPW_ABSENT | SPW_EVICTING | SPW_UNVERIFIED));
}

/* Drops host copies of resident blocks that have no copy in flight, void ones or `any`, until `most` bytes are given
 * back. */
static uint64_t drop_idle_host_copies(struct spw_device *d, bool any, uint64_t most)
{
    uint64_t given = 0;
    for (uint32_t i = 0; i < d->block_count && given < most; i++) {
        struct spw_block *b = d->blocks[i];
        if (!can_do_without_host_copy(b) || !(any || is_void(b)) || !spw_copies_done_locked(d, b))
            continue;
        if (!is_void(b))
            spw_object_soil(&b->object);
        given += b->host_bytes;
        spw_mover_drop_host_copy_locked(b);
    }
    return given;
}

/* Returns the copies in flight that alone keep a host copy from being dropped: those of the block that came back first. */
static bool find_copies_in_flight(const struct spw_device *d, struct spw_uses *ret_copies)
{
    const struct spw_block *first = NULL;
    for (uint32_t i = 0; i < d->block_count; i++) {
        const struct spw_block *b = d->blocks[i];
        if (can_do_without_host_copy(b) && !spw_uses_gated_locked(&b->object.uses) &&
            (!first || b->restore_number < first->restore_number))
            first = b;
    }
    if (first)
        *ret_copies = spw_copies_locked(d, first, true);
    return first;
}

int spw_mover_spare_host_copies_unlocking(const struct spw_device *d, uint64_t bytes)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    struct spw_uses copies;
    uint64_t given = 0;
    for (int i = 0; i < SPW_MAX_DEVICES && given < bytes; i++)
        given += drop_idle_host_copies(&spw_devices[(d->ordinal + i) % SPW_MAX_DEVICES], true, bytes - given);
    if (given)
        return 1;
    for (int i = 0; i < SPW_MAX_DEVICES; i++) {
        if (!find_copies_in_flight(&spw_devices[(d->ordinal + i) % SPW_MAX_DEVICES], &copies))
            continue;
        const int r = spw_uses_wait_a_while_unlocking(&copies);
        return r < 0 ? r : 1;
    }
    return 0;
}

static bool drop_void_host_copies(void)
{
    uint64_t given = 0;
    for (int i = 0; i < SPW_MAX_DEVICES; i++)
        given += drop_idle_host_copies(&spw_devices[i], false, UINT64_MAX);
    return given;
}

/* True if no copy in flight writes or reads the host copy. */
static bool can_lie_elsewhere_on_host(struct spw_device *d, const struct spw_block *b)
{
    return b->host_copy && spw_copies_done_locked(d, b);
}

static int by_host_copy(const void *a, const void *b)
{
    const struct spw_block *x = *(struct spw_block *const *)a, *y = *(struct spw_block *const *)b;
    return x->host_copy < y->host_copy ? -1 : x->host_copy > y->host_copy;
}

/* Moves host copies together if there is room for `bytes` in all, though not in one place. */
static bool close_gaps_on_host(size_t bytes)
{
    struct spw_hostpool *pool = spw_host_memory_pool_locked();
    size_t count = 0, room = 0;
    bool any = false;
    if (!pool || bytes > spw_hostpool_limit(pool) - spw_hostpool_bytes_in_use(pool))
        return false;
    for (int i = 0; i < SPW_MAX_DEVICES; i++)
        room += spw_devices[i].block_count;
    struct spw_block **list = malloc((room + 1) * sizeof(struct spw_block *));
    for (int i = 0; list && i < SPW_MAX_DEVICES; i++)
        for (uint32_t k = 0; k < spw_devices[i].block_count; k++)
            if (can_lie_elsewhere_on_host(&spw_devices[i], spw_devices[i].blocks[k]))
                list[count++] = spw_devices[i].blocks[k];
    if (count)
        qsort(list, count, sizeof(*list), by_host_copy);
    for (size_t i = 0; i < count; i++) {
        void *from = list[i]->host_copy;
        list[i]->host_copy = spw_hostpool_move(pool, from, list[i]->host_bytes);
        any |= list[i]->host_copy != from;
    }
    free(list);
    return any;
}

enum { PASSES = 8 }; /* each move leaves a gap for another */

static int host_take_or_recycle(size_t bytes, void **ret_address)
{
    int r = spw_host_memory_take_locked(bytes, ret_address);
    if (r < 0 && drop_void_host_copies())
        r = spw_host_memory_take_locked(bytes, ret_address);
    for (int i = 0; i < PASSES && r < 0 && close_gaps_on_host(bytes); i++)
        r = spw_host_memory_take_locked(bytes, ret_address);
    return r;
}

/* ---- a context goes ---- */

/* Tensors of other contexts may have copies on this stream: these complete first. */
static void end_stream(const struct spw_stream *s)
{
    if (!s)
        return;
    (void)SPW_ASK(cuStreamSynchronize, s->handle);
    (void)SPW_ASK(cuStreamDestroy_v2, s->handle);
}

/* The next copy streams count from the beginning again. */
static void forget_copies(struct spw_device *d)
{
    for (uint32_t i = 0; i < d->block_count; i++) {
        spw_block_arrived_locked(d->blocks[i]);
        d->blocks[i]->object.attention &= ~(uint32_t)SPW_COPYING;
        d->blocks[i]->restore_number = d->blocks[i]->leave_number = 0;
        d->blocks[i]->leave_stream = 0;
        d->blocks[i]->proof.reader = 0;
        if (d->blocks[i]->way == SPW_QUEUE_RETURNED)
            d->blocks[i]->way = SPW_QUEUE_NONE;
    }
}

void spw_mover_context_gone_locked(CUcontext context)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    spw_bandwidth_context_gone_locked(context);
    for (int i = 0; i < SPW_MAX_DEVICES; i++) {
        struct spw_mover *m = spw_devices[i].mover;
        if (!m || m->context != context)
            continue;
        for (unsigned k = 0; k < SPW_OUTS; k++)
            end_stream(m->outs[k]);
        end_stream(m->in);
        end_stream(m->beside);
        spw_unmap_sweep_locked(&spw_devices[i], 0);
        *m = (struct spw_mover){0}; /* the records of the streams go with the context */
        forget_copies(&spw_devices[i]);
    }
}

/* The host copy of a cached block stays until the block's next owner, who waits for the copy, or until that copy is
 * done. */
void spw_mover_give_back_host_memory_locked(void)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    for (int i = 0; i < SPW_MAX_DEVICES; i++)
        for (uint32_t k = 0; k < spw_devices[i].block_count; k++) {
            struct spw_block *b = spw_devices[i].blocks[k];
            if (b->object.attention == SPW_FREE && b->holds == 0 && spw_uses_done_locked(&b->object.uses))
                spw_mover_drop_host_copy_locked(b);
        }
    if (spw_host_memory_pool_locked())
        (void)spw_hostpool_trim(spw_host_memory_pool_locked(), 0);
}

/* ---- maps ---- */

static unsigned access_list(const struct spw_device *d, CUmemAccessDesc *list)
{
    unsigned n = 0;
    for (int i = 0; i < SPW_MAX_DEVICES; i++) {
        if (i != d->ordinal && !(d->peers >> i & 1))
            continue;
        list[n].location.type = CU_MEM_LOCATION_TYPE_DEVICE;
        list[n].location.id = i;
        list[n++].flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    }
    return n;
}

static int set_access(const struct spw_device *d, const struct spw_block *b)
{
    CUmemAccessDesc list[SPW_MAX_DEVICES];
    size_t bytes = (size_t)b->memory.granules << d->granule_shift;
    return spw_result(SPW_ASK(cuMemSetAccess, b->address, bytes, list, access_list(d, list)));
}

/* Maps the block's pieces after the first *mapped of them, and counts them there. */
static int map_pieces(const struct spw_device *d, const struct spw_block *b, uint32_t *mapped)
{
    uint64_t done = 0;
    for (uint32_t i = 0; i < b->memory.count; i++) {
        struct spw_piece piece = spw_memory_piece(&b->memory, i);
        uint64_t bytes = (uint64_t)piece.granules << d->granule_shift;
        if (i >= *mapped) {
            int r = spw_result(SPW_ASK(cuMemMap, b->address + done, bytes, 0, piece.handle, 0));
            if (r < 0)
                return r;
            ++*mapped;
        }
        done += bytes;
    }
    return 0;
}

/* Gives back all pieces of a block, of which the first `mapped` are mapped; where the driver refuses to unmap, the others
 * only. */
static int give_back(struct spw_device *d, struct spw_block *b, uint32_t mapped)
{
    spw_phys_pool_give_locked(&d->handles, &b->memory, mapped);
    size_t bytes = (size_t)b->memory.granules << d->granule_shift;
    int r = bytes ? spw_result(SPW_ASK(cuMemUnmap, b->address, bytes)) : 0;
    if (r == 0)
        spw_phys_pool_give_locked(&d->handles, &b->memory, 0);
    return r;
}

/* Fences the block if others may still use the pieces that were taken from the pool after its first `had`. */
static void fence(struct spw_device *d, struct spw_block *b, uint32_t had)
{
    b->fence = (struct spw_uses){0};
    for (uint32_t i = had; spw_alias_map_any(&d->handles.aliases) && i < b->memory.count; i++)
        spw_unmap_fence_locked(d, spw_memory_piece(&b->memory, i).handle, &b->fence);
    if (!b->fence.count && !b->fence.everybody)
        return;
    b->object.attention |= SPW_FENCED;
    spw_uses_merge_locked(&b->object.uses, &b->fence);
}

/* A mapping has failed, perhaps because it was the second one of that memory. */
static int refuse_aliases(struct spw_device *d)
{
    spw_info("device %d: the driver has refused to map memory, some of which is mapped elsewhere: it is unmapped first from "
             "here on",
             d->ordinal);
    d->stale.refused = true;
    spw_unmap_allow_deferral_locked(d, false);
    return -EBUSY;
}

int spw_mover_attach_locked(struct spw_device *d, struct spw_block *b)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    const uint32_t had = b->memory.count;
    uint32_t mapped = had, missing = b->granules - b->memory.granules;
    int r = spw_unmap_now_locked(d, b);
    if (r == 0 && missing && !spw_phys_pool_suits_locked(&d->handles, missing))
        spw_unmap_sweep_locked(d, 0); /* a piece that is no longer mapped anywhere can be made into one that fits */
    if (r == 0 && missing)
        r = spw_phys_pool_take_locked(&d->handles, missing, &b->memory);
    if (r < 0)
        return r;
    r = map_pieces(d, b, &mapped);
    if (r < 0 && spw_alias_map_any(&d->handles.aliases))
        r = refuse_aliases(d);
    if (r == 0)
        r = set_access(d, b);
    if (r < 0) {
        if (!had || spw_uses_done_locked(&b->object.uses)) /* the memory that it had kept may be in use */
            (void)give_back(d, b, mapped);                 /* on failure the block keeps it */
        return r;
    }
    spw_moved.map_count++;
    spw_block_become_locked(b, SPW_RESIDENCY_RESIDENT);
    fence(d, b, had);
    spw_object_clean(&b->object);
    return 0;
}

int spw_mover_detach_locked(struct spw_device *d, struct spw_block *b)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    int r = -EBUSY;
    if (spw_unmap_defer_locked(d, b))
        r = 0;
    else if (!d->stale.allowed || spw_uses_done_locked(&b->object.uses))
        r = give_back(d, b, b->memory.count);
    if (r < 0)
        return r;
    spw_moved.unmap_count++;
    if (b->drops && !b->has_true_copy)
        spw_mover_drop_host_copy_locked(b); /* of other bytes, if there is one */
    b->object.attention &= ~(uint32_t)(SPW_COPYING | SPW_FENCED | SPW_LOOKED);
    if (spw_object_is_cached(&b->object))
        b->object.attention &= ~(uint32_t)SPW_FREE;
    spw_block_become_locked(b, b->drops             ? SPW_RESIDENCY_DROPPED
                               : b->host_copy_valid ? SPW_RESIDENCY_EVICTED
                                                    : SPW_RESIDENCY_EMPTY);
    spw_object_clean(&b->object);
    spw_clean_check_gone_locked(d, b);
    return 0;
}

int spw_mover_enable_peer_locked(int user, int owner)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    struct spw_device *d = &spw_devices[owner];
    int r = 0;
    spw_devices[owner].peers |= (uint64_t)1 << user;
    for (uint32_t i = 0; i < d->block_count && r == 0; i++)
        if (d->blocks[i]->memory.count)
            r = set_access(d, d->blocks[i]);
    return r;
}

static void connect_one_way(int user, int owner)
{
    int can = 0;
    if (spw_devices[owner].peers >> user & 1)
        return;
    if (SPW_ASK_QUIETLY(cuDeviceCanAccessPeer, &can, user, owner) == CUDA_SUCCESS && can)
        (void)spw_mover_enable_peer_locked(user, owner);
}

void spw_mover_connect_locked(int a, int b)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    connect_one_way(a, b);
    connect_one_way(b, a);
}

/* ---- copies ---- */

static size_t least_piece_bytes(void)
{
    static const enum spw_call copies[] = {SPW_CALL_cuMemcpyHtoD_v2, SPW_CALL_cuMemcpyHtoD_v2_ptds,
                                           SPW_CALL_cuMemcpyHtoDAsync_v2, SPW_CALL_cuMemcpyHtoDAsync_v2_ptsz};
    const uint64_t ours = spw_moved.out_count + spw_moved.in_count;
    uint64_t of_the_program = 0;
    for (size_t i = 0; i < sizeof(copies) / sizeof(copies[0]); i++)
        of_the_program += spw_calls_count(copies[i]);
    return SPW_PIECE_OFTEN * of_the_program < ours ? SPW_PIECE_LEAST_ALONE : SPW_PIECE_LEAST;
}

static size_t piece_bytes(int device, bool out)
{
    const double carried = device < 0 ? SPW_PIECE_MOST : SPW_PIECE_US * spw_bandwidth_one_way_locked(device, out);
    if (carried >= SPW_PIECE_MOST)
        return SPW_PIECE_MOST;
    const size_t bytes = (size_t)carried & ~((size_t)SPW_PIECE_LEAST - 1);
    const size_t least = bytes < SPW_PIECE_LEAST_ALONE ? least_piece_bytes() : SPW_PIECE_LEAST;
    return bytes < least ? least : bytes;
}

int spw_mover_copy_range_locked(struct spw_stream *s, CUdeviceptr address, void *host_memory, size_t bytes, bool out)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    char *host = host_memory;
    const size_t piece = bytes > SPW_PIECE_LEAST ? piece_bytes(s->device, out) : SPW_PIECE_LEAST;
    for (size_t done = 0; done < bytes;) {
        size_t n = bytes - done;
        size_t whole = spw_hostpool_contiguous_bytes(spw_host_memory_pool_locked(), host + done);
        if (n > piece)
            n = piece;
        if (whole && n > whole)
            n = whole;
        int r = spw_result(out ? SPW_ASK(cuMemcpyDtoHAsync_v2, host + done, address + done, n, s->handle)
                               : SPW_ASK(cuMemcpyHtoDAsync_v2, address + done, host + done, n, s->handle));
        if (r < 0)
            return r;
        done += n;
    }
    return 0;
}

static int copy_on(struct spw_stream *s, struct spw_block *b, bool out)
{
    struct spw_context_guard guard;
    int r = spw_context_enter(&guard, s->context);
    if (r < 0)
        return r;
    struct spw_bandwidth_pair *pair =
        spw_bandwidth_begin_locked(b->object.device, out, b->size_bytes, s->context, s->handle);
    r = spw_mover_copy_range_locked(s, b->address, b->host_copy, b->size_bytes, out);
    spw_bandwidth_end_locked(pair, s->handle, r == 0);
    spw_context_leave(&guard);
    return r;
}

int spw_mover_copy_out_locked(struct spw_device *d, struct spw_block *b)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    struct spw_stream *s;
    int r = spw_copy_streams_out_of_locked(d, b, &s);
    if (r < 0)
        return r;
    const bool gated = spw_uses_gated_locked(&b->object.uses);
    if (!b->host_copy) {
        r = host_take_or_recycle(b->size_bytes, &b->host_copy);
        if (r < 0) {
            spw_moved.host_refused_count++;
            return -ENOMEM;
        }
        b->host_bytes = b->size_bytes;
    }
    b->host_copy_valid = false;
    spw_clean_check_copying_locked(d, b);
    r = spw_uses_order_locked(&b->object.uses, s);
    if (r < 0) {
        spw_clean_check_void_locked(b);
        return r;
    }
    r = copy_on(s, b, true);
    (void)spw_stream_next_locked(s);
    /* Pieces that were submitted are in flight even if a later one failed, so they count as a use in any case. They come
     * after all other uses, so whoever waits for them need not look at those. */
    spw_copy_streams_reads_locked(b, s, gated);
    spw_uses_gather_locked(&b->object.uses, s, b->leave_number);
    if (r < 0) {
        (void)SPW_ASK(cuStreamSynchronize, s->handle);
        spw_clean_check_void_locked(b);
        return r;
    }
    b->host_copy_valid = true;
    spw_object_clean(&b->object);
    spw_block_become_locked(b, SPW_RESIDENCY_EVICTING);
    spw_moved.out_bytes += b->size_bytes;
    d->out_bytes += b->size_bytes;
    spw_moved.out_count++;
    return 0;
}

int spw_mover_out_after_in_locked(struct spw_device *d)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    const struct spw_mover *m = d->mover;
    struct spw_uses copies = {0};
    if (!m || !m->in || !m->out)
        return 0;
    spw_uses_add_locked(&copies, m->in, m->in->begun);
    return spw_uses_order_locked(&copies, m->out);
}

int spw_mover_copy_in_locked(struct spw_device *d, struct spw_block *b)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    int r = spw_copy_streams_ready_locked(d, b->context);
    if (r < 0)
        return r;
    struct spw_stream *s = d->mover->in;
    if (b->object.attention & SPW_FENCED)
        r = spw_uses_order_locked(&b->fence, s);
    if (r < 0)
        return r;
    r = copy_on(s, b, false);
    b->restore_number = spw_stream_next_locked(s);
    spw_uses_add_locked(&b->object.uses, s, b->restore_number);
    if (r < 0) {
        (void)SPW_ASK(cuStreamSynchronize, s->handle);
        return r;
    }
    b->object.attention &= ~(uint32_t)SPW_FENCED;
    spw_block_become_locked(b, SPW_RESIDENCY_RESTORING);
    spw_moved.in_bytes += b->size_bytes;
    d->in_bytes += b->size_bytes;
    spw_moved.in_count++;
    return 0;
}

void spw_mover_reset(void)
{
    spw_host_memory_reset();
    memset(&spw_moved, 0, sizeof(spw_moved));
    spw_bandwidth_reset();
}
