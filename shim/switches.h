/* switches.h - the frameworks' own settings that make every tensor an allocation that the driver sees. */
#ifndef SPILLWAY_SHIM_SWITCHES_H
#define SPILLWAY_SHIM_SWITCHES_H

#include <stdbool.h>
#include <stddef.h>

struct spw_switch {
    const char *framework, *name;
    const char *value;     /* what we set */
    const char *unless;    /* an older or newer name of the same setting: a user who has set that has decided; or NULL */
    const char *also;      /* other values with which spillway sees each tensor, separated by commas; or NULL */
    const char *otherwise; /* what any other value means, as a sentence for the user */
};
extern const struct spw_switch spw_switch_table[];
extern const size_t spw_switch_count;

/* Whether spillway sees each tensor with this value, which may be a list of options with commas in between. */
bool spw_switch_is_fine(const struct spw_switch *which, const char *value);

/* Sets in the environment what the user has not set. Before other threads run. */
void spw_switches_set(void);

/* The variable by which the user asked for something that hides memory from us, NULL when there is none. */
const char *spw_switches_conflict(void);
#endif
