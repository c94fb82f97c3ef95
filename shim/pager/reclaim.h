/* reclaim.h - making room on a device: which memory is given up for which, and in what order. */
#ifndef SPILLWAY_SHIM_RECLAIM_H
#define SPILLWAY_SHIM_RECLAIM_H
#include "ledger.h"
#include "ours.h"

/* Makes at least `bytes` of physical memory available to spw_phys_pool_take_locked(): releases what only caches hold, then
 * evicts what nobody holds. Needs the device's slow lock and the engine lock, which it lets go of while it waits for the
 * GPU. 0, -ENOMEM (nothing more can go, or no host memory to go to), or a driver's failure. */
int spw_reclaim_make(struct spw_device *d, uint64_t bytes);

/* Makes so much of what nobody uses any more, or is leaving by itself, and waits for that. 1: it is there; 0: that does not
 * suffice; negative: a failure. As above. */
int spw_reclaim_make_of_idle_unlocking(struct spw_device *d, uint64_t bytes);

/* Waits for the users of a block that is EVICTING and held, and for its copy; then its memory goes to the pool, and it is
 * let go of. On failure it stays where it is. Lets go of the engine lock while it waits. */
int spw_reclaim_finish_eviction_unlocking(struct spw_device *d, struct spw_block *b);

/* Gives cached blocks up that are known to be out of use, until the pool has `bytes`. True: it has. Waits for nothing. */
bool spw_reclaim_make_from_cache_locked(struct spw_device *d, uint64_t bytes);

/* Before so many granules are taken from the pool: rather than that a piece is cut, gives up cached blocks of smaller pieces
 * that are known to be out of use. True: none has to be cut. */
bool spw_reclaim_suit_locked(struct spw_device *d, uint32_t granules);

/* Gives cached blocks back that nobody uses any more, until at most `keep_bytes` are cached. Waits for nothing. */
void spw_reclaim_trim_locked(struct spw_device *d, uint64_t keep_bytes);

/* Bytes that can never make room: slabs, pinned blocks. */
uint64_t spw_reclaim_unmovable_bytes_locked(const struct spw_device *d);

/* Takes a block apart whose memory nobody needs: users waited for, in no list. Its memory goes to the pool of handles. */
int spw_reclaim_dissolve_locked(struct spw_device *d, struct spw_block *b);

/* A moment for other threads to come out of the driver, where they may wait for the GPU. False when that has lasted too long
 * since *start, which is zero at first: they may be waiting for us. */
struct timespec;
bool spw_reclaim_let_others_finish_unlocking(struct timespec *start);

/* Lets go of a block; frees it if the program freed it meanwhile. */
void spw_reclaim_release_hold_locked(struct spw_device *d, struct spw_block *b);

/* What a free does once nobody holds the block: cache its memory, or give back what is left of it. */
void spw_reclaim_retire_block_locked(struct spw_device *d, struct spw_block *b);

struct spw_reclaim_stalls { /* since the start; engine lock */
    uint64_t count, ns;     /* times that room had to be made for somebody, and how long they stood for it */
};
extern struct spw_reclaim_stalls spw_reclaim_stalls;

/* True once memory was short on any device. */
extern bool spw_reclaim_pressed SPW_OURS;
#endif
