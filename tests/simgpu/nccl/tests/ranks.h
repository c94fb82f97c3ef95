/* ranks.h - a test in several processes, each of which is a rank with a device of its own. */
#ifndef SIMGPU_NCCL_TESTS_RANKS_H
#define SIMGPU_NCCL_TESTS_RANKS_H
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <cuda_runtime_api.h>
#include <nccl.h>

enum { KILLED = -9 };

extern int rank, ranks;
extern ncclComm_t comm; /* of all ranks */
extern cudaStream_t stream;

/* Runs `body` in `count` processes once their communicator exists, and stores how each ended in `ret`: 0, an exit status,
 * or minus the signal. A process that takes more than 20 s is killed. Afterwards nothing may be left of the ranks. */
void run_ranks(int count, void (*body)(void), int *ret);
/* Does the same; each process has to succeed. */
void in_ranks(int count, void (*body)(void));

/* For a rank: if the condition is false, reports it and ends the process. */
void expect(bool good, const char *what, int line);
#define EXPECT(condition) expect(condition, #condition, __LINE__)
#define CUDA(call)        EXPECT((call) == cudaSuccess)
#define NCCL(call)        EXPECT((call) == ncclSuccess)

/* Copy these bytes to new memory on the device; copy them back, on `stream`, and wait. */
void *on_device(const void *bytes, size_t count);
void from_device(const void *address, void *ret_bytes, size_t count);
#endif
