/* group.h - what a thread has asked for between the beginning and the end of a group is done when that ends. */
#ifndef SIMGPU_NCCL_GROUP_H
#define SIMGPU_NCCL_GROUP_H
#include <cuda_runtime_api.h>
#include <nccl.h>

#include "works.h"

/* The header leaves their parameters open. */
ncclResult_t ncclGroupStart(void);
ncclResult_t ncclGroupEnd(void);

struct group_start { /* a communicator that begins, with the others or as a part of its parent */
    struct ncclComm *comm, **ret, *parent;
    ncclUniqueId id;
    int ranks, rank, color, key;
};

/* Now, or at the end of the thread's group. */
ncclResult_t group_begin_comm(const struct group_start *start);
ncclResult_t group_do(struct ncclComm *comm, const struct work *work, cudaStream_t stream);
#endif
