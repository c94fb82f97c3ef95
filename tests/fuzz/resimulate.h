/* resimulate.h - a second judge of timed events, slow and plain: at each moment everything is worked out from what was
 * before.
 *
 * It keeps no account of anything. Where a tensor is, at which version, what runs and how much memory is taken is found by
 * looking back over the events, each time anew. So it makes other mistakes than a judge that keeps account. */
#ifndef SPILLWAY_TESTS_FUZZ_RESIMULATE_H
#define SPILLWAY_TESTS_FUZZ_RESIMULATE_H
#include "plan/check.h"

struct verdict {
    bool valid;
    size_t event; /* the first at fault; the number of events for the start and the end */
    const char *why;
    double time_us;
    uint64_t peak_bytes, host_peak_bytes;
};

enum { RESIMULATE_EVENTS = 256 };

/* The times that events start and end at have to be equal, or apart by more than any tolerance; at most RESIMULATE_EVENTS.
 */
struct verdict resimulate(const struct spw_graph *graph, const uint8_t *start, const struct spw_timed_step *events,
                          size_t count, const struct spw_check_rules *rules);
#endif
