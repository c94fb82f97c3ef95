/* link_speed.h - measures how fast the link of a device is before the program uses it, by copies of our own: for traces,
 * which otherwise make no copies of ours. */
#ifndef SPILLWAY_SHIM_LINK_SPEED_H
#define SPILLWAY_SHIM_LINK_SPEED_H
#include <stdbool.h>
#include <stdint.h>

#include "bandwidth.h"

/* Copies both ways between 16 MiB of the current context's device and as much pinned host memory, which are released
 * afterwards. Waits for these copies, some ten milliseconds. Returns false if the memory could not be had, or would be more
 * than a sixteenth of `free_bytes`. The calling thread is within a context's guard (context.h). */
bool spw_link_speed(uint64_t free_bytes, struct spw_bandwidth *ret_bandwidth);
#endif
