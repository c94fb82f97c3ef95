/* commands.c - holds the table of commands, found by an exact or a similar name, and lists their options one by one. */
#include "commands.h"

#include <stdint.h>
#include <string.h>

#include "spelling.h"

#define X(name, help, example) {#name, help, example, command_##name, arguments_##name},
const struct command commands[] = {COMMANDS(X)};
#undef X
const size_t command_count = sizeof(commands) / sizeof(commands[0]);

const struct command *command_find(const char *name)
{
    for (size_t i = 0; i < command_count; i++)
        if (!strcmp(commands[i].name, name))
            return &commands[i];
    return NULL;
}

const struct command *command_nearest(const char *name)
{
    const struct command *nearest = NULL;
    size_t length = strlen(name);
    unsigned best = (unsigned)(length + 1) / 2 + 1; /* half of the letters may differ; of three letters, two */
    for (size_t i = 0; i < command_count; i++) {
        unsigned distance = spw_spelling_distance(name, length, commands[i].name, strlen(commands[i].name));
        if (distance < best) {
            best = distance;
            nearest = &commands[i];
        }
    }
    return nearest;
}

/* ---- options ---- */

/* The options that argp adds to every command. */
static const struct argp_option added[] = {
    {.name = "help", .key = '?', .doc = "Give this help list"},
    {.name = "usage", .key = 0x2000, .doc = "Give a short usage message"},
};

const struct argp_option *command_option(const struct command *command, size_t index)
{
    const struct argp_option *option = command->arguments()->options;
    for (; option && option->name; option++)
        if (!(option->flags & OPTION_HIDDEN) && index-- == 0)
            return option;
    return index < sizeof(added) / sizeof(added[0]) ? &added[index] : NULL;
}
