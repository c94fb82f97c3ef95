/* forward.h - driver symbols that spillway does not look at: each jumps to the driver's own. */
#ifndef SPILLWAY_SHIM_FORWARD_H
#define SPILLWAY_SHIM_FORWARD_H

/* How many there are, and their names; made by make-forward. */
extern const unsigned spw_forward_count;
extern const char *const spw_forward_names[];

/* The driver's function number `index`, kept for the next call; one that answers an error where the driver has none.
 * Called by the forwarders, on their first use. */
void *spw_forward_find(unsigned index);
#endif
