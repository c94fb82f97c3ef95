/* progress.h - shows the progress of a long task: one line on a terminal, nothing anywhere else. */
#ifndef SPILLWAY_TOOLS_PROGRESS_H
#define SPILLWAY_TOOLS_PROGRESS_H
#include <stdint.h>

/* Shows `done` of `all`, at most ten times a second, and only once the task has taken a second. `context` is the name of
 * the task. */
void progress_show(void *context, uint64_t done, uint64_t all);

/* Removes the line. */
void progress_end(void);
#endif
