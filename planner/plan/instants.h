/* instants.h - sorts timed events by instant: which begin together, and which have ended by then. */
#ifndef SPILLWAY_PLANNER_INSTANTS_H
#define SPILLWAY_PLANNER_INSTANTS_H
#include <stdint.h>

#include "plan/graph.h"
#include "plan/schedule.h"

/* An event with its instants, which are numbered in order of time. An instant ends where nothing happens for longer than
 * the tolerance: 1e-9 of the whole, at least 1e-6 us. The whole is the time of the last end, or the sum of the durations
 * if that is less, so that one event far away does not make the others simultaneous. */
struct spw_instant_event {
    size_t event;        /* index in the caller's list */
    size_t begins, ends; /* instants; equal if the event takes no time */
    double start_us, end_us;
};

/* Returns how long the event takes; 0 if its kind or its id is unknown. */
double spw_event_us(const struct spw_graph *graph, const struct spw_timed_step *event);

/* Lists all events sorted by instant and, within one, in the caller's order. Returns 0; -ENOMEM; -EINVAL: event `ret_bad`
 * does not start at a finite time. The caller frees `ret_ordered` with free(). */
int spw_instants(const struct spw_graph *graph, const struct spw_timed_step *events, size_t count,
                 struct spw_instant_event **ret_ordered, size_t *ret_bad);
#endif
