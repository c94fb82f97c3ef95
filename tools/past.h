/* past.h - whether another preloaded library takes the driver's calls past ours. */
#ifndef SPILLWAY_TOOLS_PAST_H
#define SPILLWAY_TOOLS_PAST_H
#include <stdbool.h>
#include <stddef.h>

/* How this command starts itself, behind "doctor", to try it. */
#define PAST_INSIDE "--past"

/* A library of this process that answers driver calls and is none of ours; false when there is none. What is preloaded for
 * programs is loaded into this command as well. */
bool past_other_library(char *ret_path, size_t size);

/* Whether a program that is started now, with the environment as it is, would start CUDA without our library being asked.
 * Answers false where that cannot be told. */
bool past_ours(void);

/* In the other process: the exit status tells. */
int past_inside(void);
#endif
