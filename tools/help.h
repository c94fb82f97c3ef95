/* help.h - texts that are made from the table of settings (shim/settings.h), so that they cannot disagree with it. */
#ifndef SPILLWAY_TOOLS_HELP_H
#define SPILLWAY_TOOLS_HELP_H
#include <stdio.h>

void help_markdown_table(FILE *to); /* the README's table */
void help_man_page(FILE *to);       /* spillway(1), in man(7) */
#endif
