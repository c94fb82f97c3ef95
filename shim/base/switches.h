/* switches.h - the frameworks' own settings that make every tensor an allocation that the driver sees. */
#ifndef SPILLWAY_SHIM_SWITCHES_H
#define SPILLWAY_SHIM_SWITCHES_H

#include <stdbool.h>
#include <stddef.h>

struct spw_switch {
    const char *framework, *name;
    const char *value;     /* what we set; NULL: only unset it is as we want it */
    const char *unless;    /* an older or newer name of the same setting: a user who has set that has decided; or NULL */
    const char *also;      /* other values with which spillway sees each tensor, separated by commas; or NULL */
    const char *otherwise; /* what any other value means, as a sentence for the user */
};
extern const struct spw_switch spw_switch_table[];
extern const size_t spw_switch_count;

/* Whether spillway sees each tensor with this value, which may be a list of options with commas in between. */
bool spw_switch_is_fine(const struct spw_switch *which, const char *value);

/* XLA's flags, and the one among them that keeps it from making graphs. */
#define SPW_SWITCH_XLA_FLAGS "XLA_FLAGS"
#define SPW_SWITCH_NO_GRAPHS "--xla_gpu_enable_command_buffer="

/* Whether the user has asked XLA for graphs, which keep on the device what they use. */
bool spw_switch_wants_graphs(void);

/* Sets in the environment what the user has not set, and where there is a budget adds to XLA's flags that it is to make no
 * graphs. Before other threads run. */
void spw_switches_set(void);

/* What it means that the user has set this value, given all that is set: a sentence for people. NULL: no conflict. */
const char *spw_switch_conflict(const struct spw_switch *which, const char *value);

/* Tells of each conflict there is, in one line: variable, value, what happens, what to set. After spw_switches_set(). */
void spw_switches_tell_conflicts(void (*tell)(const char *line));
#endif
