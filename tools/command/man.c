/* man.c - writes the man pages: spillway(1) from the tables of commands and settings, and one page for each command. */
#include <ctype.h>
#include <stdint.h>
#include <string.h>

#include "settings.h"
#include "texts.h"

/* Escapes text for man(7): hyphens that are meant as such, and characters at the beginning of a line that would be a
 * request. */
static void put(FILE *to, const char *text, size_t length)
{
    bool first = true;
    for (const char *at = text; *at && at < text + length; at++) {
        if (first && (*at == '.' || *at == '\''))
            fputs("\\&", to);
        if (*at == '\\')
            fputs("\\e", to);
        else if (*at == '-')
            fputs("\\-", to);
        else
            fputc(*at, to);
        first = *at == '\n';
    }
}

static void put_all(FILE *to, const char *text)
{
    put(to, text ? text : "", SIZE_MAX / 2);
}

static void put_head(FILE *to, const char *command, const char *help)
{
    const char *dash = *command ? "-" : "";
    fprintf(to, ".TH SPILLWAY%s", *command ? "\\-" : "");
    for (const char *at = command; *at; at++)
        fputc(toupper((unsigned char)*at), to);
    fprintf(to, " 1 \"\" \"spillway " SPILLWAY_VERSION "\"\n.SH NAME\nspillway");
    put_all(to, dash);
    put_all(to, command);
    fputs(" \\- ", to);
    put_all(to, help);
    fputc('\n', to);
}

/* Writes the name of a value: words that stand for a value in italics, literal ones in bold. */
static void put_value(FILE *to, const char *value)
{
    for (const char *at = value; *at;) {
        size_t length = 1;
        if (isalpha((unsigned char)*at)) {
            while (isalpha((unsigned char)at[length]))
                length++;
            fprintf(to, "\\f%c%.*s\\fR", islower((unsigned char)*at) ? 'B' : 'I', (int)length, at);
        } else {
            put(to, at, 1);
        }
        at += length;
    }
}

static void put_option(FILE *to, const struct argp_option *option)
{
    fputs(".TP\n", to);
    if (option->key > ' ' && option->key < 127)
        fprintf(to, "\\fB\\-%c\\fR, ", option->key);
    fputs("\\fB\\-\\-", to);
    put_all(to, option->name);
    fputs("\\fR", to);
    if (option->arg) {
        const bool may_be_left_out = option->flags & OPTION_ARG_OPTIONAL;
        fputs(may_be_left_out ? "[=" : "=", to);
        put_value(to, option->arg);
        fputs(may_be_left_out ? "]" : "", to);
    }
    fputc('\n', to);
    put_all(to, option->doc);
    fputs(".\n", to);
}

/* Writes what argp prints after the options, a paragraph each; the exit status gets a section of its own. */
static void put_notes(FILE *to, const char *text)
{
    static const char status[] = "Exit status: ";
    while (text && *text) {
        const char *end = strstr(text, "\n\n");
        size_t length = end ? (size_t)(end - text) : strlen(text);
        bool is_status = !strncmp(text, status, strlen(status));
        size_t skipped = is_status ? strlen(status) : 0;
        fputs(is_status ? ".SH EXIT STATUS\n" : ".PP\n", to);
        fputc(is_status ? toupper((unsigned char)text[skipped++]) : text[skipped++], to);
        put(to, text + skipped, length - skipped);
        fputc('\n', to);
        text = end ? end + 2 : NULL;
    }
}

static void put_example(FILE *to, const char *example)
{
    fputs(".SH EXAMPLE\n.EX\n", to);
    put_all(to, example);
    fputs("\n.EE\n", to);
}

static void put_others(FILE *to, const struct command *self)
{
    fprintf(to, ".SH SEE ALSO\n%s", self ? ".BR spillway (1)" : "");
    for (size_t i = 0, count = self != NULL; i < command_count; i++) {
        if (&commands[i] == self)
            continue;
        fprintf(to, "%s.BR spillway\\-%s (1)", count++ ? ",\n" : "", commands[i].name);
    }
    fputc('\n', to);
}

void man_command(FILE *to, const struct command *command)
{
    const struct argp *argp = command->arguments();
    const char *notes = strchr(argp->doc, '\v');
    const struct argp_option *option;
    put_head(to, command->name, command->help);
    fprintf(to, ".SH SYNOPSIS\n.B spillway %s\n[\\fIOPTION\\fR...]", command->name);
    if (argp->args_doc) {
        fputc(' ', to);
        put_value(to, argp->args_doc);
    }
    fputs("\n.SH DESCRIPTION\n", to);
    put(to, argp->doc, strcspn(argp->doc, "\v"));
    fputs("\n.SH OPTIONS\n", to);
    for (size_t i = 0; (option = command_option(command, i)); i++)
        put_option(to, option);
    put_notes(to, notes ? notes + 1 : NULL);
    put_example(to, command->example);
    put_others(to, command);
}

static const char about[] =
    ".SH SYNOPSIS\n"
    ".B spillway\n"
    ".I COMMAND\n"
    "[\\fIOPTION\\fR...] [\\fIARGUMENT\\fR...]\n"
    ".br\n"
    ".B spillway help\n"
    "[\\fICOMMAND\\fR]\n"
    ".br\n"
    ".B spillway \\-\\-version\n"
    ".SH DESCRIPTION\n"
    ".B spillway run\n"
    "starts a program with libspillway.so preloaded. The program needs no change. Its device memory is kept within a "
    "budget\n"
    "by moving tensors to pinned host memory and back; its results stay the same to the last bit.\n"
    ".B spillway trace\n"
    "moves nothing and writes down where the memory goes.\n"
    ".PP\n"
    "The same without the command: set LD_PRELOAD to the path of libspillway.so and the variables below.\n";

static void put_settings(FILE *to)
{
    fputs(
        ".SH ENVIRONMENT\nEach of these is an option of\n.B spillway run\nand\n.B spillway trace\ntoo; the option counts if "
        "both are given.\n",
        to);
    for (size_t i = 0; i < spw_setting_count; i++) {
        const struct spw_setting *s = &spw_setting_table[i];
        fprintf(to, ".TP\n.B %s\n", s->variable);
        put_all(to, s->help);
        fputs(".\nAccepted: ", to);
        put_all(to, s->accepted);
        fputs(".\nDefault: ", to);
        put_all(to, s->fallback);
        fputs(".\n", to);
    }
}

void man_spillway(FILE *to)
{
    put_head(to, "", "run a CUDA training program inside less GPU memory than it wants");
    fputs(about, to);
    fputs(".SH COMMANDS\n", to);
    for (size_t i = 0; i < command_count; i++) {
        fprintf(to, ".TP\n.BR spillway\\-%s (1)\n", commands[i].name);
        put_all(to, commands[i].help);
        fputs(".\n", to);
    }
    fputs(".SH OPTIONS\n.TP\n\\fB\\-?\\fR, \\fB\\-h\\fR, \\fB\\-\\-help\\fR\nList the "
          "commands.\n.TP\n\\fB\\-\\-version\\fR\nPrint the "
          "version.\n",
          to);
    put_settings(to);
    put_notes(to, "Exit status: that of the command; 2 when there is no command of that name.");
    put_example(to, commands[0].example);
    put_others(to, NULL);
}
