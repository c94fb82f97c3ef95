/* comm.h - a communicator: its board, how far it is, and the errors that it has met. */
#ifndef SIMGPU_NCCL_COMM_H
#define SIMGPU_NCCL_COMM_H
#include <cuda_runtime_api.h>
#include <nccl.h>
#include <pthread.h>

#include "../tell.h"
#include "board.h"

enum { COMM_OPERATORS = 256 };

struct comm_operator { /* that the program made: a sum of elements that are multiplied first */
    bool is_taken;
    double scale;
    const void *scale_at; /* on the device, looked at when the kernel runs; NULL: it is `scale` */
    ncclDataType_t type;
};

struct watched { /* a rank that others wait for */
    struct shown shown;
    uint64_t looked_ns; /* real time of the last look */
    double waited_ns;   /* real time in which it has got nowhere, in so many looks */
};

struct ncclComm { /* stays until the process ends: kernels may still be asked about it */
    pthread_mutex_t mutex;
    struct board *board; /* NULL: not yet, or no more */
    unsigned ranks, rank;
    int device;
    bool stop; /* what waits gives up */
    ncclResult_t error;
    struct comm_operator operators[COMM_OPERATORS];
    /* Kernels come one after the other, in the order in which they were launched. */
    cudaStream_t stream; /* of the newest */
    cudaEvent_t newest;
    uint64_t joint, sent[BOARD_RANKS], received[BOARD_RANKS]; /* how many there were so far */
    uint64_t looked_ns;                                       /* when it last looked who is there; real time */
    struct watched watched[BOARD_RANKS];                      /* since the newest kernel arrived */
};

/* What the driver wants to know. */
const struct simgpu_tell *comm_driver(void);
/* A communicator that nobody has come to yet, for the current device. NULL: no memory. */
struct ncclComm *comm_create(void);
/* Joins the others; waits for them. The latest of their clocks is the clock of all. */
ncclResult_t comm_join(struct ncclComm *comm, const ncclUniqueId *id, int ranks, int rank);
/* Joins those of the parent with the same color, or none; every rank of the parent does. */
ncclResult_t comm_split(struct ncclComm *parent, int color, int key, struct ncclComm *comm);
/* Says on stderr what is wrong, and what ncclGetLastError() is to say. Returns `result`. */
ncclResult_t comm_complain(ncclResult_t result, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Something went wrong on the device: the program asks for it. Mutex. */
void comm_fail(struct ncclComm *comm, ncclResult_t error);
#endif
