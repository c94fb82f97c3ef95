/* auto.c - the default planner: chooses swap, clean drop and replay together on any graph.
 *
 * It searches (improve.h) from covers and from the schedules of all other planners, and keeps the best. On small graphs
 * it climbs to its budget over a ladder of smaller budgets, the same for every budget, and keeps what was found on the
 * way: what is found for a budget is then found for each larger one, so more memory never makes a slower plan. On larger
 * graphs it can continue from the choices of an earlier plan. Without a time limit it limits the work instead of the
 * time, and the same request gives the same schedule. Guarantees no optimum. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "search/improve.h"
#include "planners/planners.h"

enum {
    SMALL = 64,        /* a size at which a ladder is cheap */
    USUAL_TOUCHES = 8, /* of an operation, at most */
    USUAL_TENSORS = 4, /* for each operation, at most */
    RUNGS = 64,
    RUNG_PATIENCE = 1600000, /* evaluations without success on a rung, times the size squared */
    RUNG_EVALUATIONS = 20000,
    MOST_EVALUATIONS = 16000,
    LEAST_EVALUATIONS = 800,
    WITH_REPLAYS = 2, /* factor where each choice has more options */
};

#define EXPLORED 0.5 /* share of the effort up to which several beginnings are tried */
#define WORK     8e6 /* evaluations times size */

/* Returns the cost of an evaluation of the graph, in operations with the usual number of touches. Launches for lists of
 * tensors, and of graphs, touch hundreds. */
static uint32_t size_of(const struct spw_graph *graph)
{
    const uint32_t touches = graph->touched_count / USUAL_TOUCHES, tensors = graph->tensor_count / USUAL_TENSORS;
    const uint32_t size = touches > tensors ? touches : tensors;
    return size > graph->op_count ? size : graph->op_count;
}

static bool is_small(const struct spw_graph *graph)
{
    return size_of(graph) <= SMALL;
}

/* Returns evaluations for some two seconds of one core, for graphs of up to thousands of operations; an evaluation takes
 * time in proportion to the graph's size. Ten times the work finds less than a two-hundredth more, and on deep networks
 * nothing. */
static uint64_t default_evaluations(const struct spw_plan_request *request)
{
    const uint32_t size = size_of(request->graph);
    const double most = fmax(WORK / (double)size, LEAST_EVALUATIONS);
    const uint64_t usual = MOST_EVALUATIONS * (request->may_replay && request->may_copy ? WITH_REPLAYS : 1);
    if (is_small(request->graph))
        return (uint64_t)RUNG_EVALUATIONS * (RUNGS + 1) * request->graph->op_count / size;
    return most < (double)usual ? (uint64_t)most + 1 : usual;
}

/* Returns about how many evaluations fit into that time, where there is no clock. */
static uint64_t evaluations_in(const struct spw_graph *graph, double time_limit_s, uint64_t most)
{
    const double evaluations = 1 + time_limit_s * 6e6 / (double)(size_of(graph) + 10);
    return evaluations < (double)most ? (uint64_t)evaluations : most;
}

/* Offers the schedules of other planners. With an effort: until it is used up, if something has been found by then.
 * Without: all those that are quick. */
static int try_others(const struct spw_plan_request *request, const struct spw_effort *effort, struct spw_improver *improver)
{
    const struct spw_schedule *best;
    int r = 0;
    for (const struct spw_planner *other = spw_planners; other->name && r == 0; other++) {
        struct spw_schedule schedule;
        if (other->make == spw_plan_auto || (other->most_ops && (!effort || request->graph->op_count > other->most_ops)))
            continue;
        if (effort && spw_improver_best(improver, &best) < INFINITY && spw_effort_used(effort, request) >= 1)
            break;
        r = spw_schedule_init(&schedule, request->graph);
        if (r == 0)
            r = other->make(request, &schedule);
        if (r == 0)
            r = spw_improver_offer(improver, &schedule);
        spw_schedule_finish(&schedule);
        r = r == -ENOMEM ? r : 0;
    }
    return r;
}

static uint64_t rung(const struct spw_graph *graph, uint32_t number)
{
    const uint64_t range = graph->peak_bytes > graph->least_bytes ? graph->peak_bytes - graph->least_bytes : 0;
    return graph->least_bytes +
           (range < RUNGS ? (number < range ? number : range) : (uint64_t)((unsigned __int128)range * number / RUNGS));
}

/* Returns true if there is no search. */
static bool is_to_begin_only(const struct spw_plan_request *request)
{
    return request->only_begin_with && request->begin_with;
}

/* Searches at each rung up to the highest within the budget, or, on larger graphs, at the budget itself. */
static int climb(const struct spw_plan_request *request, const struct spw_effort *effort, struct spw_improver *improver)
{
    const bool is_ladder = is_small(request->graph);
    const uint64_t size = size_of(request->graph);
    struct spw_plan_request lower = *request;
    int r = 0;
    for (uint32_t i = 0; i <= RUNGS && r == 0; i++) {
        if (is_ladder)
            lower.device_bytes = rung(request->graph, i);
        if (lower.device_bytes > request->device_bytes ||
            (is_ladder && i > 0 && lower.device_bytes == rung(request->graph, i - 1)))
            break;
        if (is_ladder && i > 0)
            r = spw_improver_raise(improver, lower.device_bytes);
        if (r == 0)
            r = spw_improver_cover(improver);
        if (r == 0 && (!is_ladder || i % 8 == 0))
            r = try_others(&lower, effort, improver);
        if (r == 0 && !is_ladder)
            r = spw_improver_explore(improver, EXPLORED);
        if (r == 0 && !is_ladder && request->begin_with)
            r = spw_improver_begin_with(improver, request->begin_with);
        if (r == 0)
            r = spw_improver_search(improver, is_ladder ? (i + 1.0) / (RUNGS + 1) : 1,
                                    is_ladder ? RUNG_PATIENCE / (size * size) : UINT64_MAX);
        if (!is_ladder)
            break;
    }
    return r;
}

/* Tries the other planners where the clock stopped the climb before that. On small graphs this takes milliseconds for the
 * quick ones. It is done on every eighth rung (on all of them if they are a byte apart), which are the same for every
 * budget, so that here too more memory makes no slower plan. */
static int catch_up(const struct spw_plan_request *request, const struct spw_effort *effort, struct spw_improver *improver)
{
    struct spw_plan_request lower = *request;
    const uint32_t step = rung(request->graph, RUNGS) - rung(request->graph, 0) < RUNGS ? 1 : 8;
    int r = 0;
    if (!request->now_s || !is_small(request->graph) || spw_effort_used(effort, request) < 1)
        return 0;
    for (uint32_t i = 0; i <= RUNGS && r == 0; i += step) {
        lower.device_bytes = rung(request->graph, i);
        if (lower.device_bytes > request->device_bytes || (i > 0 && lower.device_bytes == rung(request->graph, i - 1)))
            break;
        r = try_others(&lower, NULL, improver);
    }
    return r;
}

int spw_plan_auto(const struct spw_plan_request *request, struct spw_schedule *schedule)
{
    struct spw_effort effort = {.limit_s = request->time_limit_s, .limit = default_evaluations(request)};
    struct spw_plan_request first = *request;
    struct spw_improver *improver;
    const struct spw_schedule *best;
    if (request->device_bytes < request->graph->least_bytes)
        return -ENOSPC;
    if (!request->now_s && request->time_limit_s > 0)
        effort.limit = evaluations_in(request->graph, request->time_limit_s, effort.limit);
    if (request->now_s)
        effort.begun_s = request->now_s(request->now_context);
    if (is_small(request->graph) && !is_to_begin_only(request)) {
        first.device_bytes = request->graph->least_bytes;
        first.bound_us = 0; /* it is for the last rung */
    }
    int r = spw_improver_create(&first, &effort, &improver);
    if (r < 0)
        return r;
    r = is_to_begin_only(request) ? spw_improver_begin_with(improver, request->begin_with)
                                  : climb(request, &effort, improver);
    if (r == 0 && !is_to_begin_only(request))
        r = catch_up(request, &effort, improver);
    if (r == 0)
        r = spw_improver_polish(improver);
    if (r == 0)
        r = spw_improver_best(improver, &best) < INFINITY ? spw_schedule_copy(schedule, best, request->graph) : -ENOSPC;
    if (r == 0 && request->ret_choices)
        r = spw_improver_choices(improver, request->ret_choices);
    spw_improver_destroy(improver);
    return r;
}
