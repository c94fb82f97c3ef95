/* program.h - the program that is to be run: where it is, what keeps it from starting, and what keeps the library from what
 * it starts. */
#ifndef SPILLWAY_TOOLS_PROGRAM_H
#define SPILLWAY_TOOLS_PROGRAM_H
#include <stdbool.h>
#include <stddef.h>

/* Looks for it as a shell would: a name with a slash is a path, any other one is in a folder of PATH. */
bool program_find(const char *name, char *ret_path, size_t size);

/* Says so where the program passes LD_PRELOAD on to nothing that it starts: sudo, docker and their like. */
void program_warn(const char *name);

/* Says why execvp() could not start it. The exit status that a shell would have: 127 not found, 126 not executable. */
int program_explain(const char *name, int error);
#endif
