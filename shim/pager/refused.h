/* refused.h - an operation is refused: why, as its messages say it. */
#ifndef SPILLWAY_SHIM_REFUSED_H
#define SPILLWAY_SHIM_REFUSED_H
#include "op.h"
#include "working_set.h"

/* No room could be made for the set on the device `full`: what the set and all that cannot move take there. */
uint64_t spw_refused_needed_bytes_locked(const struct spw_working_set *set);

/* The same, in words. `host_refused`: the host has refused memory meanwhile. */
void spw_refused_say_what_does_not_fit_locked(const struct spw_op *op, const struct spw_working_set *set, bool host_refused);

/* A host budget with which all that is allocated, and `more` bytes at once on the device `with` (NULL: nothing), has room
 * somewhere, and tensors can change places: in granules on the devices, and where each of them is filled as badly as can be.
 */
uint64_t spw_refused_host_bytes_locked(const struct spw_device *with, uint64_t more);

/* It is refused with this failure. What the driver refuses is told of with the call (ask.h), what does not fit with its
 * sizes, as above: of both nothing is said here. */
void spw_refused_say_why(const struct spw_op *op, int failure);

/* The same for an allocation; of a success nothing is said either. */
void spw_refused_say_why_not_allocated_locked(const struct spw_device *d, size_t bytes, int failure);
#endif
