/* forward.h - driver symbols that spillway does not look at: each jumps to the driver's own function. */
#ifndef SPILLWAY_SHIM_FORWARD_H
#define SPILLWAY_SHIM_FORWARD_H

/* Their number and names; made by make-forward. */
extern const unsigned spw_forward_count;
extern const char *const spw_forward_names[];

/* Finds the driver's function number `index`, and keeps it for the next call. Returns a function that answers with an error
 * if the driver has none. Called by the forwarders on their first use. */
void *spw_forward_find(unsigned index);
#endif
