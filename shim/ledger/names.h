/* names.h - keeps the names that the program gives to allocations, for reports. */
#ifndef SPILLWAY_SHIM_NAMES_H
#define SPILLWAY_SHIM_NAMES_H
#include "ledger.h"

enum { SPW_NAMES = 4096, SPW_NAME_BYTES = 64 };

/* Names the allocation of ours that holds the address, until it is freed; "" removes its name. Returns 0, -ENOENT if there
 * is no such allocation, -ENOSPC if SPW_NAMES live allocations have a name, or -ENOMEM. */
int spw_names_set_locked(CUdeviceptr address, const char *name);

/* A named allocation. `block` is NULL for a small one, which is always on the device. */
struct spw_named {
    const char *name;
    int device;
    uint64_t bytes;
    const struct spw_block *block;
};

/* Calls `tell` for each live named allocation, in no order, and forgets the names of those that were freed. */
void spw_names_each_locked(void (*tell)(const struct spw_named *named, void *data), void *data);

void spw_names_reset(void); /* forgets all: for tests */
#endif
