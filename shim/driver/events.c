/* events.c - makes, counts and destroys events, and keeps pairs of them in lists. */
#include "events.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "ask.h"
#include "result.h"

static atomic_uint_least64_t held;

uint64_t spw_events_held(void)
{
    return atomic_load_explicit(&held, memory_order_relaxed);
}

static int make(CUevent *event, unsigned flags, bool quiet)
{
    CUevent made;
    if (*event)
        return 0;
    CUresult r = SPW_ASK_QUIETLY(cuEventCreate, &made, flags);
    if (!quiet)
        (void)spw_ask_answer("cuEventCreate", r);
    if (r == CUDA_SUCCESS) {
        *event = made;
        atomic_fetch_add_explicit(&held, 1, memory_order_relaxed);
    }
    return spw_result(r);
}

int spw_event_make(CUevent *event, unsigned flags)
{
    return make(event, flags, false);
}

static void drop(CUevent *event, bool destroy, bool quiet)
{
    if (!*event)
        return;
    CUresult r = destroy ? SPW_ASK_QUIETLY(cuEventDestroy_v2, *event) : CUDA_SUCCESS;
    if (!quiet)
        (void)spw_ask_answer("cuEventDestroy_v2", r);
    *event = NULL;
    atomic_fetch_sub_explicit(&held, 1, memory_order_relaxed);
}

void spw_event_drop(CUevent *event, bool destroy)
{
    drop(event, destroy, false);
}

bool spw_event_elapsed_us(CUevent from, CUevent to, double *ret_us)
{
    float ms;
    if (SPW_ASK(cuEventElapsedTime, &ms, from, to) != CUDA_SUCCESS)
        return false;
    *ret_us = (double)ms * 1000;
    return true;
}

static bool make_pair(struct spw_event_pair *p, bool single, bool quiet)
{
    return make(&p->begin, CU_EVENT_DEFAULT, quiet) == 0 && (single || make(&p->end, CU_EVENT_DEFAULT, quiet) == 0);
}

bool spw_event_pair_make(struct spw_event_pair *pair)
{
    return make_pair(pair, false, false);
}

void spw_event_pair_drop(struct spw_event_pair *pair, bool destroy)
{
    spw_event_drop(&pair->begin, destroy);
    spw_event_drop(&pair->end, destroy);
}

/* ---- pools ---- */

static struct spw_event_pair **place_of(struct spw_event_pair **list, CUcontext context)
{
    while (*list && context && (*list)->context != context)
        list = &(*list)->next;
    return list;
}

static struct spw_event_pair *unlink_first(struct spw_event_pair **list)
{
    struct spw_event_pair *p = *list;
    if (p)
        *list = p->next;
    return p;
}

struct spw_event_pair *spw_event_pool_take(struct spw_event_pool *pool, CUcontext context)
{
    return unlink_first(place_of(&pool->idle, context));
}

struct spw_event_pair *spw_event_pool_make(const struct spw_event_pool *pool, CUcontext context)
{
    struct spw_event_pair *p = calloc(1, pool->element_bytes);
    if (p && !make_pair(p, pool->single, pool->quiet)) {
        spw_event_pool_destroy(pool, p, true);
        p = NULL;
    }
    if (p)
        p->context = context;
    return p;
}

void spw_event_pool_give(struct spw_event_pool *pool, struct spw_event_pair *pair)
{
    pair->next = pool->idle;
    pool->idle = pair;
}

void spw_event_pool_ended(struct spw_event_pool *pool, struct spw_event_pair *pair)
{
    pair->next = NULL;
    if (pool->first)
        pool->last->next = pair;
    else
        pool->first = pair;
    pool->last = pair;
}

void spw_event_pool_destroy(const struct spw_event_pool *pool, struct spw_event_pair *pair, bool destroy)
{
    if (!pair)
        return;
    drop(&pair->begin, destroy, pool->quiet);
    drop(&pair->end, destroy, pool->quiet);
    free(pair);
}

struct spw_event_pair *spw_event_pool_next(struct spw_event_pool *pool)
{
    if (!pool->first)
        return NULL;
    CUresult r = SPW_ASK_QUIETLY(cuEventQuery, pool->first->end);
    if (!pool->quiet)
        (void)spw_ask_answer("cuEventQuery", r);
    return r == CUDA_ERROR_NOT_READY ? NULL : unlink_first(&pool->first);
}

const struct spw_event_pair *spw_event_pool_find(const struct spw_event_pool *pool, CUcontext context)
{
    struct spw_event_pair *idle = pool->idle, *first = pool->first;
    idle = *place_of(&idle, context);
    return idle ? idle : *place_of(&first, context);
}

void spw_event_pool_drop(struct spw_event_pool *pool, CUcontext context, bool destroy)
{
    struct spw_event_pair **const lists[] = {&pool->idle, &pool->first};
    for (int i = 0; i < 2; i++)
        for (struct spw_event_pair **at = lists[i]; *(at = place_of(at, context));)
            spw_event_pool_destroy(pool, unlink_first(at), destroy);
    for (pool->last = pool->first; pool->last && pool->last->next;)
        pool->last = pool->last->next;
}
