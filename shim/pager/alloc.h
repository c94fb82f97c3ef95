/* alloc.h - being the program's allocator: from cached memory where there is some, else from what the budget leaves. */
#ifndef SPILLWAY_SHIM_ALLOC_H
#define SPILLWAY_SHIM_ALLOC_H
#include "allocation.h"
#include "lasting.h"
#include "ledger.h"
#include "mempool_stats.h"

/* Memory for work submitted to `s` (in stream order), or for any stream at once (NULL). It may be absent: addresses are
 * given, memory comes with the first operation that uses it. `pool` is the book that it goes on (mempool_stats.h). -EINVAL:
 * no bytes; -ENOMEM: more than device and host budget can hold together, or than one operation could ever have resident. No
 * lock held. */
int spw_allocate(struct spw_device *d, size_t bytes, struct spw_stream *s, CUcontext context, struct spw_mempool_stats *pool,
                 CUdeviceptr *ret_address);
/* The same with the engine lock held, which is let go of where it has to wait; the caller calls spw_allocated() without. */
int spw_allocate_unlocking(struct spw_device *d, size_t bytes, struct spw_stream *s, CUcontext context,
                           struct spw_mempool_stats *pool, CUdeviceptr *ret_address);

/* What was allocated is the program's: 0. Or it has to stay resident and cannot, and is freed again: -ENOMEM, or a failure
 * of the driver. No lock held. */
int spw_allocated_where_pinned(CUdeviceptr address);
static inline int spw_allocated(CUdeviceptr address)
{
    const bool some_are = atomic_load_explicit(&spw_lasting_any, memory_order_relaxed);
    return __builtin_expect(some_are, 0) ? spw_allocated_where_pinned(address) : 0;
}

/* Frees what begins at `address`. -ENOENT: not ours; -EINVAL: ours, but no live allocation begins there. `s`: the stream in
 * whose order it is freed, or NULL when everything that uses it has been submitted to whatever stream; that is waited for
 * where no operation may tell of it. No lock held. */
int spw_free(CUdeviceptr address, struct spw_stream *s);
int spw_free_locked(CUdeviceptr address, struct spw_stream *s);

/* Frees all allocations of a context, which is about to be destroyed and has nothing left to run. */
void spw_free_of_context_locked(CUcontext context);

/* Devices on which nothing is allocated get back all memory that is kept for reuse. */
void spw_free_unused_devices_locked(void);
#endif
