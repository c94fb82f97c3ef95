/* summary.h - what spillway tells when the process ends: one line for people, a JSON file when asked for. */
#ifndef SPILLWAY_SHIM_SUMMARY_H
#define SPILLWAY_SHIM_SUMMARY_H
#include <stddef.h>

/* From now on this process, and not its forked children, tells at its end. */
void spw_summary_arm(void);

/* The JSON as it stands now, allocated, with its length in bytes. 0 or -ENOMEM. No lock held. */
int spw_summary_text(char **ret_text, size_t *ret_length);
#endif
