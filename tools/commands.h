/* commands.h - the commands of spillway, each with its own arguments (argv[0] is its name); the result is the exit status.
 */
#ifndef SPILLWAY_TOOLS_COMMANDS_H
#define SPILLWAY_TOOLS_COMMANDS_H
#include <stdbool.h>
#include <stddef.h>

int command_run(int argc, char **argv);
int command_trace(int argc, char **argv);
int command_report(int argc, char **argv);
int command_export(int argc, char **argv);
int command_top(int argc, char **argv);
int command_doctor(int argc, char **argv);

/* The path of libspillway.so: the one in the same build folder as this command, else the installed one. */
bool find_library(char *ret_path, size_t size);

/* The folder that has the library under the name libcuda.so too, for the LD_LIBRARY_PATH of programs. */
bool find_names_folder(const char *library, char *ret_path, size_t size);

/* Sets the environment so that the loader gives a program the library at this absolute path under every name of the driver.
 * 0, or -1, with a message on stderr when the path cannot be preloaded. */
int preload_library(const char *library);

#define EXIT_USAGE 2
#endif
