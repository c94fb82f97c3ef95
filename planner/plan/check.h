/* check.h - checks whether timed events, however they were made, are a valid execution of a graph under model S+.
 *
 * The rules are those of docs/planning.md. Within one instant, ends come first, then drops, then starts. An event that
 * takes no time happens at its place in the list, and later entries come after it. Times that differ by less than 1e-9
 * of the whole (at least 1e-6 us) count as the same instant. */
#ifndef SPILLWAY_PLANNER_CHECK_H
#define SPILLWAY_PLANNER_CHECK_H
#include "plan/check_result.h"
#include "plan/graph.h"
#include "plan/schedule.h"

/* Checks the events. `start` is as in struct spw_schedule. The events may be listed in any order of time; events of one
 * instant count in the order of the list. Returns 0 and `ret_check`, whatever the result; -ENOMEM. */
int spw_check_events(const struct spw_graph *graph, const uint8_t *start, const struct spw_timed_step *events, size_t count,
                     const struct spw_check_rules *rules, struct spw_check *ret_check);
const char *spw_fault_name(enum spw_fault fault); /* "memory", "busy", ... */
#endif
