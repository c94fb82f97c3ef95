/* unmanaged.h - charges device memory that comes from the driver itself, nearly all of it the program's, to the budget of
 * its device: what it takes is not left for tensors.
 *
 * An allocation is charged until it is freed. Physical memory of the program's own (cuMemCreate) is charged as long as the
 * driver keeps it: until nobody holds its handle and nothing is mapped to it. */
#ifndef SPILLWAY_SHIM_UNMANAGED_H
#define SPILLWAY_SHIM_UNMANAGED_H
#include "ledger.h"
#include "pool_reserves.h"

/* Call before the driver is asked: charges `bytes`. Returns 0, or -ENOMEM if the budget cannot hold them too even after
 * everything that can move was evicted; a message says so, with `what` as the name of the call. Call these functions with
 * no lock held, except where a name says otherwise. */
int spw_unmanaged_take(struct spw_device *d, uint64_t bytes, const char *what);

/* Call if the driver refused: takes the bytes off the bill again. */
void spw_unmanaged_give(struct spw_device *d, uint64_t bytes);

/* The same as spw_unmanaged_take() for memory of our own that is asked for with the engine lock held: does not wait, evict
 * or log anything. Returns -ENOMEM if there is no room at the moment. spw_device_credit_locked() undoes it. */
int spw_unmanaged_take_locked(struct spw_device *d, uint64_t bytes);

/* Notes the address of what was charged, until it is freed. Freeing an unknown address does nothing. `last`, here and
 * below, is spw_billed_last from before the driver call. */
void spw_unmanaged_allocated(CUdeviceptr address, struct spw_device *d, uint64_t bytes);
void spw_unmanaged_freed(CUdeviceptr address, uint64_t last);

/* A request to the driver for memory from one of its own pools (pool_reserves.h), which is charged as long as the pool
 * keeps it. */
struct spw_pool_ask {
    struct spw_pool_reserve *reserve; /* NULL: nobody is charged */
    struct spw_device *device;
    uint64_t bytes;
};

/* The first returns 0, or -ENOMEM as above; with `d` NULL nobody is charged. The second is called with the address that the
 * driver gave (0: it refused): what the driver has reserved beyond the request is charged too, and room for it is made
 * late. */
int spw_unmanaged_ask_pool(struct spw_pool_ask *a, CUmemoryPool pool, struct spw_device *d, uint64_t bytes,
                           const char *what);
void spw_unmanaged_pool_answered(const struct spw_pool_ask *a, CUdeviceptr address);

/* The same for physical memory. It is made with one holder, who may release it before or after it is unmapped; each retain
 * adds a holder. */
void spw_unmanaged_made(CUmemGenericAllocationHandle handle, struct spw_device *d, uint64_t bytes);
void spw_unmanaged_retained(CUmemGenericAllocationHandle handle);
void spw_unmanaged_released(CUmemGenericAllocationHandle handle, uint64_t last);
void spw_unmanaged_mapped(CUmemGenericAllocationHandle handle, CUdeviceptr address, uint64_t bytes);
void spw_unmanaged_unmapped(CUdeviceptr address, uint64_t bytes);

/* Forgets everything: for tests. */
void spw_unmanaged_reset(void);
#endif
