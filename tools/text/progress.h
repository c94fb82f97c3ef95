/* progress.h - how far a long piece of work has come: one line on a terminal, nothing anywhere else. */
#ifndef SPILLWAY_TOOLS_PROGRESS_H
#define SPILLWAY_TOOLS_PROGRESS_H
#include <stdint.h>

/* `done` of `all`; shown at most ten times a second, and only once the work has taken a second. `context` is what is being
 * done, as text. */
void progress_show(void *context, uint64_t done, uint64_t all);

/* Takes the line away. */
void progress_end(void);
#endif
