/* kernel.h - the kernel in which all that a group does with one communicator is done. */
#ifndef SIMGPU_NCCL_KERNEL_H
#define SIMGPU_NCCL_KERNEL_H
#include "works.h"

enum { KERNEL_WORKS = 256 }; /* at most */

/* Launches it, behind the communicator's kernels that were launched before, on whatever stream. */
ncclResult_t kernel_launch(struct ncclComm *comm, const struct work *works, unsigned count, cudaStream_t stream);
#endif
