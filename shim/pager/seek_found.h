/* seek_found.h - what a look has found is read back, and what the words there lead to is noted.
 *
 * Engine lock throughout. */
#ifndef SPILLWAY_SHIM_SEEK_FOUND_H
#define SPILLWAY_SHIM_SEEK_FOUND_H
#include "ours.h"
#include <cuda.h>
#include <stdbool.h>
#include <stdint.h>

struct spw_seek_range { /* that was looked through */
    CUdeviceptr address;
    uint64_t bytes, serial; /* of the allocation; 0: a slab */
    bool is_told;           /* then copies had told of all that was known to be there, */
    uint64_t told;          /* which comes to this (seek_kernel.h) */
};

struct spw_seek_found {
    bool is_unheeded;   /* set before: what is new may have been followed, since nobody has waited for the look */
    bool is_new;        /* not all of the addresses were known to be there */
    bool is_stored;     /* not all came with a copy that told of them, or what was found was gone before it could be read */
    uint64_t addresses; /* of those that were read with some that are new */
};

/* Answer `index` is there for the range, and nobody is at what lies there. Sets what *found tells. 0 or a failure of the
 * driver. */
int spw_seek_read_found_locked(const struct spw_seek_range *range, unsigned index, struct spw_seek_found *found);
#endif
