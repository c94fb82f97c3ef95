/* past.h - finds out whether another preloaded library takes the driver's calls past ours. */
#ifndef SPILLWAY_TOOLS_PAST_H
#define SPILLWAY_TOOLS_PAST_H
#include <stdbool.h>
#include <stddef.h>

enum past_way {
    PAST_UNKNOWN, /* there is no driver, or it does not start */
    PAST_OURS,    /* calls go past ours: a program would start CUDA without our library being asked */
    PAST_NOT      /* calls reach ours */
};

/* How this command starts itself, after "doctor", to try it. */
#define PAST_INSIDE "--past"

/* Finds a library of this process that answers driver calls and is not ours; returns false if there is none. Libraries
 * preloaded for programs are loaded into this command too. */
bool past_other_library(char *ret_path, size_t size);

/* Returns which way the calls of a program would take if it were started with this environment and with `library`
 * preloaded first; NULL: the environment has ours already. */
enum past_way past_which_way(const char *library);

/* Runs in the other process; returns the exit status, which tells the result. */
int past_inside(void);
#endif
