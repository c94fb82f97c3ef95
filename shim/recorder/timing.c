/* timing.c - keeps pairs of events for reuse, by context. */
#include "timing.h"

#include <pthread.h>
#include <stdatomic.h>

#include "ask.h"
#include "capture.h"
#include "driver.h"
#include "events.h"
#include "lock.h"

struct spw_timed {
    struct spw_event_pair events; /* first */
    uint64_t op;
};

atomic_bool spw_timing_now;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* a leaf; guards what follows */
static struct spw_event_pool pool = {.element_bytes = sizeof(struct spw_timed), .quiet = true};
static struct spw_event_pool origins = {/* `begin` is where start times of a context count from */
                                        .element_bytes = sizeof(struct spw_event_pair),
                                        .quiet = true,
                                        .single = true};

void spw_timing_set(bool now_on)
{
    atomic_store_explicit(&spw_timing_now, now_on, memory_order_relaxed);
}

static void give(struct spw_event_pool *to, struct spw_event_pair *pair)
{
    spw_mutex_lock(&lock, SPW_LOCK_LEAF);
    spw_event_pool_give(to, pair);
    spw_mutex_unlock(&lock);
}

/* The first event of a context is its origin, and is kept. */
static bool has_origin(CUcontext context, CUstream stream)
{
    spw_mutex_lock(&lock, SPW_LOCK_LEAF);
    bool has = spw_event_pool_find(&origins, context) != NULL;
    spw_mutex_unlock(&lock);
    struct spw_event_pair *o = has ? NULL : spw_event_pool_make(&origins, context);
    if (!o)
        return has;
    if (SPW_ASK_QUIETLY(cuEventRecord, o->begin, stream) != CUDA_SUCCESS) {
        spw_event_pool_destroy(&origins, o, true);
        return false;
    }
    give(&origins, o);
    return true;
}

static CUcontext context_of(CUstream stream)
{
    CUcontext context = NULL, current = NULL;
    if (spw_driver.cuCtxGetCurrent(&current) != CUDA_SUCCESS)
        return NULL;
    if ((uintptr_t)stream <= 2) /* a default stream of the current context */
        return current;
    return spw_driver.cuStreamGetCtx(stream, &context) == CUDA_SUCCESS && context == current ? context : NULL;
}

/* Returns a pair whose `begin` is recorded. */
static struct spw_event_pair *begin(CUcontext context, CUstream stream)
{
    spw_mutex_lock(&lock, SPW_LOCK_LEAF);
    struct spw_event_pair *p = spw_event_pool_take(&pool, context);
    spw_mutex_unlock(&lock);
    if (!p)
        p = spw_event_pool_make(&pool, context);
    if (p && has_origin(context, stream) && SPW_ASK_QUIETLY(cuEventRecord, p->begin, stream) == CUDA_SUCCESS)
        return p;
    if (p)
        give(&pool, p);
    return NULL;
}

struct spw_timed *spw_timing_begin(CUstream stream)
{
    if (!spw_timing_is_on() || spw_anything_captures()) /* making or querying events could invalidate the capture */
        return NULL;
    CUcontext context = context_of(stream);
    return context ? (struct spw_timed *)begin(context, stream) : NULL;
}

void spw_timing_end(struct spw_timed *t, CUstream stream, uint64_t op)
{
    if (!t)
        return;
    t->op = op;
    if (SPW_ASK_QUIETLY(cuEventRecord, t->events.end, stream) != CUDA_SUCCESS) {
        give(&pool, &t->events);
        return;
    }
    spw_mutex_lock(&lock, SPW_LOCK_LEAF);
    spw_event_pool_ended(&pool, &t->events);
    spw_mutex_unlock(&lock);
}

void spw_timing_cancel(struct spw_timed *t)
{
    if (t)
        give(&pool, &t->events);
}

static uint64_t ns(float milliseconds)
{
    return milliseconds > 0 ? (uint64_t)((double)milliseconds * 1e6 + 0.5) : 0;
}

bool spw_timing_next(uint64_t *ret_op, uint64_t *ret_start_ns, uint64_t *ret_duration_ns)
{
    float since = 0, lasted = 0;
    bool told = false;
    struct spw_event_pair *p;
    if (spw_anything_captures())
        return false;
    spw_mutex_lock(&lock, SPW_LOCK_LEAF);
    while (!told && (p = spw_event_pool_next(&pool))) {
        const struct spw_event_pair *origin = spw_event_pool_find(&origins, p->context);
        told = origin && SPW_ASK_QUIETLY(cuEventElapsedTime, &lasted, p->begin, p->end) == CUDA_SUCCESS &&
               SPW_ASK_QUIETLY(cuEventElapsedTime, &since, origin->begin, p->begin) == CUDA_SUCCESS;
        *ret_op = ((struct spw_timed *)p)->op;
        spw_event_pool_give(&pool, p);
    }
    spw_mutex_unlock(&lock);
    *ret_start_ns = ns(since);
    *ret_duration_ns = ns(lasted);
    return told;
}

static void drop(CUcontext context, bool destroy)
{
    spw_mutex_lock(&lock, SPW_LOCK_LEAF);
    spw_event_pool_drop(&pool, context, destroy);
    spw_event_pool_drop(&origins, context, destroy);
    spw_mutex_unlock(&lock);
}

void spw_timing_context_gone(CUcontext context)
{
    if (context)
        drop(context, true);
}

void spw_timing_reset(void)
{
    pthread_mutex_init(&lock, NULL);
    spw_timing_set(false);
    drop(NULL, false);
}
