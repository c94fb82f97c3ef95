/* stats.h - the device's counters, written as JSON to SIMGPU_STATS at exit. */
#ifndef SIMGPU_DRIVER_STATS_H
#define SIMGPU_DRIVER_STATS_H
#include <stdint.h>

enum copy_direction { COPY_H2D, COPY_D2H, COPY_D2D, COPY_H2H, COPY_DIRECTIONS };

struct stats {
    uint64_t launches, library_launches, overlapping_launches, allocations, frees, sets;
    struct {
        uint64_t count, bytes;
    } copies[COPY_DIRECTIONS];
    uint64_t create, release, map, unmap, set_access, reserve, address_free;
    uint64_t ordering_errors, faults, injected_failures, graph_launches, host_functions;
    uint64_t live_allocations, live_handles, live_reservations, streams, events, host_bytes;
    /* Waits of streams that run kernels for copies from the host in other streams; those that took time. */
    uint64_t brought_in, late;
    double late_ns;
    uint64_t mapped_peak; /* of the sum over devices */
};

extern struct stats stats;
#endif
