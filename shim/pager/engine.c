/* engine.c - begins and ends operations: the quick way if everything is resident, the slow way if something is not. */
#include "engine.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "arrivals.h"
#include "capture.h"
#include "devices.h"
#include "transfers.h"
#include "context.h"
#include "follower.h"
#include "lock.h"
#include "mover.h"
#include "clean_check.h"
#include "fast_path.h"
#include "give_way.h"
#include "owed.h"
#include "rematerialiser.h"
#include "reclaim.h"
#include "refused.h"
#include "scan.h"
#include "seek.h"
#include "slab.h"
#include "deferred_unmap.h"
#include "status.h"
#include "uses_wait.h"
#include "working_set.h"

enum { QUICK_HITS = 64, ATTEMPTS = 3 };

/* A result beside 0 and failures: the operation touches devices whose slow locks are not held. */
enum { MORE_DEVICES = 1 };

struct spw_engine_counts spw_engine_counts;

/* Returns the replays that ran beside the program before the stream was known, for the first operation of that stream to be
 * ordered after. NULL: it comes after them already, or there are none. */
static struct spw_uses *replays_before(const struct spw_op *op)
{
    if (!spw_plan_follower_any || op->stream->place || spw_is_capturing(op->stream->handle))
        return NULL;
    struct spw_device *d = spw_device_of_stream_locked(op->stream);
    return d && !spw_uses_only_locked(&d->replays, op->stream) ? &d->replays : NULL;
}

/* ---- the quick way ---- */

static bool begin_quickly(struct spw_op *op)
{
    struct spw_fast_path q;
    if (op->count > QUICK_HITS || op->everything || spw_op_follows_tables(op))
        return false;
    if (spw_versions_kept && spw_versions_endangers(op))
        return false;
    spw_fast_path_begin(&q, op->stream);
    for (unsigned i = 0; i < op->count; i++)
        if (!spw_fast_path_use(&q, op->hits[i], spw_op_writes_hit(op, i)))
            return false;
    return true;
}

/* ---- the slow way ---- */

static void note_use(struct spw_object *o, struct spw_stream *s, uint64_t number, bool writes)
{
    spw_object_use(o, spw_tick, writes);
    spw_uses_add_locked(&o->uses, s, number);
}

int spw_engine_make_resident_unlocking(struct spw_device *d, struct spw_block *b)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    enum { TIMES = 8 }; /* others may take the room that was made, and the device may have less memory than it should */
    int r = -ENOMEM;
    if (b->object.attention & SPW_DROPPED)
        return spw_rematerialise_unlocking(d, b, NULL);
    for (int i = 0; i < TIMES && (r == -ENOMEM || r == -EBUSY); i++) {
        r = r == -EBUSY ? spw_unmap_clear_unlocking(d, b, i > 1) : 0;
        if (r == 0)
            r = spw_reclaim_make(d, spw_block_lacking_bytes(d, b));
        if (r < 0)
            return r;
        r = spw_transfer_bring_in_locked(d, b);
    }
    return r;
}

int spw_engine_make_ready_unlocking(struct spw_device *d, struct spw_block *b)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    int r = spw_engine_make_resident_unlocking(d, b);
    if (r < 0 || !(b->object.attention & SPW_FENCED))
        return r;
    struct spw_uses fence = b->fence;
    b->holds++;
    r = spw_uses_wait_unlocking(&fence);
    b->holds--;
    if (r == 0)
        b->object.attention &= ~(uint32_t)SPW_FENCED;
    return r;
}

static uint64_t absent_bytes(const struct spw_working_set *set, const struct spw_device *d)
{
    uint64_t bytes = 0;
    for (unsigned i = 0; i < set->count; i++) {
        struct spw_object *o = set->list[i].object;
        if (o->kind == SPW_KIND_BLOCK && o->device == d->ordinal && o->attention & SPW_ABSENT)
            bytes += spw_block_lacking_bytes(d, spw_block_of(o));
    }
    return bytes;
}

/* Brings in what is absent of one device's part of the set. Makes room for all of it at once, so that copies out overlap.
 * Each block asks again, since others may have taken some of the room while the lock was released. If the host lacks memory
 * for all at once, it may suffice for one block after the other. */
static int bring_in_set(struct spw_working_set *set, struct spw_device *d, struct spw_stream *s)
{
    uint64_t bytes = absent_bytes(set, d);
    int r = bytes ? spw_reclaim_make(d, bytes) : 0;
    r = r == -ENOMEM ? 0 : r;
    for (unsigned i = 0; i < set->count && r == 0; i++) {
        struct spw_object *o = set->list[i].object;
        if (o->kind != SPW_KIND_BLOCK || o->device != d->ordinal || !(o->attention & SPW_ABSENT))
            continue;
        r = o->attention & SPW_DROPPED ? spw_rematerialise_unlocking(d, spw_block_of(o), s)
                                       : spw_engine_make_resident_unlocking(d, spw_block_of(o));
    }
    return r;
}

/* Puts back what small allocations of the slab are owed, and orders the stream after its fence. */
static int order_after_slab(struct spw_device *d, struct spw_slab *slab, struct spw_stream *s)
{
    int r = 0;
    if (slab->object.attention & SPW_FENCED) {
        r = spw_mover_order_locked(d, slab->backing, s, true);
        if (!(slab->backing->object.attention & SPW_FENCED))
            slab->object.attention &= ~(uint32_t)SPW_FENCED;
    }
    return r == 0 && slab->object.attention & SPW_OWED ? spw_owed_settle_locked(d, slab, s) : r;
}

/* Orders the stream after copies into what the operation touches, and after copies out of what it may change. A belief that
 * it does not change something is not enough: a kernel may count up in its tensor and back down again, which no digest
 * shows. */
static int order_after_copies(const struct spw_op *op, struct spw_working_set *set)
{
    struct spw_stream *s = op->stream;
    struct spw_uses *replays = replays_before(op);
    int r = replays ? spw_uses_order_locked(replays, s) : 0;
    for (unsigned i = 0; i < set->count && r == 0; i++) {
        struct spw_object *o = set->list[i].object;
        if (o->kind == SPW_KIND_BLOCK)
            r = spw_mover_order_locked(&spw_devices[o->device], spw_block_of(o), s, set->list[i].may_write);
        else if (o->attention)
            r = order_after_slab(&spw_devices[o->device], (struct spw_slab *)o, s);
    }
    return r;
}

/* Returns the devices that the operation may need room on, as far as its hits tell; for an unparsed launch that may be
 * any. */
static uint64_t devices_of(const struct spw_op *op)
{
    uint64_t devices = 0;
    for (int i = 0; op->everything && i < SPW_MAX_DEVICES; i++)
        if (spw_devices[i].ready)
            devices |= (uint64_t)1 << i;
    for (unsigned i = 0; i < op->count; i++) {
        struct spw_device *d = spw_device_of_address(op->hits[i]);
        if (d)
            devices |= (uint64_t)1 << d->ordinal;
    }
    return devices;
}

static void claim_set(struct spw_working_set *set, const struct spw_stream *s)
{
    for (unsigned i = 0; i < set->count; i++) {
        struct spw_object *o = set->list[i].object;
        if (o->kind != SPW_KIND_BLOCK)
            continue;
        spw_arrival_used_locked(&spw_devices[o->device], spw_block_of(o), s);
        spw_transfer_cancel_locked(&spw_devices[o->device], spw_block_of(o));
    }
}

/* Retries a driver call of ours that fails once. If another thread is in a driver call on a stream that is waited for,
 * gives it time to return. */
static int order_set_unlocking(const struct spw_op *op, struct spw_working_set *set)
{
    struct timespec start = {0};
    int r = order_after_copies(op, set);
    for (int attempt = 1; r < 0 && attempt < ATTEMPTS; attempt += r != -EAGAIN) {
        if (r == -EAGAIN && !spw_reclaim_let_others_finish_unlocking(&start))
            return -ETIMEDOUT;
        r = order_after_copies(op, set);
    }
    return r;
}

/* Has the host wait for copies into what the operation touches, and for everything else that puts bytes there: replays, and
 * what was submitted to the operation's own stream after its operation number `begun`. */
static int await_set_unlocking(const struct spw_op *op, struct spw_working_set *set, uint64_t begun)
{
    struct spw_uses own = {0};
    if (op->stream->begun != begun)
        spw_uses_add_locked(&own, op->stream, op->stream->begun);
    int r = spw_uses_wait_unlocking(&own);
    for (unsigned i = 0; i < set->count && r == 0; i++) {
        struct spw_object *o = set->list[i].object;
        struct spw_device *d = &spw_devices[o->device];
        struct spw_uses uses = d->replays, copies = {0};
        if (o->kind == SPW_KIND_BLOCK)
            copies = spw_copies_locked(d, spw_block_of(o), false);
        spw_uses_merge_locked(&uses, &copies);
        r = spw_uses_wait_unlocking(&uses);
    }
    return r;
}

static struct spw_block *first_dropped(const struct spw_working_set *set)
{
    for (unsigned i = 0; i < set->count; i++) {
        struct spw_object *o = set->list[i].object;
        if (o->kind == SPW_KIND_BLOCK && o->attention & SPW_DROPPED)
            return spw_block_of(o);
    }
    return NULL;
}

static int make_set_ready(struct spw_op *op, struct spw_working_set *set)
{
    const uint64_t begun = op->stream->begun;
    int r = 0;
    claim_set(set, op->stream);
    for (int i = 0; i < SPW_MAX_DEVICES && r == 0; i++) {
        if (!(set->devices >> i & 1))
            continue;
        for (int attempt = 0; attempt < ATTEMPTS; attempt++) { /* a driver call of ours that fails once is made again */
            r = bring_in_set(set, &spw_devices[i], op->stream);
            if (r == 0 || r == -ENOMEM || r == -ETIMEDOUT)
                break;
        }
        if (r == -ENOMEM && !first_dropped(set))
            set->full = &spw_devices[i];
    }
    r = r < 0 ? r : order_set_unlocking(op, set);
    return r == 0 && op->reads_early ? await_set_unlocking(op, set, begun) : r;
}

/* Slabs first, then blocks in the order of their allocation. Unlike the order of their records in memory, this is the same
 * in each iteration. */
static int by_age(const void *a, const void *b)
{
    const struct spw_object *x = *(struct spw_object *const *)a, *y = *(struct spw_object *const *)b;
    const bool is_block = x->kind == SPW_KIND_BLOCK;
    if (x->kind != y->kind)
        return is_block ? 1 : -1;
    const uint64_t of_x = is_block ? ((const struct spw_block *)x)->serial : ((const struct spw_slab *)x)->backing->address;
    const uint64_t of_y = is_block ? ((const struct spw_block *)y)->serial : ((const struct spw_slab *)y)->backing->address;
    return of_x < of_y ? -1 : of_x > of_y;
}

/* Tells the follower which objects the operation touches if that took a closer look; else its hits say so. */
static void tell_of_set(struct spw_op *op, const struct spw_working_set *set)
{
    struct spw_object **list = set->is_closer ? malloc((set->count + 1) * sizeof(*list)) : NULL;
    unsigned count = 0;
    for (unsigned i = 0; list && i < set->count; i++)
        if (set->list[i].is_known)
            list[count++] = set->list[i].object;
    if (count)
        qsort(list, count, sizeof(struct spw_object *), by_age);
    spw_follower->op(op, list, count);
    free(list);
}

static void forbid_drops(uint64_t devices, bool forbid)
{
    for (int i = 0; i < SPW_MAX_DEVICES; i++)
        if (devices >> i & 1)
            spw_devices[i].making += forbid ? 1 : -1U;
}

static CUdeviceptr address_of(const struct spw_object *o)
{
    return o->kind == SPW_KIND_BLOCK ? ((const struct spw_block *)o)->address
                                     : ((const struct spw_slab *)o)->backing->address;
}

/* Lists what the operation touches, with the slow locks of `devices` held. Pointer tables may lead to further devices, or
 * to more objects than can be listed; then set->devices includes those devices too. */
static int gather(struct spw_op *op, struct spw_working_set *set, uint64_t devices)
{
    const int r = spw_working_set_gather_locked(op, set);
    set->devices = devices | devices_of(op);
    for (unsigned i = 0; i < set->count; i++)
        set->devices |= (uint64_t)1 << set->list[i].object->device;
    return r == 0 && set->devices != devices ? MORE_DEVICES : r;
}

/* The same. Where the listed memory may hold addresses that nobody knows of yet, finds these first. */
static int gather_unlocking(struct spw_op *op, struct spw_working_set *set, uint64_t devices)
{
    for (;;) {
        CUdeviceptr awaited = 0;
        int r = gather(op, set, devices);
        for (unsigned i = 0; i < set->count && spw_seek_pending(); i++)
            if (set->list[i].object->attention & SPW_AWAITED)
                awaited = address_of(set->list[i].object);
        if (r != 0 || !awaited)
            return r;
        spw_working_set_let_go_locked(set);
        r = spw_seek_await_unlocking(awaited);
        if (r < 0)
            return r;
    }
}

/* Makes dropped blocks again before anything of the set is held, one after the other: there need not be room for the whole
 * set and for what a replay touches, more of which may have become immovable since. A block that was made may be evicted
 * for the next one, with a copy. */
static int make_apart(struct spw_op *op, struct spw_working_set *set)
{
    const uint64_t devices = set->devices;
    struct spw_block *b;
    int r = 0;
    forbid_drops(devices, true);
    while (r == 0 && (b = first_dropped(set))) {
        struct spw_device *d = &spw_devices[b->object.device];
        spw_working_set_let_go_locked(set);
        r = spw_rematerialise_unlocking(d, b, op->stream);
        const int gathered = gather(op, set, devices);
        if (r == -ENOMEM && gathered == 0)
            set->full = d;
        r = r < 0 ? r : gathered;
    }
    if (r == 0)
        r = make_set_ready(op, set);
    forbid_drops(devices, false);
    return r;
}

/* Lists what the operation touches and makes that ready. Starts again if addresses are found meanwhile that lead to more.
 * Returns 0, a failure or MORE_DEVICES. */
static int try_to_gather(struct spw_op *op, struct spw_working_set *set, uint64_t devices)
{
    uint64_t learned;
    int r;
    do {
        spw_working_set_let_go_locked(set);
        r = gather_unlocking(op, set, devices);
        learned = spw_seek_learned;
        if (r == 0)
            r = make_set_ready(op, set);
        if (r == -ENOMEM && first_dropped(set))
            r = make_apart(op, set);
    } while (r <= 0 && learned != spw_seek_learned);
    return r;
}

/* Gives back spillway's own memory if the set did not fit and would fit without it, on the device or because the host then
 * has to take less. Returns false if there is another reason. */
static bool give_way(struct spw_op *op, struct spw_working_set *set, bool host_refused)
{
    struct spw_device *d = set->full ? &spw_devices[set->full->ordinal] : NULL;
    uint64_t lacking = d ? spw_give_way_lacking_locked(d, spw_refused_needed_bytes_locked(set)) : 0;
    if (d && lacking == 0 && host_refused)
        lacking = spw_give_way_displaced_locked(d);
    if (lacking == 0)
        return false;
    spw_working_set_let_go_locked(set);
    (void)spw_give_way_unlocking(d, lacking, op->stream);
    return true;
}

/* The same. Before the operation is refused, gives back spillway's own memory if that is enough. */
static int gather_ready(struct spw_op *op, struct spw_working_set *set, uint64_t devices)
{
    const uint64_t host_refused = spw_moved.host_refused_count;
    int r = try_to_gather(op, set, devices);
    for (int i = 0;
         r == -ENOMEM && i < SPW_GIVE_WAY_TIMES && give_way(op, set, spw_moved.host_refused_count != host_refused); i++)
        r = try_to_gather(op, set, devices);
    if (r == -ENOMEM && set->full)
        spw_refused_say_what_does_not_fit_locked(op, set, spw_moved.host_refused_count != host_refused);
    return r;
}

/* Makes again what could no longer be made after the operation, which takes memory and time in which others go on, and then
 * makes everything ready anew. Nothing more is dropped meanwhile, since it might need just what the operation
 * overwrites. */
static int rescue(struct spw_op *op, struct spw_working_set *set)
{
    const uint64_t devices = set->devices;
    forbid_drops(devices, true);
    spw_working_set_let_go_locked(set);
    int r = spw_versions_before_op_locked(op);
    if (r == 0)
        r = gather_ready(op, set, devices);
    forbid_drops(devices, false);
    return r;
}

/* Begins the operation with the slow locks of `devices` held, as far as these suffice. */
static int begin_on(struct spw_op *op, struct spw_working_set *set, uint64_t devices)
{
    struct spw_context_guard guard; /* another stream may be capturing, which forbids this thread half of what follows */
    bool entered = spw_context_enter(&guard, NULL) == 0;
    if (spw_plan_follower_has_left(op->stream) && devices >> op->stream->device & 1)
        spw_follower->before_unlocking(op->stream);
    if (spw_seeking) {
        spw_seek_audit_locked();
        (void)spw_seek_settle_unlocking(false); /* does not wait */
    }
    int r = gather_ready(op, set, devices);
    if (r == 0 && spw_versions_kept && spw_versions_endangers(op))
        r = rescue(op, set);
    if (entered)
        spw_context_leave(&guard);
    return r;
}

static int begin_slowly(struct spw_op *op, bool reads_early)
{
    struct spw_working_set set = {.devices = devices_of(op)};
    uint64_t devices;
    int r;
    op->reads_early = reads_early;
    spw_engine_counts.slow_operations++;
    spw_waits_begin();
    do { /* lock no more devices than needed: a thread that makes room on one may be waiting for what the program does on
            another */
        devices = set.devices;
        spw_working_set_let_go_locked(&set);
        spw_unlock();
        spw_devices_lock_slow(devices);
        spw_lock();
        r = begin_on(op, &set, devices);
        if (r == MORE_DEVICES)
            spw_devices_unlock_slow(devices);
    } while (r == MORE_DEVICES);
    spw_waits_end();
    if (r == 0) {
        uint64_t number = spw_stream_next_locked(op->stream);
        spw_stream_begins_locked(op->stream);
        spw_tick++;
        for (unsigned i = 0; i < set.count; i++)
            note_use(set.list[i].object, op->stream, number, set.list[i].writes);
        if (spw_plan_follower_any)
            tell_of_set(op, &set);
    }
    spw_working_set_let_go_locked(&set);
    spw_devices_unlock_slow(devices);
    spw_status_publish_locked(false);
    return r;
}

static inline __attribute__((always_inline)) int begin_op(struct spw_op *op, bool reads_early)
{
    op->timed = NULL;
    op->reached = op->count;
    op->class = NULL;
    op->believed = NULL;
    op->spared = op->fresh = op->inputs = op->scratch = 0;
    op->wish = 0;
    op->recorded_op = NULL;
    op->probe = NULL;
    spw_lock();
    op->stream = spw_stream_of_locked(op->handle);
    if (!op->stream) {
        int failure = spw_stream_find_failure_locked();
        spw_unlock();
        return failure;
    }
    if (spw_versions_kept) {
        spw_clean_check_settle_unlocking();
        spw_versions_look_locked(op);
    }
    bool quickly = !reads_early && !spw_plan_follower_has_left(op->stream) && !replays_before(op) && begin_quickly(op);
    int r = quickly ? 0 : begin_slowly(op, reads_early);
    op->stream->calm = false;
    if (quickly)
        spw_stream_begins_locked(op->stream);
    if (quickly && spw_plan_follower_any)
        spw_follower->op(op, NULL, 0);
    if (r == 0)
        spw_stream_begun_locked(op->stream);
    if (r == 0 && spw_versions_kept) {
        spw_clean_check_note_locked(op);
        spw_versions_op_locked(op);
    }
    if (r < 0) {
        spw_engine_counts.refused_operations++;
        spw_refused_say_why(op, r);
    }
    if (__builtin_expect(spw_unmap_is_due, 0) && r == 0)
        spw_unmap_flush_unlocking();
    if (r < 0 || SPW_STATUS_IS_TIME(spw_tick))
        spw_status_publish_locked(r < 0);
    spw_unlock();
    return r;
}

int spw_op_begin(struct spw_op *op)
{
    return begin_op(op, false);
}

int spw_op_begin_early(struct spw_op *op)
{
    return begin_op(op, true);
}

void spw_op_end_pressed(struct spw_stream *s)
{
    if (spw_plan_follower_any)
        spw_follower->after(s);
    else {
        spw_lock();
        spw_stream_maybe_mark_locked(s);
        spw_unlock();
    }
}

void spw_note_stream_done(struct spw_stream *s, uint64_t begun)
{
    spw_lock();
    if (s->done < begun)
        s->done = begun;
    spw_unlock();
}
