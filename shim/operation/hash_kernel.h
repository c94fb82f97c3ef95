/* hash_kernel.h - the kernel that hashes device memory as hash.h says, in one context, those for samples and for words
 * that are looked for, and the one that tells the host. */
#ifndef SPILLWAY_SHIM_HASH_KERNEL_H
#define SPILLWAY_SHIM_HASH_KERNEL_H
#include "address_ranges.h"
#include "hash.h"
#include "sample.h"
#include <cuda.h>
#include <stdint.h>

/* Words of 8 bytes, and numbers between which some of them may lie. */
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

/* Has the driver compile hash.ptx for the current context, which is on `device`. -ENOTSUP: it does not; said once. */
int spw_hash_kernel_load(int device, struct spw_hash_kernel *ret_kernel);
void spw_hash_kernel_unload(const struct spw_hash_kernel *kernel);

/* Submits to `stream` what adds the hash of `bytes` at `address` to the 16 bytes at `result`, which are zeros. -ENOTSUP: the
 * device does not run the kernel, said once; `result` may be written to all the same. Else 0 or another failure of the
 * driver.
 */
int spw_hash_kernel_submit(const struct spw_hash_kernel *kernel, CUstream stream, CUdeviceptr address, uint64_t bytes,
                           CUdeviceptr result);

/* The same of a sample: word[0] is the first sum of hash.h over the words of the pages, without their length, and word[1]
 * how many of the words are the pattern. `again`: the sum is subtracted in place of being added, so that 0 is left where it
 * is the same. */
int spw_hash_kernel_sample(const struct spw_hash_kernel *kernel, CUstream stream, const struct spw_sample *sample,
                           bool again, CUdeviceptr result);

/* Fills such pages with the pattern. The same failures. */
int spw_hash_kernel_fill(const struct spw_hash_kernel *kernel, CUstream stream, const struct spw_sample *sample);

/* Adds to the first word at `result` how many of the words lie in the first range, and how many in the second. The same
 * failures. */
int spw_hash_kernel_find(const struct spw_hash_kernel *kernel, CUstream stream, const struct spw_word_search *search,
                         CUdeviceptr result);

/* Zeros at `result`. 0 or a failure of the driver. */
int spw_hash_kernel_clear(CUstream stream, CUdeviceptr result);

/* Submits to `stream` what moves `count` hashes from the device to page-locked host memory, and leaves zeros: by a kernel,
 * since a copy waits for all the large ones before it. 0 or a failure of the driver. */
int spw_hash_kernel_tell(const struct spw_hash_kernel *kernel, CUstream stream, CUdeviceptr results, struct spw_hash *host,
                         unsigned count);
#endif
