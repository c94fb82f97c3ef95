/* budget.h - less or more device memory for the program, while it runs. */
#ifndef SPILLWAY_SHIM_BUDGET_H
#define SPILLWAY_SHIM_BUDGET_H
#include "ledger.h"

/* Frees so much of the budget that it can be lowered by `bytes`: evicts what is in the way, and unmaps everywhere what it
 * frees. 0, -ENOMEM: not so much can go; or a driver's failure. Needs the device's slow lock and the engine lock, which it
 * lets go of while it waits for the GPU. */
int spw_budget_free_unlocking(struct spw_device *d, uint64_t bytes);

/* The budget is `bytes` from now on, or all of the device where that is less: memory that the driver gave to the program
 * itself included. Where it is lowered, tensors have left and physical memory was released by the time that this returns.
 * 0; -ENOMEM with the smallest budget that would do in *ret_smallest_bytes: more than `bytes` cannot leave the device, or
 * has to be there at once; or a driver's failure. After a failure the budget is as it was. No lock held. */
int spw_budget_set(struct spw_device *d, uint64_t bytes, uint64_t *ret_smallest_bytes);

/* What it is: bytes of device memory that the program may have. */
static inline uint64_t spw_budget_locked(const struct spw_device *d)
{
    return d->handles.budget_bytes + d->handles.lacking_bytes + d->foreign_bytes;
}
#endif
