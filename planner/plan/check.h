/* check.h - whether timed events are a valid execution of a graph under model S+; knows nothing of how they were made.
 *
 * The rules are those of docs/planning.md. At one instant what ends comes first, then drops, then starts; something
 * that takes no time happens where it stands in the order given, and what stands behind it comes after it. Times that differ
 * by less than 1e-9 of the whole (at least 1e-6 us) count as the same instant. */
#ifndef SPILLWAY_PLANNER_CHECK_H
#define SPILLWAY_PLANNER_CHECK_H
#include "plan/check_result.h"
#include "plan/graph.h"
#include "plan/schedule.h"

/* `start`: as in struct spw_schedule. The events may come in any order of time; those of one instant count in the order
 * given. 0 and `ret_check`, whatever it says; -ENOMEM. */
int spw_check_events(const struct spw_graph *graph, const uint8_t *start, const struct spw_timed_step *events, size_t count,
                     const struct spw_check_rules *rules, struct spw_check *ret_check);
const char *spw_fault_name(enum spw_fault fault); /* "memory", "busy", ... */
#endif
