/* carrying.c - threads that write and read tensors on streams of theirs, while at every step some tensor is told to leave or
 * to come back, as no plan would: on the simulated device, which fails a program whose accesses are not in order.
 *
 *     carrying LIBCUDA SEED STEPS
 */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "alloc.h"
#include "carry.h"
#include "context.h"
#include "devices.h"
#include "driver.h"
#include "engine.h"
#include "lock.h"
#include "log.h"
#include "mover.h"
#include "pools.h"
#include "settings.h"

enum { THREADS = 2, TENSORS = 10, READS = 64 };

#define MIB ((size_t)1 << 20)

struct tensor {
    CUdeviceptr a;
    size_t bytes;
    unsigned char value;
    bool written;
    unsigned last; /* the stream that used it last */
};

struct read { /* a copy to the host that is on its way */
    unsigned char *to;
    size_t bytes;
    unsigned char value;
};

struct worker {
    pthread_t thread;
    uint32_t seed;
    unsigned steps;
    CUcontext context;
    CUstream streams[2];
    CUevent event;
    struct tensor tensors[TENSORS];
    struct read reads[READS];
    unsigned read_count;
    unsigned char *host;
};

static struct spw_device *device;

/* The other thread goes on, so nothing is taken down first. */
static void fail(const char *what, long number)
{
    printf("not ok 1 - %s: %ld\n", what, number);
    fflush(stdout);
    _exit(1);
}

static void must(CUresult r, const char *call)
{
    if (r != CUDA_SUCCESS)
        fail(call, (long)r);
}

#define MUST(call) must(spw_driver.call, #call)

static unsigned any(struct worker *w, unsigned below)
{
    w->seed = w->seed * 1664525u + 1013904223u;
    return (w->seed >> 8) % below;
}

/* ---- what a program does ---- */

static void check_reads(struct worker *w)
{
    for (int i = 0; i < 2; i++)
        MUST(cuStreamSynchronize(w->streams[i]));
    for (unsigned i = 0; i < w->read_count; i++)
        for (size_t k = 0; k < w->reads[i].bytes; k++)
            if (w->reads[i].to[k] != w->reads[i].value)
                fail("a byte is wrong", (long)k);
    w->read_count = 0;
}

static CUstream stream_for(struct worker *w, struct tensor *t)
{
    unsigned stream = any(w, 2);
    if (stream != t->last) {
        MUST(cuEventRecord(w->event, w->streams[t->last]));
        MUST(cuStreamWaitEvent(w->streams[stream], w->event, 0));
    }
    t->last = stream;
    return w->streams[stream];
}

static void use(struct worker *w, struct tensor *t)
{
    bool reads = t->written && any(w, 2);
    CUstream stream = stream_for(w, t);
    struct spw_op op = {.handle = stream, .hits = &t->a, .count = 1, .room = 1, .read_only = reads, .name = "a copy"};
    int r = spw_op_begin(&op);
    if (r < 0)
        fail("an operation was refused", r);
    if (reads) {
        struct read *read = &w->reads[w->read_count++];
        *read = (struct read){w->host + (read - w->reads) * MIB, t->bytes, t->value};
        MUST(cuMemcpyDtoHAsync_v2(read->to, t->a, t->bytes, stream));
    } else {
        t->value = (unsigned char)any(w, 256);
        t->written = true;
        MUST(cuMemsetD8Async(t->a, t->value, t->bytes, stream));
    }
    spw_op_end(&op);
    if (w->read_count == READS)
        check_reads(w);
}

static struct spw_stream *record_of(CUstream stream)
{
    spw_lock();
    struct spw_stream *s = spw_stream_of_locked(stream);
    spw_unlock();
    return s;
}

static void allocate(struct worker *w, struct tensor *t)
{
    *t = (struct tensor){.bytes = (1 + any(w, 8)) * MIB / 8, .last = any(w, 2)};
    if (spw_allocate(device, t->bytes, record_of(w->streams[t->last]), w->context, spw_pool_book_of_locked(NULL), &t->a) < 0)
        t->a = 0;
}

static void give_back(struct worker *w, struct tensor *t)
{
    int r = spw_free(t->a, record_of(w->streams[t->last]));
    if (r < 0)
        fail("a free was refused", r);
    t->a = 0;
}

/* ---- and what a plan might ---- */

static void carry(struct worker *w, struct tensor *t)
{
    unsigned what = any(w, 8);
    if (pthread_mutex_trylock(&device->slow) != 0)
        return;
    spw_lock();
    struct spw_block *b = spw_block_of(spw_object_at_locked(t->a));
    if (what < 3)
        (void)spw_carry_leave_locked(device, b);
    else if (what < 6)
        (void)spw_carry_restore_locked(device, b);
    else if (what < 7)
        (void)spw_carry_copy_locked(device, b);
    spw_carry_pump_locked(device);
    bool right = true;
    for (uint32_t i = 0; i < device->block_count; i++)
        right &= spw_block_check_locked(device->blocks[i]);
    spw_unlock();
    pthread_mutex_unlock(&device->slow);
    if (!right)
        fail("blocks are in no state that there is", device->block_count);
}

static void *work(void *arg)
{
    struct worker *w = arg;
    MUST(cuCtxSetCurrent(w->context));
    for (unsigned step = 0; step < w->steps; step++) {
        struct tensor *t = &w->tensors[any(w, TENSORS)];
        unsigned what = any(w, 20);
        if (!t->a)
            allocate(w, t);
        else if (what == 0)
            give_back(w, t);
        else if (what == 1)
            check_reads(w);
        else if (what < 10)
            use(w, t);
        else
            carry(w, t);
    }
    for (int i = 0; i < TENSORS; i++)
        if (w->tensors[i].a && w->tensors[i].written)
            use(w, &w->tensors[i]);
    check_reads(w);
    return NULL;
}

/* ---- */

static void start(const char *libcuda, struct spw_settings *settings)
{
    void *driver = dlopen(libcuda, RTLD_NOW);
    if (!driver)
        fail(dlerror(), 0);
#define X(kind, symbol, asked, params, args) *(void **)&spw_driver.symbol = dlsym(driver, #symbol);
    SPW_DRIVER_CALLS(X)
#undef X
    spw_settings_default(settings);
    settings->log_level = SPW_LOG_QUIET;
    settings->budget.every = (struct spw_amount){.kind = SPW_AMOUNT_BYTES, .bytes = 5 * MIB};
    settings->host_budget = (struct spw_amount){.kind = SPW_AMOUNT_BYTES, .bytes = 64 * MIB};
    spw_settings_use(settings);
    spw_log_setup(SPW_LOG_QUIET, NULL);
}

int main(int argc, char **argv)
{
    static struct spw_settings settings;
    static struct worker workers[THREADS];
    CUcontext context;
    if (argc != 4)
        return 2;
    setvbuf(stdout, NULL, _IOLBF, 0);
    printf("1..1\n");
    start(argv[1], &settings);
    MUST(cuInit(0));
    MUST(cuDevicePrimaryCtxRetain(&context, 0));
    MUST(cuCtxSetCurrent(context));
    device = spw_device_current(&context);
    for (int i = 0; i < THREADS; i++) {
        struct worker *w = &workers[i];
        w->seed = (uint32_t)strtoul(argv[2], NULL, 10) * THREADS + (uint32_t)i;
        w->steps = (unsigned)strtoul(argv[3], NULL, 10);
        w->context = context;
        MUST(cuStreamCreate(&w->streams[0], CU_STREAM_NON_BLOCKING));
        MUST(cuStreamCreate(&w->streams[1], CU_STREAM_NON_BLOCKING));
        MUST(cuEventCreate(&w->event, CU_EVENT_DISABLE_TIMING));
        MUST(cuMemHostAlloc((void **)&w->host, READS * MIB, 0));
        if (pthread_create(&w->thread, NULL, work, w) != 0)
            return 2;
    }
    for (int i = 0; i < THREADS; i++)
        (void)pthread_join(workers[i].thread, NULL);
    MUST(cuCtxSynchronize());
    bool held = device->handles.made_bytes_peak <= 5 * MIB, carried = spw_carried.left_count && spw_carried.restored_count;
    printf("# %llu left, %llu came back, %llu kept, %llu needed earlier\n", (unsigned long long)spw_carried.left_count,
           (unsigned long long)spw_carried.restored_count, (unsigned long long)spw_carried.cancelled_count,
           (unsigned long long)spw_carried.late_count);
    printf("%sok 1 - tensors keep their bytes whatever leaves and comes back, and the budget holds\n",
           held && carried ? "" : "not ");
    return held && carried ? 0 : 1;
}
