/* group.h - delays what a thread asks for within a group until the end of the group. */
#ifndef SIMGPU_NCCL_GROUP_H
#define SIMGPU_NCCL_GROUP_H
#include <cuda_runtime_api.h>
#include <nccl.h>

#include "works.h"

/* Their parameters are unspecified in the header. */
ncclResult_t ncclGroupStart(void);
ncclResult_t ncclGroupEnd(void);

struct group_start { /* a communicator that is created, with the others or as a part of its parent */
    struct ncclComm *comm, **ret, *parent;
    ncclUniqueId id;
    int ranks, rank, color, key;
};

/* Do it now, or at the end of the thread's group. */
ncclResult_t group_begin_comm(const struct group_start *start);
ncclResult_t group_do(struct ncclComm *comm, const struct work *work, cudaStream_t stream);
#endif
