/* host_memory.h - provides the host memory that tensors are evicted to: one pool, made when it is first needed. Engine lock
 * throughout. */
#ifndef SPILLWAY_SHIM_HOST_MEMORY_H
#define SPILLWAY_SHIM_HOST_MEMORY_H
#include <stddef.h>
#include <stdint.h>

/* Takes memory from the host pool (spw_hostpool_take()), which is made when it is first needed. The memory is given back to
 * the pool. */
int spw_host_memory_take_locked(size_t bytes, void **ret_address);

/* Returns the host pool, or NULL before the first eviction. The limit in bytes is known before that. */
struct spw_hostpool *spw_host_memory_pool_locked(void);
uint64_t spw_host_memory_limit_locked(void);

void spw_host_memory_reset(void); /* destroys the pool: for tests */
#endif
