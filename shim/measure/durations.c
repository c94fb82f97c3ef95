/* durations.c - pairs of events, handed to operations of one device and collected when they are complete. */
#include "durations.h"

#include <stdlib.h>

#include "ask.h"
#include "context.h"
#include "capture.h"
#include "lock.h"

#define PAGEABLE   4.0  /* times that a copy from or to pageable memory takes as long as ours, at most, about */
#define LATENCY_US 20.0 /* of a copy, at most, about */

struct spw_duration {
    CUevent begin, end;
    CUcontext context;
    CUstream stream;
    uint32_t device, ordinal;
    uint64_t epoch; /* of its device when it was taken */
    bool begun;
    struct spw_duration *next;
};

static struct device {                        /* engine lock */
    struct spw_duration *idle, *first, *last; /* `first` to `last` have ended and were not told yet, oldest first */
    struct spw_duration *latest;              /* of those told, the one that ended last: kept for its `end` */
    uint32_t taken;                           /* are in operations' hands */
    uint64_t epoch;                           /* raised when what is in operations' hands is not wanted any more */
} devices[SPW_MAX_DEVICES];
static uint64_t pairs;

static void destroy(struct spw_duration *p)
{
    (void)SPW_ASK(cuEventDestroy_v2, p->begin);
    (void)SPW_ASK(cuEventDestroy_v2, p->end);
    free(p);
    pairs--;
}

static struct spw_duration *make(CUcontext context)
{
    struct spw_duration *p = calloc(1, sizeof(*p));
    if (!p)
        return NULL;
    p->context = context;
    if (SPW_ASK(cuEventCreate, &p->begin, CU_EVENT_DEFAULT) == CUDA_SUCCESS) {
        if (SPW_ASK(cuEventCreate, &p->end, CU_EVENT_DEFAULT) == CUDA_SUCCESS) {
            pairs++;
            return p;
        }
        (void)SPW_ASK(cuEventDestroy_v2, p->begin);
    }
    free(p);
    return NULL;
}

static struct spw_duration *take_idle(struct device *v, CUcontext context)
{
    struct spw_duration **at = &v->idle, *p;
    while (*at && (*at)->context != context)
        at = &(*at)->next;
    p = *at;
    if (p)
        *at = p->next;
    return p;
}

static void give_idle(struct device *v, struct spw_duration *p)
{
    p->next = v->idle;
    v->idle = p;
}

/* While any stream captures, recording and asking events may be what ends the capture: nothing is timed then. */
static bool capturing(void)
{
    return spw_anything_captures();
}

struct spw_duration *spw_duration_take_locked(struct spw_device *d, const struct spw_stream *s, uint32_t ordinal)
{
    struct device *v = &devices[d->ordinal];
    struct spw_context_guard guard;
    if (capturing() || !s->context)
        return NULL;
    struct spw_duration *p = take_idle(v, s->context);
    if (!p) {
        if (spw_context_enter(&guard, s->context) < 0)
            return NULL;
        p = make(s->context);
        spw_context_leave(&guard);
    }
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
    p->begun = !capturing() && SPW_ASK(cuEventRecord, p->begin, p->stream) == CUDA_SUCCESS;
}

void spw_duration_end(struct spw_duration *p, bool submitted)
{
    bool measured = p->begun && submitted && !capturing() && SPW_ASK(cuEventRecord, p->end, p->stream) == CUDA_SUCCESS;
    struct device *v = &devices[p->device];
    spw_lock();
    if (p->epoch != v->epoch) {
        destroy(p);
    } else {
        v->taken--;
        p->next = NULL;
        if (!measured)
            give_idle(v, p);
        else if (v->first)
            v->last = v->last->next = p;
        else
            v->first = v->last = p;
    }
    spw_unlock();
}

double spw_duration_of_copy_us(double measured_us, uint64_t bytes, double bytes_per_us)
{
    const double most_us = LATENCY_US + PAGEABLE * (double)bytes / bytes_per_us;
    return measured_us < most_us ? measured_us : most_us;
}

/* What the operation added to the time that those before it have taken; < 0: not known. */
static double own_us(struct device *v, const struct spw_duration *p, bool *ret_is_latest)
{
    float ms, later_ms;
    *ret_is_latest = true;
    if (SPW_ASK(cuEventElapsedTime, &ms, p->begin, p->end) != CUDA_SUCCESS)
        return -1;
    if (v->latest && v->latest->context == p->context &&
        SPW_ASK(cuEventElapsedTime, &later_ms, v->latest->end, p->end) == CUDA_SUCCESS) {
        *ret_is_latest = later_ms > 0;
        ms = later_ms < ms ? later_ms : ms;
    }
    return ms > 0 ? (double)ms * 1000 : 0;
}

bool spw_durations_collect_locked(struct spw_device *d, void (*tell)(void *context, uint32_t ordinal, double us),
                                  void *context)
{
    struct device *v = &devices[d->ordinal];
    while (v->first && !capturing()) {
        struct spw_duration *p = v->first;
        bool is_latest;
        if (SPW_ASK(cuEventQuery, p->end) == CUDA_ERROR_NOT_READY)
            break;
        v->first = p->next;
        double us = own_us(v, p, &is_latest);
        if (us >= 0)
            tell(context, p->ordinal, us);
        if (us >= 0 && is_latest) {
            if (v->latest)
                give_idle(v, v->latest);
            v->latest = p;
        } else {
            give_idle(v, p);
        }
    }
    return !v->first && !v->taken;
}

static void destroy_all(struct spw_duration **list)
{
    while (*list) {
        struct spw_duration *p = *list;
        *list = p->next;
        destroy(p);
    }
}

static void forget(struct device *v)
{
    destroy_all(&v->idle);
    destroy_all(&v->first);
    if (v->latest)
        destroy(v->latest);
    v->latest = NULL;
    v->taken = 0;
    v->epoch++;
}

void spw_durations_stop_locked(struct spw_device *d)
{
    forget(&devices[d->ordinal]);
}

/* A device has one context nearly always; where it has more, what others measured is lost as well, which costs only time. */
void spw_durations_context_gone_locked(CUcontext context)
{
    for (int i = 0; i < SPW_MAX_DEVICES; i++) {
        const struct spw_duration *p = devices[i].first;
        while (p && p->context != context)
            p = p->next;
        if (!p)
            for (p = devices[i].idle; p && p->context != context; p = p->next)
                ;
        if (p || devices[i].taken || (devices[i].latest && devices[i].latest->context == context))
            forget(&devices[i]);
    }
}

uint64_t spw_durations_events_held_locked(void)
{
    return 2 * pairs;
}

void spw_durations_reset(void)
{
    for (int i = 0; i < SPW_MAX_DEVICES; i++) {
        struct spw_duration *lists[] = {devices[i].idle, devices[i].first};
        free(devices[i].latest);
        for (int k = 0; k < 2; k++)
            while (lists[k]) {
                struct spw_duration *p = lists[k];
                lists[k] = p->next;
                free(p);
            }
        devices[i] = (struct device){.epoch = devices[i].epoch + 1};
    }
    pairs = 0;
}
