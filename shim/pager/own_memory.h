/* own_memory.h - provides the device memory that spillway needs for itself, within the budget, and makes room for it where
 * memory is short.
 *
 * All functions but one need the device's slow lock and the engine lock, which is released while they wait for the GPU. One
 * of the functions that make a stash or open digests has to be called before the first digest is asked for: otherwise the
 * memory of digests is not charged to the budget. */
#ifndef SPILLWAY_SHIM_OWN_MEMORY_H
#define SPILLWAY_SHIM_OWN_MEMORY_H
#include "ledger.h"

/* Makes the device's stash (stash.h) if there is none. Returns 0; -ENOMEM if there is no room for it now; or another
 * failure. */
int spw_stash_ready_unlocking(struct spw_device *d);

/* Makes the memory for replays of launches that have a workspace, as large as the largest seen so far. Returns 0; -ENOMEM
 * if there is no room for it now, or a smaller one exists: then launches that need more are not replayed. */
int spw_workspace_ready_unlocking(struct spw_device *d);

/* Gives the stash and the workspace to the cache, if the stash keeps nothing and no recorded operation would use the
 * workspace; they are made again when they are wanted. If neither can go, and an operation lacks no more than digests take,
 * releases the memory of digests instead, until the budget is raised (digest.h). Returns true if something was released. */
bool spw_own_memory_give_unlocking(struct spw_device *d, uint64_t lacking_bytes);

/* Returns the bytes of the budget that the workspace takes, or will take once a plan with replays begins. Engine lock. */
uint64_t spw_workspace_bytes_locked(const struct spw_device *d);

/* Makes what the device needs before its first digest (digest.h). From then on, asking for a digest also makes what is
 * missing, as far as that needs no waiting. Fails as that does. */
int spw_digests_open_unlocking(struct spw_device *d, CUcontext context);
#endif
