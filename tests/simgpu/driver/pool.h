/* pool.h - CUmemoryPool: blocks that are freed in stream order and reused. */
#ifndef SIMGPU_DRIVER_POOL_H
#define SIMGPU_DRIVER_POOL_H
#include "memory.h"

struct pool {
    struct device *device; /* NULL: it contains host memory */
    struct pool *next;
    CUmemPoolProps props;
    bool built_in; /* the default pool of a device, which cannot be destroyed */
    int follow_events, opportunistic, internal_dependencies;
    uint64_t release_threshold;
    uint64_t reserved, reserved_high, used, used_high;
    uint64_t live;             /* blocks owned by the program */
    uint32_t access;           /* devices that may access its memory */
    struct block *free_blocks; /* freed in stream order; the newest first */
    bool destroyed;
};

CUresult pool_create(struct device *device, const CUmemPoolProps *props, bool built_in, struct pool **ret_pool);
void pool_destroy(struct pool *pool); /* it is freed with its last block */
/* Returns free blocks to the device until at most `keep` bytes are reserved. */
void pool_trim(struct pool *pool, uint64_t keep);
#endif
