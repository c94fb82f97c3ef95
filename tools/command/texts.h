/* texts.h - what is written of the commands elsewhere: man pages, completions, the lists in docs/. Made from the table of
 * commands, their options and the table of settings, so that they cannot disagree with what the commands do. */
#ifndef SPILLWAY_TOOLS_TEXTS_H
#define SPILLWAY_TOOLS_TEXTS_H
#include <stddef.h>
#include <stdio.h>

#include "commands.h"

#define TEXTS_COMMAND "texts" /* a command that no help names: the build and the completions call it */

/* `spillway texts man [COMMAND] | bash | zsh | fish | commands | settings | pids`. The exit status. */
int texts(int argc, char **argv);

void man_spillway(FILE *to);                               /* spillway(1), in man(7) */
void man_command(FILE *to, const struct command *command); /* spillway-COMMAND(1) */

void complete_bash(FILE *to); /* what goes into completions/complete.bash in the place of @TABLES@ */
void complete_zsh(FILE *to);
void complete_fish(FILE *to);

/* What the name of an argument says, as --help shows it: "FILE", "[PID]", "-- COMMAND [ARGUMENT...]". */
enum argument { ARGUMENT_NONE, ARGUMENT_OTHER, ARGUMENT_FILE, ARGUMENT_TRACE, ARGUMENT_PID, ARGUMENT_COMMAND };
enum argument argument_kind(const char *name);

/* The words in it that are meant as they are, "swap trace off" of "swap|trace|off"; "" without any. */
const char *argument_words(const char *name, char *ret_words, size_t size);

/* The first sentence of a text, without the full stop. */
const char *first_sentence(const char *text, char *ret_sentence, size_t size);
#endif
