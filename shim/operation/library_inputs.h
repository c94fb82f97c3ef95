/* library_inputs.h - what a library's documentation says of a call under way: at these addresses its kernels only read, and
 * in this memory they work.
 *
 * Kernels of cuBLAS get their matrices in structures whose types say nothing, so of their launches alone it could only be
 * believed that they leave A and B alike. The call that launches them names both as input. That is a promise, not an
 * observation: nothing has to be shown before a tensor made of A is dropped, and none has to be back for such a launch.
 *
 * A launch is given an input where one of its parameters is exactly that address. What is given to it elsewhere, in the same
 * allocation or not, is as it would be without the call.
 *
 * The workspace of a call holds nothing when the call begins that it could rely on, since the program may hand the same one
 * to every call. So the first launch that is given an address in there depends on what the call itself has set there
 * before, and on nothing else: it may be run again in other memory that was set alike. A later launch of the call may read
 * there what the first one wrote: it is as without the call. */
#ifndef SPILLWAY_SHIM_LIBRARY_INPUTS_H
#define SPILLWAY_SHIM_LIBRARY_INPUTS_H
#include <cuda.h>
#include <stdbool.h>
#include <stdint.h>

enum {
    SPW_LIBRARY_INPUTS = 3,
    SPW_LIBRARY_SETS = 4,
    SPW_WORKSPACE_SHARE = 16 /* a workspace for replays is one in so many of the budget at most */
};

struct spw_call_args;

struct spw_library_set { /* of a row of elements */
    CUdeviceptr to;
    uint64_t count;
    uint32_t value, element_bytes;
};

struct spw_library_inputs {
    CUdeviceptr address[SPW_LIBRARY_INPUTS]; /* of device memory; 0: none */
    CUdeviceptr workspace;
    uint64_t workspace_bytes; /* 0: it has none, or it was used in another way than a replay could do again */
    struct spw_library_set sets[SPW_LIBRARY_SETS];
    unsigned set_count; /* filled in as the call goes on */
    uint64_t epoch;     /* likewise: of versions, when it began: what came before that, nobody has noted */
};

/* The calling thread enters a call that only reads at these addresses; answers those of the call around it, which come back
 * with spw_library_inputs_leave(). One that is written as well is not among them: that is for the caller to see to. */
struct spw_library_inputs spw_library_inputs_enter(const struct spw_library_inputs *inputs);
void spw_library_inputs_leave(const struct spw_library_inputs *around);

/* A bit for each of the first `count` hits, 64 at most, that the call which the thread is in promises to only read. */
uint64_t spw_library_inputs_among(const CUdeviceptr *hits, unsigned count);

/* Likewise, that lie in its workspace, where that still holds nothing but what the call has set. None where one of the last
 * `doubtful` hits does, which may be a number. */
uint64_t spw_library_workspace_among(const CUdeviceptr *hits, unsigned count, unsigned doubtful);

/* The call that the thread is in, with its workspace; NULL: it is in none that has one. */
const struct spw_library_inputs *spw_library_with_workspace(void);

/* The thread submits an operation that may write at these hits. */
void spw_library_workspace_used(const struct spw_call_args *submission, const CUdeviceptr *hits, unsigned count);
#endif
