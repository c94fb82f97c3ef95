/* allocation.h - the live allocation of the program at an address, block or slot. */
#ifndef SPILLWAY_SHIM_ALLOCATION_H
#define SPILLWAY_SHIM_ALLOCATION_H
#include <cuda.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct spw_allocation { /* what is known about a live allocation, for queries */
    CUdeviceptr address;
    size_t size_bytes;
    int device;
    CUcontext context;
    CUmemoryPool pool;
    uint64_t serial;
    bool sync_memops; /* CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, which is the program's to set */
};

/* What holds an address and has bytes of its own: a live allocation, or the pack (pack.h) that it lies in. False when
 * nothing does. */
bool spw_content_at_locked(CUdeviceptr address, struct spw_allocation *ret_content);

/* The live allocation that holds an address. False when none does. */
bool spw_allocation_at_locked(CUdeviceptr address, struct spw_allocation *ret_allocation);
/* Remembers the attribute for the live allocation that holds an address, for as long as it lives. */
void spw_allocation_set_sync_memops_locked(CUdeviceptr address, bool on);
#endif
