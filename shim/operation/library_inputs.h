/* library_inputs.h - what a library's documentation promises about the call that a thread is in: the addresses at which its
 * kernels only read, and the memory that is its workspace.
 *
 * cuBLAS passes matrices to its kernels in structures whose types say nothing, so launches alone could only lead to the
 * belief that they leave A and B unchanged. The library's call names both as inputs. That is a promise, not an observation:
 * nothing has to be verified before a tensor made from A is dropped, and no dropped tensor has to be made again before such
 * a launch.
 *
 * A launch is given an input if one of its parameters is exactly that address. Anything else that it is given, in the same
 * allocation or not, is treated as if there were no promise.
 *
 * The workspace of a call holds nothing of value when the call begins, since the program may hand the same workspace to
 * every call. So the first launch that is given an address in the workspace depends only on what the call itself has set
 * there before: it can be run again in other memory that was set in the same way. A later launch of the call may read there
 * what the first one wrote, so it is treated as if there were no promise. */
#ifndef SPILLWAY_SHIM_LIBRARY_INPUTS_H
#define SPILLWAY_SHIM_LIBRARY_INPUTS_H
#include <cuda.h>
#include <stdbool.h>
#include <stdint.h>

enum {
    SPW_LIBRARY_INPUTS = 3,
    SPW_LIBRARY_SETS = 4,
    SPW_WORKSPACE_SHARE = 16 /* the workspace for replays takes at most this fraction (1/16) of the budget */
};

struct spw_call_args;

struct spw_library_set { /* a row of elements that the call set */
    CUdeviceptr to;
    uint64_t count;
    uint32_t value, element_bytes;
};

struct spw_library_inputs {
    CUdeviceptr address[SPW_LIBRARY_INPUTS]; /* addresses in device memory; 0: none */
    CUdeviceptr workspace;
    uint64_t workspace_bytes; /* 0: there is no workspace, or it was used in a way that a replay could not repeat */
    struct spw_library_set sets[SPW_LIBRARY_SETS];
    unsigned set_count; /* grows during the call */
    uint64_t epoch;     /* of versions, when the call began: what came before was not noted */
};

/* The first is called when the thread enters a library call that only reads at these addresses. It returns the inputs of
 * the call around it, which the caller hands to the second when the call ends. The caller must leave out an address that
 * the call also writes. */
struct spw_library_inputs spw_library_inputs_enter(const struct spw_library_inputs *inputs);
void spw_library_inputs_leave(const struct spw_library_inputs *around);

/* Returns a bit for each of the first `count` hits, 64 at most, that the thread's library call promises to only read. */
uint64_t spw_library_inputs_among(const CUdeviceptr *hits, unsigned count);

/* Returns a bit for each hit in the workspace of that call, as long as the workspace holds only what the call has set.
 * Returns 0 if one of the last `doubtful` hits lies there, as that one may be a number instead of an address. */
uint64_t spw_library_workspace_among(const CUdeviceptr *hits, unsigned count, unsigned doubtful);

/* Returns the library call that the thread is in, if it has a usable workspace; else NULL. */
const struct spw_library_inputs *spw_library_with_workspace(void);

/* Notes that the thread submits an operation which may write at these hits. */
void spw_library_workspace_used(const struct spw_call_args *submission, const CUdeviceptr *hits, unsigned count);
#endif
