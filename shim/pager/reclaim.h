/* reclaim.h - makes room on a device: decides which memory is given up, and in what order. */
#ifndef SPILLWAY_SHIM_RECLAIM_H
#define SPILLWAY_SHIM_RECLAIM_H
#include "cached_blocks.h"
#include "retire.h"
#include "ours.h"

/* Makes at least `bytes` of physical memory available to spw_phys_pool_take_locked(): releases what only caches hold, then
 * evicts blocks that nobody holds. Needs the device's slow lock and the engine lock, which is released while it waits for
 * the GPU. Returns 0; -ENOMEM if nothing more can go, or the host has no memory for it; -ETIMEDOUT if what could go has
 * been in use by other threads for 20 s; or a failure of the driver. */
int spw_reclaim_make(struct spw_device *d, uint64_t bytes);

/* The same from blocks that nobody uses any more or that are being evicted already, and waits for these. Returns 1 if the
 * room is there, 0 if such blocks do not suffice, or a failure. */
int spw_reclaim_make_of_idle_unlocking(struct spw_device *d, uint64_t bytes);

/* Has the device's program watched for iterations from now on, as where memory is short. */
void spw_reclaim_press_locked(struct spw_device *d);

/* Returns the bytes that can never make room: slabs and pinned blocks. */
uint64_t spw_reclaim_unmovable_bytes_locked(const struct spw_device *d);

/* Releases the engine lock for a moment, so that other threads can return from the driver, where they may wait for the GPU.
 * *start is zero before the first call. Returns false if this has gone on for 20 s since *start: they may be waiting for
 * us. */
struct timespec;
bool spw_reclaim_let_others_finish_unlocking(struct timespec *start);

struct spw_reclaim_stalls { /* since the start; engine lock */
    uint64_t count, ns;     /* times that room had to be made, and nanoseconds that the callers waited for it */
};
extern struct spw_reclaim_stalls spw_reclaim_stalls;

/* True once memory was short on any device. */
extern bool spw_reclaim_pressed SPW_OURS;
#endif
