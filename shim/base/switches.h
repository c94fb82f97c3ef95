/* switches.h - the frameworks' own settings that turn every tensor into an allocation which the driver sees. */
#ifndef SPILLWAY_SHIM_SWITCHES_H
#define SPILLWAY_SHIM_SWITCHES_H

#include <stdbool.h>
#include <stddef.h>

struct spw_switch {
    const char *framework, *name;
    const char *value;     /* what we set; NULL: unset is what we want */
    const char *unless;    /* another name of the same setting, older or newer: a user who has set that has decided; or
                            * NULL */
    const char *also;      /* other values with which spillway sees each tensor, separated by commas; or NULL */
    const char *otherwise; /* the consequence of any other value, as a sentence for the user */
};
extern const struct spw_switch spw_switch_table[];
extern const size_t spw_switch_count;

/* Returns true if spillway sees each tensor with this value, which may be a list of options separated by commas. */
bool spw_switch_is_fine(const struct spw_switch *which, const char *value);

/* XLA's flags, and the one that keeps it from making graphs. */
#define SPW_SWITCH_XLA_FLAGS "XLA_FLAGS"
#define SPW_SWITCH_NO_GRAPHS "--xla_gpu_enable_command_buffer="

/* Returns true if the user has asked XLA for graphs. What graphs use stays on the device. */
bool spw_switch_wants_graphs(void);

/* Sets in the environment what the user has not set. If there is a budget, also adds the flag that keeps XLA from making
 * graphs. Called before other threads run. */
void spw_switches_set(void);

/* Returns the consequence of this value that the user has set, given all that is set, as a sentence for people. NULL: there
 * is no conflict. */
const char *spw_switch_conflict(const struct spw_switch *which, const char *value);

/* Calls `tell` for each conflict with one line: variable, value, consequence, what to set. Called after
 * spw_switches_set(). */
void spw_switches_tell_conflicts(void (*tell)(const char *line));
#endif
