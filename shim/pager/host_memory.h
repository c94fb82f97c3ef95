/* host_memory.h - the memory of the host that tensors move to: one pool, made at the first need. Engine lock throughout. */
#ifndef SPILLWAY_SHIM_HOST_MEMORY_H
#define SPILLWAY_SHIM_HOST_MEMORY_H
#include <stddef.h>
#include <stdint.h>

/* Takes memory of the host pool, which is made at the first need: spw_hostpool_take(). It is given back to the pool. */
int spw_host_memory_take_locked(size_t bytes, void **ret_address);

/* The pool of host memory, for the summary; NULL before the first eviction. The limit is known before that. */
struct spw_hostpool *spw_host_memory_pool_locked(void);
uint64_t spw_host_memory_limit_locked(void);

void spw_host_memory_reset(void); /* gives it back: for tests */
#endif
