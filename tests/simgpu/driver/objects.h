/* objects.h - the objects behind handles: devices, contexts, streams, events, modules, kernels. */
#ifndef SIMGPU_DRIVER_OBJECTS_H
#define SIMGPU_DRIVER_OBJECTS_H
#include <cuda.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../image.h"
#include "clock.h"
#include "extent.h"
#include "op.h"

enum { MOST_DEVICES = 16, LEGACY = 0 };

struct pool;
struct capture;

struct device {
    int ordinal;
    struct lane lanes[LANE_COUNT];
    struct context *primary;
    unsigned primary_refs, primary_flags;
    struct pool *default_pool, *current_pool;

    int file;                               /* memfd: the physical memory */
    struct extents physical;                /* offsets in it */
    uint64_t physical_bytes, physical_peak; /* created handles and plain allocations; never above the capacity */
    uint64_t mapped_bytes, mapped_peak;     /* bytes behind device addresses */
};

struct context {
    struct device *device;
    unsigned flags, api_version;
    uint64_t id;
    bool primary;
    CUresult error;         /* sticky: the result of every call from the first fault on */
    struct stream *legacy;  /* the legacy default stream */
    struct stream *streams; /* every other stream */
    struct op *retired;     /* complete when all destroyed streams are; NULL: there are none */
    struct module *modules;
    uint32_t peers; /* devices that this context may access directly */
    size_t limits[16];
    CUfunc_cache cache_config;
    CUsharedconfig shared_config;
};

struct stream {
    struct context *context;
    struct stream *next, **link;
    unsigned flags;
    int priority;
    uint64_t id;
    unsigned refs;                /* one for the handle, one for each waiting call */
    bool blocking;                /* synchronises with the legacy default stream */
    bool hidden;                  /* a default stream, not created by the program */
    bool runs_kernels, brings_in; /* since its creation; brings_in: its newest copy was from the host */
    struct timeline timeline;
    struct op *tail;              /* the newest operation; NULL: none yet */
    uint64_t legacy_position;     /* how far this stream follows the legacy stream ... */
    uint64_t followed_position;   /* ... and the legacy stream this one */
    struct capture *capture;      /* NULL: not capturing */
    struct graph_node **frontier; /* what its next node depends on */
    size_t frontier_count;
    struct stream *next_captured; /* the next one of the same capture */
};

struct event {
    struct context *context;
    unsigned flags;
    unsigned refs;           /* one for the handle, one for each graph node */
    struct op *op;           /* its latest record; NULL: never recorded */
    struct capture *capture; /* recorded in a capture: its place there */
    struct graph_node **frontier;
    size_t frontier_count;
};

struct function { /* CUfunction of a module, or CUkernel of a library */
    const struct simgpu_kernel *kernel;
    struct module *module; /* NULL for a CUkernel */
    struct library *library;
    struct function *next;
    int max_dynamic_shared, carveout, cluster[3];
    bool nonportable_cluster;
    CUfunc_cache cache_config;
};

struct module {
    const struct simgpu_image *image;
    struct simgpu_image *made; /* that image if it was made from PTX; else NULL */
    struct context *context;
    struct library *library;     /* NULL: loaded as a module */
    struct variables *variables; /* NULL: there are none */
    struct function *functions;
    struct module *next, **link;
};

struct library {
    const struct simgpu_image *image;
    struct simgpu_image *made; /* as in a module */
    struct function *kernels;
};

extern struct device devices[MOST_DEVICES];
#endif
