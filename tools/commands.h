/* commands.h - the commands of spillway, each with its own arguments (argv[0] is its name); the result is the exit status.
 */
#ifndef SPILLWAY_TOOLS_COMMANDS_H
#define SPILLWAY_TOOLS_COMMANDS_H

int command_run(int argc, char **argv);
int command_doctor(int argc, char **argv);

/* The path of libspillway.so: the one in the same build folder as this command, else the installed one. 0: none. */
int find_library(char *ret_path, unsigned long size);

/* The folder that has the library under the name libcuda.so too, for the LD_LIBRARY_PATH of programs. 0: none. */
int find_names_folder(const char *library, char *ret_path, unsigned long size);

#define EXIT_USAGE 2
#endif
