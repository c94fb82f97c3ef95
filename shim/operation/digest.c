/* digest.c - keeps the rings of slots, and the state of each digest that was asked for. */
#include "digest.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ask.h"
#include "context.h"
#include "devices.h"
#include "driver.h"
#include "capture.h"
#include "hash_kernel.h"
#include "lock.h"
#include "log.h"
#include "result.h"
#include "uses_wait.h"

enum {
    SLOTS = SPW_DIGEST_SLOTS,
    SLOT_BITS = 12,
    GENERATION_BITS = 14,
    RING_BYTES = SLOTS * (int)sizeof(struct spw_hash),
    FORGOTTEN_ASKED_ABOUT = 4 /* digests queried in one search for a slot, as each query is a driver call */
};

_Static_assert(SLOTS == 1 << SLOT_BITS && SPW_MAX_DEVICES <= 1 << (32 - SLOT_BITS - GENERATION_BITS), "both fit a ticket");

/*   FREE       no work on the device refers to it
 *   HALF       the kernel for a sample is submitted; another sample is to be subtracted
 *   ASKED      the kernel is submitted, and the slot is in `unsent`
 *   SENT       operation `number` of the stream sends the result; once that is complete, the mirror has the hash
 *   FAILED     the result could not be sent; the kernel was operation `number`
 *   FORGOTTEN  the result is not wanted any more; the slot is free when operation `number` is complete */
enum state { FREE, HALF, ASKED, SENT, FAILED, FORGOTTEN };

struct slot {
    uint64_t number;
    uint32_t stream; /* id of the stream's record */
    uint32_t next;   /* ticket that is chained to it; 0: none */
    uint16_t generation;
    uint8_t state;
    bool is_dirty; /* on the device, the slot may hold something other than zeros */
};

/* A device has a ring, or has noted the context whose kernel it refused, or neither. */
struct spw_digest_ring {
    CUcontext context;
    struct spw_hash_kernel kernel;
    CUdeviceptr results;     /* 0: not allocated */
    struct spw_hash *mirror; /* pinned host memory */
    struct slot slots[SLOTS];
    uint16_t unsent[SLOTS];  /* slots, in the order of asking */
    uint16_t sending[SLOTS]; /* the slots that are being sent */
    unsigned unsent_count;
    unsigned next; /* where the search for a free slot begins */
    unsigned held;
};

int (*spw_digest_charge)(struct spw_device *d, uint64_t bytes);

/* ---- rings ---- */

/* The context is current. */
static int make_memory(struct spw_device *d, struct spw_digest_ring *ring)
{
    void *mirror = NULL;
    int r = spw_digest_charge ? spw_digest_charge(d, RING_BYTES) : -ENOMEM;
    if (r < 0)
        return r;
    r = spw_result(
        SPW_ASK_QUIETLY(cuMemHostAlloc, &mirror, RING_BYTES, CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP));
    if (r == 0) {
        r = spw_result(SPW_ASK_QUIETLY(cuMemAlloc_v2, &ring->results, RING_BYTES));
        if (r < 0)
            (void)SPW_ASK_QUIETLY(cuMemFreeHost, mirror);
    }
    if (r < 0) {
        ring->results = 0;
        spw_device_credit_locked(d, RING_BYTES);
        spw_debug("device %d: no memory for the slots of digests (%d)", d->ordinal, r);
        return r;
    }
    for (unsigned i = 0; i < SLOTS; i++)
        ring->slots[i].is_dirty = true; /* memory from the driver has arbitrary contents */
    ring->mirror = mirror;
    return 0;
}

/* The context is current. */
static int make_ring(struct spw_device *d, CUcontext context)
{
    struct spw_digest_ring *ring = calloc(1, sizeof(*ring));
    if (!ring)
        return -ENOMEM;
    ring->context = context;
    int r = spw_hash_kernel_load(d->ordinal, &ring->kernel);
    if (r < 0) {
        d->digests_refused = context;
        free(ring);
        return r;
    }
    d->digests = ring;
    return 0;
}

static int check_context(const struct spw_device *d, CUcontext context)
{
    static int warned;
    const struct spw_digest_ring *ring = d->digests;
    if (d->digests_refused == context)
        return -ENOTSUP;
    if (!ring || ring->context == context)
        return 0;
    spw_warn_once(
        &warned,
        "device %d has several contexts: only what one of them computes can be recomputed" SPW_SEE("several-contexts"),
        d->ordinal);
    return -ENOTSUP;
}

/* The context is current. */
static int make_ready(struct spw_device *d, CUcontext context)
{
    int r = d->digests ? 0 : make_ring(d, context);
    if (r == 0 && !d->digests->results)
        r = make_memory(d, d->digests);
    return r;
}

int spw_digests_lacking_locked(const struct spw_device *d, CUcontext context, uint64_t *ret_bytes)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    *ret_bytes = d->digests && d->digests->results ? 0 : RING_BYTES;
    return check_context(d, context);
}

int spw_digests_open_locked(struct spw_device *d, CUcontext context)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    struct spw_context_guard guard;
    int r = spw_context_enter(&guard, context);
    if (r == 0) {
        r = make_ready(d, context);
        spw_context_leave(&guard);
    }
    return r;
}

/* The context is current, and no submitted work writes to the ring. */
static int free_memory(struct spw_device *d, struct spw_digest_ring *ring)
{
    const int r = spw_result(SPW_ASK_QUIETLY(cuMemFree_v2, ring->results));
    if (r < 0)
        return r;
    (void)SPW_ASK_QUIETLY(cuMemFreeHost, ring->mirror);
    ring->results = 0;
    spw_device_credit_locked(d, RING_BYTES);
    return 0;
}

void spw_digests_context_gone_locked(CUcontext context)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    for (int i = 0; i < SPW_MAX_DEVICES; i++) {
        struct spw_device *d = &spw_devices[i];
        struct spw_digest_ring *ring = d->digests;
        if (d->digests_refused == context)
            d->digests_refused = NULL;
        if (!ring || ring->context != context)
            continue;
        if (ring->results && free_memory(d, ring) < 0) /* the memory goes with the context */
            spw_device_credit_locked(d, RING_BYTES);
        spw_hash_kernel_unload(&ring->kernel);
        free(ring);
        d->digests = NULL;
    }
}

/* ---- slots ---- */

static struct spw_uses uses_of(const struct slot *slot)
{
    struct spw_uses uses = {0};
    spw_uses_add_locked(&uses, spw_stream_by_id_locked(slot->stream), slot->number);
    return uses;
}

/* Returns true if what is submitted to `s` next may write to the slot. Makes up to *budget driver calls. */
static bool can_take(const struct slot *slot, const struct spw_stream *s, unsigned *budget)
{
    if (slot->state == FREE || (slot->state == FORGOTTEN && slot->stream == s->id))
        return true;
    if (slot->state != FORGOTTEN)
        return false;
    struct spw_uses uses = uses_of(slot);
    if (spw_uses_seen_done_locked(&uses))
        return true;
    if (*budget == 0)
        return false;
    --*budget;
    if (spw_uses_done_locked(&uses))
        return true;
    (void)spw_uses_mark_locked(&uses); /* otherwise its completion might never be noticed */
    return false;
}

static int take_slot(struct spw_digest_ring *ring, struct spw_stream *s, unsigned *ret_index)
{
    unsigned budget = FORGOTTEN_ASKED_ABOUT;
    for (unsigned n = 0; n < SLOTS; n++) {
        unsigned i = (ring->next + n) % SLOTS;
        if (!can_take(&ring->slots[i], s, &budget))
            continue;
        ring->next = (i + 1) % SLOTS;
        *ret_index = i;
        return 0;
    }
    return -EAGAIN;
}

static uint32_t ticket_of(const struct spw_device *d, const struct spw_digest_ring *ring, unsigned i)
{
    return (uint32_t)d->ordinal << (SLOT_BITS + GENERATION_BITS) | (uint32_t)ring->slots[i].generation << SLOT_BITS | i;
}

/* Returns the ticket's slot, and its ring; NULL if the ticket is not valid any more. */
static struct slot *slot_of(uint32_t ticket, struct spw_digest_ring **ret_ring)
{
    struct spw_digest_ring *ring = spw_devices[ticket >> (SLOT_BITS + GENERATION_BITS)].digests;
    struct slot *slot = ring ? &ring->slots[ticket % SLOTS] : NULL;
    if (!slot || slot->state == FREE || slot->state == FORGOTTEN ||
        slot->generation != (ticket >> SLOT_BITS & ((1 << GENERATION_BITS) - 1)))
        return NULL;
    *ret_ring = ring;
    return slot;
}

/* ---- asking and answering ---- */

struct question {
    CUdeviceptr address; /* used if there is neither a sample nor a search */
    size_t bytes;
    const struct spw_sample *sample;
    const struct spw_word_search *search;
    uint32_t ticket; /* of the sample to subtract from; 0: none */
};

static int submit(const struct spw_digest_ring *ring, CUstream stream, const struct question *q, CUdeviceptr result)
{
    if (q->search)
        return spw_hash_kernel_find(&ring->kernel, stream, q->search, result);
    return q->sample ? spw_hash_kernel_sample(&ring->kernel, stream, q->sample, q->ticket, result)
                     : spw_hash_kernel_submit(&ring->kernel, stream, q->address, q->bytes, result);
}

static int slot_for(struct spw_digest_ring *ring, struct spw_stream *s, const struct question *q, unsigned *ret_index)
{
    struct spw_digest_ring *its;
    const struct slot *slot = q->ticket ? slot_of(q->ticket, &its) : NULL;
    if (!q->ticket)
        return take_slot(ring, s, ret_index);
    *ret_index = q->ticket % SLOTS;
    return slot && its == ring && slot->state == HALF ? 0 : -EINVAL;
}

/* The context is current. */
static int ask(struct spw_device *d, struct spw_stream *s, CUstream stream, const struct question *q, uint32_t *ret_ticket)
{
    struct spw_digest_ring *ring = d->digests;
    unsigned i;
    int r = slot_for(ring, s, q, &i);
    if (r < 0)
        return r;
    struct slot *slot = &ring->slots[i];
    const CUdeviceptr result = ring->results + i * sizeof(struct spw_hash);
    if (slot->is_dirty && !q->ticket)
        r = spw_hash_kernel_clear(stream, result);
    slot->is_dirty = true;
    if (r == 0)
        r = submit(ring, stream, q, result);
    if (r == -ENOTSUP)
        d->digests_refused = ring->context;
    slot->stream = s->id;
    slot->number = spw_stream_next_locked(s); /* even after a failure, as a part may have been submitted */
    if (!q->ticket) {
        slot->next = 0;
        slot->generation = (slot->generation + 1) % (1 << GENERATION_BITS);
        slot->generation += slot->generation == 0;
        slot->state = r < 0 ? FORGOTTEN : q->sample ? HALF : ASKED;
        ring->held += r == 0;
    } else if (r == 0) {
        slot->state = ASKED;
    }
    if (r < 0)
        return r;
    if (slot->state == ASKED)
        ring->unsent[ring->unsent_count++] = (uint16_t)i;
    *ret_ticket = ticket_of(d, ring, i);
    return 0;
}

static int ask_in(struct spw_device *d, CUcontext context, CUstream stream, const struct question *q, uint32_t *ret_ticket)
{
    struct spw_context_guard guard;
    if (spw_is_capturing(stream))
        return -EBUSY;
    int r = check_context(d, context);
    if (r < 0)
        return r;
    r = spw_context_enter(&guard, context);
    if (r < 0)
        return r;
    struct spw_stream *s = spw_stream_of_locked(stream);
    if (!s)
        r = spw_stream_find_failure_locked();
    else if ((r = make_ready(d, context)) == 0)
        r = ask(d, s, stream, q, ret_ticket);
    spw_context_leave(&guard);
    return r;
}

int spw_digest_ask_locked(struct spw_device *d, CUcontext context, CUstream stream, CUdeviceptr address, size_t bytes,
                          uint32_t *ret_ticket)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    return ask_in(d, context, stream, &(struct question){.address = address, .bytes = bytes}, ret_ticket);
}

int spw_digest_sample_locked(struct spw_device *d, CUcontext context, CUstream stream, const struct spw_sample *sample,
                             uint32_t *ret_ticket)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    return ask_in(d, context, stream, &(struct question){.sample = sample}, ret_ticket);
}

int spw_digest_sample_again_locked(struct spw_device *d, CUcontext context, CUstream stream, const struct spw_sample *sample,
                                   uint32_t ticket)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    return ask_in(d, context, stream, &(struct question){.sample = sample, .ticket = ticket}, &ticket);
}

int spw_digest_find_locked(struct spw_device *d, CUcontext context, CUstream stream, const struct spw_word_search *search,
                           uint32_t *ret_ticket)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    return ask_in(d, context, stream, &(struct question){.search = search}, ret_ticket);
}

int spw_digest_fill_locked(struct spw_device *d, CUcontext context, CUstream stream, const struct spw_sample *sample)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    struct spw_context_guard guard;
    int r = spw_is_capturing(stream) ? -EBUSY : check_context(d, context);
    if (r == 0)
        r = spw_context_enter(&guard, context);
    if (r < 0)
        return r;
    r = make_ready(d, context);
    if (r == 0)
        r = spw_hash_kernel_fill(&d->digests->kernel, stream, sample);
    spw_context_leave(&guard);
    return r;
}

/* Moves the slots of the stream's results from `unsent` to `sending`; returns how many there are. */
static unsigned take_unsent(struct spw_digest_ring *ring, const struct spw_stream *s)
{
    unsigned kept = 0, taken = 0;
    for (unsigned n = 0; n < ring->unsent_count; n++) {
        if (ring->slots[ring->unsent[n]].stream == s->id)
            ring->sending[taken++] = ring->unsent[n];
        else
            ring->unsent[kept++] = ring->unsent[n];
    }
    ring->unsent_count = kept;
    return taken;
}

/* The context is current. */
static int send(struct spw_digest_ring *ring, struct spw_stream *s, CUstream stream, unsigned count)
{
    const uint16_t *slots = ring->sending;
    uint64_t number = spw_stream_next_locked(s);
    int failure = 0;
    for (unsigned n = 0, run; n < count; n += run) {
        for (run = 1; n + run < count && slots[n + run] == slots[n] + run; run++)
            ;
        int r = spw_hash_kernel_tell(&ring->kernel, stream, ring->results + slots[n] * sizeof(struct spw_hash),
                                     &ring->mirror[slots[n]], run);
        for (unsigned k = n; k < n + run; k++) {
            ring->slots[slots[k]].number = number;
            ring->slots[slots[k]].state = r == 0 ? SENT : FAILED;
            ring->slots[slots[k]].is_dirty = r < 0;
        }
        if (r < 0)
            failure = r;
    }
    return failure;
}

int spw_digests_send_locked(struct spw_device *d, CUstream stream)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    struct spw_digest_ring *ring = d->digests;
    struct spw_context_guard guard;
    if (!ring || !ring->unsent_count)
        return 0;
    if (spw_is_capturing(stream))
        return -EBUSY;
    int r = spw_context_enter(&guard, ring->context);
    if (r < 0)
        return r;
    struct spw_stream *s = spw_stream_of_locked(stream);
    unsigned count = s ? take_unsent(ring, s) : 0;
    if (count) {
        r = send(ring, s, stream, count);
        /* While a numbered operation has not been submitted, no event can cover everything up to here: then a later query
         * for the answer records one. */
        if (atomic_load_explicit(&s->in_call, memory_order_acquire) == 0)
            (void)spw_stream_mark_locked(s);
    }
    spw_context_leave(&guard);
    return r;
}

int spw_digest_answer_locked(struct spw_device *d, uint32_t ticket, struct spw_hash *ret_hash)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    struct spw_digest_ring *ring;
    const struct slot *slot = slot_of(ticket, &ring);
    if (!slot || ring != d->digests)
        return -EINVAL;
    if (slot->state == FAILED || ring->context == spw_failed_context)
        return -EIO;
    if (slot->state != SENT)
        return 0;
    struct spw_uses uses = uses_of(slot);
    if (!spw_uses_seen_done_locked(&uses) && !spw_uses_done_locked(&uses)) {
        (void)spw_uses_mark_locked(&uses);
        return 0;
    }
    *ret_hash = ring->mirror[ticket % SLOTS];
    return 1;
}

uint32_t spw_digest_step_locked(uint32_t ticket)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    struct spw_digest_ring *ring;
    struct slot *slot = slot_of(ticket, &ring);
    if (!slot)
        return 0;
    for (unsigned n = 0; slot->state == ASKED && n < ring->unsent_count; n++)
        if (ring->unsent[n] == ticket % SLOTS) {
            ring->unsent_count--;
            memmove(&ring->unsent[n], &ring->unsent[n + 1], (ring->unsent_count - n) * sizeof(ring->unsent[0]));
            break;
        }
    slot->state = FORGOTTEN;
    ring->held--;
    return slot->next;
}

void spw_digest_forget_locked(uint32_t ticket)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    while (ticket)
        ticket = spw_digest_step_locked(ticket);
}

void spw_digest_chain_locked(uint32_t ticket, uint32_t next)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    struct spw_digest_ring *ring;
    struct slot *slot = slot_of(ticket, &ring);
    while (slot && slot->next)
        slot = slot_of(slot->next, &ring);
    if (slot)
        slot->next = next;
}

/* Forgets all digests; *ret_uses is what of them may still be running. */
static void forget_all(struct spw_digest_ring *ring, struct spw_uses *ret_uses)
{
    *ret_uses = (struct spw_uses){0};
    for (unsigned i = 0; i < SLOTS; i++) {
        struct slot *slot = &ring->slots[i];
        if (slot->state == FREE)
            continue;
        slot->state = FORGOTTEN;
        spw_uses_add_locked(ret_uses, spw_stream_by_id_locked(slot->stream), slot->number);
    }
    ring->unsent_count = ring->held = 0;
}

int spw_digests_give_unlocking(struct spw_device *d)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    struct spw_context_guard guard;
    struct spw_uses uses;
    const CUcontext context = d->digests ? d->digests->context : NULL, refused = d->digests_refused;
    if (spw_digests_bytes_locked(d) == 0)
        return 0;
    forget_all(d->digests, &uses);
    d->digests_refused = context; /* so that no digest is asked for during the wait */
    int r = spw_uses_wait_a_while_unlocking(&uses);
    while (r == 0 && spw_streams_gated_locked()) /* the driver call below waits for everything in the context */
        spw_streams_await_gate_unlocking();
    if (spw_digests_bytes_locked(d) == 0 || d->digests->context != context)
        return 0; /* the context was destroyed meanwhile */
    r = r == 0 ? spw_context_enter(&guard, context) : r;
    if (r == 0) {
        r = free_memory(d, d->digests);
        spw_context_leave(&guard);
    }
    if (r < 0)
        d->digests_refused = refused;
    spw_debug("device %d: the memory of digests goes to the program's operations (%d)", d->ordinal, r);
    return r;
}

void spw_digests_allow_locked(struct spw_device *d)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    if (!d->digests || d->digests->results || d->digests_refused != d->digests->context)
        return;
    d->digests_refused = NULL;
    d->is_blind = false;
}

unsigned spw_digests_held_locked(const struct spw_device *d)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    return d->digests ? d->digests->held : 0;
}

uint64_t spw_digests_bytes_locked(const struct spw_device *d)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    return d->digests && d->digests->results ? RING_BYTES : 0;
}
