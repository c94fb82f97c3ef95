/* own_memory.h - device memory that is taken for what we do ourselves, within the budget: made room for where memory is
 * short.
 *
 * All need the device's slow lock and the engine lock, which they let go of while they wait for the GPU. One of them is
 * called before the first digest is asked for, which is on no bill otherwise. */
#ifndef SPILLWAY_SHIM_OWN_MEMORY_H
#define SPILLWAY_SHIM_OWN_MEMORY_H
#include "ledger.h"

/* There is a stash (stash.h) for the device when this returns 0. -ENOMEM: no room for it now. */
int spw_stash_ready_unlocking(struct spw_device *d);

/* There is memory for replays of launches that have a workspace, as large as the largest that was seen, when this returns 0.
 * -ENOMEM: no room for it now, or a smaller one is in use already: launches that need more are not run again. */
int spw_workspace_ready_unlocking(struct spw_device *d);

/* The stash and that memory go to the cache, if nothing is kept in the one and nobody would work in the other; they are
 * taken again when they are wanted. Only where neither goes, and what an operation lacks is no more than digests take, these
 * go instead, until the budget is raised (digest.h). True: some went. */
bool spw_own_memory_give_unlocking(struct spw_device *d, uint64_t lacking_bytes);

/* The bytes of the budget that it takes, or will take once a plan with replays begins. */
uint64_t spw_workspace_bytes_locked(const struct spw_device *d);

/* Makes what digests (digest.h) of the device need before the first one. From then on asking for one does so too, as far as
 * that needs no waiting. Fails as that does. */
int spw_digests_open_unlocking(struct spw_device *d, CUcontext context);
#endif
