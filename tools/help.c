/* help.c - writes the table of settings as a Markdown table and as a man page. */
#include "help.h"
#include "settings.h"
#include <string.h>

static const char man_head[] =
    ".TH SPILLWAY 1 \"\" \"spillway " SPILLWAY_VERSION "\"\n"
    ".SH NAME\n"
    "spillway \\- run a CUDA training program inside less GPU memory than it wants\n"
    ".SH SYNOPSIS\n"
    ".B spillway run\n"
    ".RI [ OPTION... ]\n"
    ".B \\-\\-\n"
    ".IR COMMAND \" [\" ARGUMENT... ]\n"
    ".br\n"
    ".B spillway doctor\n"
    ".SH DESCRIPTION\n"
    ".B spillway run\n"
    "starts a program with libspillway.so preloaded. The program needs no change. Its device memory is kept within a budget "
    "by moving tensors to pinned host memory and back; its results stay the same to the last bit.\n"
    ".PP\n"
    "Where the user has not set them, PYTORCH_CUDA_ALLOC_CONF, PYTORCH_ALLOC_CONF, XLA_PYTHON_CLIENT_ALLOCATOR,\n"
    "XLA_PYTHON_CLIENT_PREALLOCATE and TF_GPU_ALLOCATOR are set so that each tensor is an allocation of its own.\n"
    ".PP\n"
    "The same without the command: set LD_PRELOAD to the path of libspillway.so and the variables below.\n"
    ".PP\n"
    ".B spillway doctor\n"
    "says which driver is found, how many of its calls are seen, which settings are in force, and what the host can give.\n"
    ".SH OPTIONS\n"
    "Each option of\n"
    ".B spillway run\n"
    "is a variable of the environment too; the option counts if both are given.\n";

static const char man_tail[] = ".SH EXIT STATUS\n"
                               "That of the program; before it has started: 2 for a setting that is refused, 126 for a "
                               "program that cannot be executed,\n"
                               "127 for one that is not found.\n";

/* As man(7) wants it: a hyphen that is meant as one, and no line that begins with a dot. */
static void put_man(FILE *to, const char *text)
{
    for (const char *at = text; *at; at++) {
        if (*at == '-' || *at == '\\')
            fputc('\\', to);
        fputc(*at, to);
    }
}

void help_man_page(FILE *to)
{
    fputs(man_head, to);
    for (size_t i = 0; i < spw_setting_count; i++) {
        const struct spw_setting *s = &spw_setting_table[i];
        fprintf(to, ".TP\n\\fB\\-\\-");
        put_man(to, s->option);
        fprintf(to, "\\fR=\\fI%s\\fR, \\fB%s\\fR\n", s->value, s->variable);
        put_man(to, s->help);
        fputs(".\nAccepted: ", to);
        put_man(to, s->accepted);
        fputs(".\nDefault: ", to);
        put_man(to, s->fallback);
        fputs(".\n", to);
    }
    fputs(man_tail, to);
}

void help_markdown_table(FILE *to)
{
    fputs("| setting | option | default | meaning |\n|---|---|---|---|\n", to);
    for (size_t i = 0; i < spw_setting_count; i++) {
        const struct spw_setting *s = &spw_setting_table[i];
        fprintf(to, "| `%s` | `--%s` | %s | %s. Accepted: %s |\n", s->variable, s->option, s->fallback, s->help,
                s->accepted);
    }
}
