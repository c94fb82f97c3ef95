/* top_print.c - prints the figures of one process once: as JSON and as lines of text. */
#include <inttypes.h>

#include "shown.h"
#include "top.h"

#define I(x) ((json_int_t)(x))

/* Returns a share in thousandths or another figure, or null if it is unknown. */
static json_t *known(uint64_t value, bool is_known)
{
    return is_known ? json_integer(I(value)) : json_null();
}

static json_t *planned_json(const struct spw_status_planned *p)
{
    return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:o, s:o, s:o, s:o}", "iterations", I(p->iterations),
                     "planned_iterations", I(p->planned_iterations), "plans", I(p->plans), "lost", I(p->lost), "prefetches",
                     I(p->prefetches), "prefetches_in_time", I(p->prefetches_in_time), "plan", I(p->plan), "out_bytes",
                     I(p->out_bytes), "in_bytes", I(p->in_bytes), "predicted_ns", known(p->predicted_ns, p->predicted_ns),
                     "step_ns", known(p->step_ns, p->step_ns), "on_demand_ns", known(p->on_demand_ns, p->on_demand_ns),
                     "hidden_permille", known(p->hidden_permille, p->plan && p->hidden_permille != SPW_STATUS_UNKNOWN));
}

static json_t *bandwidth_json(const struct spw_status_planned *p)
{
    return json_pack("{s:o, s:o}", "d2h_bytes_per_s", known(p->d2h_bytes_per_s, p->d2h_bytes_per_s), "h2d_bytes_per_s",
                     known(p->h2d_bytes_per_s, p->h2d_bytes_per_s));
}

static json_t *carried_json(const struct spw_status_page *p)
{
    return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I}", "left", I(p->left), "restored", I(p->restored), "restored_in_time",
                     I(p->restored_in_time), "late", I(p->late), "cancelled", I(p->cancelled), "failed", I(p->failed));
}

static json_t *device_json(const struct spw_status_device *d)
{
    return json_pack("{s:I, s:I, s:I, s:I, s:I, s:o, s:o}", "ordinal", I(d->ordinal), "budget_bytes", I(d->budget_bytes),
                     "physical_bytes", I(d->physical_bytes), "live_bytes", I(d->live_bytes), "live_bytes_peak",
                     I(d->live_bytes_peak), "planned", planned_json(&d->planned), "bandwidth", bandwidth_json(&d->planned));
}

json_t *top_json(const struct spw_status_page *p)
{
    json_t *devices = json_array();
    for (uint32_t i = 0; devices && i < p->device_count; i++)
        (void)json_array_append_new(devices, device_json(&p->devices[i]));
    json_t *command = json_string(p->command);
    if (!command) /* its bytes are not UTF-8 */
        command = json_string("");
    json_t *iteration = p->iteration_length
                            ? json_pack("{s:I, s:I, s:I, s:I}", "number", I(p->iterations), "shape", I(p->iteration_shape),
                                        "operations", I(p->iteration_length), "step_ns", I(p->step_ns))
                            : json_null();
    return json_pack(
        "{s:s, s:I, s:s, s:o, s:I, s:o, s:{s:I, s:I, s:I}, s:{s:I, s:I}, s:o, s:I, s:I, s:I, s:I, s:I, s:I, s:I, "
        "s:I, s:I, s:o, s:o, s:o, s:I}",
        "format", "spillway-status/1", "pid", I(p->pid), "mode", top_mode_name(p->mode), "command", command,
        "started_unix_ns", I(p->started_unix_ns), "devices", devices, "host", "limit_bytes", I(p->host_limit_bytes),
        "held_bytes", I(p->host_held_bytes), "used_bytes", I(p->host_used_bytes), "moved", "out_bytes", I(p->out_bytes),
        "in_bytes", I(p->in_bytes), "carried", carried_json(p), "operations", I(p->operations), "slow_operations",
        I(p->slow_operations), "refused_operations", I(p->refused_operations), "allocations", I(p->allocations),
        "refused_allocations", I(p->refused_allocations), "served_from_cache", I(p->cache_hits), "not_cached",
        I(p->cache_misses), "stalls", I(p->stalls), "stalled_ns", I(p->stalled_ns), "iteration", iteration, "recomputed",
        top_recomputed_json(p), "not_replayed", top_refusals_json(p), "not_replayed_left_out", I(p->refusals_left_out));
}

/* Prints lines about iterations by plan, if there were any. */
static void planned_text(const struct spw_status_device *d, FILE *to)
{
    const struct spw_status_planned *p = &d->planned;
    char a[32], b[32], c[32], line[TOP_LINE];
    if (p->iterations + p->plans)
        fprintf(to, "plan %-6" PRIu32 " %s\n", d->ordinal, top_planned(p, line));
    if (p->plan)
        fprintf(to, "step %-6" PRIu32 " %s by plan, %s predicted, %s on demand\n", d->ordinal,
                p->step_ns ? shown_time(p->step_ns, a) : "unknown",
                p->predicted_ns ? shown_time(p->predicted_ns, b) : "unknown",
                p->on_demand_ns ? shown_time(p->on_demand_ns, c) : "unknown");
    if (p->plan)
        fprintf(to, "copies %-4" PRIu32 " %s\n", d->ordinal, top_copies(p, line));
}

const char *top_planned(const struct spw_status_planned *p, char *line)
{
    char prefetches[96] = "";
    if (p->prefetches)
        snprintf(prefetches, sizeof(prefetches), ", %.1f %% of %" PRIu64 " prefetches in time",
                 100 * (double)p->prefetches_in_time / (double)p->prefetches, p->prefetches);
    snprintf(line, TOP_LINE, "%" PRIu64 " of %" PRIu64 " iterations by plan, %" PRIu64 " made, left %" PRIu64 " times%s",
             p->planned_iterations, p->iterations, p->plans, p->lost, prefetches);
    return line;
}

const char *top_copies(const struct spw_status_planned *p, char *line)
{
    char a[32], b[32], hidden[64] = "";
    if (p->hidden_permille != SPW_STATUS_UNKNOWN)
        snprintf(hidden, sizeof(hidden), ", %.1f %% of their time hidden", p->hidden_permille / 10.0);
    snprintf(line, TOP_LINE, "%s out and %s back in each%s", shown_bytes(p->out_bytes, a), shown_bytes(p->in_bytes, b),
             hidden);
    return line;
}

void top_text(const struct spw_status_page *p, FILE *to)
{
    char a[32], b[32], c[32];
    fprintf(to, "process     %" PRIu32 ", mode %s, for %.0f s\n", p->pid, top_mode_name(p->mode), top_seconds_running(p));
    fprintf(to, "command     %s\n", p->command);
    for (uint32_t i = 0; i < p->device_count; i++) {
        const struct spw_status_device *d = &p->devices[i];
        fprintf(to, "device %-4" PRIu32 " %s used%s%s, %s allocated by the program\n", d->ordinal,
                shown_bytes(d->physical_bytes, a), d->budget_bytes ? " of " : "",
                d->budget_bytes ? shown_bytes(d->budget_bytes, b) : "", shown_bytes(d->live_bytes, c));
        if (d->planned.d2h_bytes_per_s)
            fprintf(to, "link %-6" PRIu32 " %s/s to the host, %s/s back\n", d->ordinal,
                    shown_bytes(d->planned.d2h_bytes_per_s, a), shown_bytes(d->planned.h2d_bytes_per_s, b));
        planned_text(d, to);
    }
    if (p->host_limit_bytes)
        fprintf(to, "host        %s used, %s held of %s\n", shown_bytes(p->host_used_bytes, a),
                shown_bytes(p->host_held_bytes, b), shown_bytes(p->host_limit_bytes, c));
    fprintf(to, "moved       %s to the host, %s back\n", shown_bytes(p->out_bytes, a), shown_bytes(p->in_bytes, b));
    if (p->left + p->restored)
        fprintf(to,
                "by plan     %" PRIu64 " tensors went, %" PRIu64 " came back, %" PRIu64 " late, %" PRIu64
                " kept after all, %" PRIu64 " failed\n",
                p->left, p->restored, p->late, p->cancelled, p->failed);
    top_recomputed_text(p, to);
    fprintf(to, "operations  %" PRIu64 ", %" PRIu64 " of them slow\n", p->operations, p->slow_operations);
    fprintf(to, "stalls      %" PRIu64 ", %s\n", p->stalls, shown_time(p->stalled_ns, a));
    fprintf(to, "cache       %" PRIu64 " hits, %" PRIu64 " misses\n", p->cache_hits, p->cache_misses);
    fprintf(to, "refused     %" PRIu64 " operations, %" PRIu64 " allocations\n", p->refused_operations,
            p->refused_allocations);
    if (p->iteration_length)
        fprintf(to, "iteration   %" PRIu64 ", %" PRIu32 " operations, %s%s\n", p->iterations, p->iteration_length,
                p->step_ns ? "the last took " : "time not known", p->step_ns ? shown_time(p->step_ns, a) : "");
}
