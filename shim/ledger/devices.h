/* devices.h - finds the device of a context, stream or pool, and remembers it, so that the driver is asked only once. */
#ifndef SPILLWAY_SHIM_DEVICES_H
#define SPILLWAY_SHIM_DEVICES_H
#include "ledger.h"

/* Returns the device of the current context, ready to allocate on. Returns NULL if there is no context or the device has no
 * virtual memory management; then the call is left to the driver. *ret_context is the current context, or the primary
 * context of a green one, since that owns its memory. Takes the engine lock. */
struct spw_device *spw_device_current(CUcontext *ret_context);

/* Returns the device of the current context if its budget is known, ready or not; else NULL. */
struct spw_device *spw_device_billed(void);

/* The same for a device by its ordinal. */
struct spw_device *spw_device_billed_as(int ordinal);

/* Returns the device of a stream, ready to allocate on, or NULL as spw_device_current() does. */
struct spw_device *spw_device_find_of_stream_locked(struct spw_stream *s);

static inline struct spw_device *spw_device_of_stream_locked(struct spw_stream *s)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    return s->device >= 0 && spw_devices[s->device].ready ? &spw_devices[s->device] : spw_device_find_of_stream_locked(s);
}

/* The context that a fault has ended, as the driver reported to the program; NULL: none. Every call in it returns that
 * error until it is destroyed, so its allocations are left to the driver. */
extern CUcontext spw_failed_context SPW_OURS;

/* Notes what a wait of the program in `context` returned. */
void spw_note_fault(CUcontext context, CUresult result);

/* Returns the pool from which stream-ordered allocations on the device come when none is named. Sets d->pool_is_foreign if
 * the driver serves it. */
CUmemoryPool spw_device_find_pool_locked(struct spw_device *d);

static inline CUmemoryPool spw_device_pool_locked(struct spw_device *d)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    return d->pool ? d->pool : spw_device_find_pool_locked(d);
}
void spw_device_pool_changed(int ordinal);

/* Notes on which device a pool lies (-1: on none, or in another process), and whether it is left to the driver (foreign):
 * it is shared with other processes, managed, or not on a device. The second is for default and current pools: it changes
 * nothing if the pool is known already. */
void spw_mempool_note(CUmemoryPool pool, int device, bool foreign);
void spw_mempool_note_own(CUmemoryPool pool, int device, bool foreign);
struct spw_device *spw_mempool_device_locked(CUmemoryPool pool, bool *ret_foreign); /* NULL if the pool is not known or is
                                                                                     * foreign */
void spw_mempool_gone(CUmemoryPool pool);

/* Returns the device that is charged for what the driver itself allocates from a pool for work on `stream`, or NULL if
 * there is none. If *pool is NULL it is set to the current pool of the stream's device. */
struct spw_device *spw_mempool_billed(CUmemoryPool *pool, CUstream stream);

/* Lock and unlock the slow locks of devices, a bit for each. The engine lock must not be held when they are locked. */
void spw_devices_lock_slow(uint64_t devices);
void spw_devices_unlock_slow(uint64_t devices);

/* Notes a green context, which shares everything but its streams with the primary context of its device. */
void spw_devices_note_green(CUcontext context, CUcontext primary, int device);

/* Returns the primary context of a green context; of any other the context itself. */
CUcontext spw_devices_primary_locked(CUcontext context);

/* Returns the device of a green context, or -1 if it is no green context. */
int spw_devices_of_green(CUcontext context);

/* Notes that the program holds the current context once more (cuCtxAttach()), beside having made it. */
void spw_devices_hold_context(CUcontext context);

/* Notes that the program releases the current context once. Returns true if that destroys it: it has no other holder, and
 * is neither a primary nor a green context. */
bool spw_devices_let_go_of_context(CUcontext context);

void spw_devices_context_gone(CUcontext context);

/* Forgets everything: for tests. */
void spw_devices_reset(void);
#endif
