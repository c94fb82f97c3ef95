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
extern ncclComm_t comm; /* of all */
extern cudaStream_t stream;

/* Runs `body` in so many processes, once their communicator is there, and puts how each ended in `ret`: 0, an exit status,
 * or minus the signal. One that takes more than 20 s is killed. Afterwards nothing of the ranks may be left. */
void run_ranks(int count, void (*body)(void), int *ret);
/* The same, where each has to end well. */
void in_ranks(int count, void (*body)(void));

/* In a rank: says so and ends the process, unless it is as it has to be. */
void expect(bool good, const char *what, int line);
#define EXPECT(condition) expect(condition, #condition, __LINE__)
#define CUDA(call)        EXPECT((call) == cudaSuccess)
#define NCCL(call)        EXPECT((call) == ncclSuccess)

/* Memory on the device with these bytes in it; and what it holds, on `stream` and waited for. */
void *on_device(const void *bytes, size_t count);
void from_device(const void *address, void *ret_bytes, size_t count);
#endif
