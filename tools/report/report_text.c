/* report_text.c - prints the summary for a terminal or a log. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "live.h"
#include "report.h"

enum { TENSORS = 8, SITES = 5, NAME = 56 };

static void tell_run(const struct model *m, const char *path, FILE *to)
{
    char a[32], b[32];
    fprintf(to, "%s\n", path);
    fprintf(to, "  command     %.*s\n", 200, m->command ? m->command : "");
    fprintf(to, "  process     %" PRIu32 " on %s, rank %" PRIu32 ", mode %s, spillway %s\n", m->pid, m->host ? m->host : "?",
            m->rank, m->mode ? m->mode : "?", m->version ? m->version : "?");
    fprintf(to, "  lasted      %s%s\n", shown_time(m->duration_ns, a),
            m->ended ? "" : "; did not end by itself, or the trace was cut off");
    fprintf(to,
            "  operations  %" PRIu64 ": %" PRIu64 " kernels, %" PRIu64 " graphs, %" PRIu64 " sets, %" PRIu64
            " copies on the device\n",
            m->ops, m->op_count[SPW_OP_LAUNCH], m->op_count[SPW_OP_GRAPH], m->op_count[SPW_OP_SET],
            m->op_count[SPW_OP_COPY_D2D]);
    fprintf(to, "  copies      to the device %" PRIu64 " (%s), to the host %" PRIu64 " (%s)\n", m->op_count[SPW_OP_COPY_H2D],
            shown_bytes(m->op_bytes[SPW_OP_COPY_H2D], a), m->op_count[SPW_OP_COPY_D2H],
            shown_bytes(m->op_bytes[SPW_OP_COPY_D2H], b));
    fprintf(to, "  waits       %" PRIu64 " of the host for the device, %s in all\n", m->waits, shown_time(m->waited_ns, a));
    if (m->lost)
        fprintf(to, "  lost        %" PRIu64 " records could not be written\n", m->lost);
}

static void tell_devices(const struct model *m, FILE *to)
{
    char a[32], b[32], c[32];
    for (uint32_t i = 0; i < m->device_count; i++) {
        const struct model_device *d = &m->devices[i];
        fprintf(to, "\ndevice %" PRIu32 ": %s, %s\n", d->ordinal, d->name && d->name[0] ? d->name : "unknown",
                shown_bytes(d->total_bytes, a));
        fprintf(to, "  peak        %s allocated at once, before operation %" PRIu64 "%s%s\n", shown_bytes(d->peak_bytes, a),
                d->peak_op, d->budget_bytes ? "; budget " : "", d->budget_bytes ? shown_bytes(d->budget_bytes, b) : "");
        fprintf(to, "  at the end  %s still allocated\n", shown_bytes(d->live_bytes_at_end, c));
    }
}

static void tell_shapes(const struct model *m, FILE *to)
{
    char a[32];
    if (m->shape_count == 0) {
        fprintf(to, "\niteration: none found. Nothing repeated three times with the same memory at its ends, and no "
                    "sequence of\nkernels came six times with tensors of other sizes\n");
        return;
    }
    fprintf(to, "\niterations%s\n",
            m->sizes_change ? ", known by their kernels alone: tensors have other sizes each time" : "");
    for (uint32_t i = 0; i < m->shape_count && i < 8; i++)
        fprintf(to, "  %c %-9" PRIu64 " times %" PRIu64 " operations, %s each, first at operation %" PRIu64 "\n",
                i == m->shape && m->iteration_count ? '*' : ' ', m->shapes[i].count, m->shapes[i].length,
                shown_time(m->shapes[i].time_ns, a), m->shapes[i].first_op);
}

static void tell_iteration(const struct model *m, FILE *to)
{
    static const char *const phases[MODEL_PHASES] = {"forward", "backward", "update"};
    char a[32], b[32], c[32], d[32];
    fprintf(to, "\none iteration, operations %" PRIu64 " to %" PRIu64 "\n", m->first_op,
            m->first_op + m->iteration_count - 1);
    fprintf(to, "  time        %s%s\n", shown_time(m->iteration_ns, a),
            m->timed ? " on the device, as measured" : " between calls of the host; its operations were not timed");
    if (m->timed)
        fprintf(to, "  compute     %s, the sum of what is no copy to or from the host\n", shown_time(m->compute_ns, a));
    fprintf(to, "  memory      peak %s at operation %" PRIu32 "; %s live on from iteration to iteration\n",
            shown_bytes(m->peak_bytes, a), m->peak_at, shown_bytes(m->persistent_bytes, b));
    if (m->sizes_change)
        fprintf(to, "  others      peak at %s to %s; this is the largest%s\n",
                shown_bytes(m->shapes[m->shape].least_peak_bytes, a), shown_bytes(m->shapes[m->shape].most_peak_bytes, b),
                m->peak_bytes >= m->shapes[m->shape].most_peak_bytes ? "" : " of those whose operations were timed");
    for (unsigned i = 0; i < MODEL_PHASES; i++) {
        const struct model_phase *p = &m->phases[i];
        if (p->end > p->first)
            fprintf(to, "  %-11s %" PRIu32 " operations, peak %s, leaves %s of the iteration's peak free%s%s\n", phases[i],
                    p->end - p->first, shown_bytes(p->peak_bytes, b), shown_bytes(m->peak_bytes - p->peak_bytes, c),
                    m->timed ? ", " : "", m->timed ? shown_time(p->duration_ns, d) : "");
    }
}

static void tell_categories(const struct model *m, const uint32_t *at_peak, uint32_t count, FILE *to)
{
    uint64_t bytes[MODEL_CATEGORIES] = {0};
    uint32_t tensors[MODEL_CATEGORIES] = {0};
    char a[32];
    for (uint32_t i = 0; i < count; i++) {
        bytes[m->tensors[at_peak[i]].category] += m->tensors[at_peak[i]].bytes;
        tensors[m->tensors[at_peak[i]].category]++;
    }
    fprintf(to, "\nat the peak (what tensors are for is a guess from their lives and uses)\n");
    for (int c = 0; c < MODEL_CATEGORIES; c++)
        if (tensors[c])
            fprintf(to, "  %-11s %s in %" PRIu32 ", %.0f%%\n", model_category_name((enum model_category)c),
                    shown_bytes(bytes[c], a), tensors[c],
                    100.0 * (double)bytes[c] / (double)(m->peak_bytes + !m->peak_bytes));
}

static void tell_tensors(struct model *m, const uint32_t *at_peak, uint32_t count, FILE *to)
{
    char a[32], b[32];
    fprintf(to, "\nlargest tensors at the peak\n");
    for (uint32_t i = 0; i < count && i < TENSORS; i++) {
        const struct model_tensor *t = &m->tensors[at_peak[i]];
        fprintf(to, "  %-10s  %-10s  %" PRIu32 " uses, idle for up to %s; %.*s\n", shown_bytes(t->bytes, a),
                model_category_name(t->category), t->use_count, shown_time(t->longest_idle_ns, b), NAME,
                model_site_name(m, t->site));
    }
}

struct site_bytes {
    uint32_t site;
    uint64_t bytes;
    uint32_t tensors;
};

static int by_bytes(const void *a, const void *b)
{
    const struct site_bytes *x = a, *y = b;
    return x->bytes > y->bytes ? -1 : x->bytes < y->bytes;
}

static void tell_sites(struct model *m, const uint32_t *at_peak, uint32_t count, FILE *to)
{
    struct site_bytes *sites = calloc(m->site_count + 1, sizeof(*sites));
    char a[32];
    for (uint32_t i = 0; sites && i < count; i++) {
        const struct model_tensor *t = &m->tensors[at_peak[i]];
        struct site_bytes *s = &sites[t->site == MODEL_NONE ? 0 : t->site];
        s->site = t->site;
        s->bytes += t->bytes;
        s->tensors++;
    }
    if (!sites)
        return;
    qsort(sites, m->site_count + 1, sizeof(*sites), by_bytes);
    fprintf(to, "\nwhere they come from\n");
    for (uint32_t i = 0; i < SITES && i <= m->site_count && sites[i].tensors; i++)
        fprintf(to, "  %-10s  in %-6" PRIu32 " %.*s\n", shown_bytes(sites[i].bytes, a), sites[i].tensors, NAME + 20,
                model_site_name(m, sites[i].site));
    free(sites);
}

static double number(const json_t *object, const char *key)
{
    return json_number_value(json_object_get(object, key));
}

static void tell_point(const json_t *plan, const json_t *point, const char *what, FILE *to)
{
    const double budget = number(point, "budget_bytes");
    char a[32], b[32], c[32], d[32], share[32];
    (void)snprintf(share, sizeof(share), "%.0f%%", 100 * budget / number(plan, "peak_bytes"));
    fprintf(to, "  %-11s %s, %.3f of the time; %s copied out, %s back, %s recomputed\n", *what ? what : share,
            shown_bytes((uint64_t)budget, a), number(point, "time_ns") / number(plan, "compute_ns"),
            shown_bytes((uint64_t)number(point, "d2h_bytes"), b), shown_bytes((uint64_t)number(point, "h2d_bytes"), c),
            shown_time((uint64_t)number(point, "replayed_ns"), d));
}

/* Prints every second point, and the smallest feasible budget. */
static void tell_plan(struct model *m, double planning_s, FILE *to)
{
    json_t *plan = report_plan(m, planning_s), *points = json_object_get(plan, "points");
    const size_t count = json_array_size(points);
    if (count) {
        fprintf(to, "\nwhat a smaller budget would cost, of the time with unlimited memory (predicted by planner %s)\n",
                json_string_value(json_object_get(plan, "planner")));
        for (size_t i = count > 6 ? 2 : 1; i + 1 < count; i += count > 6 ? 2 : 1)
            tell_point(plan, json_array_get(points, i), "", to);
        tell_point(plan, json_array_get(points, count - 1), "smallest", to);
    }
    json_decref(plan);
}

void report_text(struct model *m, double planning_s, const char *path, FILE *to)
{
    uint32_t count;
    tell_run(m, path, to);
    tell_devices(m, to);
    tell_shapes(m, to);
    report_refusals_text(m, to);
    if (m->iteration_count == 0)
        return;
    tell_iteration(m, to);
    uint32_t *at_peak = report_at_peak(m, &count);
    if (!at_peak)
        return;
    tell_plan(m, planning_s, to);
    tell_categories(m, at_peak, count, to);
    tell_tensors(m, at_peak, count, to);
    tell_sites(m, at_peak, count, to);
    free(at_peak);
}
