/* foreign.h - device memory that comes from the driver itself, nearly all of it the program's, on the bill of its device:
 * what it takes, the budget leaves less for tensors.
 *
 * An allocation is on the bill until it is freed. Physical memory of the program's own (cuMemCreate) is until nobody holds
 * its handle and nothing is mapped to it any more, as the driver keeps it. */
#ifndef SPILLWAY_SHIM_FOREIGN_H
#define SPILLWAY_SHIM_FOREIGN_H
#include "ledger.h"

/* Before the driver is asked: 0, or -ENOMEM when the budget cannot hold it too, even with all that can move moved, which is
 * said, with `what` for the call. No lock held in any of these but those that say
 * so. */
int spw_foreign_take(struct spw_device *d, uint64_t bytes, const char *what);

/* The driver refused: off the bill again. */
void spw_foreign_give(struct spw_device *d, uint64_t bytes);

/* The same for memory of our own that the driver is asked for with the engine lock held: waits for nothing, moves nothing
 * and says nothing. -ENOMEM: there is no room at the moment. */
int spw_foreign_take_locked(struct spw_device *d, uint64_t bytes);
void spw_foreign_give_locked(struct spw_device *d, uint64_t bytes);

/* What was taken is known by this address from now on, until it is freed. What is not known is ignored. */
void spw_foreign_allocated(CUdeviceptr address, struct spw_device *d, uint64_t bytes);
void spw_foreign_freed(CUdeviceptr address);

/* The same for physical memory: made with one holder, who may let go before or after it is unmapped; whoever retains it is
 * one more. */
void spw_foreign_made(CUmemGenericAllocationHandle handle, struct spw_device *d, uint64_t bytes);
void spw_foreign_retained(CUmemGenericAllocationHandle handle);
void spw_foreign_released(CUmemGenericAllocationHandle handle);
void spw_foreign_mapped(CUmemGenericAllocationHandle handle, CUdeviceptr address, uint64_t bytes);
void spw_foreign_unmapped(CUdeviceptr address, uint64_t bytes);

/* Forgets everything: for tests. */
void spw_foreign_reset(void);
#endif
