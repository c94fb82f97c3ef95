/* commands.h - the commands of spillway, one line each. From this table and from each command's options, as argp has them,
 * come
 * --help, the man pages, the completions of the shells and the list in docs/use.md. */
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
 *   command_NAME    does it; argv[0] is "spillway NAME", the result is the exit status
 *   arguments_NAME  what argp needs to know of its arguments; kept for good. Words in capitals stand for something: FILE,
 *                   TRACE, PID and COMMAND are completed as what they say, other words are shown; words in small letters,
 *                   as in "peak|time|idle", are meant as they are. A last paragraph "Exit status: ..." behind \v tells more.
 */
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

/* NULL: there is none of that name. */
const struct command *command_find(const char *name);

/* The command that was probably meant; NULL when the name is like none of them. */
const struct command *command_nearest(const char *name);

/* The options that its --help shows, --help itself among them, one by one; NULL behind the last. */
const struct argp_option *command_option(const struct command *command, size_t index);

/* Reads the arguments with the command's own argp into `request`. 0, or EXIT_USAGE. Ends the process where argp does: after
 * --help, and with EXIT_USAGE when an argument is refused. */
int command_parse(const struct argp *arguments, int argc, char **argv, unsigned flags, void *request);

/* A whole number from 0 to `most`, in digits and nothing else, as options take it. */
bool parse_number(const char *value, uint64_t most, uint64_t *ret_number);

/* The path of libspillway.so: the one in the same build folder as this command, else the installed one. */
bool find_library(char *ret_path, size_t size);

/* What keeps the loader from taking the library at this path, in words; NULL: nothing. */
const char *library_obstacle(const char *path);

/* The folder whose libcuda.so leads to the library, for the LD_LIBRARY_PATH of programs. */
bool find_names_folder(const char *library, char *ret_path, size_t size);

/* Sets the environment so that the loader gives a program the library at this absolute path under every name of the driver.
 * 0, or -1, with a message on stderr when the path cannot be preloaded. */
int preload_library(const char *library);

#define EXIT_USAGE 2
#endif
