/* names.h - names that the program gave to allocations, for reports. */
#ifndef SPILLWAY_SHIM_NAMES_H
#define SPILLWAY_SHIM_NAMES_H
#include "ledger.h"

enum { SPW_NAMES = 4096, SPW_NAME_BYTES = 64 };

/* Names the block or slot of ours that holds the address, until it is freed; "" forgets its name. -ENOENT: there is none.
 * -ENOSPC: SPW_NAMES have one that are alive. -ENOMEM. */
int spw_names_set_locked(CUdeviceptr address, const char *name);

/* One of them. `block` is NULL for a small allocation, which is always on the device. */
struct spw_named {
    const char *name;
    int device;
    uint64_t bytes;
    const struct spw_block *block;
};

/* Tells of each that is alive, in no order, and forgets the others. */
void spw_names_each_locked(void (*tell)(const struct spw_named *named, void *data), void *data);

void spw_names_reset(void); /* forgets all: for tests */
#endif
