/* image.h - what a "device program" of the simulated device is: the form in which compiled kernels reach
 * cuModuleLoadData() and cuLibraryLoadData().
 *
 * On a GPU a module image is machine code. Here it is a table of host functions that live in the same process, so an
 * image is a struct simgpu_image in static memory, recognised by its magic. The kernel header (kernel.h) makes these
 * tables from ordinary CUDA C++; the driver (driver/) reads them; nothing else does. */
#ifndef SIMGPU_IMAGE_H
#define SIMGPU_IMAGE_H
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SIMGPU_IMAGE_MAGIC "SIMGPU1" /* 8 bytes with the final 0 */

struct simgpu_kernel;

struct simgpu_launch {     /* how a kernel was launched; borrowed for the length of the call */
    uint32_t grid[3];      /* blocks */
    uint32_t block[3];     /* threads per block */
    uint32_t shared_bytes; /* dynamic shared memory */
    uint64_t serial;       /* position of this launch in the order in which the device runs them, from 1 */
    uint64_t order;        /* of the blocks: 0 ascending, else a number that chooses another order */
    const struct simgpu_kernel *kernel;
    uint64_t token; /* what describe() said for this launch, else 0 */
};

struct simgpu_range { /* bytes that a kernel may touch */
    uint64_t address;
    uint64_t bytes;
    int writes; /* nonzero: may write (and read); 0: reads only */
};

#define SIMGPU_MAX_RANGES 512

struct simgpu_footprint { /* what one launch costs and touches, known before it runs */
    double flops;         /* arithmetic operations, before the scale factor of the device */
    double bytes;         /* device memory traffic in bytes, before the scale factor */
    uint32_t range_count; /* 0: nothing is touched */
    struct simgpu_range ranges[SIMGPU_MAX_RANGES];
    uint64_t token; /* for run() */
    int unknown; /* nonzero: the ranges are; the driver then takes each pointer parameter for the whole of its allocation */
    int refused; /* nonzero: there was no memory to describe it */
};

enum {
    SIMGPU_PARAM_POINTER = 1, /* declared as a pointer */
    SIMGPU_PARAM_CONST = 2    /* declared as a pointer to const: read only */
};

struct simgpu_param { /* one kernel parameter in the device-side layout, as cuFuncGetParamInfo() tells it */
    uint32_t offset_bytes;
    uint32_t size_bytes;
    uint32_t flags;
};

struct simgpu_kernel {
    const char *name; /* what cuFuncGetName() answers: mangled as nvcc would, or plain for extern "C" */
    uint32_t param_count;
    uint32_t param_bytes; /* size of the whole parameter image */
    const struct simgpu_param *params;
    /* Runs every thread of the launch on the calling host thread. `image` is the parameter image, laid out by params[]. */
    void (*run)(const struct simgpu_launch *launch, const void *image);
    /* Fills in cost and ranges; NULL when the program declares none. */
    void (*describe)(const struct simgpu_launch *launch, const void *image, struct simgpu_footprint *ret_footprint);
    uint32_t static_shared_bytes;
};

struct simgpu_global { /* a __device__ or __constant__ variable; kernels know it by its host address (driver/variables.h) */
    const char *name;
    void *address;
    size_t bytes;
};

struct simgpu_image {
    char magic[8];
    uint32_t kernel_count, global_count;
    const struct simgpu_kernel *const *kernels;
    const struct simgpu_global *const *globals;
};

#ifdef __cplusplus
}
#endif
#endif
