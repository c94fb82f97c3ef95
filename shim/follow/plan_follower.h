/* plan_follower.h - lets iterations follow a plan: keeps which devices are watched, and passes on what the engine reports.
 *
 * A device is watched from when its memory turns out to be short. From then on the engine reports every operation,
 * allocation and free of its blocks. Once the iteration is known, recorded with durations and planned, the device is on its
 * course: an operation that is the expected one costs a comparison, and between operations tensors are evicted and
 * prefetched as planned (transfers.h). Anything else is watched again, with eviction on demand, until the program is back
 * in an iteration that has a plan. device_loop.h draws the states.
 *
 * A wrong plan makes the program slow, never wrong: everything that an operation touches is made resident before it runs,
 * plan or not. */
#ifndef SPILLWAY_SHIM_PLAN_FOLLOWER_H
#define SPILLWAY_SHIM_PLAN_FOLLOWER_H
#include "follower.h"
#include "ledger.h"
#include "place.h"
#include "ours.h"

/* From now on, devices are followed once their memory is short. */
void spw_plan_follower_open(void);

/* Stops keeping versions, which cost each operation something, if no device needs them any more and nothing is dropped. To
 * that end, makes what is dropped on this device again. Needs the device's slow lock as well, and releases the engine lock
 * while it waits. */
void spw_plan_follower_spare_versions_unlocking(struct spw_device *d, struct spw_stream *s);

/* Call before a context is destroyed, while the allocations in it, and freed blocks that a plan still wants, are still
 * there. Engine lock. */
void spw_plan_follower_context_gone_locked(CUcontext context);

/* ---- no lock held ---- */

void spw_plan_follower_stop(void);     /* at the end of the process: stops our threads */
void spw_plan_follower_in_child(void); /* a forked child follows nothing */
void spw_plan_follower_reset(void);    /* forgets everything: for tests */
#endif
