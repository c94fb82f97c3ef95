/* plan_tables.c - prints many plans: the budget-to-slowdown curve, and planners side by side. */
#include <errno.h>

#include "plan_show.h"
#include "shown.h"

static void print_name(const struct iteration *it, FILE *to)
{
    char peak[32], time[32];
    fprintf(to, "%s%s%s: peak %s, %s with unlimited memory\n\n", *it->name ? it->name : "iteration",
            *it->profile ? " on " : "", it->profile, shown_bytes(it->graph->peak_bytes, peak),
            plan_time(it->graph->compute_us, time));
}

/* ---- the curve ---- */

static void print_point(const struct spw_graph *g, const struct plan_outcome *o, FILE *to)
{
    char budget[32], time[32] = "-", ratio[32] = "-", bound[32];
    if (o->result == 0) {
        plan_time(o->plan.timing.time_us, time);
        plan_ratio(o->plan.timing.time_us, g->compute_us, ratio);
    }
    fprintf(to, "%10s %8.1f %% %12s %7s %7s  %s", shown_bytes(o->budget_bytes, budget),
            plan_percent((double)o->budget_bytes, (double)g->peak_bytes), time, ratio,
            plan_ratio(o->lower_bound_us, g->compute_us, bound), o->planner->name);
    if (o->jitter.trials && o->result == 0)
        fprintf(to, "  jitter %.3f, at worst %.3f", o->jitter.mean, o->jitter.worst);
    fputs(o->budget_bytes == o->smallest_bytes ? "  smallest feasible budget\n" : "\n", to);
}

void plan_print_sweep(const struct iteration *it, const struct plan_outcomes *outcomes, FILE *to)
{
    print_name(it, to);
    fprintf(to, "%10s %10s %12s %7s %7s  %s\n", "budget", "of peak", "time", "ratio", "bound", "planner");
    for (size_t i = 0; i < outcomes->count; i++)
        print_point(it->graph, &outcomes->list[i], to);
    fputs("\nratio: to the time with unlimited memory; bound: no schedule has a smaller ratio\n", to);
}

/* ---- side by side ---- */

static const char *no_plan(const struct plan_outcome *o)
{
    return o->result == -ENOTSUP ? "not for this iteration, or not without what was forbidden"
                                 : "no plan within this budget";
}

static void print_detail(const struct spw_graph *g, const struct plan_outcome *o, FILE *to)
{
    const struct spw_timing *t = &o->plan.timing;
    char time[32], ratio[32], out[32], in[32], again[32], stall[32], smallest[32] = "-";
    fprintf(to, "%-14s ", o->planner->name);
    if (o->smallest_bytes)
        shown_bytes(o->smallest_bytes, smallest);
    if (o->result < 0) {
        fprintf(to, "%10s  %s\n", smallest, no_plan(o));
        return;
    }
    fprintf(to, "%10s %11s %7s %10s %10s %11s %11s %7.2f s\n", smallest, plan_time(t->time_us, time),
            plan_ratio(t->time_us, g->compute_us, ratio), shown_bytes(t->d2h_bytes, out), shown_bytes(t->h2d_bytes, in),
            plan_time(t->replayed_us, again), plan_time(t->stall_us, stall), o->planning_s);
}

static void print_details(const struct iteration *it, const struct plan_outcomes *outcomes, FILE *to)
{
    const struct spw_graph *g = it->graph;
    char budget[32], bound[32], ratio[32];
    const struct plan_outcome *first = &outcomes->list[0];
    fprintf(to, "Within %s, %.1f %% of the peak:\n", shown_bytes(first->budget_bytes, budget),
            plan_percent((double)first->budget_bytes, (double)g->peak_bytes));
    fprintf(to, "%-14s %10s %11s %7s %10s %10s %11s %11s %9s\n", "planner", "smallest", "time", "ratio", "out", "back",
            "recomputed", "stalled", "planned");
    for (size_t i = 0; i < outcomes->count; i++)
        print_detail(g, &outcomes->list[i], to);
    fprintf(to, "%-14s %10s %11s %7s  (%s)\n", "lower bound", "", plan_time(first->lower_bound_us, bound),
            plan_ratio(first->lower_bound_us, g->compute_us, ratio), first->bound);
    fputs("\nsmallest: the smallest budget that the planner finds a plan for; ratio: to the time with unlimited memory\n",
          to);
}

/* Prints one line of ratios; `bounds`: those of the lower bounds instead of the plans'. */
static void print_ratios(const struct spw_graph *g, const struct plan_outcome *outcomes, size_t count, bool bounds, FILE *to)
{
    char smallest[32] = "-";
    if (!bounds && outcomes[0].smallest_bytes)
        shown_bytes(outcomes[0].smallest_bytes, smallest);
    fprintf(to, "%-14s %10s", bounds ? "lower bound" : outcomes[0].planner->name, bounds ? "" : smallest);
    for (size_t i = 0; i < count; i++) {
        char ratio[32] = "-";
        if (bounds)
            plan_ratio(outcomes[i].lower_bound_us, g->compute_us, ratio);
        else if (outcomes[i].result == 0)
            plan_ratio(outcomes[i].plan.timing.time_us, g->compute_us, ratio);
        fprintf(to, " %8s", ratio);
    }
    fputc('\n', to);
}

static void print_matrix(const struct iteration *it, const struct plan_outcomes *outcomes, size_t budget_count, FILE *to)
{
    fprintf(to, "Ratio to the time with unlimited memory, by share of the peak:\n%-14s %10s", "planner", "smallest");
    for (size_t i = 0; i < budget_count; i++)
        fprintf(to, " %6.0f %%", plan_percent((double)outcomes->list[i].budget_bytes, (double)it->graph->peak_bytes));
    fputc('\n', to);
    for (size_t i = 0; i < outcomes->count; i += budget_count)
        print_ratios(it->graph, &outcomes->list[i], budget_count, false, to);
    print_ratios(it->graph, outcomes->list, budget_count, true, to);
    fputs("\nsmallest: the smallest budget that the planner finds a plan for; -: none\n", to);
}

void plan_print_compared(const struct iteration *it, const struct plan_outcomes *outcomes, size_t budget_count, FILE *to)
{
    print_name(it, to);
    if (budget_count == 1)
        print_details(it, outcomes, to);
    else
        print_matrix(it, outcomes, budget_count, to);
}

void plan_print_planners(FILE *to)
{
    for (const struct spw_planner *p = spw_planners; p->name; p++)
        fprintf(to, "%-14s %s.\n%14s From: %s.\n", p->name, p->guarantees, "", p->source);
}
