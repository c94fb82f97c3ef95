/* diff_print.h - a comparison as text and as JSON; both say the same figures. */
#ifndef SPILLWAY_TOOLS_DIFF_PRINT_H
#define SPILLWAY_TOOLS_DIFF_PRINT_H
#include <jansson.h>
#include <stdio.h>

#include "diff_model.h"

/* For a log of 100 columns: of each table the `top` largest changes, and the sum of the rest. */
void diff_text(const struct diff *diff, const char *const paths[DIFF_SIDES], size_t top, FILE *to);

/* All of it as one object of format "spillway-diff/1" (docs/report-format.md). NULL: no memory. The caller owns it. */
json_t *diff_json(const struct diff *diff, const char *const paths[DIFF_SIDES]);
#endif
