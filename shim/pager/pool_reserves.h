/* pool_reserves.h - charges the memory pools that the driver serves itself to the budget of the device where they lie
 * (unmanaged.h).
 *
 * The driver keeps freed memory for the pool's next allocation: as much as the program allows
 * (CU_MEMPOOL_ATTR_RELEASE_THRESHOLD), and all of it until the program waits for something. So the charge is for what a
 * pool has reserved, not for what is allocated from it. Unused memory of pools is given back when memory is short, as the
 * driver itself does before it refuses an allocation. A destroyed pool can no longer be asked: it stays charged until the
 * last allocation from it was freed and that free was carried out. */
#ifndef SPILLWAY_SHIM_POOL_RESERVES_H
#define SPILLWAY_SHIM_POOL_RESERVES_H
#include "ledger.h"
#include <stdatomic.h>

struct spw_pool_reserve;

/* The last number given to an allocation of the driver that is charged. As soon as the driver has an address or handle
 * back, it may give it to another thread. So whoever frees one reads this before the driver call; what has a later number
 * belongs to somebody else. */
extern _Atomic uint64_t spw_billed_last SPW_OURS;

/* Call before the driver is asked for `bytes` of the pool, which are charged already. `pool` NULL: it is not known which
 * pool serves them, and the allocations count in place of a reserve. Returns NULL if there is no memory for the record. */
struct spw_pool_reserve *spw_pool_reserve_ask_locked(CUmemoryPool pool, struct spw_device *d, uint64_t bytes);

/* Call when the driver has answered; `address` 0 means that it refused. Returns the bytes that it has reserved beyond what
 * is charged. */
uint64_t spw_pool_reserve_answered_locked(struct spw_pool_reserve *p, uint64_t bytes, CUdeviceptr address);

/* Notes that those bytes are charged too. */
void spw_pool_reserve_billed_locked(struct spw_pool_reserve *p, uint64_t bytes);

/* Call when the driver has freed the allocation, in the order of a stream or (NULL) at once. `last` is spw_billed_last from
 * before the driver call. Ignores an address that is not of a pool. */
void spw_pool_reserve_freed_locked(CUdeviceptr address, uint64_t last, struct spw_stream *s);

/* Call when the pool may have given memory back, and when the pool is destroyed. */
void spw_pool_reserve_settle_locked(CUmemoryPool pool);
void spw_pool_reserve_gone_locked(CUmemoryPool pool);

/* Have the pools of a device give back what is not in use. Return true if the budget has more for tensors then. The second
 * waits for frees that are in flight, and releases the engine lock meanwhile. */
bool spw_pool_reserves_trim_locked(struct spw_device *d);
bool spw_pool_reserves_trim_unlocking(struct spw_device *d);

/* Returns true if such frees are in flight. */
bool spw_pool_reserves_pending_locked(const struct spw_device *d);

/* Has the pools give back memory while the budget has less than `bytes` for tensors and could reach that: waits for such
 * frees even behind a gate (streams.h), for at most 20 seconds, and releases the engine lock meanwhile. */
void spw_pool_reserves_grow_budget_unlocking(struct spw_device *d, uint64_t bytes);

void spw_pool_reserves_reset(void); /* forgets everything: for tests */
#endif
