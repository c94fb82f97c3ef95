/* pool.h - CUmemoryPool: blocks that are freed in stream order and handed out again. */
#ifndef SIMGPU_DRIVER_POOL_H
#define SIMGPU_DRIVER_POOL_H
#include "memory.h"

struct pool {
    struct device *device; /* NULL: its memory is the host's */
    struct pool *next;
    CUmemPoolProps props;
    bool built_in; /* the default pool of a device, which can't be destroyed */
    int follow_events, opportunistic, internal_dependencies;
    uint64_t release_threshold;
    uint64_t reserved, reserved_high, used, used_high;
    uint64_t live;             /* blocks in the program's hands */
    uint32_t access;           /* devices that may reach its memory */
    struct block *free_blocks; /* freed in stream order; the newest first */
    bool destroyed;
};

CUresult pool_create(struct device *device, const CUmemPoolProps *props, bool built_in, struct pool **ret_pool);
void pool_destroy(struct pool *pool); /* it goes when its last block does */
/* Gives free blocks back to the device until at most `keep` bytes are reserved. */
void pool_trim(struct pool *pool, uint64_t keep);
#endif
