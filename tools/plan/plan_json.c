/* plan_json.c - plans as JSON: the same keys for every plan, with null for missing values. */
#include "plan_show.h"

static json_t *ratio(double us, double to_us)
{
    return to_us > 0 ? json_real(us / to_us) : json_null();
}

static int put(json_t *object, const char *key, json_t *value)
{
    return json_object_set_new(object, key, value);
}

static int put_bytes(json_t *object, const char *key, bool is_there, uint64_t bytes)
{
    return put(object, key, is_there ? json_integer((json_int_t)bytes) : json_null());
}

static int put_time(json_t *object, const char *key, bool is_there, double value)
{
    return put(object, key, is_there ? json_real(value) : json_null());
}

static int put_jitter(json_t *object, const struct plan_jitter *jitter)
{
    return put(object, "jitter",
               json_pack("{s:i, s:f, s:f}", "trials", (int)jitter->trials, "mean_ratio", jitter->mean, "worst_ratio",
                         jitter->worst));
}

/* Adds what prevents the iteration from running within less, for budgets without a plan. */
static int put_operation(json_t *object, const struct spw_graph *graph)
{
    const char *name = graph->ops[graph->least_op].name;
    return put(object, "operation",
               json_pack("{s:i, s:s, s:I}", "index", (int)graph->least_op, "name", name ? name : "", "bytes",
                         (json_int_t)graph->least_bytes));
}

json_t *plan_json(const struct spw_graph *graph, const struct plan_outcome *outcome)
{
    json_t *o = json_object();
    const bool is_there = outcome->result == 0;
    const struct spw_timing none = {0}, *t = is_there ? &outcome->plan.timing : &none;
    int r = o ? 0 : -1;
    r |= put(o, "planner", json_string(outcome->planner->name));
    r |= put_bytes(o, "budget_bytes", true, outcome->budget_bytes);
    r |= put(o, "budget_share", ratio((double)outcome->budget_bytes, (double)graph->peak_bytes));
    r |= put(o, "feasible", json_boolean(is_there));
    r |= put_bytes(o, "smallest_budget_bytes", outcome->smallest_bytes > 0, outcome->smallest_bytes);
    r |= put_bytes(o, "peak_bytes", is_there, t->peak_bytes);
    r |= put_time(o, "compute_us", true, graph->compute_us);
    r |= put_time(o, "time_us", is_there, t->time_us);
    r |= put(o, "time_ratio", is_there ? ratio(t->time_us, graph->compute_us) : json_null());
    r |= put_time(o, "lower_bound_us", true, outcome->lower_bound_us);
    r |= put(o, "bound", json_string(outcome->bound));
    r |= put_bytes(o, "d2h_bytes", is_there, t->d2h_bytes);
    r |= put_bytes(o, "h2d_bytes", is_there, t->h2d_bytes);
    r |= put_time(o, "replayed_us", is_there, t->replayed_us);
    r |= put_time(o, "stall_us", is_there, t->stall_us);
    r |= put_bytes(o, "host_peak_bytes", is_there, t->host_peak_bytes);
    r |= put_time(o, "planning_s", true, outcome->planning_s);
    if (outcome->jitter.trials)
        r |= put_jitter(o, &outcome->jitter);
    if (!is_there)
        r |= put_operation(o, graph);
    if (r == 0)
        return o;
    json_decref(o);
    return NULL;
}

json_t *plan_check_json(const struct spw_graph *graph, const struct spw_check *check)
{
    const bool valid = check->fault == SPW_FAULT_NONE;
    json_t *o = json_pack("{s:b}", "valid", valid);
    int r = o ? 0 : -1;
    r |= put(o, "fault", valid ? json_null() : json_string(spw_fault_name(check->fault)));
    r |= put(o, "event", valid ? json_null() : json_integer((json_int_t)check->event));
    r |= put(o, "message", valid ? json_null() : json_string(check->message));
    r |= put_bytes(o, "peak_bytes", valid, check->peak_bytes);
    r |= put_time(o, "compute_us", true, graph->compute_us);
    r |= put_time(o, "time_us", valid, check->time_us);
    r |= put(o, "time_ratio", valid ? ratio(check->time_us, graph->compute_us) : json_null());
    r |= put_bytes(o, "d2h_bytes", valid, check->d2h_bytes);
    r |= put_bytes(o, "h2d_bytes", valid, check->h2d_bytes);
    r |= put_time(o, "replayed_us", valid, check->replayed_us);
    r |= put_time(o, "stall_us", valid, check->stall_us);
    r |= put_bytes(o, "host_peak_bytes", valid, check->host_peak_bytes);
    if (r == 0)
        return o;
    json_decref(o);
    return NULL;
}
