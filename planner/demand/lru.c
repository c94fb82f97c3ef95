/* lru.c - the planner that copies out the least recently used tensor when room is short, and not before.
 *
 * Source: least recently used, as in Mattson, Gecsei, Slutz, Traiger: Evaluation techniques for storage hierarchies, IBM
 * Systems Journal 9 (1970), there for pages: the plain rule with which planners are compared. Copies only. Guaranteed: a
 * schedule wherever each operation alone fits, the host has room, and all that is read before anything is written fits
 * too. Nothing is guaranteed about its time: an operation that needs room waits for the copy out, and the copy in starts
 * only when its reader is next in line. Constant time for each eviction. */
#include <errno.h>
#include <stdlib.h>

#include "demand/demand.h"
#include "demand/planners.h"

/* A ring through element tensor_count, followed by the least recently used tensor. It contains only tensors that can be
 * evicted. */
struct lru {
    uint32_t *before, *behind; /* for each tensor; SPW_NO_INDEX: not in the ring */
};

static int begin(void *context, struct spw_demand *demand)
{
    struct lru *lru = context;
    const uint32_t end = demand->graph->tensor_count;
    for (uint32_t i = 0; i < end; i++)
        lru->before[i] = lru->behind[i] = SPW_NO_INDEX;
    lru->before[end] = lru->behind[end] = end;
    return 0;
}

static void take_out(struct lru *lru, uint32_t tensor)
{
    if (lru->before[tensor] == SPW_NO_INDEX)
        return;
    lru->behind[lru->before[tensor]] = lru->behind[tensor];
    lru->before[lru->behind[tensor]] = lru->before[tensor];
    lru->before[tensor] = lru->behind[tensor] = SPW_NO_INDEX;
}

static void put_last(struct lru *lru, uint32_t tensor, uint32_t end)
{
    lru->before[tensor] = lru->before[end];
    lru->behind[tensor] = end;
    lru->behind[lru->before[end]] = tensor;
    lru->before[end] = tensor;
}

static int note(void *context, struct spw_demand *demand, uint32_t tensor, enum spw_demand_event event)
{
    struct lru *lru = context;
    const struct spw_graph_tensor *t = &demand->graph->tensors[tensor];
    const bool is_there = demand->builder.places[tensor].device != SPW_ABSENT;
    take_out(lru, tensor);
    if ((event == SPW_TENSOR_ENTERED || event == SPW_TENSOR_USED) && is_there && t->evictable && t->bytes)
        put_last(lru, tensor, demand->graph->tensor_count);
    return 0;
}

static uint32_t choose(void *context, struct spw_demand *demand, uint64_t wanted_bytes, enum spw_demand_way *ret_way)
{
    const struct lru *lru = context;
    const uint32_t end = demand->graph->tensor_count;
    (void)wanted_bytes;
    *ret_way = SPW_WAY_COPY;
    for (uint32_t i = lru->behind[end]; i != end; i = lru->behind[i], demand->work++)
        if (spw_demand_may_leave(demand, i, SPW_WAY_COPY))
            return i;
    return SPW_NO_INDEX;
}

int spw_plan_lru(const struct spw_plan_request *request, struct spw_schedule *schedule)
{
    const size_t elements = (size_t)request->graph->tensor_count + 1;
    struct lru lru = {.before = malloc(elements * sizeof *lru.before), .behind = malloc(elements * sizeof *lru.behind)};
    const struct spw_demand_policy policy = {
        .context = &lru, .begin = begin, .choose = choose, .note = note, .copies = true};
    const int r = lru.before && lru.behind ? spw_demand_make(request, &policy, schedule) : -ENOMEM;
    free(lru.before);
    free(lru.behind);
    return r;
}
