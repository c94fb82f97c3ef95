/* past.h - whether another preloaded library takes the driver's calls past ours. */
#ifndef SPILLWAY_TOOLS_PAST_H
#define SPILLWAY_TOOLS_PAST_H
#include <stdbool.h>
#include <stddef.h>

enum past_way {
    PAST_UNKNOWN, /* no driver, or one that does not start */
    PAST_OURS,    /* a program would start CUDA without our library being asked */
    PAST_NOT      /* ours is asked */
};

/* How this command starts itself, behind "doctor", to try it. */
#define PAST_INSIDE "--past"

/* A library of this process that answers driver calls and is none of ours; false when there is none. What is preloaded for
 * programs is loaded into this command as well. */
bool past_other_library(char *ret_path, size_t size);

/* Which way a program's calls would take that is started now, with the environment as it is but for `library`, which is
 * preloaded first; NULL: the environment has ours already. */
enum past_way past_which_way(const char *library);

/* In the other process: the exit status tells. */
int past_inside(void);
#endif
