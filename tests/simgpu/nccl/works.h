/* works.h - one collective, or one half of an exchange between two ranks: what a kernel does for it when it arrives, when
 * all ranks have come, and when it runs. */
#ifndef SIMGPU_NCCL_WORKS_H
#define SIMGPU_NCCL_WORKS_H
#include "comm.h"

enum work_kind {
    WORK_ALL_REDUCE,
    WORK_REDUCE,
    WORK_BROADCAST,
    WORK_ALL_GATHER,
    WORK_REDUCE_SCATTER,
    WORK_ALL_TO_ALL,
    WORK_GATHER,
    WORK_SCATTER,
    WORK_SEND,
    WORK_RECEIVE
};

struct work {
    enum work_kind kind;
    ncclDataType_t type;
    ncclRedOp_t op; /* a built-in one */
    unsigned root;  /* or the peer */
    const void *from;
    void *to;
    uint64_t count; /* elements: of a rank's part if there are parts, else of all */
    double scale;
    const void *scale_at; /* on the device; NULL: use `scale` */
    uint64_t number;      /* on its channel; set when it arrives */
};

/* Return the bytes that it reads from work->from and writes to work->to on this rank. */
uint64_t work_reads(const struct ncclComm *comm, const struct work *work);
uint64_t work_writes(const struct ncclComm *comm, const struct work *work);
/* Returns the bytes over the busiest link, in a ring. */
double work_link_bytes(const struct ncclComm *comm, const struct work *work);

/* All of these need the communicator's mutex, and the communicator has to have a board. Errors are recorded in the
 * communicator. */
void work_arrive(struct ncclComm *comm, struct work *work, double now_ns);
/* Returns true if all ranks that it needs are there, and sets the earliest time since when they can be; else the time
 * before which they cannot. A rank that is missing and will not come is an error of the communicator. */
bool work_is_met(struct ncclComm *comm, const struct work *work, double *since_ns);
void work_run(struct ncclComm *comm, const struct work *work);
#endif
