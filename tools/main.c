/* main.c - the spillway command: finds out which of its commands is meant. */
#include "commands.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name;
    int (*run)(int argc, char **argv);
    const char *help;
} commands[] = {
    {"run", command_run, "run a program inside a memory budget"},
    {"trace", command_trace, "run a program and write down what it does with memory; nothing is moved"},
    {"report", command_report, "show where the memory of a traced run goes"},
    {"export", command_export, "print one iteration of a traced run as a graph"},
    {"top", command_top, "show how running processes are doing, live"},
    {"doctor", command_doctor, "say what is found here: driver, settings, host memory"},
};
#define COUNT (sizeof(commands) / sizeof(commands[0]))

static void print_help(FILE *to)
{
    fprintf(to, "Usage: spillway COMMAND [OPTION...]\n\nCommands:\n");
    for (size_t i = 0; i < COUNT; i++)
        fprintf(to, "  %-8s %s\n", commands[i].name, commands[i].help);
    fprintf(to, "\n`spillway COMMAND --help` tells more. Example:\n\n    spillway run --budget 8GiB -- python train.py\n");
}

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "";
    if (!strcmp(name, "--version")) {
        printf("spillway %s\n", SPILLWAY_VERSION);
        return EXIT_SUCCESS;
    }
    if (!strcmp(name, "--help") || !strcmp(name, "-h") || !strcmp(name, "-?") || !strcmp(name, "help")) {
        print_help(stdout);
        return EXIT_SUCCESS;
    }
    for (size_t i = 0; i < COUNT; i++) {
        if (!strcmp(name, commands[i].name)) {
            static char full_name[64]; /* how argp's messages call it */
            snprintf(full_name, sizeof(full_name), "spillway %s", name);
            argv[1] = full_name;
            return commands[i].run(argc - 1, argv + 1);
        }
    }
    fprintf(stderr, "spillway: %s%s\n", *name ? "no such command: " : "which command?", name);
    print_help(stderr);
    return EXIT_USAGE;
}
