/* plan_show.h - shows plans: as text and as JSON. */
#ifndef SPILLWAY_TOOLS_PLAN_SHOW_H
#define SPILLWAY_TOOLS_PLAN_SHOW_H
#include <jansson.h>
#include <stdio.h>

#include "plan/check.h"
#include "iteration_file.h"
#include "plan_run.h"

/* Returns the figures of one outcome, which the caller owns; NULL without memory. */
json_t *plan_json(const struct spw_graph *graph, const struct plan_outcome *outcome);

/* Prints one plan in full, with the tensors that move most and the distance from the bound. Returns 0 or -ENOMEM. */
int plan_print(const struct iteration *iteration, const struct plan_outcome *outcome, FILE *to);
/* Prints one line for each budget of a sweep. */
void plan_print_sweep(const struct iteration *iteration, const struct plan_outcomes *outcomes, FILE *to);
/* Prints one line for each planner: details for one budget, the ratios for several. */
void plan_print_compared(const struct iteration *iteration, const struct plan_outcomes *outcomes, size_t budget_count,
                         FILE *to);
/* Prints the available planners. */
void plan_print_planners(FILE *to);

/* Prints the result of a check. */
void plan_print_check(const struct iteration *iteration, const struct spw_check *check, FILE *to);
json_t *plan_check_json(const struct spw_graph *graph, const struct spw_check *check);

/* Writes why nothing fits within the outcome's budget, as one sentence without a full stop: the operation, its bytes, the
 * budget that would suffice. At most 512 bytes. */
const char *plan_why_not(const struct spw_graph *graph, const struct plan_outcome *outcome, char *ret_sentence);

/* Formats a time, as "12.30 ms", in the caller's buffer of at least 32 bytes, and returns it. */
const char *plan_time(double us, char *buffer);
/* Formats a ratio, as "1.234"; "-" if there is nothing to compare with. Returns the buffer. */
const char *plan_ratio(double us, double to_us, char *buffer);
double plan_percent(double part, double whole);
#endif
