/* devices.h - which device a context, a stream or a pool belongs to, remembered so that the driver is asked once. */
#ifndef SPILLWAY_SHIM_DEVICES_H
#define SPILLWAY_SHIM_DEVICES_H
#include "ledger.h"

/* The device of the current context, ready to allocate on; NULL when there is no context or the device gives no virtual
 * memory: the call is then the driver's. *ret_context is the current context; of a green one the primary context, which
 * keeps its memory. Takes the engine lock. */
struct spw_device *spw_device_current(CUcontext *ret_context);

/* The device of the current context as far as its budget is known, ready or not; NULL: it is not known. */
struct spw_device *spw_device_billed(void);

/* The same for a device by its number. */
struct spw_device *spw_device_billed_as(int ordinal);

/* The device of a stream, ready to allocate on; NULL as above. */
struct spw_device *spw_device_find_of_stream_locked(struct spw_stream *s);

static inline struct spw_device *spw_device_of_stream_locked(struct spw_stream *s)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    return s->device >= 0 && spw_devices[s->device].ready ? &spw_devices[s->device] : spw_device_find_of_stream_locked(s);
}

/* The context that a fault has ended, as the driver told the program; NULL: none has. Until it goes, every call in it
 * answers that error, so allocations are the driver's to answer. */
extern CUcontext spw_failed_context SPW_OURS;

/* What a wait of the program in `context` answered. */
void spw_note_fault(CUcontext context, CUresult result);

/* The pool that stream-ordered allocations on the device are booked on when none is named. Says in the device whether it is
 * one that the driver serves. */
CUmemoryPool spw_device_find_pool_locked(struct spw_device *d);

static inline CUmemoryPool spw_device_pool_locked(struct spw_device *d)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    return d->pool ? d->pool : spw_device_find_pool_locked(d);
}
void spw_device_pool_changed(int ordinal);

/* Where a pool lies (-1: on no device, or in another process), and whether its memory is the driver's affair: shared with
 * other processes, managed, or not on a device. Known for good: what a default or current pool is, where it is not known. */
void spw_mempool_note(CUmemoryPool pool, int device, bool foreign);
void spw_mempool_note_own(CUmemoryPool pool, int device, bool foreign);
struct spw_device *spw_mempool_device_locked(CUmemoryPool pool, bool *ret_foreign); /* NULL when unknown */
void spw_mempool_gone(CUmemoryPool pool);

/* The device that has the bill for what the driver itself allocates from a pool for work on `stream`; NULL: none has. A pool
 * that is NULL becomes the current one of the stream's device. */
struct spw_device *spw_mempool_billed(CUmemoryPool *pool, CUstream stream);

/* The slow locks of devices, a bit for each. The engine lock is not held when they are taken. */
void spw_devices_lock_slow(uint64_t devices);
void spw_devices_unlock_slow(uint64_t devices);

/* The context is a green one, which shares all but its streams with the primary context of its device. */
void spw_devices_note_green(CUcontext context, CUcontext primary, int device);

/* The primary context of a green one; of any other that itself. */
CUcontext spw_devices_primary_locked(CUcontext context);

/* The device of a green context; -1: it is none. */
int spw_devices_of_green(CUcontext context);

/* The program holds the current context once more than by having made it (cuCtxAttach()). */
void spw_devices_hold_context(CUcontext context);

/* The program lets go of the current context once. True: it goes with that, as nobody holds it more often, and it is neither
 * a primary nor a green one. */
bool spw_devices_let_go_of_context(CUcontext context);

void spw_devices_context_gone(CUcontext context);

/* Forgets everything: for tests. */
void spw_devices_reset(void);
#endif
