/* checked-plan.h - plans that are held against the rules as soon as they are made. */
#ifndef SPILLWAY_TESTS_UNIT_CHECKED_PLAN_H
#define SPILLWAY_TESTS_UNIT_CHECKED_PLAN_H
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "planners/planners.h"

/* A request for as many bytes on the host as it takes, with all means, on a machine that is model S+. */
struct spw_plan_request planned_request(const struct spw_graph *graph, uint64_t device_bytes);

/* Makes the plan, and fails the test unless the checker accepts it, its time and its peaks are what the checker finds, they
 * are within the request, and it uses no means that the request forbids. 0 and `ret_plan`; what the planner said otherwise,
 * which is -ENOSPC or -ENOTSUP. */
int planned_make(const char *planner, const struct spw_plan_request *request, struct spw_plan *ret_plan);
/* That it came about: the plan is checked as above, and given back. */
bool planned_is_possible(const char *planner, const struct spw_plan_request *request);
/* What is said beside whatever fails from now on, as with printf(). */
__attribute__((format(printf, 1, 2))) void planned_says(const char *format, ...);
#endif
