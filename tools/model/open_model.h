/* open_model.h - reads a trace for a command, with progress, and reports problems in one line. */
#ifndef SPILLWAY_TOOLS_OPEN_MODEL_H
#define SPILLWAY_TOOLS_OPEN_MODEL_H
#include "model.h"

/* Reads the trace. Returns 0; EXIT_FAILURE without memory; EXIT_USAGE if the file is no complete trace, with "spillway:
 * FILE: offset N: REASON" on stderr. In that case *ret_model is set if `partial` was asked for and something could be
 * read, else NULL. */
int open_model(const char *path, bool partial, uint64_t at_op, struct model **ret_model);
#endif
