/* switches.h - the frameworks' own settings that make every tensor an allocation that the driver sees. */
#ifndef SPILLWAY_SHIM_SWITCHES_H
#define SPILLWAY_SHIM_SWITCHES_H

/* Sets in the environment what the user has not set. Before other threads run. */
void spw_switches_set(void);

/* The variable by which the user asked for something that hides memory from us, NULL when there is none. */
const char *spw_switches_conflict(void);
#endif
