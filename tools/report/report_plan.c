/* report_plan.c - computes what a smaller budget would cost: the budget-to-slowdown curve of the iteration, as a run
 * would plan it. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "iteration_file.h"
#include "plan_run.h"
#include "model_export.h"
#include "report.h"

/* Above these limits a report would take too long; `spillway plan` has no limits. */
enum { MOST_OPS = 10000, MOST_TENSORS = 50000, MOST_TOUCHES = 1000000 };

/* Returns the device with the most memory in use; most runs have only one. */
static uint32_t fullest_device(const struct model *m)
{
    uint32_t fullest = 0;
    for (uint32_t i = 1; i < m->device_count; i++)
        if (m->devices[i].peak_bytes > m->devices[fullest].peak_bytes)
            fullest = i;
    return m->device_count ? m->devices[fullest].ordinal : 0;
}

static json_t *ns(double us)
{
    return json_integer(us > 0 && us < 1e15 ? llround(us * 1000) : 0);
}

static json_t *bytes(uint64_t n)
{
    return json_integer((json_int_t)n);
}

static json_t *point_of(const struct plan_outcome *o)
{
    const struct spw_timing *t = &o->plan.timing;
    return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "budget_bytes", bytes(o->budget_bytes), "time_ns",
                     ns(t->time_us), "lower_bound_ns", ns(o->lower_bound_us), "peak_bytes", bytes(t->peak_bytes),
                     "d2h_bytes", bytes(t->d2h_bytes), "h2d_bytes", bytes(t->h2d_bytes), "host_peak_bytes",
                     bytes(t->host_peak_bytes), "replayed_ns", ns(t->replayed_us), "stall_ns", ns(t->stall_us));
}

static json_t *curve_of(struct iteration *it, uint32_t device, double planning_s)
{
    const struct spw_planner *planner = spw_planner_find("auto"); /* the planner that runs use */
    const double step_share = it->graph->op_count <= 1000 ? 0.1 : 0.2;
    struct plan_wish wish = {
        .host_bytes = UINT64_MAX, .may_copy = true, .may_replay = true, .seed = 1, .time_limit_s = planning_s * step_share};
    struct plan_outcomes outcomes;
    int r = plan_wish_for(it, 0, &wish);
    if (r < 0)
        return NULL;
    r = plan_sweep(&wish, planner, step_share, &outcomes);
    if (r < 0)
        return r == -ENOMEM ? NULL : json_null();
    json_t *points = json_array();
    uint64_t smallest = 0;
    for (size_t i = 0; i < outcomes.count; i++)
        if (outcomes.list[i].result == 0) {
            json_array_append_new(points, point_of(&outcomes.list[i]));
            smallest = outcomes.list[i].budget_bytes;
        }
    plan_outcomes_finish(&outcomes);
    return json_pack("{s:s, s:i, s:o, s:o, s:o, s:o}", "planner", planner->name, "device", (int)device, "peak_bytes",
                     bytes(it->graph->peak_bytes), "compute_ns", ns(it->graph->compute_us), "smallest_budget_bytes",
                     smallest ? bytes(smallest) : json_null(), "points", points);
}

/* Returns true if planning is possible and does not take long. */
static bool is_worthwhile(const struct model *m)
{
    return m->iteration_count > 0 && m->timed && m->iteration_count <= MOST_OPS && m->tensor_count <= MOST_TENSORS &&
           m->touch_count <= MOST_TOUCHES;
}

json_t *report_plan(struct model *m, double planning_s)
{
    struct json_text text;
    struct json_problem problem;
    struct spw_graph_problem senseless;
    struct iteration it = {0};
    if (planning_s <= 0 || !is_worthwhile(m))
        return json_null();
    const uint32_t device = fullest_device(m);
    json_t *graph = model_export(m, device, "", &senseless);
    if (!graph && senseless.path[0])
        return json_null();
    int r = json_text_made("", graph, &text, &problem);
    if (r == 0)
        r = iteration_take(&text, &it, &problem);
    if (r != 0 || !it.graph)
        return r == -ENOMEM ? NULL : json_null();
    json_t *plan = it.graph->peak_bytes && it.graph->compute_us > 0 ? curve_of(&it, device, planning_s) : json_null();
    iteration_finish(&it);
    return plan;
}
