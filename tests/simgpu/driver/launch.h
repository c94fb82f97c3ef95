/* launch.h - turns a kernel with its parameters into an operation. */
#ifndef SIMGPU_DRIVER_LAUNCH_H
#define SIMGPU_DRIVER_LAUNCH_H
#include "objects.h"
#include "sim.h"

struct launch {
    unsigned grid[3], block[3], shared_bytes;
    void **params; /* one pointer for each parameter, or NULL with `extra` */
    void **extra;
    bool overlaps; /* may begin before the kernel ahead of it in the stream has ended (programmatic dependent launch) */
};

/* Copies the parameters; finds out cost and ranges. */
CUresult launch_make(struct context *context, const void *function_handle, const struct launch *launch, struct op **ret_op);
#endif
