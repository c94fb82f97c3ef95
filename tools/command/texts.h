/* texts.h - writes the texts about the commands: man pages, completions, the lists in docs/. They are made from the table
 * of commands, their options and the table of settings, so they cannot differ from what the commands do. */
#ifndef SPILLWAY_TOOLS_TEXTS_H
#define SPILLWAY_TOOLS_TEXTS_H
#include <stddef.h>
#include <stdio.h>

#include "commands.h"

#define TEXTS_COMMAND "texts" /* a command that no help mentions: the build and the completions call it */

/* Runs `spillway texts man [COMMAND] | bash | zsh | fish | commands | settings | pids`. Returns the exit status. */
int texts(int argc, char **argv);

void man_spillway(FILE *to);                               /* writes spillway(1) in man(7) */
void man_command(FILE *to, const struct command *command); /* writes spillway-COMMAND(1) */

void complete_bash(FILE *to); /* writes what replaces @TABLES@ in completions/complete.bash */
void complete_zsh(FILE *to);
void complete_fish(FILE *to);

/* What the name of an argument stands for, as --help shows it: "FILE", "[PID]", "-- COMMAND [ARGUMENT...]". */
enum argument { ARGUMENT_NONE, ARGUMENT_OTHER, ARGUMENT_FILE, ARGUMENT_TRACE, ARGUMENT_PID, ARGUMENT_COMMAND };
enum argument argument_kind(const char *name);

/* Returns the literal words in the name, such as "swap trace off" for "swap|trace|off"; "" if there are none. */
const char *argument_words(const char *name, char *ret_words, size_t size);

/* Returns the first sentence of a text, without the full stop. */
const char *first_sentence(const char *text, char *ret_sentence, size_t size);
#endif
