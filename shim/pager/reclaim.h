/* reclaim.h - making room on a device: which memory is given up for which, and in what order. */
#ifndef SPILLWAY_SHIM_RECLAIM_H
#define SPILLWAY_SHIM_RECLAIM_H
#include "cached_blocks.h"
#include "retire.h"
#include "ours.h"

/* Makes at least `bytes` of physical memory available to spw_phys_pool_take_locked(): releases what only caches hold, then
 * evicts what nobody holds. Needs the device's slow lock and the engine lock, which it lets go of while it waits for the
 * GPU. 0, -ENOMEM (nothing more can go, or no host memory to go to), -ETIMEDOUT (what could go is in use by other threads,
 * and was for 20 s), or a driver's failure. */
int spw_reclaim_make(struct spw_device *d, uint64_t bytes);

/* Makes so much of what nobody uses any more, or is leaving by itself, and waits for that. 1: it is there; 0: that does not
 * suffice; negative: a failure. As above. */
int spw_reclaim_make_of_idle_unlocking(struct spw_device *d, uint64_t bytes);

/* The iteration of the device's program is watched for from now on, as where memory is short. */
void spw_reclaim_press_locked(struct spw_device *d);

/* Bytes that can never make room: slabs, pinned blocks. */
uint64_t spw_reclaim_unmovable_bytes_locked(const struct spw_device *d);

/* A moment for other threads to come out of the driver, where they may wait for the GPU. False when that has lasted too long
 * since *start, which is zero at first: they may be waiting for us. */
struct timespec;
bool spw_reclaim_let_others_finish_unlocking(struct timespec *start);

struct spw_reclaim_stalls { /* since the start; engine lock */
    uint64_t count, ns;     /* times that room had to be made for somebody, and how long they stood for it */
};
extern struct spw_reclaim_stalls spw_reclaim_stalls;

/* True once memory was short on any device. */
extern bool spw_reclaim_pressed SPW_OURS;
#endif
