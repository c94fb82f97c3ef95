/* allocation.h - finds the live allocation of the program at an address, in a block, pack or slab. */
#ifndef SPILLWAY_SHIM_ALLOCATION_H
#define SPILLWAY_SHIM_ALLOCATION_H
#include <cuda.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct spw_allocation { /* a live allocation, as queries need it */
    CUdeviceptr address;
    size_t size_bytes;
    int device;
    CUcontext context;
    CUmemoryPool pool;
    uint64_t serial;
    bool sync_memops; /* CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, as the program has set it */
};

/* Finds what has contents of its own at an address: a live allocation, or the pack (pack.h) that it lies in. Returns false
 * if there is nothing. */
bool spw_content_at_locked(CUdeviceptr address, struct spw_allocation *ret_content);

/* Finds the live allocation that holds an address. Returns false if there is none. */
bool spw_allocation_at_locked(CUdeviceptr address, struct spw_allocation *ret_allocation);
/* Stores the attribute for the live allocation that holds an address, as long as it lives. */
void spw_allocation_set_sync_memops_locked(CUdeviceptr address, bool on);
#endif
