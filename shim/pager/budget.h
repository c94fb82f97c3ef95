/* budget.h - changes how much device memory the program may have, while it runs. */
#ifndef SPILLWAY_SHIM_BUDGET_H
#define SPILLWAY_SHIM_BUDGET_H
#include "ledger.h"

/* Frees so much device memory that the budget can be lowered by `bytes`: evicts blocks that are in the way, and unmaps the
 * freed memory at every address. Returns 0, -ENOMEM if not enough can go, or a failure of the driver. Needs the device's
 * slow lock and the engine lock, which is released while it waits for the GPU. */
int spw_budget_free_unlocking(struct spw_device *d, uint64_t bytes);

/* Sets the budget to `bytes`, or to all memory of the device where that is less. The budget includes memory that the driver
 * gave to the program itself. When a lowered budget is in force, on return, tensors have been evicted and physical memory
 * released. Returns 0, or a failure of the driver, or -ENOMEM if more than `bytes` cannot leave the device or has to be
 * there at once; then *ret_smallest_bytes is the smallest budget that would do. After a failure the budget is as it was.
 * Call with no lock held. */
int spw_budget_set(struct spw_device *d, uint64_t bytes, uint64_t *ret_smallest_bytes);

/* Returns the budget: bytes of device memory that the program may have. */
static inline uint64_t spw_budget_locked(const struct spw_device *d)
{
    return d->handles.budget_bytes + d->handles.lacking_bytes + d->foreign_bytes;
}
#endif
