/* completion.c - writes, for each shell, the commands, the options and their possible values; completions/ contains how
 * they are completed. */
#include <string.h>

#include "texts.h"

enum { TEXT = 512 };

static const char own_options[] = "--help --version";
static const char own_commands[] = "help";

/* Writes a text in single quotes, as all three shells take it. Letters in `also` get a backslash. */
static void put_quoted(FILE *to, const char *text, const char *also)
{
    fputc('\'', to);
    for (const char *at = text; *at; at++) {
        if (strchr(also, *at))
            fputc('\\', to);
        if (*at == '\'')
            fputs("'\\''", to);
        else
            fputc(*at, to);
    }
    fputc('\'', to);
}

static void put_sentence(FILE *to, const char *text, const char *also)
{
    char sentence[TEXT];
    put_quoted(to, first_sentence(text, sentence, sizeof(sentence)), also);
}

/* ---- bash ---- */

static const char *bash_kind(enum argument kind)
{
    static const char *const names[] = {"", "", "@file", "@trace", "@pid", "@command"};
    return names[kind];
}

static void bash_values(FILE *to, const struct command *command)
{
    const struct argp_option *option;
    char words[TEXT];
    for (size_t i = 0; (option = command_option(command, i)); i++) {
        const char *value = argument_words(option->arg, words, sizeof(words));
        if (!*value)
            value = bash_kind(argument_kind(option->arg));
        if (*value)
            fprintf(to, "    %s--%s) echo '%s' ;;\n", command->name, option->name, value);
    }
}

void complete_bash(FILE *to)
{
    const struct argp_option *option;
    fprintf(to, "_spillway_words() { # [COMMAND]: its options, those with a value with a =\n"
                "    case $1 in\n    '') echo '");
    for (size_t i = 0; i < command_count; i++)
        fprintf(to, "%s ", commands[i].name);
    fprintf(to, "%s %s' ;;\n", own_commands, own_options);
    for (size_t i = 0; i < command_count; i++) {
        fprintf(to, "    %s) echo '", commands[i].name);
        for (size_t j = 0; (option = command_option(&commands[i], j)); j++)
            fprintf(to, "%s--%s%s", j ? " " : "", option->name, option->arg ? "=" : "");
        fprintf(to, "' ;;\n");
    }
    fprintf(
        to,
        "    esac\n}\n\n_spillway_values() { # COMMAND[OPTION]: the words, or @KIND, that may follow it\n    case $1 in\n");
    for (size_t i = 0; i < command_count; i++) {
        enum argument kind = argument_kind(commands[i].arguments()->args_doc);
        if (*bash_kind(kind))
            fprintf(to, "    %s) echo '%s' ;;\n", commands[i].name, bash_kind(kind));
        bash_values(to, &commands[i]);
    }
    fprintf(to, "    %s) _spillway_words '' ;;\n    esac\n}\n\n", own_commands);
}

/* ---- zsh ---- */

/* Writes the action that completes a value, after the last colon of _arguments. */
static void zsh_action(FILE *to, const char *name)
{
    static const char *const actions[] = {"", " ", "_files", "_files -g \"*.trace\"", "_spillway_pids", "_command_names -e"};
    char words[TEXT];
    if (*argument_words(name, words, sizeof(words)))
        fprintf(to, "(%s)", words);
    else
        fputs(actions[argument_kind(name)], to);
}

static void zsh_arguments(FILE *to, const char *name)
{
    switch (argument_kind(name)) {
    case ARGUMENT_NONE:
        break;
    case ARGUMENT_COMMAND:
        fputs(" \\\n            '(-)1:command:_command_names -e' '*::arguments:_normal'", to);
        break;
    default:
        fputs(" \\\n            '*:argument:", to);
        zsh_action(to, name);
        fputc('\'', to);
    }
}

static void zsh_option(FILE *to, const struct argp_option *option)
{
    char sentence[TEXT];
    fprintf(to, " \\\n            '--%s%s['", option->name, option->arg ? "=" : "");
    put_quoted(to, first_sentence(option->doc, sentence, sizeof(sentence)), "[]");
    fputs("']", to);
    if (option->arg) {
        fputs(":value:", to);
        zsh_action(to, option->arg);
    }
    fputc('\'', to);
}

void complete_zsh(FILE *to)
{
    const struct argp_option *option;
    fputs("_spillway_commands() {\n    local -a commands=(\n", to);
    for (size_t i = 0; i < command_count; i++) {
        fprintf(to, "        '%s:'", commands[i].name);
        put_quoted(to, commands[i].help, "");
        fputc('\n', to);
    }
    fprintf(to, "        '%s:show how a command is used'\n    )\n    _describe command commands\n}\n\n", own_commands);
    fprintf(to, "_spillway_arguments() { # COMMAND\n    case $1 in\n");
    for (size_t i = 0; i < command_count; i++) {
        fprintf(to, "    %s)\n        _arguments -S", commands[i].name);
        for (size_t j = 0; (option = command_option(&commands[i], j)); j++)
            zsh_option(to, option);
        zsh_arguments(to, commands[i].arguments()->args_doc);
        fputs(" ;;\n", to);
    }
    fprintf(to, "    %s) _arguments '1:command:_spillway_commands' ;;\n    esac\n}\n\n", own_commands);
}

/* ---- fish ---- */

/* Writes how `complete` finds a value, or the words if there are any. */
static void fish_action(FILE *to, const char *name)
{
    static const char *const actions[] = {"",
                                          " -x",
                                          " -rF",
                                          " -x -a '(__fish_complete_suffix .trace)'",
                                          " -x -a '(spillway texts pids 2>/dev/null)'",
                                          " -x -a '(__spillway_command)'"};
    char words[TEXT];
    if (*argument_words(name, words, sizeof(words)))
        fprintf(to, " -x -a '%s'", words);
    else
        fputs(actions[argument_kind(name)], to);
}

void complete_fish(FILE *to)
{
    const struct argp_option *option;
    fputs("complete -c spillway -f\ncomplete -c spillway -n __spillway_first -l help -s h -d 'List the commands'\n"
          "complete -c spillway -n __spillway_first -l version -d 'Print the version'\n"
          "complete -c spillway -n __spillway_first -a help -d 'show how a command is used'\n",
          to);
    for (size_t i = 0; i < command_count; i++) {
        fprintf(to, "\ncomplete -c spillway -n __spillway_first -a %s -d ", commands[i].name);
        put_quoted(to, commands[i].help, "");
        fprintf(to, "\ncomplete -c spillway -n '__spillway_is help' -a %s\n", commands[i].name);
        const char *operands = commands[i].arguments()->args_doc;
        if (argument_kind(operands) > ARGUMENT_OTHER) {
            fprintf(to, "complete -c spillway -n '__spillway_is %s'", commands[i].name);
            fish_action(to, operands);
            fputc('\n', to);
        }
        for (size_t j = 0; (option = command_option(&commands[i], j)); j++) {
            fprintf(to, "complete -c spillway -n '__spillway_is %s' -l %s", commands[i].name, option->name);
            fish_action(to, option->arg);
            fputs(" -d ", to);
            put_sentence(to, option->doc, "");
            fputc('\n', to);
        }
    }
}
