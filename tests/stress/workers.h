/* workers.h - threads that write and read tensors on streams of theirs, with parts of the library between them and the
 * simulated device, which fails a program whose accesses are not in order; each byte that is read is checked. */
#ifndef SPILLWAY_TESTS_WORKERS_H
#define SPILLWAY_TESTS_WORKERS_H
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "driver.h"
#include "engine.h"

enum { WORKER_TENSORS = 12, WORKER_READS = 64 };

#define MIB ((size_t)1 << 20) /* the most that a tensor has */

struct tensor {
    CUdeviceptr a; /* 0: it is not allocated */
    size_t bytes;
    unsigned char value; /* of each byte, once it is written */
    bool written;
    unsigned last; /* the stream that used it last */
};

struct worker {
    pthread_t thread;
    uint32_t seed;
    unsigned steps;
    CUcontext context;
    CUstream streams[2];
    CUevent event;
    struct tensor tensors[WORKER_TENSORS];
    struct {
        unsigned char *to;
        size_t bytes;
        unsigned char value;
    } reads[WORKER_READS]; /* copies to the host that are on their way */
    unsigned read_count;
    unsigned char *host;
};

extern struct spw_device *worker_device;

/* Ends the program with that as its result. */
void fail(const char *what, long number);
void must(CUresult r, const char *call);
#define MUST(call) must(spw_driver.call, #call)

unsigned any(struct worker *w, unsigned below); /* a random number */

/* ---- what a program does; what is refused fails the test ---- */

void allocate(struct worker *w, struct tensor *t, size_t bytes); /* t->a is 0 where there is no room */
void give_back(struct worker *w, struct tensor *t);
void set(struct worker *w, struct tensor *t);
void read_back(struct worker *w, struct tensor *t);
void check_reads(struct worker *w);

/* The stream comes behind what used the tensor last. */
void follow(struct worker *w, struct tensor *t, unsigned stream);
void begin(struct spw_op *op);

/* With the slow and the engine lock: every block is in a state that there is. They are let go of. */
void check_blocks_unlock(void);

/* ---- from beginning to end ---- */

/* Arguments are LIBCUDA SEED STEPS. `prepare` comes when there is a device, NULL: nothing; `work` gets a worker, in a thread
 * of its own. False: the arguments are none. */
bool run_workers(int argc, char **argv, uint64_t budget_bytes, void (*prepare)(void), void *(*work)(void *worker));

/* Reads all that is left, at the end of the work. */
void finish_work(struct worker *w);
#endif
