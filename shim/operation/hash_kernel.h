/* hash_kernel.h - loads and launches, in one context, the kernels that hash device memory as hash.h says, hash and fill
 * samples, count words, and send results to the host. */
#ifndef SPILLWAY_SHIM_HASH_KERNEL_H
#define SPILLWAY_SHIM_HASH_KERNEL_H
#include "address_ranges.h"
#include "hash.h"
#include "sample.h"
#include <cuda.h>
#include <stdint.h>

/* A search over words of 8 bytes for words that lie in the ranges. */
struct spw_word_search {
    CUdeviceptr address; /* a multiple of 8 */
    uint64_t words;
    struct spw_address_ranges ranges;
};

struct spw_hash_kernel {
    CUmodule module;
    CUfunction hash, sample, fill, find, tell;
    unsigned most_blocks;
};

/* Has the driver compile hash.ptx for the current context, which is on `device`. Returns 0, or -ENOTSUP if the driver
 * refuses it, which is warned of once. */
int spw_hash_kernel_load(int device, struct spw_hash_kernel *ret_kernel);
void spw_hash_kernel_unload(const struct spw_hash_kernel *kernel);

/* Submits to `stream` a kernel that adds the hash of the `bytes` bytes at `address` to the 16 bytes at `result`, which are
 * zero before. Returns 0, another failure of the driver, or -ENOTSUP if the device does not run the kernel, which is warned
 * of once; `result` may have been written even then. */
int spw_hash_kernel_submit(const struct spw_hash_kernel *kernel, CUstream stream, CUdeviceptr address, uint64_t bytes,
                           CUdeviceptr result);

/* The same for a sample: word[0] is the first sum of hash.h over the words of the pages, without their length, and word[1]
 * is how many of the words are the pattern. With `again`, the sums are subtracted instead, so that 0 is left where both
 * samples are equal. */
int spw_hash_kernel_sample(const struct spw_hash_kernel *kernel, CUstream stream, const struct spw_sample *sample,
                           bool again, CUdeviceptr result);

/* Fills the pages of the sample with the pattern. Fails like spw_hash_kernel_submit(). */
int spw_hash_kernel_fill(const struct spw_hash_kernel *kernel, CUstream stream, const struct spw_sample *sample);

/* Adds to the first word at `result` how many of the words lie in the first or the second range. Fails like
 * spw_hash_kernel_submit(). */
int spw_hash_kernel_find(const struct spw_hash_kernel *kernel, CUstream stream, const struct spw_word_search *search,
                         CUdeviceptr result);

/* Sets the 16 bytes at `result` to zero, in the order of the stream. Returns 0 or a failure of the driver. */
int spw_hash_kernel_clear(CUstream stream, CUdeviceptr result);

/* Submits to `stream` a kernel that moves `count` hashes from the device to page-locked host memory and leaves zeros
 * behind. A copy would wait for all large copies before it. Returns 0 or a failure of the driver. */
int spw_hash_kernel_tell(const struct spw_hash_kernel *kernel, CUstream stream, CUdeviceptr results, struct spw_hash *host,
                         unsigned count);
#endif
