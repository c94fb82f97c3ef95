/* works.h - one collective, or one half of an exchange between two: what a kernel does of it when it arrives, when all have
 * come, and when it runs. */
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
    unsigned root;  /* or the other one */
    const void *from;
    void *to;
    uint64_t count; /* elements: of a rank's part where there are parts, else of all */
    double scale;
    const void *scale_at; /* on the device; NULL: it is `scale` */
    uint64_t number;      /* on its channel; since it arrived */
};

/* What it reads and writes on this rank: bytes from work->from and work->to on. */
uint64_t work_reads(const struct ncclComm *comm, const struct work *work);
uint64_t work_writes(const struct ncclComm *comm, const struct work *work);
/* Over the busiest link, in a ring. */
double work_link_bytes(const struct ncclComm *comm, const struct work *work);

/* Mutex of the communicator, which has a board, in all of them. What fails is said of the communicator. */
void work_arrive(struct ncclComm *comm, struct work *work, double now_ns);
/* Whether all whom it needs are there; since when at least, or not before when. A rank that is not, and won't be, is an
 * error of the communicator's. */
bool work_is_met(struct ncclComm *comm, const struct work *work, double *since_ns);
void work_run(struct ncclComm *comm, const struct work *work);
#endif
