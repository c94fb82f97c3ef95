/* texts_command.c - `spillway texts`: prints one of the texts that are made from the tables, for the build and for
 * completions. */
#include "texts.h"

#include <stdlib.h>
#include <string.h>

#include "settings.h"
#include "top.h"

/* ---- tables in Markdown ---- */

static void print_commands(FILE *to)
{
    fputs("| command | what it does |\n|---|---|\n", to);
    for (size_t i = 0; i < command_count; i++)
        fprintf(to, "| `spillway %s` | %s |\n", commands[i].name, commands[i].help);
}

static void print_settings(FILE *to)
{
    fputs("| setting | option | default | meaning |\n|---|---|---|---|\n", to);
    for (size_t i = 0; i < spw_setting_count; i++) {
        const struct spw_setting *s = &spw_setting_table[i];
        fprintf(to, "| `%s` | `--%s` | %s | %s. Accepted: %s |\n", s->variable, s->option, s->fallback, s->help,
                s->accepted);
    }
}

/* Prints the processes that run under spillway, one a line, with a tab between pid and command. */
static void print_pids(FILE *to)
{
    enum { PROCESSES = 64 };
    struct top_process *list = calloc(PROCESSES, sizeof(*list));
    unsigned count = list ? top_list(list, 0, PROCESSES) : 0;
    for (unsigned i = 0; i < count; i++)
        fprintf(to, "%u\t%s\n", list[i].page.pid, list[i].page.command);
    free(list);
}

/* ---- the command ---- */

int texts(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*print)(FILE *to);
    } all[] = {{"man", man_spillway},        {"bash", complete_bash},      {"zsh", complete_zsh}, {"fish", complete_fish},
               {"commands", print_commands}, {"settings", print_settings}, {"pids", print_pids}};
    const struct command *command = argc == 3 && !strcmp(argv[1], "man") ? command_find(argv[2]) : NULL;
    if (command) {
        man_command(stdout, command);
        return EXIT_SUCCESS;
    }
    for (size_t i = 0; argc == 2 && i < sizeof(all) / sizeof(all[0]); i++)
        if (!strcmp(argv[1], all[i].name)) {
            all[i].print(stdout);
            return EXIT_SUCCESS;
        }
    fprintf(stderr, "usage: spillway " TEXTS_COMMAND " man [COMMAND] | bash | zsh | fish | commands | settings | pids\n");
    return EXIT_USAGE;
}
