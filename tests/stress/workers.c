/* workers.c - a program of two threads, without the hooks: each operation is begun and ended as they would. */
#include "workers.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "alloc.h"
#include "devices.h"
#include "lock.h"
#include "log.h"
#include "mempool_stats.h"
#include "settings.h"
#include "call_args.h"
#include "../unit/common/unlocked.h"

enum { THREADS = 2 };

struct spw_device *worker_device;

/* The other thread goes on, so nothing is taken down first. */
void fail(const char *what, long number)
{
    printf("not ok 1 - %s: %ld\n", what, number);
    fflush(stdout);
    _exit(1);
}

void must(CUresult r, const char *call)
{
    if (r != CUDA_SUCCESS)
        fail(call, (long)r);
}

unsigned any(struct worker *w, unsigned below)
{
    w->seed = w->seed * 1664525u + 1013904223u;
    return (w->seed >> 8) % below;
}

/* ---- operations ---- */

void follow(struct worker *w, struct tensor *t, unsigned stream)
{
    if (stream != t->last) {
        MUST(cuEventRecord(w->event, w->streams[t->last]));
        MUST(cuStreamWaitEvent(w->streams[stream], w->event, 0));
    }
    t->last = stream;
}

void begin(struct spw_op *op)
{
    const int r = spw_op_begin(op);
    if (r < 0)
        fail("an operation was refused", r);
}

void set(struct worker *w, struct tensor *t)
{
    const unsigned stream = any(w, 2);
    follow(w, t, stream);
    t->value = (unsigned char)any(w, 256);
    t->written = true;
    const struct spw_call_args submission = {
        .kind = SPW_SUBMIT_SET, .set = {.to = t->a, .width = t->bytes, .rows = 1, .value = t->value, .element_bytes = 1}};
    struct spw_op op = {
        .handle = w->streams[stream], .hits = &t->a, .count = 1, .room = 1, .name = "a set", .submission = &submission};
    begin(&op);
    MUST(cuMemsetD8Async(t->a, t->value, t->bytes, w->streams[stream]));
    spw_op_answered(&op, true);
}

void read_back(struct worker *w, struct tensor *t)
{
    const unsigned stream = any(w, 2), n = w->read_count++;
    follow(w, t, stream);
    struct spw_op op = {
        .handle = w->streams[stream], .hits = &t->a, .count = 1, .room = 1, .read_only = 1, .name = "a copy to the host"};
    begin(&op);
    w->reads[n].to = w->host + n * MIB;
    w->reads[n].bytes = t->bytes;
    w->reads[n].value = t->value;
    MUST(cuMemcpyDtoHAsync_v2(w->reads[n].to, t->a, t->bytes, w->streams[stream]));
    spw_op_answered(&op, true);
    if (w->read_count == WORKER_READS)
        check_reads(w);
}

void check_reads(struct worker *w)
{
    for (int i = 0; i < 2; i++)
        MUST(cuStreamSynchronize(w->streams[i]));
    for (unsigned i = 0; i < w->read_count; i++)
        for (size_t k = 0; k < w->reads[i].bytes; k++)
            if (w->reads[i].to[k] != w->reads[i].value)
                fail("a byte is wrong", (long)k);
    w->read_count = 0;
}

/* ---- memory ---- */

static struct spw_stream *record_of(CUstream stream)
{
    spw_lock();
    struct spw_stream *s = spw_stream_of_locked(stream);
    spw_unlock();
    return s;
}

void allocate(struct worker *w, struct tensor *t, size_t bytes)
{
    *t = (struct tensor){.bytes = bytes, .last = any(w, 2)};
    if (spw_allocate(worker_device, bytes, record_of(w->streams[t->last]), w->context, spw_mempool_stats_of_locked(NULL),
                     &t->a) < 0)
        t->a = 0;
}

void give_back(struct worker *w, struct tensor *t)
{
    const int r = spw_free(t->a, record_of(w->streams[t->last]));
    if (r < 0)
        fail("a free was refused", r);
    t->a = 0;
}

void check_blocks_unlock(void)
{
    bool right = true;
    for (uint32_t i = 0; i < worker_device->block_count; i++)
        right &= spw_block_check_locked(worker_device->blocks[i]);
    spw_unlock();
    pthread_mutex_unlock(&worker_device->slow);
    if (!right)
        fail("blocks are in no state that there is", worker_device->block_count);
}

/* ---- from beginning to end ---- */

static void start(const char *libcuda, uint64_t budget_bytes)
{
    static struct spw_settings settings;
    void *driver = dlopen(libcuda, RTLD_NOW);
    if (!driver)
        fail(dlerror(), 0);
#define X(kind, symbol, asked, params, args) *(void **)&spw_driver.symbol = dlsym(driver, #symbol);
    SPW_DRIVER_CALLS(X)
#undef X
    spw_settings_default(&settings);
    settings.log_level = SPW_LOG_QUIET;
    settings.budget.every = (struct spw_amount){.kind = SPW_AMOUNT_BYTES, .bytes = budget_bytes};
    settings.host_budget = (struct spw_amount){.kind = SPW_AMOUNT_BYTES, .bytes = 64 * MIB};
    spw_settings_use(&settings);
    spw_log_setup(SPW_LOG_QUIET, NULL);
}

static void start_worker(struct worker *w, CUcontext context, void *(*work)(void *))
{
    w->context = context;
    MUST(cuStreamCreate(&w->streams[0], CU_STREAM_NON_BLOCKING));
    MUST(cuStreamCreate(&w->streams[1], CU_STREAM_NON_BLOCKING));
    MUST(cuEventCreate(&w->event, CU_EVENT_DISABLE_TIMING));
    MUST(cuMemHostAlloc((void **)&w->host, WORKER_READS * MIB, 0));
    if (pthread_create(&w->thread, NULL, work, w) != 0)
        fail("there is no thread", 0);
}

bool run_workers(int argc, char **argv, uint64_t budget_bytes, void (*prepare)(void), void *(*work)(void *))
{
    static struct worker workers[THREADS];
    CUcontext context;
    if (argc != 4)
        return false;
    setvbuf(stdout, NULL, _IOLBF, 0);
    printf("1..1\n");
    start(argv[1], budget_bytes);
    MUST(cuInit(0));
    MUST(cuDevicePrimaryCtxRetain(&context, 0));
    MUST(cuCtxSetCurrent(context));
    worker_device = spw_device_current(&context);
    if (prepare)
        prepare();
    for (int i = 0; i < THREADS; i++) {
        workers[i].seed = (uint32_t)strtoul(argv[2], NULL, 10) * THREADS + (uint32_t)i;
        workers[i].steps = (unsigned)strtoul(argv[3], NULL, 10);
        start_worker(&workers[i], context, work);
    }
    for (int i = 0; i < THREADS; i++)
        (void)pthread_join(workers[i].thread, NULL);
    MUST(cuCtxSynchronize());
    return true;
}

void finish_work(struct worker *w)
{
    for (int i = 0; i < WORKER_TENSORS; i++)
        if (w->tensors[i].a && w->tensors[i].written)
            read_back(w, &w->tensors[i]);
    check_reads(w);
}
