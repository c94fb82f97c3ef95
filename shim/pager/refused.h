/* refused.h - explains in a message why an operation or allocation is refused. */
#ifndef SPILLWAY_SHIM_REFUSED_H
#define SPILLWAY_SHIM_REFUSED_H
#include "op.h"
#include "working_set.h"

/* Returns the bytes that the set and everything that cannot move take on the device `full`, on which no room could be made
 * for the set. */
uint64_t spw_refused_needed_bytes_locked(const struct spw_working_set *set);

/* Logs that. `host_refused`: the host has refused memory meanwhile. */
void spw_refused_say_what_does_not_fit_locked(const struct spw_op *op, const struct spw_working_set *set, bool host_refused);

/* Returns a host budget in bytes with which everything that is allocated, plus `more` bytes at once on the device `with`
 * (NULL: none), has room somewhere, and tensors can change places. Counts device memory in granules, and takes each device
 * to be filled as badly as possible. */
uint64_t spw_refused_host_bytes_locked(const struct spw_device *with, uint64_t more);

/* Logs why the operation is refused with this failure. Logs nothing for what the driver refuses, which is logged with the
 * call (ask.h), and for what does not fit, which is logged with its sizes, as above. */
void spw_refused_say_why(const struct spw_op *op, int failure);

/* The same for an allocation; logs nothing for a success either. */
void spw_refused_say_why_not_allocated_locked(const struct spw_device *d, size_t bytes, int failure);
#endif
