/* launch.h - converts a kernel with its parameters to an operation. */
#ifndef SIMGPU_DRIVER_LAUNCH_H
#define SIMGPU_DRIVER_LAUNCH_H
#include "objects.h"
#include "sim.h"

struct launch {
    unsigned grid[3], block[3], shared_bytes;
    void **params; /* one pointer for each parameter; or NULL, with `extra` */
    void **extra;
    /* It may begin before the previous kernel in the stream has ended (programmatic dependent launch). */
    bool overlaps;
};

/* Copies the parameters, and determines cost and ranges. */
CUresult launch_make(struct context *context, const void *function_handle, const struct launch *launch, struct op **ret_op);
#endif
