/* unmanaged.h - device memory that comes from the driver itself, nearly all of it the program's, on the bill of its device:
 * what it takes, the budget leaves less for tensors.
 *
 * An allocation is on the bill until it is freed. Physical memory of the program's own (cuMemCreate) is until nobody holds
 * its handle and nothing is mapped to it any more, as the driver keeps it. */
#ifndef SPILLWAY_SHIM_UNMANAGED_H
#define SPILLWAY_SHIM_UNMANAGED_H
#include "ledger.h"
#include "pool_reserves.h"

/* Before the driver is asked: 0, or -ENOMEM when the budget cannot hold it too, even with all that can move moved, which is
 * said, with `what` for the call. No lock held in any of these but those that say
 * so. */
int spw_unmanaged_take(struct spw_device *d, uint64_t bytes, const char *what);

/* The driver refused: off the bill again. */
void spw_unmanaged_give(struct spw_device *d, uint64_t bytes);

/* The same for memory of our own that the driver is asked for with the engine lock held: waits for nothing, moves nothing
 * and says nothing. -ENOMEM: there is no room at the moment. spw_device_credit_locked() is the way back. */
int spw_unmanaged_take_locked(struct spw_device *d, uint64_t bytes);

/* What was taken is known by this address from now on, until it is freed. What is not known is ignored. `last`, here and
 * below: spw_billed_last as it was before the driver was told. */
void spw_unmanaged_allocated(CUdeviceptr address, struct spw_device *d, uint64_t bytes);
void spw_unmanaged_freed(CUdeviceptr address, uint64_t last);

/* What the driver is asked for from a memory pool of its own (pool_reserves.h), which is on the bill for as long as the pool
 * keeps it. */
struct spw_pool_ask {
    struct spw_pool_reserve *reserve; /* NULL: on nobody's bill */
    struct spw_device *device;
    uint64_t bytes;
};

/* 0, or -ENOMEM as above. `d` NULL: on nobody's bill. Then, with what the driver gave (0: it refused): what it has reserved
 * beyond that is on the bill too, room for it being made late. */
int spw_unmanaged_ask_pool(struct spw_pool_ask *a, CUmemoryPool pool, struct spw_device *d, uint64_t bytes,
                           const char *what);
void spw_unmanaged_pool_answered(const struct spw_pool_ask *a, CUdeviceptr address);

/* The same for physical memory: made with one holder, who may let go before or after it is unmapped; whoever retains it is
 * one more. */
void spw_unmanaged_made(CUmemGenericAllocationHandle handle, struct spw_device *d, uint64_t bytes);
void spw_unmanaged_retained(CUmemGenericAllocationHandle handle);
void spw_unmanaged_released(CUmemGenericAllocationHandle handle, uint64_t last);
void spw_unmanaged_mapped(CUmemGenericAllocationHandle handle, CUdeviceptr address, uint64_t bytes);
void spw_unmanaged_unmapped(CUdeviceptr address, uint64_t bytes);

/* Forgets everything: for tests. */
void spw_unmanaged_reset(void);
#endif
