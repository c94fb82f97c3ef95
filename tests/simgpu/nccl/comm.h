/* comm.h - a communicator: its board, its progress, and the errors that it has met. */
#ifndef SIMGPU_NCCL_COMM_H
#define SIMGPU_NCCL_COMM_H
#include <cuda_runtime_api.h>
#include <nccl.h>
#include <pthread.h>

#include "../tell.h"
#include "board.h"

enum { COMM_OPERATORS = 256 };

struct comm_operator { /* defined by the program: a sum of elements that are first multiplied */
    bool is_taken;
    double scale;
    const void *scale_at; /* on the device, read when the kernel runs; NULL: use `scale` */
    ncclDataType_t type;
};

struct watched { /* a rank for which others wait */
    struct shown shown;
    uint64_t looked_ns; /* real time of the last check */
    double waited_ns;   /* real time during which it has made no progress, over several checks */
};

struct ncclComm { /* stays until the process ends, since kernels may still be polled */
    pthread_mutex_t mutex;
    struct board *board; /* NULL: not yet, or no longer */
    unsigned ranks, rank;
    int device;
    bool stop; /* waits give up */
    ncclResult_t error;
    struct comm_operator operators[COMM_OPERATORS];
    /* Kernels run one after the other, in the order in which they were launched. */
    cudaStream_t stream; /* of the newest kernel */
    cudaEvent_t newest;
    uint64_t joint, sent[BOARD_RANKS], received[BOARD_RANKS]; /* number of posts so far */
    /* Real time at which it last checked which ranks are there. */
    uint64_t looked_ns;
    struct watched watched[BOARD_RANKS]; /* since the newest kernel arrived */
};

/* Returns the driver's functions for what the program does. */
const struct simgpu_tell *comm_driver(void);
/* Creates a communicator for the current device that no rank has joined yet. NULL: no memory. */
struct ncclComm *comm_create(void);
/* Joins the others, and waits for them. The latest of their clocks becomes the clock of all. */
ncclResult_t comm_join(struct ncclComm *comm, const ncclUniqueId *id, int ranks, int rank);
/* Joins the ranks of the parent with the same color, or none; every rank of the parent has to call it. */
ncclResult_t comm_split(struct ncclComm *parent, int color, int key, struct ncclComm *comm);
/* Says on stderr what is wrong, and sets the text of ncclGetLastError(). Returns `result`. */
ncclResult_t comm_complain(ncclResult_t result, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Records an error on the device, which the program can query. The mutex has to be held. */
void comm_fail(struct ncclComm *comm, ncclResult_t error);
#endif
