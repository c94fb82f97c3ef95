/* seek_device.c - the kernel that looking takes in each context, and the memory of the host. */
#include "seek_device.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ask.h"
#include "context.h"
#include "driver.h"
#include "mover.h"
#include "result.h"

enum { WORLDS = 64, STAGING_BYTES = 1 << 20, ATTEMPTS = 3 };

struct world { /* one for each context that looked */
    CUcontext context;
    struct spw_seek_kernel kernel;
    bool refused; /* the kernel */
};

static struct world worlds[WORLDS];
static unsigned world_count;
static struct spw_seek_answer *answers; /* page-locked where `told` */
static bool told;                       /* a kernel can write to them */
static CUcontext owner;                 /* with it goes what is page-locked */
static void *staging;                   /* what was read back */

static int make_host_memory(CUcontext context)
{
    void *p = NULL;
    if (!answers && SPW_ASK(cuMemHostAlloc, &p, SPW_SEEK_ANSWERS * sizeof(*answers),
                            CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP) == CUDA_SUCCESS) {
        answers = p;
        told = true;
        owner = context;
    }
    if (!answers)
        answers = calloc(SPW_SEEK_ANSWERS, sizeof(*answers));
    return answers ? 0 : -ENOMEM;
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

/* Makes what looking in the context takes. */
static int make_ready(int device, CUcontext context)
{
    struct spw_context_guard guard;
    const bool is_there = world_of(context);
    if (is_there && answers)
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
    if (!answers)
        return;
    memset(&answers[index], 0, sizeof(answers[index]));
    r = w && !w->refused && told ? spw_context_enter(&guard, context) : -ENOTSUP;
    if (r == 0) {
        const struct spw_address_ranges ranges = spw_address_ranges_now();
        r = spw_seek_kernel_submit(&w->kernel, stream, address, bytes, &ranges, &answers[index]);
        spw_context_leave(&guard);
    }
    if (r < 0)
        memset(&answers[index], 1, sizeof(answers[index]));
}

bool spw_seek_found_locked(unsigned index, uint64_t bytes, uint64_t offset)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    return !answers || answers[index].part[offset >> spw_seek_shift(bytes)];
}

const struct spw_seek_answer *spw_seek_answer_locked(unsigned index)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    return answers ? &answers[index] : NULL;
}

bool spw_seek_found_any_locked(unsigned index)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    static const struct spw_seek_answer nothing;
    return !answers || memcmp(&answers[index], &nothing, sizeof(nothing)) != 0;
}

int spw_seek_read_locked(struct spw_device *d, CUcontext context, CUdeviceptr address, uint64_t bytes, void **ret_data,
                         uint64_t *ret_bytes)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    struct spw_stream *s;
    struct spw_context_guard guard;
    const uint64_t part = bytes < STAGING_BYTES ? bytes : STAGING_BYTES;
    if (!staging && !(staging = malloc(STAGING_BYTES))) /* pageable: the driver stages it once more, rarely */
        return -ENOMEM;
    int r = spw_copy_streams_out_locked(d, context, &s);
    if (r == 0)
        r = spw_context_enter(&guard, d->mover->context);
    if (r < 0)
        return r;
    for (int i = 0; i < ATTEMPTS; i++) {
        r = spw_result(SPW_ASK(cuMemcpyDtoHAsync_v2, staging, address, part, s->handle));
        if (r == 0)
            r = spw_result(SPW_ASK(cuStreamSynchronize, s->handle));
        if (r == 0)
            break;
    }
    spw_context_leave(&guard);
    *ret_data = staging;
    *ret_bytes = part;
    return r;
}

uint64_t spw_seek_host_bytes_locked(void)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    return told ? SPW_SEEK_ANSWERS * sizeof(*answers) : 0;
}

/* The kernel goes with the context; answers that are not there are answers that something was found. */
void spw_seek_device_gone_locked(CUcontext context)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    struct world *w = world_of(context);
    if (!w)
        return;
    if (told && owner == context) {
        (void)SPW_ASK(cuMemFreeHost, answers);
        answers = NULL;
        told = false;
    }
    if (!w->refused)
        spw_seek_kernel_unload(&w->kernel);
    *w = worlds[--world_count];
}

void spw_seek_device_reset(void)
{
    world_count = 0;
    answers = NULL;
    told = false;
}
