/* seek_kernel.h - the kernel that looks for addresses of the arena in device memory, in one context. */
#ifndef SPILLWAY_SHIM_SEEK_KERNEL_H
#define SPILLWAY_SHIM_SEEK_KERNEL_H
#include "address_ranges.h"
#include <cuda.h>
#include <stdint.h>

enum { SPW_SEEK_PARTS = 64, SPW_SEEK_SUMMED = 16 << 10 };

/* What is told of one range: for each of its parts whether an address is in it. Page-locked, and all zeroes before. */
struct spw_seek_answer {
    uint8_t part[SPW_SEEK_PARTS];
    uint64_t sum; /* of less than SPW_SEEK_SUMMED bytes: what the words that are told of come to, spw_seek_term() of each */
};

/* What a word that is an address adds to the sum, being word `index` of the range: one that hardly any other words come to.
 */
static inline uint64_t spw_seek_term(uint64_t index, uint64_t word)
{
    const uint64_t mixed = (word ^ index * UINT64_C(0x9E3779B97F4A7C15)) * UINT64_C(0xBF58476D1CE4E5B9);
    return (mixed ^ mixed >> 32) * UINT64_C(0x94D049BB133111EB);
}

struct spw_seek_kernel {
    CUmodule module;
    CUfunction seek;
    unsigned most_blocks;
};

/* Parts are of 2^shift bytes: as small as can be, so that SPW_SEEK_PARTS of them are the range. */
unsigned spw_seek_shift(uint64_t bytes);

/* Has the driver compile seek.ptx for the current context, which is on `device`. -ENOTSUP: it does not; said once. */
int spw_seek_kernel_load(int device, struct spw_seek_kernel *ret_kernel);
void spw_seek_kernel_unload(const struct spw_seek_kernel *kernel);

/* Submits to `stream` what looks for words in the ranges in `bytes` bytes at `address`, which is aligned to 16. 0 or a
 * failure of the driver. */
int spw_seek_kernel_submit(const struct spw_seek_kernel *kernel, CUstream stream, CUdeviceptr address, uint64_t bytes,
                           const struct spw_address_ranges *ranges, struct spw_seek_answer *answer);
#endif
