/* report.h - shows a trace in several forms; all contain the same figures, from the same model. */
#ifndef SPILLWAY_TOOLS_REPORT_H
#define SPILLWAY_TOOLS_REPORT_H
#include <jansson.h>
#include <stdio.h>

#include "model.h"
#include "shown.h"

/* How long summary and figures search for plans by default, for the whole curve, in seconds of one core. Each takes
 * `planning_s` as report_plan() does. */
enum { REPORT_PLANNING_S = 5 };

/* Prints a summary that fits a log: at most about 60 lines of 100 columns. */
void report_text(struct model *model, double planning_s, const char *path, FILE *to);

/* Returns all figures as one object of format "spillway-report/1" (docs/report-format.md), which the caller owns; the
 * page is made from it too. Returns NULL without memory. */
json_t *report_json(struct model *model, double planning_s);

/* Writes one page for a browser, made from these figures, that loads nothing. `path` is the trace's, for display. A NULL
 * report counts as no memory. Returns 0 or a negative errno. */
int report_html(const json_t *report, const char *path, FILE *to);

/* Writes events for Perfetto and chrome://tracing. Returns 0 or a negative errno. */
int report_perfetto(const struct model *model, FILE *to);

enum report_weight { REPORT_PEAK_BYTES, REPORT_BYTE_SECONDS, REPORT_IDLE_BYTE_SECONDS };

/* Writes stacks, outermost frame first, separated by semicolons, each with a number: the input of flame graphs. Returns 0
 * or a negative errno. */
int report_folded(struct model *model, enum report_weight weight, FILE *to);

/* Returns what a smaller budget would cost: the budget-to-slowdown curve, as in "plan" of the report, which the caller
 * owns. JSON's null if there is no timed iteration or it is too large for a report. The search does about the work that
 * one core does in `planning_s` seconds, so that the result is always the same; 0: JSON's null and no search. Returns
 * NULL without memory. */
json_t *report_plan(struct model *model, double planning_s);

/* Kernels that a run within a budget does not replay, and why: as "not_replayed" of the report, and as lines of text if
 * there are any. */
json_t *report_refusals_json(const struct model *model);
void report_refusals_text(const struct model *model, FILE *to);

/* ---- shared by the forms ---- */

/* Returns the tensors that are alive at the operation with the most memory: indexes sorted by size, largest first. The
 * caller frees them; NULL without memory. */
uint32_t *report_at_peak(const struct model *model, uint32_t *ret_count);
#endif
