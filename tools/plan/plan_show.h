/* plan_show.h - the forms in which plans are shown: for people, and as JSON. */
#ifndef SPILLWAY_TOOLS_PLAN_SHOW_H
#define SPILLWAY_TOOLS_PLAN_SHOW_H
#include <jansson.h>
#include <stdio.h>

#include "plan/check.h"
#include "iteration_file.h"
#include "plan_run.h"

/* The figures of one outcome; NULL: no memory. The caller owns it. */
json_t *plan_json(const struct spw_graph *graph, const struct plan_outcome *outcome);

/* One plan in full; what moves most; how far it is from the bound. 0, or -ENOMEM. */
int plan_print(const struct iteration *iteration, const struct plan_outcome *outcome, FILE *to);
/* One line for each budget of a sweep. */
void plan_print_sweep(const struct iteration *iteration, const struct plan_outcomes *outcomes, FILE *to);
/* One line for each planner: in detail for one budget, the ratios for several. */
void plan_print_compared(const struct iteration *iteration, const struct plan_outcomes *outcomes, size_t budget_count,
                         FILE *to);
/* What there is to choose from. */
void plan_print_planners(FILE *to);

/* What a checked plan comes to. */
void plan_print_check(const struct iteration *iteration, const struct spw_check *check, FILE *to);
json_t *plan_check_json(const struct spw_graph *graph, const struct spw_check *check);

/* Why nothing fits within the outcome's budget, in one sentence without a full stop: the operation, its bytes, what would
 * do. At most 512 bytes. */
const char *plan_why_not(const struct spw_graph *graph, const struct plan_outcome *outcome, char *ret_sentence);

/* 3.2 GiB; 12.30 ms. In the caller's buffer, which has at least 32 bytes; returned. */
const char *plan_time(double us, char *buffer);
/* "1.234"; "-" where there is nothing to compare with. Likewise. */
const char *plan_ratio(double us, double to_us, char *buffer);
double plan_percent(double part, double whole);
#endif
