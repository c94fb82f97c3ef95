/* main.c - the spillway command: finds the command to run. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "commands.h"
#include "program.h"
#include "texts.h"

static void print_help(FILE *to)
{
    fprintf(to, "Usage: spillway COMMAND [OPTION...]\n\nCommands:\n");
    for (size_t i = 0; i < command_count; i++)
        fprintf(to, "  %-8s %s\n", commands[i].name, commands[i].help);
    fprintf(to,
            "\n`spillway help COMMAND`, the same as `spillway COMMAND --help`, tells more; so does `man spillway-COMMAND`. "
            "Example:\n\n    %s\n",
            commands[0].example);
}

static int refuse(const char *name)
{
    char path[PATH_MAX];
    const struct command *nearest = command_nearest(name);
    if (!*name) {
        fprintf(stderr, "spillway: which command?\n");
        print_help(stderr);
    } else if (*name == '-') {
        fprintf(stderr,
                "spillway: no such option: %s; other options than --help and --version follow a command, as in: %s\n", name,
                commands[0].example);
    } else if (nearest) {
        fprintf(stderr, "spillway: no such command: %s; the nearest is %s. `spillway --help` lists all.\n", name,
                nearest->name);
    } else if (access(name, F_OK) == 0 || program_find(name, path, sizeof(path))) {
        fprintf(stderr, "spillway: no such command: %s; a program is started by `spillway run`, as in: %s\n", name,
                commands[0].example);
    } else {
        fprintf(stderr, "spillway: no such command: %s\n", name);
        print_help(stderr);
    }
    return EXIT_USAGE;
}

static int start(const struct command *command, int argc, char **argv)
{
    static char full_name[64]; /* the name in argp's messages */
    snprintf(full_name, sizeof(full_name), "spillway %s", command->name);
    argv[0] = full_name;
    return command->run(argc, argv);
}

/* Runs `spillway help COMMAND` as the command's own --help. */
static int help(int argc, char **argv)
{
    const struct command *command = argc > 1 ? command_find(argv[1]) : NULL;
    char option[] = "--help", *asked[] = {NULL, option, NULL};
    if (command)
        return start(command, 2, asked);
    if (argc > 1)
        return refuse(argv[1]);
    print_help(stdout);
    return EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "";
    const struct command *command = command_find(name);
    if (command)
        return start(command, argc - 1, argv + 1);
    if (!strcmp(name, "--version")) {
        printf("spillway %s\n", SPILLWAY_VERSION);
        return EXIT_SUCCESS;
    }
    if (!strcmp(name, "help"))
        return help(argc - 1, argv + 1);
    if (!strcmp(name, "--help") || !strcmp(name, "-h") || !strcmp(name, "-?"))
        return help(1, argv);
    if (!strcmp(name, TEXTS_COMMAND))
        return texts(argc - 1, argv + 1);
    return refuse(name);
}
