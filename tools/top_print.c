/* top_print.c - the figures of one process, once: as JSON and as lines of text. */
#include <inttypes.h>

#include "report.h"
#include "top.h"

#define I(x) ((json_int_t)(x))

static json_t *device_json(const struct spw_status_device *d)
{
    return json_pack("{s:I, s:I, s:I, s:I, s:I}", "ordinal", I(d->ordinal), "budget_bytes", I(d->budget_bytes),
                     "physical_bytes", I(d->physical_bytes), "live_bytes", I(d->live_bytes), "live_bytes_peak",
                     I(d->live_bytes_peak));
}

json_t *top_json(const struct spw_status_page *p)
{
    json_t *devices = json_array();
    for (uint32_t i = 0; devices && i < p->device_count; i++)
        (void)json_array_append_new(devices, device_json(&p->devices[i]));
    json_t *command = json_string(p->command);
    if (!command) /* its bytes are no text */
        command = json_string("");
    json_t *iteration = p->iteration_length
                            ? json_pack("{s:I, s:I, s:I, s:I}", "number", I(p->iterations), "shape", I(p->iteration_shape),
                                        "operations", I(p->iteration_length), "step_ns", I(p->step_ns))
                            : json_null();
    return json_pack("{s:s, s:I, s:s, s:o, s:I, s:o, s:{s:I, s:I, s:I}, s:{s:I, s:I}, s:I, s:I, s:I, s:I, s:I, s:I, s:I, "
                     "s:I, s:I, s:o}",
                     "format", "spillway-status/1", "pid", I(p->pid), "mode", top_mode_name(p->mode), "command", command,
                     "started_unix_ns", I(p->started_unix_ns), "devices", devices, "host", "limit_bytes",
                     I(p->host_limit_bytes), "held_bytes", I(p->host_held_bytes), "used_bytes", I(p->host_used_bytes),
                     "moved", "out_bytes", I(p->out_bytes), "in_bytes", I(p->in_bytes), "operations", I(p->operations),
                     "slow_operations", I(p->slow_operations), "refused_operations", I(p->refused_operations), "allocations",
                     I(p->allocations), "refused_allocations", I(p->refused_allocations), "served_from_cache",
                     I(p->cache_hits), "not_cached", I(p->cache_misses), "stalls", I(p->stalls), "stalled_ns",
                     I(p->stalled_ns), "iteration", iteration);
}

void top_text(const struct spw_status_page *p, FILE *to)
{
    char a[32], b[32], c[32];
    fprintf(to, "process     %" PRIu32 ", mode %s, for %.0f s\n", p->pid, top_mode_name(p->mode), top_seconds_running(p));
    fprintf(to, "command     %s\n", p->command);
    for (uint32_t i = 0; i < p->device_count; i++) {
        const struct spw_status_device *d = &p->devices[i];
        fprintf(to, "device %-4" PRIu32 " %s used%s%s, %s allocated by the program\n", d->ordinal,
                report_bytes(d->physical_bytes, a), d->budget_bytes ? " of " : "",
                d->budget_bytes ? report_bytes(d->budget_bytes, b) : "", report_bytes(d->live_bytes, c));
    }
    if (p->host_limit_bytes)
        fprintf(to, "host        %s used, %s held of %s\n", report_bytes(p->host_used_bytes, a),
                report_bytes(p->host_held_bytes, b), report_bytes(p->host_limit_bytes, c));
    fprintf(to, "moved       %s to the host, %s back\n", report_bytes(p->out_bytes, a), report_bytes(p->in_bytes, b));
    fprintf(to, "operations  %" PRIu64 ", %" PRIu64 " of them slow\n", p->operations, p->slow_operations);
    fprintf(to, "stalls      %" PRIu64 ", %s\n", p->stalls, report_time(p->stalled_ns, a));
    fprintf(to, "cache       %" PRIu64 " hits, %" PRIu64 " misses\n", p->cache_hits, p->cache_misses);
    fprintf(to, "refused     %" PRIu64 " operations, %" PRIu64 " allocations\n", p->refused_operations,
            p->refused_allocations);
    if (p->iteration_length)
        fprintf(to, "iteration   %" PRIu64 ", %" PRIu32 " operations, %s%s\n", p->iterations, p->iteration_length,
                p->step_ns ? "the last took " : "time not known", p->step_ns ? report_time(p->step_ns, a) : "");
}
