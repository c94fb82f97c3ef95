/* steptime.c - keeps events at the beginnings of iterations in a ring, and a short history of the times between them. */
#include "steptime.h"

#include <string.h>

#include "ask.h"
#include "capture.h"
#include "context.h"
#include "events.h"
#include "ledger.h"

enum { RING = 8 };

struct beginning {
    CUevent event;
    uint32_t shape;
    bool broken; /* the next one in the ring does not follow it directly */
};

struct history {
    uint32_t shape;
    uint64_t count, used;            /* used: the number of iterations of the device when it was last added to */
    double us[SPW_STEPTIME_MEAN_OF]; /* a ring: number n is at n % SPW_STEPTIME_MEAN_OF */
};

static struct device {
    CUcontext context; /* of the events */
    struct beginning ring[RING];
    unsigned first, count;
    struct history any, shapes[SPW_STEPTIME_SHAPES];
} devices[SPW_MAX_DEVICES];

/* ---- what is known ---- */

static void add(struct history *h, double us, uint64_t now)
{
    h->us[h->count++ % SPW_STEPTIME_MEAN_OF] = us;
    h->used = now;
}

static struct history *find(struct device *v, uint32_t shape)
{
    for (int i = 0; i < SPW_STEPTIME_SHAPES; i++)
        if (v->shapes[i].count && v->shapes[i].shape == shape)
            return &v->shapes[i];
    return NULL;
}

/* Returns the shape's history. If there is none yet, replaces the one that was used longest ago. */
static struct history *find_or_make(struct device *v, uint32_t shape)
{
    struct history *h = find(v, shape);
    for (int i = 0; !h && i < SPW_STEPTIME_SHAPES; i++)
        if (!v->shapes[i].count)
            h = &v->shapes[i];
    if (!h) {
        h = &v->shapes[0];
        for (int i = 1; i < SPW_STEPTIME_SHAPES; i++)
            if (v->shapes[i].used < h->used)
                h = &v->shapes[i];
        *h = (struct history){0};
    }
    h->shape = shape;
    return h;
}

/* ---- events ---- */

static struct beginning *at(struct device *v, unsigned i)
{
    return &v->ring[(v->first + i) % RING];
}

static void take(struct device *v, const struct beginning *from, const struct beginning *to)
{
    double us;
    if (from->broken || !spw_event_elapsed_us(from->event, to->event, &us) || us < 0)
        return;
    add(&v->any, us, v->any.count);
    add(find_or_make(v, from->shape), us, v->any.count);
}

static void harvest(struct device *v)
{
    while (v->count > 1 && SPW_ASK(cuEventQuery, at(v, 1)->event) != CUDA_ERROR_NOT_READY) {
        take(v, at(v, 0), at(v, 1));
        v->first = (v->first + 1) % RING;
        v->count--;
    }
}

static void drop_events(struct device *v, bool destroy)
{
    for (int i = 0; i < RING; i++)
        spw_event_drop(&v->ring[i].event, destroy);
    memset(v->ring, 0, sizeof(v->ring));
    v->first = v->count = 0;
    v->context = NULL;
}

void spw_steptime_broken_locked(int device)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    struct device *v = &devices[device];
    if (v->count)
        at(v, v->count - 1)->broken = true;
}

static bool record(struct beginning *b, CUstream stream)
{
    return spw_event_make(&b->event, CU_EVENT_DEFAULT) == 0 && SPW_ASK(cuEventRecord, b->event, stream) == CUDA_SUCCESS;
}

/* The context is current. */
static void begin(struct device *v, const struct spw_stream *s, uint32_t shape)
{
    harvest(v);
    struct beginning *next = at(v, v->count);
    if (v->count == RING || !record(next, s->handle)) {
        if (v->count)
            at(v, v->count - 1)->broken = true;
        return;
    }
    next->shape = shape;
    next->broken = false;
    v->count++;
}

void spw_steptime_begins_locked(int device, const struct spw_stream *s, uint32_t shape)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    struct device *v = &devices[device];
    struct spw_context_guard guard;
    if (!s || s->gone) {
        spw_steptime_broken_locked(device);
        return;
    }
    if (v->context != s->context)
        drop_events(v, true);
    v->context = s->context;
    if (!v->context || spw_is_capturing(s->handle) || spw_context_enter(&guard, v->context) < 0) {
        spw_steptime_broken_locked(device);
        return;
    }
    begin(v, s, shape);
    spw_context_leave(&guard);
}

void spw_steptime_collect_locked(int device)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    struct spw_context_guard guard;
    if (!devices[device].context || spw_context_enter(&guard, devices[device].context) < 0)
        return;
    harvest(&devices[device]);
    spw_context_leave(&guard);
}

bool spw_steptime_is_pending_locked(int device, uint32_t shape)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    struct device *v = &devices[device];
    for (unsigned i = 0; i + 1 < v->count; i++)
        if (at(v, i)->shape == shape && !at(v, i)->broken)
            return true;
    return false;
}

/* Of the last few times, of which there is at least one. */
static double median_us(const struct history *h)
{
    double few[SPW_STEPTIME_MEDIAN_OF];
    const unsigned n = h->count < SPW_STEPTIME_MEDIAN_OF ? (unsigned)h->count : SPW_STEPTIME_MEDIAN_OF;
    for (unsigned i = 0; i < n; i++) {
        const double us = h->us[(h->count - n + i) % SPW_STEPTIME_MEAN_OF];
        unsigned k = i;
        for (; k > 0 && few[k - 1] > us; k--)
            few[k] = few[k - 1];
        few[k] = us;
    }
    return few[n / 2];
}

struct spw_steptime spw_steptime_locked(int device, uint32_t shape)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    struct device *v = &devices[device];
    const struct history *h = shape == SPW_STEPTIME_ANY ? &v->any : find(v, shape);
    if (!h || !h->count)
        return (struct spw_steptime){0};
    unsigned n = h->count < SPW_STEPTIME_MEAN_OF ? (unsigned)h->count : SPW_STEPTIME_MEAN_OF;
    double sum = 0;
    for (unsigned i = 0; i < n; i++)
        sum += h->us[i];
    return (struct spw_steptime){.count = h->count,
                                 .last_us = h->us[(h->count - 1) % SPW_STEPTIME_MEAN_OF],
                                 .mean_us = sum / n,
                                 .median_us = median_us(h)};
}

void spw_steptime_context_gone_locked(CUcontext context)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    for (int i = 0; i < SPW_MAX_DEVICES; i++)
        if (devices[i].context == context)
            drop_events(&devices[i], true);
}

void spw_steptime_reset(void)
{
    for (int i = 0; i < SPW_MAX_DEVICES; i++)
        drop_events(&devices[i], false);
    memset(devices, 0, sizeof(devices));
}
