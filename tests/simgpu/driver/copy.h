/* copy.h - converts every form of copy or set to an operation. */
#ifndef SIMGPU_DRIVER_COPY_H
#define SIMGPU_DRIVER_COPY_H
#include "memory.h"
#include "sim.h"

enum side { SIDE_UNKNOWN, SIDE_HOST, SIDE_DEVICE }; /* what the caller says an address is; UNKNOWN: look it up */

/* Submits the copy. `waits`: the call returns when it is done, as the blocking forms do. Forms that the real driver makes
 * asynchronous with respect to the host only wait where they have to. */
CUresult copy_submit(struct context *context, CUstream stream, const char *name, struct copy copy, enum side source,
                     enum side target, bool waits);
struct copy copy_plain(uint64_t target, uint64_t source, size_t bytes);
CUresult set_submit(struct context *context, CUstream stream, const char *name, struct set set, bool waits);
/* Makes the operation without submitting it, for graph nodes. The copy of a node never waits, and reads its source when
 * it runs. */
CUresult copy_make(struct context *context, const char *name, struct copy copy, enum side source, enum side target,
                   struct op **ret_op);
/* Converts the parameters of a 3D copy. */
CUresult copy_request_3d(const CUDA_MEMCPY3D *params, struct copy *ret_copy, enum side *ret_source, enum side *ret_target);
CUresult set_make(struct context *context, const char *name, struct set set, struct op **ret_op);
#endif
