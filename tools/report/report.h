/* report.h - the forms in which a trace is shown; all say the same figures, from the same model. */
#ifndef SPILLWAY_TOOLS_REPORT_H
#define SPILLWAY_TOOLS_REPORT_H
#include <jansson.h>
#include <stdio.h>

#include "model.h"
#include "shown.h"

/* How long summary and figures search for plans by default, in seconds of one core, for the whole curve. Each takes
 * `planning_s` as report_plan() does. */
enum { REPORT_PLANNING_S = 5 };

/* A summary that fits a log: at most about 60 lines of 100 columns. */
void report_text(struct model *model, double planning_s, const char *path, FILE *to);

/* All figures as one object of format "spillway-report/1" (docs/report-format.md); the page is made of it too. NULL: no
 * memory. The caller owns it. */
json_t *report_json(struct model *model, double planning_s);

/* One page for a browser, made of these figures, that loads nothing. `path` is the trace's, to be shown. NULL, which is no
 * memory, is passed on. 0 or a negative errno. */
int report_html(const json_t *report, const char *path, FILE *to);

/* Events for Perfetto and chrome://tracing. 0 or a negative errno. */
int report_perfetto(const struct model *model, FILE *to);

enum report_weight { REPORT_PEAK_BYTES, REPORT_BYTE_SECONDS, REPORT_IDLE_BYTE_SECONDS };

/* Stacks, outermost first, separated by semicolons, with a number: what flame graphs are made of. 0 or a negative errno. */
int report_folded(struct model *model, enum report_weight weight, FILE *to);

/* What a smaller budget would cost: the budget-to-slowdown curve, as in "plan" of the report; JSON's null where there is no
 * timed iteration or it is too large to be planned in passing. The search does about as much work as one core does in
 * `planning_s` seconds, so that the same comes of it each time; 0: JSON's null, and no search. NULL: no memory. The caller
 * owns it. */
json_t *report_plan(struct model *model, double planning_s);

/* Kernels that a run within a budget does not compute again, and why: "not_replayed" of the report, and lines of text where
 * there are any. */
json_t *report_refusals_json(const struct model *model);
void report_refusals_text(const struct model *model, FILE *to);

/* ---- shared by the forms ---- */

/* What lives at the operation with most memory, tensor indexes by size, largest first. Owned by the caller; NULL: no memory.
 */
uint32_t *report_at_peak(const struct model *model, uint32_t *ret_count);
#endif
