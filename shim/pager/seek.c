/* seek.c - decides after which launches and copies memory is searched, what is suspected meanwhile, and what follows. */
#include "seek.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "allocation.h"
#include "context.h"
#include "devices.h"
#include "driver.h"
#include "capture.h"
#include "follower.h"
#include "layout.h"
#include "lock.h"
#include "log.h"
#include "mover.h"
#include "outside.h"
#include "recorded_op.h"
#include "seek_device.h"
#include "seek_found.h"
#include "seek_kinds.h"
#include "slab.h"
#include "uses_wait.h"

enum {
    LOOKS = 512,
    RANGES = SPW_SEEK_ANSWERS / 2, /* ranges of looks; a sweep has as many */
};

bool spw_seek_allowed;
atomic_bool spw_seeking;
uint64_t spw_seek_learned;
struct spw_sought spw_sought;

/* ---- looks that have no answer yet, oldest first ---- */

struct look {
    struct spw_uses uses; /* when these are complete, its answers are known */
    uint64_t key;         /* the key of its kind; 0: none */
    uint64_t first, end;  /* ranges */
    unsigned base;        /* of the numbers of its ranges: 0, or RANGES */
    bool tainted;
    bool is_heeded;         /* operations that use what it is for wait for it */
    bool is_audited;        /* it is for a trusted function: nothing is suspected for it */
    bool is_new, is_stored; /* of what was found in the ranges that were read (seek_found.h) */
    bool is_concluded;      /* it waits until earlier ones are concluded too */
};

/* Range n is at n modulo RANGES, after its look's base; its answer has the same index. bytes 0: it is read. */
static struct spw_seek_range ranges[2 * RANGES];
static struct look looks[LOOKS]; /* look n at n modulo LOOKS */
static uint64_t range_first, range_end;
static _Atomic uint64_t look_first, look_end, /* also read without the lock */
    missed, made_good; /* times that something could not be looked at; how many of these were before the last sweep */
static bool sweeping;  /* a thread searches all memory; it may have released the lock */

static unsigned index_of(const struct look *l, uint64_t n)
{
    return l->base + (unsigned)(n % RANGES);
}

bool spw_seek_pending(void)
{
    return look_first != look_end || missed != made_good;
}

bool spw_seek_is_blind_locked(void)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    return spw_seek_allowed && (!spw_seeking || missed != made_good);
}

static bool any_suspected;

static void suspect(CUdeviceptr address)
{
    struct spw_object *o = spw_object_at_locked(address);
    if (o && o->kind == SPW_KIND_BLOCK)
        any_suspected = spw_block_of(o)->suspected = true;
}

/* Has operations that use the object at the address settle the looks there first. */
static void await(CUdeviceptr address)
{
    struct spw_object *o = spw_object_at_locked(address);
    if (o) {
        o->attention |= SPW_AWAITED;
        any_suspected = true;
    }
}

bool spw_seek_forbids_drops_locked(void)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    bool forbids = false;
    for (uint64_t n = look_first; n != look_end; n++) {
        const struct look *l = &looks[n % LOOKS];
        forbids |= !l->is_heeded && !l->is_audited && !l->is_concluded;
    }
    return forbids;
}

/* Suspects nothing any more if no look is without an answer. */
static void acquit(void)
{
    if (spw_seek_pending() || !any_suspected)
        return;
    any_suspected = false;
    for (int i = 0; i < SPW_MAX_DEVICES; i++)
        for (uint32_t k = 0; k < spw_devices[i].block_count; k++) {
            struct spw_block *b = spw_devices[i].blocks[k];
            b->suspected = false;
            spw_object_at_locked(b->address)->attention &= ~(uint32_t)(SPW_AWAITED | SPW_LOOKED); /* or that of the slab */
        }
}

static bool is_in(const struct look *l, CUdeviceptr address)
{
    for (uint64_t n = l->first; n < l->end; n++)
        if (ranges[index_of(l, n)].address == address)
            return true;
    return false;
}

/* The object stays where it is until then. A trusted function is taken to have stored no address meanwhile. */
static void note_look(struct spw_object *o, struct spw_stream *s, bool is_trusted)
{
    spw_uses_add_locked(&o->uses, s, s->begun);
    if (is_trusted)
        return;
    o->attention |= SPW_LOOKED;
    any_suspected = true;
}

/* Submits a look at one allocation, after operation l->uses of the stream. Returns false if there is no room for it. */
static bool look_through(struct look *l, struct spw_stream *s, CUstream handle, CUdeviceptr address)
{
    struct spw_allocation a;
    if (!spw_content_at_locked(address, &a) || a.size_bytes < sizeof(CUdeviceptr) || is_in(l, a.address))
        return true;
    if (l->end - range_first == RANGES)
        return false;
    const unsigned index = index_of(l, l->end++);
    ranges[index] = (struct spw_seek_range){a.address, a.size_bytes, a.serial};
    if (a.size_bytes < SPW_SEEK_SUMMED)
        ranges[index].is_told = spw_pointer_tables_told(a.address, a.address + a.size_bytes, &ranges[index].told);
    spw_seek_submit_locked(s->device >= 0 ? s->device : a.device, s->context, handle, a.address, a.size_bytes, index);
    note_look(spw_object_at_locked(address), s, l->is_audited);
    return true;
}

/* Submits a look at what the operation may have written, with the members that `like` has. */
static void look(struct spw_op *op, const struct look *like)
{
    struct look *l = &looks[look_end % LOOKS];
    if (op->everything || look_end - look_first == LOOKS || spw_is_capturing(op->handle)) {
        missed++;
        return;
    }
    *l = *like;
    l->first = l->end = range_end;
    spw_uses_add_locked(&l->uses, op->stream, spw_stream_next_locked(op->stream));
    for (unsigned i = 0; i < op->reached; i++)
        if (spw_op_may_write_hit(op, i) && !look_through(l, op->stream, op->handle, op->hits[i])) {
            missed++;
            l->is_stored = true; /* there may be an address where nobody has looked */
            break;
        }
    range_end = l->end;
    look_end++;
    spw_sought.looks++;
}

/* Suspects what a launch or copy touches until the look after it has an answer. A kernel that follows an address stored by
 * it could unnoticed change what a dropped block is made from: in that case operations on it wait for the answer. */
static void look_behind(struct spw_op *op, const struct spw_seek_kind *k, struct look like, bool is_upload)
{
    like.is_audited = !spw_seek_is_suspicious(k, like.tainted);
    like.is_heeded = !like.is_audited && (is_upload || spw_anything_dropped_locked());
    for (unsigned i = 0; i < op->reached && !like.is_audited; i++) {
        suspect(op->hits[i]);
        if (like.is_heeded && spw_op_may_change_hit(op, i))
            await(op->hits[i]);
    }
    look(op, &like);
}

void spw_seek_launched(struct spw_op *op)
{
    if (!spw_seeking)
        return;
    const struct look like = {.key = (uint64_t)(uintptr_t)op->function, .tainted = op->reached > op->count};
    spw_lock();
    struct spw_seek_kind *k = spw_seek_kind_of(like.key);
    if (!spw_seek_is_trusted(k, like.tainted)) {
        if (op->everything && k)
            k->looks[0]++; /* no launch of it will ever tell more */
        look_behind(op, k, like, false);
    } else if (!like.tainted) {
        spw_layout_unwatch(op->function);
    }
    spw_unlock();
}

/* A copy within the device may copy what is not settled yet. */
void spw_seek_copied(struct spw_op *op, uint64_t bytes, bool is_unsettled)
{
    const bool uploaded = !op->read_only;
    if (!spw_seeking)
        return;
    const struct look like = {.key = uploaded ? spw_seek_key_of_upload(bytes) : 0};
    spw_lock();
    const struct spw_seek_kind *k = uploaded ? spw_seek_kind_of(like.key) : NULL;
    if (uploaded ? !spw_seek_is_trusted(k, false) : is_unsettled)
        look_behind(op, k, like, uploaded);
    spw_unlock();
}

/* ---- conclusions ---- */

/* True if what was found is what copies had shown, whatever became of it since. */
static bool is_as_told(const struct spw_seek_range *r, unsigned index)
{
    const struct spw_seek_answer *answer = spw_seek_answer_locked(index);
    return r->is_told && answer && answer->sum == r->told;
}

/* Reads one range back. Returns -EAGAIN if somebody still uses it, and stores these uses in *ret_users. With `has_waited`
 * all uses have been waited for, and others may go on. */
static int read_range_locked(struct look *l, uint64_t n, bool has_waited, struct spw_uses *ret_users)
{
    const unsigned index = index_of(l, n);
    const struct spw_seek_range r = ranges[index];
    const struct spw_object *o = spw_object_at_locked(r.address);
    const bool is_there = o && !(o->attention & (SPW_FREE | SPW_ABSENT));
    struct spw_seek_found found = {.is_unheeded = l->is_audited};
    int failure = 0;
    if (!is_as_told(&r, index) &&
        (spw_seek_found_any_locked(index) || spw_pointer_tables_has(r.address, r.address + r.bytes))) {
        *ret_users = !is_there ? (struct spw_uses){0} : has_waited ? o->uses : spw_users_of_locked(o);
        if (!spw_uses_done_locked(ret_users))
            return -EAGAIN;
        failure = spw_seek_read_found_locked(&r, index, &found);
    }
    l->is_new |= found.is_new;
    l->is_stored |= found.is_stored;
    spw_seek_learned += found.is_new;
    spw_sought.found += found.addresses;
    if (failure == 0)
        ranges[index].bytes = 0;
    return failure;
}

/* True if the range is not read yet, and lies in `o` (NULL: anywhere). */
static bool is_left(const struct look *l, uint64_t n, const struct spw_object *o)
{
    const struct spw_seek_range *r = &ranges[index_of(l, n)];
    return r->bytes && (!o || spw_object_at_locked(r->address) == o);
}

static bool has_left(const struct look *l, const struct spw_object *o)
{
    for (uint64_t n = l->first; n < l->end; n++)
        if (is_left(l, n, o))
            return true;
    return false;
}

/* Reads the ranges that are left in `o`. Returns 1 if they are read; 0 if something was waited for, and others may have
 * gone on with the look meanwhile (*waited_for is the range whose users that were); -EAGAIN if there is something to wait
 * for and `wait` is false. */
static int read_some_unlocking(struct look *l, const struct spw_object *o, bool wait, uint64_t *waited_for)
{
    struct spw_uses *busy = &l->uses, users;
    if (spw_uses_seen_done_locked(busy) || spw_uses_done_locked(busy)) {
        uint64_t n = l->first;
        int r = 0;
        for (; n < l->end && r == 0; n++)
            r = is_left(l, n, o) ? read_range_locked(l, n, *waited_for == n, &users) : 0;
        if (r != -EAGAIN)
            return r < 0 ? r : 1;
        *waited_for = n - 1;
        busy = &users;
    }
    if (!wait) {
        (void)spw_uses_mark_locked(busy);
        return -EAGAIN;
    }
    users = *busy;
    spw_sought.waits += busy == &l->uses;
    return spw_uses_wait_unlocking(&users);
}

/* Counts the look for its kind. Known addresses may have been stored once more, the same as before, so a function that may
 * have done so is not trusted for it; addresses shown by a copy do not count against it. Nobody is trusted while streams
 * wait for values in memory: a kernel that writes such a value lets others go on, which may overwrite what it stored before
 * the look. */
static void judge(const struct look *l)
{
    struct spw_seek_kind *k = l->key ? spw_seek_kind_of(l->key) : NULL;
    if (!k)
        return;
    if (l->is_new) {
        k->stores = true;
        spw_debug("addresses are stored by a launch or copy of kind %llx", (unsigned long long)l->key);
        return;
    }
    if (k->looks[l->tainted] < SPW_SEEK_ENOUGH && !l->is_stored && !spw_recorded_op_order_unseen)
        k->looks[l->tainted]++;
    if (!(l->key & 1) && spw_seek_is_trusted(k, false))
        spw_layout_unwatch((CUfunction)(uintptr_t)l->key);
}

static void conclude(struct look *l)
{
    judge(l);
    l->is_concluded = true;
    for (; look_first != look_end && looks[look_first % LOOKS].is_concluded; look_first++)
        range_first = looks[look_first % LOOKS].end;
    acquit();
}

/* Draws the conclusions from look `n` if nobody has yet. With an `address`, only if the look is heeded, and only from what
 * it found in the block or slab there. Results as above. */
static int conclude_unlocking(uint64_t n, CUdeviceptr address, bool wait)
{
    uint64_t waited_for = UINT64_MAX;
    int r = 0;
    while (r == 0 && n >= look_first && n < look_end) {
        struct look *l = &looks[n % LOOKS];
        const struct spw_object *o = address ? spw_object_at_locked(address) : NULL;
        if (l->is_concluded || (address && (!o || !l->is_heeded || !has_left(l, o))))
            break;
        r = read_some_unlocking(l, o, wait, &waited_for);
        if (r == 1 && !has_left(l, NULL))
            conclude(l);
    }
    return r < 0 ? r : 0;
}

/* ---- all of memory ---- */

static uint64_t sweep; /* the number of the current sweep */

/* True if the block is still to be searched in this sweep. */
static bool is_due(const struct spw_block *b)
{
    const struct spw_object *o = spw_object_at_locked(b->address);
    return b->swept != sweep && !(o->attention & (SPW_FREE | SPW_ABSENT | SPW_EVICTING)) && !b->doomed;
}

/* The context in which a block is searched; a slab has none of its own. */
static CUcontext context_of(const struct spw_device *d, const struct spw_block *b)
{
    CUcontext context = b->context;
    for (uint32_t i = 0; i < d->block_count && !context; i++)
        context = d->blocks[i]->context;
    if (!context && spw_driver.cuCtxGetCurrent(&context) != CUDA_SUCCESS)
        return NULL;
    return context;
}

/* Submits the search of one block on the copy-out stream, after all its uses. -EAGAIN: another thread is about to use
 * it. */
static int sweep_block(struct spw_device *d, struct spw_block *b, struct look *l)
{
    struct spw_stream *s;
    struct spw_object *o = spw_object_at_locked(b->address);
    int r = spw_copy_streams_out_locked(d, context_of(d, b), &s);
    struct spw_uses users = spw_users_of_locked(o);
    if (r == 0)
        r = spw_uses_order_locked(&users, s);
    if (r == 0 && o->kind == SPW_KIND_BLOCK)
        r = spw_mover_order_locked(d, b, s, false);
    if (r < 0)
        return r;
    const bool is_slab = o->kind == SPW_KIND_SLAB;
    const unsigned index = index_of(l, l->end++);
    ranges[index] = (struct spw_seek_range){b->address, b->size_bytes, is_slab ? 0 : b->serial};
    spw_uses_add_locked(&l->uses, s, spw_stream_next_locked(s));
    spw_seek_submit_locked(d->ordinal, s->context, s->handle, b->address, b->size_bytes, index);
    note_look(o, s, false);
    b->swept = sweep;
    return 0;
}

/* Submits searches of as many blocks as there are answers for. */
static int sweep_some_unlocking(struct look *l)
{
    for (int i = 0; i < SPW_MAX_DEVICES; i++)
        for (uint32_t k = 0; k < spw_devices[i].block_count; k++) {
            struct spw_block *b = spw_devices[i].blocks[k];
            if (!is_due(b))
                continue;
            if (l->end == RANGES)
                return 0;
            int r = sweep_block(&spw_devices[i], b, l);
            if (r == -EAGAIN) {
                spw_unlock();
                sched_yield();
                spw_lock();
                k = UINT32_MAX; /* others may be in its place now */
            } else if (r < 0) {
                return r;
            }
        }
    return 0;
}

static int sweep_unlocking(void)
{
    struct look l;
    int r = 0;
    sweep++;
    spw_sought.sweeps++;
    do {
        uint64_t waited_for = UINT64_MAX;
        l = (struct look){.base = RANGES};
        r = sweep_some_unlocking(&l);
        while (r == 0)
            r = read_some_unlocking(&l, NULL, true, &waited_for);
    } while (r == 1 && l.end);
    spw_debug("memory was searched for addresses at operation %llu (%d): %llu found so far that were not known",
              (unsigned long long)spw_tick, r, (unsigned long long)spw_sought.found);
    return r;
}

/* ---- */

static int make_good_unlocking(void)
{
    while (sweeping) {
        spw_unlock();
        sched_yield();
        spw_lock();
    }
    if (missed == made_good)
        return 0;
    const uint64_t so_far = missed;
    sweeping = true;
    const int r = sweep_unlocking();
    sweeping = false;
    if (r < 0)
        return r;
    made_good = so_far;
    return 0;
}

int spw_seek_settle_unlocking(bool wait)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    int r = 0;
    while (r == 0 && look_first != look_end)
        r = conclude_unlocking(look_first, 0, wait);
    if (r == 0 && wait)
        r = make_good_unlocking();
    acquit();
    return r;
}

int spw_seek_await_unlocking(CUdeviceptr address)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    int r = missed != made_good ? spw_seek_settle_unlocking(true) : 0; /* nobody knows what could not be looked at */
    for (uint64_t n = look_first; n < look_end && r == 0; n++)
        r = conclude_unlocking(n, address, true);
    struct spw_object *o = spw_object_at_locked(address);
    if (r == 0 && o && missed == made_good)
        o->attention &= ~(uint32_t)SPW_AWAITED;
    return r;
}

int spw_seek_open_unlocking(void)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    if (!spw_seeking) {
        spw_seeking = true;
        missed++;
        spw_layout_watch_all();
        spw_seek_audit_later_locked();
    }
    return spw_seek_settle_unlocking(true);
}

int spw_seek_before_it_leaves(CUdeviceptr source)
{
    struct spw_device *d = spw_device_of_address(source);
    struct spw_context_guard guard;
    int r = 0;
    if (!d)
        return 0;
    spw_mutex_lock(&d->slow, SPW_LOCK_SLOW);
    spw_lock();
    const bool entered = spw_context_enter(&guard, NULL) == 0;
    if (spw_seek_is_blind_locked())
        r = spw_seek_open_unlocking();
    else if (spw_seek_pending())
        r = spw_seek_settle_unlocking(true);
    if (entered)
        spw_context_leave(&guard);
    spw_unlock();
    spw_mutex_unlock(&d->slow);
    return r;
}

void spw_seek_context_gone_locked(CUcontext context)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    spw_seek_device_gone_locked(context);
    missed += spw_seeking; /* its answers are lost */
}

void spw_seek_reset(void)
{
    spw_seek_kinds_reset();
    range_first = range_end = 0;
    look_first = look_end = 0;
    missed = made_good = 0;
    sweeping = spw_seek_allowed = any_suspected = false;
    spw_seeking = false;
    spw_sought = (struct spw_sought){0};
    spw_seek_device_reset();
}
