/* kernel.c - the kernel's image, its launch, and what the device asks of it. A few works are among its parameters, as NCCL
 * has them; where there are more, the kernel finds them in host memory. */
#include "kernel.h"

#include <cuda.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../image.h"
#include "../runtime/compiler.h"
#include "elements.h"

enum { INLINE_WORKS = 8, PARAMETER_BYTES = 4096 };

struct args {
    struct ncclComm *comm;
    struct work *more; /* NULL: they are here */
    uint32_t count;
    bool is_once; /* `more` goes when it has run */
    struct work works[INLINE_WORKS];
};

_Static_assert(sizeof(struct args) <= PARAMETER_BYTES, "as large as NCCL's parameters");

/* The numbers of works are written down while a launch is under way, in the device's copy of its parameters. */
static struct work *works_of(const struct args *a)
{
    return a->more ? a->more : (struct work *)a->works;
}

static void describe(const struct simgpu_launch *launch, const void *image, struct simgpu_footprint *ret)
{
    const struct args *a = image;
    (void)launch;
    for (uint32_t i = 0; i < a->count; i++) {
        const struct work *w = &works_of(a)[i];
        const struct simgpu_range ranges[] = {
            {(uintptr_t)w->from, work_reads(a->comm, w), SIMGPU_READS},
            {(uintptr_t)w->to, work_writes(a->comm, w), SIMGPU_WRITES},
            {(uintptr_t)w->scale_at, w->scale_at ? element_bytes(w->type) : 0, SIMGPU_READS}};
        for (size_t k = 0; k < sizeof ranges / sizeof *ranges; k++)
            if (ranges[k].bytes > 0 && ret->range_count < SIMGPU_MAX_RANGES)
                ret->ranges[ret->range_count++] = ranges[k];
        ret->link_bytes += work_link_bytes(a->comm, w);
    }
}

static void arrive(const struct simgpu_launch *launch, const void *image, double now_ns)
{
    const struct args *a = image;
    (void)launch;
    pthread_mutex_lock(&a->comm->mutex);
    for (uint32_t i = 0; a->comm->board && !a->comm->stop && i < a->count; i++)
        work_arrive(a->comm, &works_of(a)[i], now_ns);
    pthread_mutex_unlock(&a->comm->mutex);
}

static int is_complete(const struct simgpu_launch *launch, const void *image, double *ret_since_ns)
{
    const struct args *a = image;
    bool all = true;
    (void)launch;
    pthread_mutex_lock(&a->comm->mutex);
    for (uint32_t i = 0; a->comm->board && !a->comm->stop && all && i < a->count; i++)
        all = work_is_met(a->comm, &works_of(a)[i], ret_since_ns);
    if (!all && a->comm->error != ncclSuccess)
        *ret_since_ns = INFINITY; /* it won't be */
    pthread_mutex_unlock(&a->comm->mutex);
    return all;
}

static void run(const struct simgpu_launch *launch, const void *image)
{
    const struct args *a = image;
    (void)launch;
    pthread_mutex_lock(&a->comm->mutex);
    for (uint32_t i = 0; a->comm->board && !a->comm->stop && i < a->count; i++)
        work_run(a->comm, &works_of(a)[i]);
    pthread_mutex_unlock(&a->comm->mutex);
    if (a->is_once)
        free(a->more);
}

/* ---- the image ---- */

static const struct simgpu_meeting meeting = {arrive, is_complete};
static const struct simgpu_param params[] = {{0, PARAMETER_BYTES, 0}};
static const struct simgpu_kernel kernel = {.name = "_Z23ncclDevKernel_Generic_424ncclDevKernelArgsStorageILm4096EE",
                                            .param_count = 1,
                                            .param_bytes = PARAMETER_BYTES,
                                            .params = params,
                                            .run = run,
                                            .describe = describe,
                                            .meeting = &meeting};
static const struct simgpu_kernel *const kernels[] = {&kernel};
static struct simgpu_image device_image = {.header = SIMGPU_IMAGE_HEADER, .kernel_count = 1, .kernels = kernels};

/* The frame in which a program hands its image to the runtime. */
static struct {
    int magic, version;
    const void *image;
    void *unused;
} wrapper = {.magic = 0x466243b1, .version = 1, .image = &device_image};

static char key; /* its address stands for the kernel, as that of a host function does */
static void **registered;

__attribute__((constructor)) static void register_image(void)
{
    (void)simgpu_image_list(&device_image);
    registered = __cudaRegisterFatBinary(&wrapper);
    __cudaRegisterFunction(registered, &key, (char *)kernel.name, kernel.name, -1, NULL, NULL, NULL, NULL, NULL);
    __cudaRegisterFatBinaryEnd(registered);
}

__attribute__((destructor)) static void unregister_image(void)
{
    __cudaUnregisterFatBinary(registered);
}

/* ---- the launch ---- */

/* The program has had written what the kernel writes, as far as it can tell. */
static void tell_written(const struct ncclComm *c, const struct work *works, unsigned count)
{
    const struct simgpu_tell *tell = comm_driver();
    for (unsigned i = 0; tell->written && i < count; i++)
        if (work_writes(c, &works[i]) > 0)
            (void)tell->written((uintptr_t)works[i].to, work_writes(c, &works[i]), 0);
}

/* Behind the kernel that was launched last on another stream. What is captured is ordered by the program. */
static cudaError_t follow(struct ncclComm *c, cudaStream_t stream)
{
    if (!c->newest)
        return cudaEventCreateWithFlags(&c->newest, cudaEventDisableTiming);
    return c->stream != stream ? cudaStreamWaitEvent(stream, c->newest, 0) : cudaSuccess;
}

ncclResult_t kernel_launch(struct ncclComm *c, const struct work *works, unsigned count, cudaStream_t stream)
{
    union {
        struct args args;
        unsigned char bytes[PARAMETER_BYTES];
    } image;
    void *parameters[] = {&image};
    enum cudaStreamCaptureStatus captured = cudaStreamCaptureStatusNone;
    memset(&image, 0, sizeof image);
    image.args.comm = c;
    image.args.count = count;
    cudaError_t r = cudaStreamIsCapturing(stream, &captured);
    image.args.is_once = captured == cudaStreamCaptureStatusNone;
    if (count > INLINE_WORKS && !(image.args.more = malloc(count * sizeof *works)))
        return comm_complain(ncclSystemError, "no memory");
    memcpy(works_of(&image.args), works, count * sizeof *works);
    tell_written(c, works, count);
    if (r == cudaSuccess && image.args.is_once)
        r = follow(c, stream);
    if (r == cudaSuccess)
        r = cudaLaunchKernel(&key, (dim3){2, 1, 1}, (dim3){512, 1, 1}, parameters, 0, stream);
    if (r == cudaSuccess && image.args.is_once) {
        c->stream = stream;
        r = cudaEventRecord(c->newest, stream);
    }
    return r == cudaSuccess ? ncclSuccess : comm_complain(ncclUnhandledCudaError, "%s", cudaGetErrorString(r));
}
