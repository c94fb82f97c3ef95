/* stats.c - counts, and writes them at exit. */
#include "stats.h"

#include <stdio.h>

#include "driver.h"
#include "sim.h"

struct stats stats;

static void write_devices(FILE *f)
{
    fprintf(f, "  \"devices\": [\n");
    for (int d = 0; d < settings.devices; d++)
        fprintf(f,
                "    {\"peak_mapped_bytes\": %llu, \"peak_physical_bytes\": %llu, \"mapped_bytes_at_exit\": %llu, "
                "\"capacity_bytes\": %llu, \"granularity_bytes\": %llu, \"busy_ns\": {\"compute\": %.0f, \"h2d\": %.0f, "
                "\"d2h\": %.0f, \"link\": %.0f}}%s\n",
                (unsigned long long)devices[d].mapped_peak, (unsigned long long)devices[d].physical_peak,
                (unsigned long long)devices[d].mapped_bytes, (unsigned long long)settings.memory_bytes,
                (unsigned long long)settings.granularity_bytes, devices[d].lanes[LANE_COMPUTE].busy_ns,
                devices[d].lanes[LANE_H2D].busy_ns, devices[d].lanes[LANE_D2H].busy_ns, devices[d].lanes[LANE_LINK].busy_ns,
                d + 1 < settings.devices ? "," : "");
    fprintf(f, "  ],\n");
}

static void write_copies(FILE *f)
{
    static const char *const names[] = {"h2d", "d2h", "d2d", "h2h"};
    fprintf(f, "  \"copies\": {");
    for (int i = 0; i < COPY_DIRECTIONS; i++)
        fprintf(f, "%s\"%s\": {\"count\": %llu, \"bytes\": %llu}", i ? ", " : "", names[i],
                (unsigned long long)stats.copies[i].count, (unsigned long long)stats.copies[i].bytes);
    fprintf(f, "},\n");
}

/* How often there was what SIMGPU_FAIL and SIMGPU_SABOTAGE count, so that a place late in a run can be chosen. */
static void write_places(FILE *f)
{
    const char *name;
    uint64_t seen;
    fprintf(f, "  \"calls\": {");
    for (size_t i = 0; (name = settings_fault_seen(i, &seen)); i++)
        fprintf(f, "%s\"%s\": %llu", i ? ", " : "", name, (unsigned long long)seen);
    fprintf(f, "},\n  \"sabotage\": {");
    for (int kind = 0; kind < SABOTAGE_COUNT; kind++) {
        name = settings_sabotage_seen((enum sabotage)kind, &seen);
        fprintf(f, "%s\"%s\": %llu", kind ? ", " : "", name, (unsigned long long)seen);
    }
    fprintf(f, "},\n");
}

/* What SIMGPU_CAPTURE_ELSEWHERE counts. */
static void write_bound(FILE *f)
{
    const char *name, *comma = "";
    uint64_t count;
    fprintf(f, "  \"bound\": {");
    for (size_t i = 0; (name = call_bound(i, &count)); i++) {
        if (!count)
            continue;
        fprintf(f, "%s\"%s\": %llu", comma, name, (unsigned long long)count);
        comma = ", ";
    }
    fprintf(f, "},\n");
}

static void write_all(FILE *f)
{
    const struct {
        const char *key;
        uint64_t value;
    } plain[] = {{"peak_mapped_bytes", stats.mapped_peak},
                 {"launches", stats.launches},
                 {"library_launches", stats.library_launches},
                 {"overlapping_launches", stats.overlapping_launches},
                 {"allocations", stats.allocations},
                 {"frees", stats.frees},
                 {"sets", stats.sets},
                 {"graph_launches", stats.graph_launches},
                 {"host_functions", stats.host_functions},
                 {"injected_failures", stats.injected_failures},
                 {"virtual_ns", (uint64_t)sim_end_ns()},
                 {"ordering_errors", stats.ordering_errors},
                 {"faults", stats.faults},
                 {"live_allocations_at_exit", stats.live_allocations},
                 {"live_handles_at_exit", stats.live_handles},
                 {"live_reservations_at_exit", stats.live_reservations},
                 {"streams_at_exit", stats.streams},
                 {"events_at_exit", stats.events},
                 {"host_bytes_at_exit", stats.host_bytes}};
    fprintf(f, "{\n");
    write_devices(f);
    write_copies(f);
    fprintf(f, "  \"brought_in\": {\"count\": %llu, \"late\": %llu, \"late_ns\": %.0f},\n",
            (unsigned long long)stats.brought_in, (unsigned long long)stats.late, stats.late_ns);
    write_places(f);
    write_bound(f);
    fprintf(
        f,
        "  \"map_operations\": {\"create\": %llu, \"release\": %llu, \"map\": %llu, \"unmap\": %llu, \"set_access\": %llu, "
        "\"reserve\": %llu, \"address_free\": %llu}",
        (unsigned long long)stats.create, (unsigned long long)stats.release, (unsigned long long)stats.map,
        (unsigned long long)stats.unmap, (unsigned long long)stats.set_access, (unsigned long long)stats.reserve,
        (unsigned long long)stats.address_free);
    for (size_t i = 0; i < sizeof plain / sizeof plain[0]; i++)
        fprintf(f, ",\n  \"%s\": %llu", plain[i].key, (unsigned long long)plain[i].value);
    fprintf(f, "\n}\n");
}

/* Runs after the program's own exit handlers. */
__attribute__((destructor)) static void write_stats(void)
{
    if (!driver_is_live() || !settings.stats_path)
        return;
    FILE *f = fopen(settings.stats_path, "we");
    if (!f) {
        fprintf(stderr, "simgpu: SIMGPU_STATS=%s can't be written\n", settings.stats_path);
        return;
    }
    write_all(f);
    fclose(f);
}
