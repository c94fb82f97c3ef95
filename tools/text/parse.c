/* parse.c - parses the arguments of a command, whose --help ends with its example, and numbers among them. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "commands.h"

static const struct {
    const char *name, *example;
} examples[] = {
#define X(name, help, example) {#name, example},
    COMMANDS(X)
#undef X
};

static const char *shown_example; /* of the command whose arguments are being parsed; NULL: none */

/* Adds the example to the text that argp prints for --help. */
static char *add_example(int key, const char *text, void *input)
{
    char *line;
    if (key != ARGP_KEY_HELP_EXTRA || !shown_example)
        return (char *)(uintptr_t)text;
    return asprintf(&line, "Example:\n    %s", shown_example) < 0 ? NULL : line;
}

int command_parse(const struct argp *arguments, int argc, char **argv, unsigned flags, void *request)
{
    struct argp argp = *arguments;
    const char *space = argc > 0 ? strchr(argv[0], ' ') : NULL;
    shown_example = NULL;
    for (size_t i = 0; space && i < sizeof(examples) / sizeof(examples[0]); i++)
        if (!strcmp(examples[i].name, space + 1))
            shown_example = examples[i].example;
    argp.help_filter = add_example;
    argp_err_exit_status = EXIT_USAGE;
    return argp_parse(&argp, argc, argv, flags, NULL, request) ? EXIT_USAGE : 0;
}

bool parse_number(const char *value, uint64_t most, uint64_t *ret_number)
{
    char *end;
    errno = 0;
    const unsigned long long number = strtoull(value, &end, 10);
    if (errno || *end || value[0] < '0' || value[0] > '9' || number > most)
        return false;
    *ret_number = number;
    return true;
}
