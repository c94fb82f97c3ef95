/* pool_reserves.h - memory pools that the driver serves itself, on the bill of the device where they lie (unmanaged.h).
 *
 * The driver keeps what is freed for the pool's next allocation: as much as the program lets it
 * (CU_MEMPOOL_ATTR_RELEASE_THRESHOLD), and all of it until the program waits for something. So the bill is what a pool has
 * reserved, not what is allocated from it. What is not in use is given back when memory is short, as the driver does itself
 * before it refuses an allocation. Of a pool that was destroyed nobody can ask: it is on the bill until the last allocation
 * from it was freed and that free was carried out. */
#ifndef SPILLWAY_SHIM_POOL_RESERVES_H
#define SPILLWAY_SHIM_POOL_RESERVES_H
#include "ledger.h"
#include <stdatomic.h>

struct spw_pool_reserve;

/* What the driver gives out and is on a bill is numbered; this is the last number. Another thread may be given the same
 * address or handle as soon as the driver has it back. So whoever lets go of something reads this before the driver is told,
 * and what has a later number is somebody else's. */
extern _Atomic uint64_t spw_billed_last SPW_OURS;

/* The driver is about to be asked for `bytes` of the pool, which are on the bill already. NULL: no memory to remember it by.
 * `pool` NULL: which one it is, is not known, and what is allocated counts. */
struct spw_pool_reserve *spw_pool_reserve_ask_locked(CUmemoryPool pool, struct spw_device *d, uint64_t bytes);

/* The driver has answered; `address` 0: it refused. What it has reserved beyond the bill is returned. */
uint64_t spw_pool_reserve_answered_locked(struct spw_pool_reserve *p, uint64_t bytes, CUdeviceptr address);

/* That is on the bill too. */
void spw_pool_reserve_billed_locked(struct spw_pool_reserve *p, uint64_t bytes);

/* The driver has freed what lies there, in the order of a stream or (NULL) at once; `last` was the last number before. What
 * is not of a pool is ignored. */
void spw_pool_reserve_freed_locked(CUdeviceptr address, uint64_t last, struct spw_stream *s);

/* The pool may have given something back; it is destroyed. */
void spw_pool_reserve_settle_locked(CUmemoryPool pool);
void spw_pool_reserve_gone_locked(CUmemoryPool pool);

/* Has the pools of a device give back what is not in use. True when the budget has more for tensors then. The second waits
 * for frees that are on their way, and lets go of the engine lock meanwhile. */
bool spw_pool_reserves_trim_locked(struct spw_device *d);
bool spw_pool_reserves_trim_unlocking(struct spw_device *d);

/* True when such frees are on their way. */
bool spw_pool_reserves_pending_locked(const struct spw_device *d);

/* Has them do so as long as the budget has less than `bytes` for tensors, and could come to have as much: waits for such
 * frees also behind a gate, 20 seconds at most. As the second. */
void spw_pool_reserves_grow_budget_unlocking(struct spw_device *d, uint64_t bytes);

void spw_pool_reserves_reset(void); /* forgets everything: for tests */
#endif
