/* checked-plan.c - makes plans and has them checked. */
#include "checked-plan.h"

#include <errno.h>
#include <stdio.h>

#include "plan/check.h"

static char said[128];

void planned_says(const char *format, ...)
{
    va_list list;
    va_start(list, format);
    (void)vsnprintf(said, sizeof said, format, list);
    va_end(list);
}

struct spw_plan_request planned_request(const struct spw_graph *graph, uint64_t device_bytes)
{
    return (struct spw_plan_request){.graph = graph,
                                     .device_bytes = device_bytes,
                                     .host_bytes = UINT64_MAX,
                                     .may_copy = true,
                                     .may_replay = true,
                                     .machine.duplex = 1};
}

static bool is_close(double a, double b)
{
    const double difference = a > b ? a - b : b - a;
    return difference <= 1e-6 + 1e-9 * (a > b ? a : b);
}

static void check(const char *planner, const struct spw_plan_request *request, const struct spw_plan *plan)
{
    const size_t count = plan->schedule.count;
    double *starts = malloc((count + 1) * sizeof *starts);
    struct spw_timed_step *events = malloc((count + 1) * sizeof *events);
    struct spw_timing timing;
    struct spw_machine machine = request->machine;
    assert_true(starts && events);
    machine.host_bytes = request->host_bytes;
    assert_int_equal(spw_timeline(request->graph, &plan->schedule, &machine, request->device_bytes, starts, &timing, NULL),
                     0);
    for (size_t i = 0; i < count; i++)
        events[i] = (struct spw_timed_step){plan->schedule.steps[i].kind, plan->schedule.steps[i].id, starts[i]};
    const struct spw_check_rules rules = {.device_bytes = request->device_bytes,
                                          .host_bytes = request->host_bytes,
                                          .may_replay = request->may_replay,
                                          .may_copy = request->may_copy};
    struct spw_check found;
    assert_int_equal(spw_check_events(request->graph, plan->schedule.start, events, count, &rules, &found), 0);
    if (found.fault != SPW_FAULT_NONE)
        fail_msg("%s %s, %llu bytes: event %zu: %s: %s", said, planner, (unsigned long long)request->device_bytes,
                 found.event, spw_fault_name(found.fault), found.message);
    const bool is_ideal = machine.duplex == 1; /* else the last copies are as short for the checker as the iteration says */
    if ((is_ideal ? !is_close(found.time_us, plan->timing.time_us)
                  : found.time_us > plan->timing.time_us * (1 + 1e-9) + 1e-6) ||
        found.peak_bytes != plan->timing.peak_bytes)
        fail_msg("%s %s: %.9f us, %llu bytes, but %.9f us, %llu bytes when checked", said, planner, plan->timing.time_us,
                 (unsigned long long)plan->timing.peak_bytes, found.time_us, (unsigned long long)found.peak_bytes);
    const double about = is_ideal ? 0 : 1e-5; /* where copies slow each other down the time line comes near to it */
    const double time_us = plan->timing.time_us * (1 + about);
    if (time_us < plan->lower_bound_us && !is_close(time_us, plan->lower_bound_us))
        fail_msg("%s %s: %.9f us is less than the bound \"%s\", %.9f us", said, planner, plan->timing.time_us, plan->bound,
                 plan->lower_bound_us);
    free(starts);
    free(events);
}

int planned_make(const char *planner, const struct spw_plan_request *request, struct spw_plan *ret_plan)
{
    const struct spw_planner *found = spw_planner_find(planner);
    assert_non_null(found);
    const int r = spw_plan_make(found, request, ret_plan);
    if (r == 0)
        check(planner, request, ret_plan);
    else if (r != -ENOSPC && r != -ENOTSUP)
        fail_msg("%s %s: error %d", said, planner, r);
    return r;
}

bool planned_is_possible(const char *planner, const struct spw_plan_request *request)
{
    struct spw_plan plan;
    if (planned_make(planner, request, &plan) < 0)
        return false;
    spw_plan_finish(&plan);
    return true;
}
