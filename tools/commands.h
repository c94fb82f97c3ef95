/* commands.h - the commands of spillway, each with its own arguments (argv[0] is its name); the result is the exit status.
 */
#ifndef SPILLWAY_TOOLS_COMMANDS_H
#define SPILLWAY_TOOLS_COMMANDS_H

int command_run(int argc, char **argv);
int command_doctor(int argc, char **argv);

/* The path of libspillway.so: the one in the same build folder as this command, else the installed one. False: none. */
int find_library(char *ret_path, unsigned long size);

#define EXIT_USAGE 2
#endif
