/* timing.c - pairs of events, kept for reuse by context. */
#include "timing.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "ask.h"
#include "driver.h"
#include "capture.h"

struct spw_timed {
    CUevent begin, end;
    CUcontext context;
    uint64_t op;
    struct spw_timed *next;
};

struct origin { /* what start times of a context count from */
    CUcontext context;
    CUevent event;
    struct origin *next;
};

atomic_bool spw_timing_now;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* a leaf; guards what follows */
static struct spw_timed *idle, *first_pending, **last_pending = &first_pending;
static struct origin *origins;

void spw_timing_set(bool now_on)
{
    atomic_store_explicit(&spw_timing_now, now_on, memory_order_relaxed);
}

static struct spw_timed *take_idle(CUcontext context)
{
    pthread_mutex_lock(&lock);
    struct spw_timed **at = &idle, *t;
    while (*at && (*at)->context != context)
        at = &(*at)->next;
    t = *at;
    if (t)
        *at = t->next;
    pthread_mutex_unlock(&lock);
    return t;
}

static void give_idle(struct spw_timed *t)
{
    pthread_mutex_lock(&lock);
    t->next = idle;
    idle = t;
    pthread_mutex_unlock(&lock);
}

static struct spw_timed *make(CUcontext context)
{
    struct spw_timed *t = calloc(1, sizeof(*t));
    if (!t)
        return NULL;
    t->context = context;
    if (SPW_ASK_QUIETLY(cuEventCreate, &t->begin, CU_EVENT_DEFAULT) == CUDA_SUCCESS) {
        if (SPW_ASK_QUIETLY(cuEventCreate, &t->end, CU_EVENT_DEFAULT) == CUDA_SUCCESS)
            return t;
        (void)SPW_ASK_QUIETLY(cuEventDestroy_v2, t->begin);
    }
    free(t);
    return NULL;
}

/* The first event of a context stays as its origin; the pair gets another one. */
static bool make_origin(struct spw_timed *t, CUstream stream)
{
    struct origin *o;
    pthread_mutex_lock(&lock);
    for (o = origins; o && o->context != t->context; o = o->next)
        ;
    pthread_mutex_unlock(&lock);
    if (o)
        return true;
    o = calloc(1, sizeof(*o));
    if (!o || SPW_ASK_QUIETLY(cuEventCreate, &o->event, CU_EVENT_DEFAULT) != CUDA_SUCCESS) {
        free(o);
        return false;
    }
    if (SPW_ASK_QUIETLY(cuEventRecord, o->event, stream) != CUDA_SUCCESS) {
        (void)SPW_ASK_QUIETLY(cuEventDestroy_v2, o->event);
        free(o);
        return false;
    }
    o->context = t->context;
    pthread_mutex_lock(&lock);
    o->next = origins;
    origins = o;
    pthread_mutex_unlock(&lock);
    return true;
}

static CUcontext context_of(CUstream stream)
{
    CUcontext context = NULL, current = NULL;
    if (spw_driver.cuCtxGetCurrent(&current) != CUDA_SUCCESS)
        return NULL;
    if ((uintptr_t)stream <= 2) /* a default stream: the current context's */
        return current;
    return spw_driver.cuStreamGetCtx(stream, &context) == CUDA_SUCCESS && context == current ? context : NULL;
}

/* While any stream captures, making and asking events may be what ends the capture: nothing is timed then. */
static bool capturing(void)
{
    return spw_anything_captures();
}

struct spw_timed *spw_timing_begin(CUstream stream)
{
    if (!spw_timing_is_on() || capturing())
        return NULL;
    CUcontext context = context_of(stream);
    struct spw_timed *t = context ? take_idle(context) : NULL;
    if (!t)
        t = context ? make(context) : NULL;
    if (!t)
        return NULL;
    if (!make_origin(t, stream) || SPW_ASK_QUIETLY(cuEventRecord, t->begin, stream) != CUDA_SUCCESS) {
        give_idle(t);
        return NULL;
    }
    return t;
}

void spw_timing_end(struct spw_timed *t, CUstream stream, uint64_t op)
{
    if (!t)
        return;
    t->op = op;
    if (SPW_ASK_QUIETLY(cuEventRecord, t->end, stream) != CUDA_SUCCESS) {
        give_idle(t);
        return;
    }
    pthread_mutex_lock(&lock);
    t->next = NULL;
    *last_pending = t;
    last_pending = &t->next;
    pthread_mutex_unlock(&lock);
}

void spw_timing_cancel(struct spw_timed *t)
{
    if (t)
        give_idle(t);
}

static CUevent origin_of(CUcontext context)
{
    for (struct origin *o = origins; o; o = o->next)
        if (o->context == context)
            return o->event;
    return NULL;
}

static uint64_t ns(float milliseconds)
{
    return milliseconds > 0 ? (uint64_t)((double)milliseconds * 1e6 + 0.5) : 0;
}

bool spw_timing_next(uint64_t *ret_op, uint64_t *ret_start_ns, uint64_t *ret_duration_ns)
{
    float since = 0, lasted = 0;
    bool told = false;
    if (capturing())
        return false;
    pthread_mutex_lock(&lock);
    while (first_pending && !told && SPW_ASK_QUIETLY(cuEventQuery, first_pending->end) != CUDA_ERROR_NOT_READY) {
        struct spw_timed *t = first_pending;
        first_pending = t->next;
        if (!first_pending)
            last_pending = &first_pending;
        told = SPW_ASK_QUIETLY(cuEventElapsedTime, &lasted, t->begin, t->end) == CUDA_SUCCESS &&
               SPW_ASK_QUIETLY(cuEventElapsedTime, &since, origin_of(t->context), t->begin) == CUDA_SUCCESS;
        *ret_op = t->op;
        t->next = idle;
        idle = t;
    }
    pthread_mutex_unlock(&lock);
    *ret_start_ns = ns(since);
    *ret_duration_ns = ns(lasted);
    return told;
}

/* Without a context all are forgotten, and left to the driver. */
static void drop(struct spw_timed **list, CUcontext context)
{
    while (*list) {
        struct spw_timed *t = *list;
        if (context && t->context != context) {
            list = &t->next;
            continue;
        }
        *list = t->next;
        if (context) {
            (void)SPW_ASK_QUIETLY(cuEventDestroy_v2, t->begin);
            (void)SPW_ASK_QUIETLY(cuEventDestroy_v2, t->end);
        }
        free(t);
    }
}

uint64_t spw_timing_events_held(void)
{
    uint64_t count = 0;
    pthread_mutex_lock(&lock);
    for (const struct spw_timed *t = idle; t; t = t->next)
        count += 2;
    for (const struct spw_timed *t = first_pending; t; t = t->next)
        count += 2;
    for (const struct origin *o = origins; o; o = o->next)
        count++;
    pthread_mutex_unlock(&lock);
    return count;
}

void spw_timing_context_gone(CUcontext context)
{
    pthread_mutex_lock(&lock);
    drop(&idle, context);
    drop(&first_pending, context);
    last_pending = &first_pending;
    while (*last_pending)
        last_pending = &(*last_pending)->next;
    for (struct origin **o = &origins; *o;) {
        struct origin *gone = *o;
        if (context && gone->context != context) {
            o = &gone->next;
            continue;
        }
        *o = gone->next;
        if (context)
            (void)SPW_ASK_QUIETLY(cuEventDestroy_v2, gone->event);
        free(gone);
    }
    pthread_mutex_unlock(&lock);
}

void spw_timing_reset(void)
{
    pthread_mutex_init(&lock, NULL);
    spw_timing_set(false);
    spw_timing_context_gone(NULL);
}
