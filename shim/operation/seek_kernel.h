/* seek_kernel.h - loads and launches, in one context, the kernel that looks for addresses in device memory. */
#ifndef SPILLWAY_SHIM_SEEK_KERNEL_H
#define SPILLWAY_SHIM_SEEK_KERNEL_H
#include "address_ranges.h"
#include <cuda.h>
#include <stdint.h>

enum { SPW_SEEK_PARTS = 64, SPW_SEEK_SUMMED = 16 << 10 };

/* The answer for one range, in page-locked memory, all zero before: for each part, whether it holds an address. */
struct spw_seek_answer {
    uint8_t part[SPW_SEEK_PARTS];
    uint64_t sum; /* of ranges below SPW_SEEK_SUMMED bytes: the sum of spw_seek_term() over the addresses that were found */
};

/* Returns what an address adds to the sum if it is word `index` of the range. Other words hardly ever come to the same
 * sum. */
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

/* Returns the smallest shift for which SPW_SEEK_PARTS parts of 2^shift bytes cover the range. */
unsigned spw_seek_shift(uint64_t bytes);

/* Has the driver compile seek.ptx for the current context, which is on `device`. Returns 0, or -ENOTSUP if the driver
 * refuses it, which is warned of once. */
int spw_seek_kernel_load(int device, struct spw_seek_kernel *ret_kernel);
void spw_seek_kernel_unload(const struct spw_seek_kernel *kernel);

/* Submits to `stream` a search for words that lie in the ranges, among the `bytes` bytes at `address`, a multiple of 16.
 * Returns 0 or a failure of the driver. */
int spw_seek_kernel_submit(const struct spw_seek_kernel *kernel, CUstream stream, CUdeviceptr address, uint64_t bytes,
                           const struct spw_address_ranges *ranges, struct spw_seek_answer *answer);
#endif
