/* plan_follower.h - later iterations follow a plan: which devices are watched, who knows their iteration, and what the
 * engine tells.
 *
 * A device begins to be watched when its memory turns out to be short. From then on the engine tells of every operation,
 * allocation and free of its blocks. Once the iteration is known, has been recorded with durations and planned, the device
 * is on its course: an operation that is the expected one costs a comparison, and between operations tensors leave and come
 * back as planned (transfers.h). Anything else is watched again, on demand, until the program is back in an iteration that
 * has a plan. device_loop.h draws the states that it goes through.
 *
 * A wrong plan is slow, never wrong: whatever an operation touches is made resident before it runs, plan or not. */
#ifndef SPILLWAY_SHIM_PLAN_FOLLOWER_H
#define SPILLWAY_SHIM_PLAN_FOLLOWER_H
#include "follower.h"
#include "ledger.h"
#include "place.h"
#include "ours.h"

/* From now on devices are followed once their memory is short. */
void spw_plan_follower_open(void);

/* Versions cost each operation something. Where no device wants them any more, what is dropped on this one is made again,
 * and once nothing is dropped they are not kept. Needs the device's slow lock as well, lets go of the engine lock while it
 * waits. */
void spw_plan_follower_spare_versions_unlocking(struct spw_device *d, struct spw_stream *s);

/* A context is about to be destroyed: what the program allocated there, or freed and a plan still wants, is there still.
 * Engine lock. */
void spw_plan_follower_context_gone_locked(CUcontext context);

/* ---- no lock held ---- */

void spw_plan_follower_stop(void);     /* at the end of the process: no thread of ours goes on */
void spw_plan_follower_in_child(void); /* a forked child follows nothing */
void spw_plan_follower_reset(void);    /* forgets everything: for tests */
#endif
