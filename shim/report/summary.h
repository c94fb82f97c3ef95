/* summary.h - what spillway reports when the process ends: one line for people, and a JSON file if asked for. */
#ifndef SPILLWAY_SHIM_SUMMARY_H
#define SPILLWAY_SHIM_SUMMARY_H
#include <stddef.h>

/* From now on this process reports at its end; its forked children do not. */
void spw_summary_arm(void);

/* Returns the JSON as it stands now in allocated memory, with its length in bytes. Returns 0 or -ENOMEM. No lock held. */
int spw_summary_text(char **ret_text, size_t *ret_length);
#endif
