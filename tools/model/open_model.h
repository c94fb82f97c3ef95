/* open_model.h - reads a trace for a command: with progress, and problems said in one line. */
#ifndef SPILLWAY_TOOLS_OPEN_MODEL_H
#define SPILLWAY_TOOLS_OPEN_MODEL_H
#include "model.h"

/* Reads the trace. 0; EXIT_USAGE when the file is no whole trace, with "spillway: FILE: offset N: REASON" on stderr, and
 * *ret_model all the same where `partial` was asked for and something could be read, else NULL; EXIT_FAILURE when memory is
 * short. */
int open_model(const char *path, bool partial, uint64_t at_op, struct model **ret_model);
#endif
