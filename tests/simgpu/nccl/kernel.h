/* kernel.h - the kernel that does everything that a group does with one communicator. */
#ifndef SIMGPU_NCCL_KERNEL_H
#define SIMGPU_NCCL_KERNEL_H
#include "works.h"

enum { KERNEL_WORKS = 256 }; /* at most */

/* Launches it after the communicator's earlier kernels, whatever their streams. */
ncclResult_t kernel_launch(struct ncclComm *comm, const struct work *works, unsigned count, cudaStream_t stream);
#endif
