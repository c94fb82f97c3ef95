/* durations.c - gives pairs of events to operations of one device, and collects them when they are complete. */
#include "durations.h"

#include <stdlib.h>

#include "ask.h"
#include "capture.h"
#include "context.h"
#include "events.h"
#include "lock.h"

#define PAGEABLE   4.0  /* how many times longer than ours a copy from or to pageable memory takes, at most, roughly */
#define LATENCY_US 20.0 /* of a copy, at most, roughly */

struct spw_duration {
    struct spw_event_pair events; /* first member */
    CUstream stream;
    uint32_t device, ordinal;
    uint64_t epoch; /* of its device, when it was taken */
    bool begun;
};

static struct device {             /* engine lock */
    struct spw_event_pool pool;    /* its ended pairs were not reported yet */
    struct spw_event_pair *latest; /* of the reported pairs, the one that ended last: kept for its `end` */
    uint32_t taken;                /* pairs that operations have */
    uint64_t epoch;                /* raised when the pairs that operations have are not wanted any more */
} devices[SPW_MAX_DEVICES];

static struct spw_event_pair *make(struct spw_event_pool *pool, CUcontext context)
{
    struct spw_context_guard guard;
    if (spw_context_enter(&guard, context) < 0)
        return NULL;
    pool->element_bytes = sizeof(struct spw_duration);
    struct spw_event_pair *p = spw_event_pool_make(pool, context);
    spw_context_leave(&guard);
    return p;
}

struct spw_duration *spw_duration_take_locked(struct spw_device *d, const struct spw_stream *s, uint32_t ordinal)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    struct device *v = &devices[d->ordinal];
    if (spw_anything_captures() || !s->context) /* recording and querying events may end a capture */
        return NULL;
    struct spw_event_pair *pair = spw_event_pool_take(&v->pool, s->context);
    struct spw_duration *p = (struct spw_duration *)(pair ? pair : make(&v->pool, s->context));
    if (!p)
        return NULL;
    p->stream = s->handle;
    p->device = (uint32_t)d->ordinal;
    p->ordinal = ordinal;
    p->epoch = v->epoch;
    p->begun = false;
    v->taken++;
    return p;
}

void spw_duration_begin(struct spw_duration *p)
{
    p->begun = !spw_anything_captures() && SPW_ASK(cuEventRecord, p->events.begin, p->stream) == CUDA_SUCCESS;
}

void spw_duration_end(struct spw_duration *p, bool submitted)
{
    bool measured = p->begun && submitted && !spw_anything_captures() &&
                    SPW_ASK(cuEventRecord, p->events.end, p->stream) == CUDA_SUCCESS;
    struct device *v = &devices[p->device];
    spw_lock();
    if (p->epoch != v->epoch) {
        spw_event_pool_destroy(&v->pool, &p->events, true);
    } else {
        v->taken--;
        if (measured)
            spw_event_pool_ended(&v->pool, &p->events);
        else
            spw_event_pool_give(&v->pool, &p->events);
    }
    spw_unlock();
}

double spw_duration_of_copy_us(double measured_us, uint64_t bytes, double bytes_per_us)
{
    const double most_us = LATENCY_US + PAGEABLE * (double)bytes / bytes_per_us;
    return measured_us < most_us ? measured_us : most_us;
}

/* Returns what the operation added to the time of those before it; < 0: unknown. */
static double own_us(struct device *v, const struct spw_event_pair *p, bool *ret_is_latest)
{
    double us, later_us;
    *ret_is_latest = true;
    if (!spw_event_elapsed_us(p->begin, p->end, &us))
        return -1;
    if (v->latest && v->latest->context == p->context && spw_event_elapsed_us(v->latest->end, p->end, &later_us)) {
        *ret_is_latest = later_us > 0;
        us = later_us < us ? later_us : us;
    }
    return us > 0 ? us : 0;
}

bool spw_durations_collect_locked(struct spw_device *d, void (*tell)(void *context, uint32_t ordinal, double us),
                                  void *context)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    struct device *v = &devices[d->ordinal];
    struct spw_event_pair *p;
    while (!spw_anything_captures() && (p = spw_event_pool_next(&v->pool))) {
        bool is_latest;
        double us = own_us(v, p, &is_latest);
        if (us >= 0)
            tell(context, ((struct spw_duration *)p)->ordinal, us);
        if (us >= 0 && is_latest) {
            if (v->latest)
                spw_event_pool_give(&v->pool, v->latest);
            v->latest = p;
        } else {
            spw_event_pool_give(&v->pool, p);
        }
    }
    return !v->pool.first && !v->taken;
}

static void forget(struct device *v, bool destroy)
{
    spw_event_pool_drop(&v->pool, NULL, destroy);
    spw_event_pool_destroy(&v->pool, v->latest, destroy);
    v->latest = NULL;
    v->taken = 0;
    v->epoch++;
}

void spw_durations_stop_locked(struct spw_device *d)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    forget(&devices[d->ordinal], true);
}

/* A device nearly always has one context. If it has more, what was measured in others is lost as well, which only costs
 * time. */
void spw_durations_context_gone_locked(CUcontext context)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    for (int i = 0; i < SPW_MAX_DEVICES; i++) {
        struct device *v = &devices[i];
        if (v->taken || (v->latest && v->latest->context == context) || spw_event_pool_find(&v->pool, context))
            forget(v, true);
    }
}

void spw_durations_reset(void)
{
    for (int i = 0; i < SPW_MAX_DEVICES; i++)
        forget(&devices[i], false);
}
