/* plan_print.c - prints one plan in full. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "plan_show.h"
#include "shown.h"

enum { TOP = 5 };

const char *plan_time(double us, char *buffer)
{
    return shown_time(us < 1e15 ? (uint64_t)llround(us * 1000) : UINT64_MAX / 2, buffer);
}

const char *plan_ratio(double us, double to_us, char *buffer)
{
    (void)snprintf(buffer, 32, to_us > 0 ? "%.3f" : "-", us / to_us);
    return buffer;
}

double plan_percent(double part, double whole)
{
    return whole > 0 ? 100 * part / whole : 0;
}

static void print_head(const struct iteration *it, FILE *to)
{
    const struct spw_graph *g = it->graph;
    char peak[32], persistent[32], time[32];
    fprintf(to, "%s%s%s: %u operations, %u tensors\n", *it->name ? it->name : "iteration", *it->profile ? " on " : "",
            it->profile, g->op_count, g->tensor_count);
    fprintf(to, "With unlimited memory: %s, at most %s at once, %s of them from iteration to iteration\n\n",
            plan_time(g->compute_us, time), shown_bytes(g->peak_bytes, peak), shown_bytes(g->persistent_bytes, persistent));
}

/* ---- what moves most ---- */

struct moved {
    uint64_t bytes; /* of all times together */
    uint32_t tensor, times;
};

static int by_bytes(const void *a, const void *b)
{
    const struct moved *x = a, *y = b;
    if (x->bytes != y->bytes)
        return x->bytes > y->bytes ? -1 : 1;
    return x->tensor < y->tensor ? -1 : x->tensor > y->tensor;
}

static void add(struct moved *moved, const struct spw_graph *graph, uint32_t tensor)
{
    moved[tensor].bytes += graph->tensors[tensor].bytes;
    moved[tensor].times++;
}

/* Adds what a replay brings back: everything that it writes, except for what is restored afterwards. */
static void add_replayed(struct moved *moved, const struct spw_graph *graph, uint32_t index)
{
    const struct spw_graph_op *op = &graph->ops[index];
    for (uint32_t i = 0; i < op->write_count; i++)
        if (!graph->touched[op->first_write + i].side)
            add(moved, graph, graph->touched[op->first_write + i].tensor);
}

/* Prints the tensors of which the most bytes are brought back, by copies or by replays. Returns 0 or -ENOMEM. */
static int print_moved(const struct spw_graph *graph, const struct spw_schedule *schedule, enum spw_step_kind kind,
                       const char *what, FILE *to)
{
    struct moved *moved = calloc((size_t)graph->tensor_count + 1, sizeof *moved);
    if (!moved)
        return -ENOMEM;
    for (uint32_t i = 0; i < graph->tensor_count; i++)
        moved[i].tensor = i;
    for (size_t i = 0; i < schedule->count; i++)
        if (schedule->steps[i].kind == kind) {
            if (kind == SPW_STEP_REPLAY)
                add_replayed(moved, graph, schedule->steps[i].id);
            else
                add(moved, graph, schedule->steps[i].id);
        }
    qsort(moved, graph->tensor_count, sizeof *moved, by_bytes);
    uint32_t count = 0;
    while (count < graph->tensor_count && moved[count].times)
        count++;
    if (count)
        fprintf(to, "\n%s: %u tensor%s%s\n", what, count, count == 1 ? "" : "s", count > TOP ? ", the largest of them" : "");
    for (uint32_t i = 0; i < count && i < TOP; i++) {
        const struct spw_graph_tensor *t = &graph->tensors[moved[i].tensor];
        char bytes[32], times[32] = "";
        if (moved[i].times > 1)
            (void)snprintf(times, sizeof times, "  %u times", moved[i].times);
        fprintf(to, "  %10s  tensor %llu  %s%s\n", shown_bytes(t->bytes, bytes), (unsigned long long)t->id,
                t->name ? t->name : "", times);
    }
    free(moved);
    return 0;
}

/* ---- one plan ---- */

static void print_line(FILE *to, const char *label, const char *value, const char *rest)
{
    fprintf(to, "  %-12s %12s%s%s\n", label, value, *rest ? "   " : "", rest);
}

static void print_time(const struct spw_graph *g, const struct plan_outcome *o, FILE *to)
{
    const double us = o->plan.timing.time_us;
    char time[32], text[32], rest[160];
    (void)snprintf(rest, sizeof rest, "%s of the time with unlimited memory", plan_ratio(us, g->compute_us, text));
    print_line(to, "time", plan_time(us, time), rest);
    const double above = plan_percent(us - o->lower_bound_us, o->lower_bound_us);
    if (above < 0.0005)
        (void)snprintf(rest, sizeof rest, "no schedule can be faster (%s): this one is as fast", o->bound);
    else
        (void)snprintf(rest, sizeof rest, "no schedule can be faster (%s): this one is %.2f %% above", o->bound, above);
    print_line(to, "lower bound", plan_time(o->lower_bound_us, time), rest);
    if (o->jitter.trials) {
        (void)snprintf(rest, sizeof rest, "of the time with unlimited memory with other durations, at worst %.3f; %u trials",
                       o->jitter.worst, o->jitter.trials);
        (void)snprintf(text, sizeof text, "%.3f", o->jitter.mean);
        print_line(to, "jitter", text, rest);
    }
}

static void print_figures(const struct spw_graph *g, const struct plan_outcome *o, FILE *to)
{
    const struct spw_timing *t = &o->plan.timing;
    char text[32], other[32], rest[160];
    print_line(to, "memory", shown_bytes(t->peak_bytes, text), "at most at once on the device");
    print_line(to, "host memory", shown_bytes(t->host_peak_bytes, text), "at most at once in copies on the host");
    (void)snprintf(rest, sizeof rest, "and %s back", shown_bytes(t->h2d_bytes, other));
    print_line(to, "copied out", shown_bytes(t->d2h_bytes, text), rest);
    (void)snprintf(rest, sizeof rest, "%zu operation%s again", t->replays, t->replays == 1 ? "" : "s");
    print_line(to, "recomputed", plan_time(t->replayed_us, text), rest);
    print_line(to, "stalled", plan_time(t->stall_us, text), "the compute lane runs nothing");
    if (o->smallest_bytes) {
        (void)snprintf(rest, sizeof rest, "smallest feasible budget: %.1f %% of the peak",
                       plan_percent((double)o->smallest_bytes, (double)g->peak_bytes));
        print_line(to, "smallest", shown_bytes(o->smallest_bytes, text), rest);
    }
    (void)snprintf(text, sizeof text, "%.2f s", o->planning_s);
    print_line(to, "planned in", text, "");
}

int plan_print(const struct iteration *it, const struct plan_outcome *o, FILE *to)
{
    const struct spw_graph *g = it->graph;
    char budget[32];
    print_head(it, to);
    fprintf(to, "Plan of %s within %s, %.1f %% of the peak:\n", o->planner->name, shown_bytes(o->budget_bytes, budget),
            plan_percent((double)o->budget_bytes, (double)g->peak_bytes));
    print_time(g, o, to);
    print_figures(g, o, to);
    int r = print_moved(g, &o->plan.schedule, SPW_STEP_H2D, "Copied back", to);
    if (r == 0)
        r = print_moved(g, &o->plan.schedule, SPW_STEP_REPLAY, "Recomputed", to);
    return r;
}

void plan_print_check(const struct iteration *it, const struct spw_check *check, FILE *to)
{
    char time[32], text[32], peak[32], host[32], out[32], in[32];
    fprintf(to,
            "valid: %s, %s of the time with unlimited memory; at most %s on the device and %s on the host; %s copied out, "
            "%s back",
            plan_time(check->time_us, time), plan_ratio(check->time_us, it->graph->compute_us, text),
            shown_bytes(check->peak_bytes, peak), shown_bytes(check->host_peak_bytes, host),
            shown_bytes(check->d2h_bytes, out), shown_bytes(check->h2d_bytes, in));
    fprintf(to, "; %s recomputed, %s stalled\n", plan_time(check->replayed_us, time), plan_time(check->stall_us, text));
}

const char *plan_why_not(const struct spw_graph *g, const struct plan_outcome *o, char *ret_sentence)
{
    const char *name = g->ops[g->least_op].name;
    char budget[32], needs[32], smallest[32], what[96], end[96];
    (void)snprintf(what, sizeof what, "operation %u%s%.64s%s", g->least_op, name ? " (" : "", name ? name : "",
                   name ? ")" : "");
    if (o->smallest_bytes)
        (void)snprintf(end, sizeof end, "the smallest feasible budget is %llu bytes (%s)",
                       (unsigned long long)o->smallest_bytes, shown_bytes(o->smallest_bytes, smallest));
    else
        (void)snprintf(end, sizeof end, "it finds none at the peak either");
    if (o->budget_bytes < g->least_bytes)
        (void)snprintf(ret_sentence, 512, "does not fit within %llu bytes (%s): %s needs %llu bytes (%s) at once; %s",
                       (unsigned long long)o->budget_bytes, shown_bytes(o->budget_bytes, budget), what,
                       (unsigned long long)g->least_bytes, shown_bytes(g->least_bytes, needs), end);
    else
        (void)snprintf(
            ret_sentence, 512,
            "planner %s finds no plan within %llu bytes (%s), though %s, which needs most at once, needs %llu bytes "
            "(%s) only; %s",
            o->planner->name, (unsigned long long)o->budget_bytes, shown_bytes(o->budget_bytes, budget), what,
            (unsigned long long)g->least_bytes, shown_bytes(g->least_bytes, needs), end);
    return ret_sentence;
}
