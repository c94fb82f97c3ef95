/* arrivals.c - keeps two events for each prefetched tensor until it is known whether it arrived in time. */
#include "arrivals.h"

#include <stdlib.h>
#include <string.h>

#include "ask.h"
#include "capture.h"
#include "context.h"
#include "events.h"

enum { SLOTS = 256 }; /* per device: tensors that are arriving, or have arrived and were not used yet */

#define AT_ONCE_US 1.0 /* events on different streams may differ by this much without a wait */

enum state { FREE, EXPECTED, USED }; /* USED: the block has no slot any more, and the events tell the result */

struct slot {
    struct spw_event_pair events; /* `begin`: it has arrived; `end`: the using stream has got to its use */
    enum state state;
    uint64_t order; /* number of its use */
};

struct spw_arrivals spw_arrivals[SPW_MAX_DEVICES];

static struct device {
    CUcontext context; /* of the events */
    struct slot *slots;
    uint64_t uses, judged; /* number of uses; those up to `judged` are settled */
} devices[SPW_MAX_DEVICES];

static void count(int device, double late_us)
{
    struct spw_arrivals *a = &spw_arrivals[device];
    bool in_time = late_us <= AT_ONCE_US;
    a->used_count++;
    a->in_time_count += in_time;
    a->late_us += in_time ? 0 : late_us;
}

static struct slot *oldest_used(const struct device *v)
{
    struct slot *best = NULL;
    for (int i = 0; i < SLOTS; i++)
        if (v->slots[i].state == USED && (!best || v->slots[i].order < best->order))
            best = &v->slots[i];
    return best;
}

/* The context is current. */
static void judge(int device)
{
    struct device *v = &devices[device];
    while (v->judged < v->uses) {
        struct slot *slot = oldest_used(v);
        double late_us;
        if (SPW_ASK(cuEventQuery, slot->events.begin) == CUDA_ERROR_NOT_READY ||
            SPW_ASK(cuEventQuery, slot->events.end) == CUDA_ERROR_NOT_READY)
            return;
        if (spw_event_elapsed_us(slot->events.end, slot->events.begin, &late_us))
            count(device, late_us);
        slot->state = FREE;
        v->judged++;
    }
}

static struct slot *take(struct device *v)
{
    if (!v->slots)
        v->slots = calloc(SLOTS, sizeof(*v->slots));
    for (unsigned i = 0; v->slots && i < SLOTS; i++)
        if (v->slots[i].state == FREE)
            return &v->slots[i];
    return NULL;
}

static void expect(struct spw_device *d, struct spw_block *b, struct spw_stream *in)
{
    struct device *v = &devices[d->ordinal];
    if (!v->context)
        v->context = in->context;
    if (v->context != in->context)
        return;
    judge(d->ordinal);
    struct slot *slot = take(v);
    if (!slot || !spw_event_pair_make(&slot->events) ||
        SPW_ASK(cuEventRecord, slot->events.begin, in->handle) != CUDA_SUCCESS)
        return;
    slot->state = EXPECTED;
    b->arrival = (uint16_t)(slot - v->slots + 1);
}

void spw_arrival_expect_locked(struct spw_device *d, struct spw_block *b)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    struct spw_stream *in = d->mover ? d->mover->in : NULL;
    struct spw_context_guard guard;
    spw_arrival_forget_locked(d, b);
    if (!in || spw_context_enter(&guard, in->context) < 0)
        return;
    expect(d, b, in);
    spw_context_leave(&guard);
}

static struct slot *slot_of(const struct spw_device *d, const struct spw_block *b)
{
    struct slot *slots = devices[d->ordinal].slots;
    return b->arrival && slots ? &slots[b->arrival - 1] : NULL;
}

void spw_arrival_forget_locked(struct spw_device *d, struct spw_block *b)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    struct slot *slot = slot_of(d, b);
    b->arrival = 0;
    if (slot)
        slot->state = FREE;
}

/* The context is current. Returns true if the slot's events will tell the result. */
static bool mark_use(struct device *v, struct slot *slot, const struct spw_stream *s)
{
    if (s->context != v->context || spw_is_capturing(s->handle) ||
        SPW_ASK(cuEventRecord, slot->events.end, s->handle) != CUDA_SUCCESS)
        return false;
    slot->order = ++v->uses;
    slot->state = USED;
    return true;
}

void spw_arrival_used_locked(struct spw_device *d, struct spw_block *b, const struct spw_stream *s)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    struct device *v = &devices[d->ordinal];
    struct slot *slot = slot_of(d, b);
    struct spw_context_guard guard;
    b->arrival = 0;
    if (!slot)
        return;
    slot->state = FREE;
    if (spw_context_enter(&guard, v->context) < 0)
        return;
    CUresult r = SPW_ASK(cuEventQuery, slot->events.begin);
    if (r == CUDA_SUCCESS)
        count(d->ordinal, 0);
    else if (r == CUDA_ERROR_NOT_READY)
        (void)mark_use(v, slot, s);
    spw_context_leave(&guard);
}

void spw_arrival_missed_locked(struct spw_device *d)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    spw_arrivals[d->ordinal].used_count++;
}

void spw_arrivals_collect_locked(struct spw_device *d)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    struct spw_context_guard guard;
    if (!devices[d->ordinal].context || spw_context_enter(&guard, devices[d->ordinal].context) < 0)
        return;
    judge(d->ordinal);
    spw_context_leave(&guard);
}

static void forget(struct device *v, bool destroy)
{
    for (int i = 0; v->slots && i < SLOTS; i++)
        spw_event_pair_drop(&v->slots[i].events, destroy);
    free(v->slots);
    *v = (struct device){0};
}

/* Blocks that were expected may live on, in another context, but are not expected any more. */
void spw_arrivals_context_gone_locked(CUcontext context)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    for (int i = 0; i < SPW_MAX_DEVICES; i++) {
        if (!devices[i].context || devices[i].context != context)
            continue;
        for (uint32_t k = 0; k < spw_devices[i].block_count; k++)
            spw_devices[i].blocks[k]->arrival = 0;
        forget(&devices[i], true);
    }
}

void spw_arrivals_reset(void)
{
    for (int i = 0; i < SPW_MAX_DEVICES; i++)
        forget(&devices[i], false);
    memset(spw_arrivals, 0, sizeof(spw_arrivals));
}
