/* seek_found.h - reads back what a look has found, and notes what the words there lead to.
 *
 * Engine lock throughout. */
#ifndef SPILLWAY_SHIM_SEEK_FOUND_H
#define SPILLWAY_SHIM_SEEK_FOUND_H
#include "ours.h"
#include <cuda.h>
#include <stdbool.h>
#include <stdint.h>

struct spw_seek_range { /* a range that was searched */
    CUdeviceptr address;
    uint64_t bytes, serial; /* of the allocation; 0: a slab */
    bool is_told;           /* copies had shown all addresses that were known to be there, */
    uint64_t told;          /* and this is the sum of their terms (seek_kernel.h) */
};

struct spw_seek_found {
    bool is_unheeded;   /* set by the caller: a new address may have been followed, since nobody has waited for the look */
    bool is_new;        /* not all of the addresses were known to be there */
    bool is_stored;     /* not all came with a copy, or what was found was gone before it could be read */
    uint64_t addresses; /* addresses in those stretches that had new ones */
};

/* Reads what answer `index` shows for the range; nobody else uses the memory there. Fills *found. Returns 0 or a failure of
 * the driver. */
int spw_seek_read_found_locked(const struct spw_seek_range *range, unsigned index, struct spw_seek_found *found);
#endif
