/* program.h - checks the program to be run: where it is, what prevents it from starting, and what keeps the library away
 * from the processes that it starts. */
#ifndef SPILLWAY_TOOLS_PROGRAM_H
#define SPILLWAY_TOOLS_PROGRAM_H
#include <stdbool.h>
#include <stddef.h>

/* Finds the program as a shell would: a name with a slash is a path, any other is in a folder of PATH. Returns false if
 * it is not found. */
bool program_find(const char *name, char *ret_path, size_t size);

/* Warns if the program passes LD_PRELOAD on to none of the processes that it starts: sudo, docker and the like. */
void program_warn(const char *name);

/* Explains why execvp() could not start it. Returns the exit status that a shell would have: 127 not found, 126 not
 * executable. */
int program_explain(const char *name, int error);
#endif
