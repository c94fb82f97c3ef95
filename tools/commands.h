/* commands.h - lists the commands of spillway, one line each. This table, and each command's options as argp has them,
 * are the source of --help, the man pages, the completions of the shells and the list in docs/use.md. */
#ifndef SPILLWAY_TOOLS_COMMANDS_H
#define SPILLWAY_TOOLS_COMMANDS_H
#include <argp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One line per command, in the order in which they are shown; meson.build reads the names from here too.
 *
 *     name     what it does                                    example */
/* clang-format off */
#define COMMANDS(X) \
    X(run,    "run a program inside a memory budget", "spillway run --budget 8GiB -- python train.py") \
    X(trace,  "run a program and write down what it does with memory; nothing is moved", "spillway trace -- python train.py") \
    X(report, "show where the memory of a traced run goes", "spillway report --html page.html spillway.0.4711.trace") \
    X(diff,   "show where memory and time went between two traced runs", "spillway diff before.trace after.trace") \
    X(export, "print one iteration of a traced run as a graph", "spillway export spillway.0.4711.trace > iteration.json") \
    X(plan,   "plan an iteration within a memory budget, and say how long it would take", "spillway plan spillway.0.4711.trace --budget 60%") \
    X(top,    "show how running processes are doing, live", "spillway top --once --json") \
    X(doctor, "say what is found here and what to set: driver, settings, host, tracing", "spillway doctor")
/* clang-format on */

/* A command NAME is two functions:
 *   command_NAME    runs the command; argv[0] is "spillway NAME", the result is the exit status
 *   arguments_NAME  returns its arguments as argp needs them, valid for good. Words in capitals stand for a value: FILE,
 *                   TRACE, PID and COMMAND are completed as such, others are only shown. Words in small letters, as in
 *                   "peak|time|idle", are literal. After \v, a last paragraph "Exit status: ..." may follow. */
#define X(name, help, example) \
    int command_##name(int argc, char **argv); \
    const struct argp *arguments_##name(void);
COMMANDS(X)
#undef X

struct command {
    const char *name, *help, *example;
    int (*run)(int argc, char **argv);
    const struct argp *(*arguments)(void);
};
extern const struct command commands[];
extern const size_t command_count;

/* Returns the command with that name, or NULL. */
const struct command *command_find(const char *name);

/* Returns the command that was probably meant; NULL if the name is similar to none. */
const struct command *command_nearest(const char *name);

/* Returns, one by one, the options that its --help shows, including --help itself; NULL after the last. */
const struct argp_option *command_option(const struct command *command, size_t index);

/* Reads the arguments with the command's own argp into `request`. Returns 0 or EXIT_USAGE. Ends the process where argp
 * does: after --help, and with EXIT_USAGE if an argument is refused. */
int command_parse(const struct argp *arguments, int argc, char **argv, unsigned flags, void *request);

/* Parses a whole number from 0 to `most`, in digits and nothing else, as options take it. Returns false if it is none. */
bool parse_number(const char *value, uint64_t most, uint64_t *ret_number);

/* Finds libspillway.so: in the same build folder as this command, else the installed one. Returns false if there is none. */
bool find_library(char *ret_path, size_t size);

/* Returns a text that says what prevents the loader from loading the library at this path, or NULL. */
const char *library_obstacle(const char *path);

/* Finds the folder whose libcuda.so leads to the library, for the LD_LIBRARY_PATH of programs. */
bool find_names_folder(const char *library, char *ret_path, size_t size);

/* Sets the environment such that the loader gives a program the library at this absolute path under every name of the
 * driver. Returns 0, or -1, with a message on stderr if the path cannot be preloaded. */
int preload_library(const char *library);

#define EXIT_USAGE 2
#endif
