/* alloc.h - allocates and frees device memory for the program: from cached blocks where one fits, else from what the budget
 * leaves. */
#ifndef SPILLWAY_SHIM_ALLOC_H
#define SPILLWAY_SHIM_ALLOC_H
#include "allocation.h"
#include "lasting.h"
#include "ledger.h"
#include "mempool_stats.h"

/* Allocates `bytes` for work submitted to `s` (in stream order), or for any stream at once (NULL), and stores the address
 * in *ret_address. The allocation need not have memory yet: it gets memory with the first operation that uses it. `pool` is
 * the memory pool that the allocation is booked on (mempool_stats.h). Returns 0; -EINVAL if `bytes` is 0; -ENOMEM if the
 * device and the host budget together cannot hold it, or no operation could ever have it resident; or another negative
 * result. Call with no lock held. */
int spw_allocate(struct spw_device *d, size_t bytes, struct spw_stream *s, CUcontext context, struct spw_mempool_stats *pool,
                 CUdeviceptr *ret_address);
/* The same with the engine lock held, which is released where the function has to wait. On success the caller calls
 * spw_allocated() once it has released the lock. */
int spw_allocate_unlocking(struct spw_device *d, size_t bytes, struct spw_stream *s, CUcontext context,
                           struct spw_mempool_stats *pool, CUdeviceptr *ret_address);

/* Completes an allocation: pins it if something knows its address from before (lasting.h). Returns 0; or -ENOMEM or a
 * failure of the driver if it has to stay resident and cannot, and then it has been freed again. Call with no lock held. */
int spw_allocated_where_pinned(CUdeviceptr address);
static inline int spw_allocated(CUdeviceptr address)
{
    const bool some_are = atomic_load_explicit(&spw_lasting_any, memory_order_relaxed);
    return __builtin_expect(some_are, 0) ? spw_allocated_where_pinned(address) : 0;
}

/* Frees the allocation that begins at `address`. Returns 0; -ENOENT if the address is not ours; -EINVAL if it is ours, but
 * no live allocation begins there. `s` is the stream in whose order it is freed; NULL means that everything that uses it
 * has been submitted, to whatever stream. With NULL, spw_free() waits for the device where operations may use the
 * allocation without spillway's knowing. Call spw_free() with no lock held, spw_free_locked(), which never waits, with the
 * engine lock. */
int spw_free(CUdeviceptr address, struct spw_stream *s);
int spw_free_locked(CUdeviceptr address, struct spw_stream *s);

/* Frees all allocations of a context that is about to be destroyed and has nothing left to run. */
void spw_free_of_context_locked(CUcontext context);

/* Releases all memory that is kept for reuse on devices on which nothing is allocated. */
void spw_free_unused_devices_locked(void);
#endif
