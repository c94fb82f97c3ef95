/* diff_print.h - prints a comparison as text and as JSON; both contain the same figures. */
#ifndef SPILLWAY_TOOLS_DIFF_PRINT_H
#define SPILLWAY_TOOLS_DIFF_PRINT_H
#include <jansson.h>
#include <stdio.h>

#include "diff_model.h"

/* Prints it for a log of 100 columns: the `top` largest changes of each table, and the sum of the rest. */
void diff_text(const struct diff *diff, const char *const paths[DIFF_SIDES], size_t top, FILE *to);

/* Returns all of it as one object of format "spillway-diff/1" (docs/report-format.md), which the caller owns; NULL
 * without memory. */
json_t *diff_json(const struct diff *diff, const char *const paths[DIFF_SIDES]);
#endif
