/* hash_kernel.h - the kernel that hashes device memory as hash.h says, in one context, and the one that tells the host. */
#ifndef SPILLWAY_SHIM_HASH_KERNEL_H
#define SPILLWAY_SHIM_HASH_KERNEL_H
#include "hash.h"
#include <cuda.h>
#include <stdint.h>

struct spw_hash_kernel {
    CUmodule module;
    CUfunction hash, tell;
    unsigned most_blocks;
};

/* Has the driver compile hash.ptx for the current context, which is on `device`. -ENOTSUP: it does not; said once. */
int spw_hash_kernel_load(int device, struct spw_hash_kernel *ret_kernel);
void spw_hash_kernel_unload(const struct spw_hash_kernel *kernel);

/* Submits to `stream` what writes the hash of `bytes` at `address` to the 16 bytes at `result`. -ENOTSUP: the device does
 * not run the kernel, said once; `result` may be written to all the same. Else 0 or another failure of the driver. */
int spw_hash_kernel_submit(const struct spw_hash_kernel *kernel, CUstream stream, CUdeviceptr address, uint64_t bytes,
                           CUdeviceptr result);

/* Submits to `stream` what copies `count` hashes from the device to page-locked host memory: by a kernel, since a copy waits
 * for all the large ones before it. 0 or a failure of the driver. */
int spw_hash_kernel_tell(const struct spw_hash_kernel *kernel, CUstream stream, CUdeviceptr results, struct spw_hash *host,
                         unsigned count);
#endif
