/* texts.c - `spillway texts`: prints one of the texts that are made from the tables, for the build and for completions. */
#include "texts.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "settings.h"
#include "top.h"

/* ---- what the name of an argument says ---- */

enum argument argument_kind(const char *name)
{
    static const struct {
        const char *word;
        enum argument kind;
    } words[] = {{"COMMAND", ARGUMENT_COMMAND}, {"TRACE", ARGUMENT_TRACE}, {"PID", ARGUMENT_PID}, {"FILE", ARGUMENT_FILE}};
    char lower[2];
    if (!name)
        return ARGUMENT_NONE;
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        if (strstr(name, words[i].word) && !*argument_words(name, lower, sizeof(lower)))
            return words[i].kind;
    return ARGUMENT_OTHER;
}

const char *argument_words(const char *name, char *ret_words, size_t size)
{
    size_t length = 0;
    ret_words[0] = 0;
    for (const char *at = name; at && *at; at += *at == '|') {
        size_t word = strcspn(at, "[|"), piece = strcspn(at, "|");
        if (islower((unsigned char)*at) && length < size)
            length += (size_t)snprintf(ret_words + length, size - length, "%s%.*s", length ? " " : "", (int)word, at);
        at += piece;
    }
    return ret_words;
}

const char *first_sentence(const char *text, char *ret_sentence, size_t size)
{
    const char *stop = text ? strstr(text, ". ") : NULL;
    snprintf(ret_sentence, size, "%.*s", stop ? (int)(stop - text) : (int)size, text ? text : "");
    return ret_sentence;
}

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

/* Who runs under spillway, one a line, with a tab between number and command. */
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
