/* instants.h - the order in which timed events count: which begin at one instant, and which have ended by then. */
#ifndef SPILLWAY_PLANNER_INSTANTS_H
#define SPILLWAY_PLANNER_INSTANTS_H
#include <stdint.h>

#include "plan/graph.h"
#include "plan/schedule.h"

/* Instants are numbered in the order of time. One ends and the next begins where nothing happens for longer than the
 * tolerance: 1e-9 of the whole, at least 1e-6 us. The whole is the time of the last end, or the sum of the durations if
 * that is less, so that one event far away does not make the others simultaneous. */
struct spw_instant_event {
    size_t event;        /* index in the events given */
    size_t begins, ends; /* instants; equal where it takes no time */
    double start_us, end_us;
};

/* How long the event takes; 0 where its kind or its id is unknown. */
double spw_event_us(const struct spw_graph *graph, const struct spw_timed_step *event);

/* All events in the order of their instants and, within one, in the order given. 0, -ENOMEM; -EINVAL: the event `ret_bad`
 * does not start at a finite time. `ret_ordered` is for free(). */
int spw_instants(const struct spw_graph *graph, const struct spw_timed_step *events, size_t count,
                 struct spw_instant_event **ret_ordered, size_t *ret_bad);
#endif
