/* seek_device.c - keeps the kernel that searches in each context, and the host memory for its answers. */
#include "seek_device.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ask.h"
#include "context.h"
#include "driver.h"
#include "mover.h"
#include "result.h"

enum { WORLDS = 64, READ_BYTES = 256 << 10, ATTEMPTS = 3 };

struct world { /* one for each context that searched */
    CUcontext context;
    struct spw_seek_kernel kernel;
    bool refused;    /* the driver refused the kernel */
    CUstream stream; /* for reading back; NULL: not made yet */
};

struct host_memory {
    struct spw_seek_answer answer[SPW_SEEK_ANSWERS];
    unsigned char read[READ_BYTES]; /* what was read back last */
};

static struct world worlds[WORLDS];
static unsigned world_count;
static struct host_memory *host; /* page-locked if `told` */
static bool told;                /* a kernel can write to it */
static CUcontext owner;          /* the context with which page-locked memory is freed */

static int make_host_memory(CUcontext context)
{
    void *p = NULL;
    if (!host &&
        SPW_ASK(cuMemHostAlloc, &p, sizeof(*host), CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP) == CUDA_SUCCESS) {
        host = p;
        told = true;
        owner = context;
    }
    if (!host) /* pageable: the driver stages what is read back, which is rare */
        host = calloc(1, sizeof(*host));
    return host ? 0 : -ENOMEM;
}

/* The context is current. */
static int make_world(int device, CUcontext context, struct world *ret_world)
{
    struct world w = {.context = context};
    int r = make_host_memory(context);
    if (r < 0)
        return r;
    w.refused = spw_seek_kernel_load(device, &w.kernel) < 0;
    *ret_world = w;
    return 0;
}

static struct world *world_of(CUcontext context)
{
    for (unsigned i = 0; i < world_count; i++)
        if (worlds[i].context == context)
            return &worlds[i];
    return NULL;
}

/* Makes what searching in the context needs. */
static int make_ready(int device, CUcontext context)
{
    struct spw_context_guard guard;
    const bool is_there = world_of(context);
    if (is_there && host)
        return 0;
    if (!is_there && world_count == WORLDS)
        return -ENOMEM;
    int r = spw_context_enter(&guard, context);
    if (r < 0)
        return r;
    r = is_there ? make_host_memory(context) : make_world(device, context, &worlds[world_count]);
    spw_context_leave(&guard);
    world_count += r == 0 && !is_there;
    return r;
}

void spw_seek_submit_locked(int device, CUcontext context, CUstream stream, CUdeviceptr address, uint64_t bytes,
                            unsigned index)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    struct spw_context_guard guard;
    int r = make_ready(device, context);
    const struct world *w = r == 0 ? world_of(context) : NULL;
    if (!host)
        return;
    struct spw_seek_answer *answer = &host->answer[index];
    memset(answer, 0, sizeof(*answer));
    r = w && !w->refused && told ? spw_context_enter(&guard, context) : -ENOTSUP;
    if (r == 0) {
        const struct spw_address_ranges ranges = spw_address_ranges_now();
        r = spw_seek_kernel_submit(&w->kernel, stream, address, bytes, &ranges, answer);
        spw_context_leave(&guard);
    }
    if (r < 0)
        memset(answer, 1, sizeof(*answer));
}

bool spw_seek_found_locked(unsigned index, uint64_t bytes, uint64_t offset)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    return !host || host->answer[index].part[offset >> spw_seek_shift(bytes)];
}

const struct spw_seek_answer *spw_seek_answer_locked(unsigned index)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    return host ? &host->answer[index] : NULL;
}

bool spw_seek_found_any_locked(unsigned index)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    static const struct spw_seek_answer nothing;
    return !host || memcmp(&host->answer[index], &nothing, sizeof(nothing)) != 0;
}

/* Not the copy-out stream, which may be behind work that waits for what the program does next. The context is current. */
static CUstream stream_for_reading(const struct spw_device *d)
{
    struct world *w = world_of(d->mover->context);
    if (w && !w->stream && SPW_ASK(cuStreamCreate, &w->stream, CU_STREAM_NON_BLOCKING) != CUDA_SUCCESS)
        w->stream = NULL;
    return w && w->stream ? w->stream : d->mover->out->handle;
}

int spw_seek_read_locked(struct spw_device *d, CUcontext context, CUdeviceptr address, uint64_t bytes, void **ret_data,
                         uint64_t *ret_bytes)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    struct spw_context_guard guard;
    const uint64_t part = bytes < READ_BYTES ? bytes : READ_BYTES;
    int r = spw_copy_streams_ready_locked(d, context);
    if (r == 0 && make_ready(d->ordinal, d->mover->context) < 0 && !host)
        r = -ENOMEM;
    if (r == 0)
        r = spw_context_enter(&guard, d->mover->context);
    if (r < 0)
        return r;
    const CUstream s = stream_for_reading(d);
    for (int i = 0; i < ATTEMPTS; i++) {
        r = spw_result(SPW_ASK(cuMemcpyDtoHAsync_v2, host->read, address, part, s));
        if (r == 0)
            r = spw_result(SPW_ASK(cuStreamSynchronize, s));
        if (r == 0)
            break;
    }
    spw_context_leave(&guard);
    *ret_data = host->read;
    *ret_bytes = part;
    return r;
}

uint64_t spw_seek_host_bytes_locked(void)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    return told ? sizeof(*host) : 0;
}

/* The kernel is unloaded with its context; missing answers count as answers that something was found. */
void spw_seek_device_gone_locked(CUcontext context)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    struct world *w = world_of(context);
    if (!w)
        return;
    if (told && owner == context) {
        (void)SPW_ASK(cuMemFreeHost, host);
        host = NULL;
        told = false;
    }
    if (!w->refused)
        spw_seek_kernel_unload(&w->kernel);
    if (w->stream)
        (void)SPW_ASK(cuStreamDestroy_v2, w->stream);
    *w = worlds[--world_count];
}

void spw_seek_device_reset(void)
{
    world_count = 0;
    host = NULL;
    told = false;
}
