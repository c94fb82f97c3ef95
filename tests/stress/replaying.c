/* replaying.c - threads that copy and set tensors on streams of theirs, with every operation kept, while at every step some
 * tensor is dropped, told to leave, freed or made again, as no plan would: on the simulated device, which fails a program
 * whose accesses are not in order.
 *
 *     replaying LIBCUDA SEED STEPS
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
#include "pools.h"
#include "recompute.h"
#include "replay.h"
#include "settings.h"
#include "stash.h"
#include "submissions.h"

enum { THREADS = 2, TENSORS = 10, SMALL = 2, ALL = TENSORS + SMALL, READS = 64 };

#define MIB         ((size_t)1 << 20)
#define SMALL_BYTES ((size_t)512)

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
    struct tensor tensors[ALL];
    struct read reads[READS];
    unsigned read_count;
    unsigned char *host;
};

static struct spw_device *device;
static uint64_t budget;

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

/* ---- what follows the iteration: here, whatever is done is wanted later ---- */

void __wrap_spw_planned_op_locked(struct spw_op *op, struct spw_object *const *objects, unsigned count);
void __wrap_spw_planned_op_locked(struct spw_op *op, struct spw_object *const *objects, unsigned count)
{
    (void)objects;
    (void)count;
    if (op->submission)
        spw_recompute_wish_locked(op, 0);
}

void __wrap_spw_planned_free_locked(struct spw_device *d, struct spw_block *b);
void __wrap_spw_planned_free_locked(struct spw_device *d, struct spw_block *b)
{
    b->expected = 0;
    (void)spw_ghost_wanted_locked(d, b, false);
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

static void follow(struct worker *w, struct tensor *t, unsigned stream)
{
    if (stream != t->last) {
        MUST(cuEventRecord(w->event, w->streams[t->last]));
        MUST(cuStreamWaitEvent(w->streams[stream], w->event, 0));
    }
    t->last = stream;
}

static bool begin(struct spw_op *op)
{
    int r = spw_op_begin(op);
    if (r < 0)
        fail("an operation was refused", r);
    return true;
}

static void read_back(struct worker *w, struct tensor *t)
{
    const unsigned stream = any(w, 2);
    follow(w, t, stream);
    struct spw_op op = {
        .handle = w->streams[stream], .hits = &t->a, .count = 1, .room = 1, .read_only = 1, .name = "a copy to the host"};
    if (!begin(&op))
        return;
    struct read *read = &w->reads[w->read_count++];
    *read = (struct read){w->host + (read - w->reads) * MIB, t->bytes, t->value};
    MUST(cuMemcpyDtoHAsync_v2(read->to, t->a, t->bytes, w->streams[stream]));
    spw_op_answered(&op, true);
    if (w->read_count == READS)
        check_reads(w);
}

static void set(struct worker *w, struct tensor *t)
{
    const unsigned stream = any(w, 2);
    follow(w, t, stream);
    t->value = (unsigned char)any(w, 256);
    t->written = true;
    const struct spw_submission submission = {
        .kind = SPW_SUBMIT_SET, .set = {.to = t->a, .width = t->bytes, .rows = 1, .value = t->value, .element_bytes = 1}};
    struct spw_op op = {
        .handle = w->streams[stream], .hits = &t->a, .count = 1, .room = 1, .name = "a set", .submission = &submission};
    if (!begin(&op))
        return;
    MUST(cuMemsetD8Async(t->a, t->value, t->bytes, w->streams[stream]));
    spw_op_answered(&op, true);
}

/* All of the smaller one's bytes: a larger one then has two values, and is set anew. */
static void copy(struct worker *w, struct tensor *from, struct tensor *to)
{
    if (from == to || !from->a || !from->written || !to->a || from->bytes < to->bytes) {
        if (to->a)
            set(w, to);
        return;
    }
    const unsigned stream = any(w, 2);
    follow(w, from, stream);
    follow(w, to, stream);
    CUdeviceptr hits[] = {to->a, from->a};
    const struct spw_submission submission = {.kind = SPW_SUBMIT_COPY, .copy = {to->a, from->a, to->bytes}};
    struct spw_op op = {.handle = w->streams[stream],
                        .hits = hits,
                        .count = 2,
                        .room = 2,
                        .read_only = 1,
                        .name = "a copy",
                        .submission = &submission};
    if (!begin(&op))
        return;
    MUST(cuMemcpyDtoDAsync_v2(to->a, from->a, to->bytes, w->streams[stream]));
    spw_op_answered(&op, true);
    to->value = from->value;
    to->written = true;
}

static struct spw_stream *record_of(CUstream stream)
{
    spw_lock();
    struct spw_stream *s = spw_stream_of_locked(stream);
    spw_unlock();
    return s;
}

static void allocate(struct worker *w, struct tensor *t, bool small)
{
    *t = (struct tensor){.bytes = small ? SMALL_BYTES : (1 + any(w, 4)) * MIB / 4, .last = any(w, 2)};
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

static int run_again(struct spw_block *b, struct spw_stream *s)
{
    struct spw_rerun *m = b->content.maker;
    if (!m)
        return 0;
    spw_rerun_hold(m);
    int r = spw_replay_operation_unlocking(device, m, s);
    spw_rerun_let_go(m);
    return r;
}

static void plan(struct worker *w, struct tensor *t)
{
    const unsigned what = any(w, 10);
    if (pthread_mutex_trylock(&device->slow) != 0)
        return;
    spw_lock();
    struct spw_object *o = spw_object_at_locked(t->a);
    struct spw_block *b = o->kind == SPW_KIND_BLOCK ? spw_block_of(o) : NULL;
    if (b && what < 6)
        (void)spw_carry_drop_locked(device, b);
    else if (b && what < 7)
        (void)spw_carry_leave_locked(device, b);
    else if (b && what < 8)
        (void)spw_carry_restore_locked(device, b);
    else if (b && what < 9)
        (void)run_again(b, any(w, 2) ? spw_stream_of_locked(w->streams[0]) : NULL);
    spw_carry_pump_locked(device);
    spw_ghosts_sweep_locked(device);
    bool right = true;
    for (uint32_t i = 0; i < device->block_count; i++)
        right &= spw_block_check_locked(device->blocks[i]);
    spw_unlock();
    pthread_mutex_unlock(&device->slow);
    if (!right)
        fail("blocks are in no state that there is", device->block_count);
}

static void break_versions(void)
{
    int r = spw_versions_break();
    if (r < 0)
        fail("what is dropped cannot be made", r);
}

static void *work(void *arg)
{
    struct worker *w = arg;
    MUST(cuCtxSetCurrent(w->context));
    for (unsigned step = 0; step < w->steps; step++) {
        const unsigned i = any(w, ALL), what = any(w, 20);
        struct tensor *t = &w->tensors[i];
        if (!t->a)
            allocate(w, t, i >= TENSORS);
        else if (what == 0)
            give_back(w, t);
        else if (what == 1)
            check_reads(w);
        else if (what == 2 && t->written)
            read_back(w, t);
        else if (what == 3)
            break_versions();
        else if (what < 10)
            copy(w, &w->tensors[any(w, ALL)], t);
        else
            plan(w, t);
    }
    for (int i = 0; i < ALL; i++)
        if (w->tensors[i].a && w->tensors[i].written)
            read_back(w, &w->tensors[i]);
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
    budget = 9 * MIB;
    spw_settings_default(settings);
    settings->log_level = SPW_LOG_QUIET;
    settings->budget.every = (struct spw_amount){.kind = SPW_AMOUNT_BYTES, .bytes = budget};
    settings->host_budget = (struct spw_amount){.kind = SPW_AMOUNT_BYTES, .bytes = 64 * MIB};
    spw_settings_use(settings);
    spw_log_setup(SPW_LOG_QUIET, NULL);
}

static void begin_to_keep(void)
{
    const struct spw_course course = {.op_count = 1, .ops = (struct spw_course_op[]){{0}}};
    const struct spw_actions actions = {0};
    pthread_mutex_lock(&device->slow);
    spw_lock();
    if (spw_recompute_begin_unlocking(device, &course, &actions) < 0)
        fail("there is no stash", 0);
    spw_planned_any = true;
    spw_unlock();
    pthread_mutex_unlock(&device->slow);
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
    begin_to_keep();
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
    const struct spw_replayed *r = &spw_replayed;
    const bool held = device->handles.made_bytes_peak <= budget, none_failed = !r->failed_count && !r->owed_count;
    const bool replayed = spw_carried.dropped_count > 100 && r->count[SPW_REPLAY_DEMAND] && r->count[SPW_REPLAY_PLAN] &&
                          r->count[SPW_REPLAY_RESCUE];
    printf("# %llu dropped; %llu made on demand, %llu by plan, %llu rescued\n",
           (unsigned long long)spw_carried.dropped_count, (unsigned long long)r->count[SPW_REPLAY_DEMAND],
           (unsigned long long)r->count[SPW_REPLAY_PLAN], (unsigned long long)r->count[SPW_REPLAY_RESCUE]);
    const bool passes = held && none_failed && replayed;
    printf("%sok 1 - tensors have their bytes whatever is dropped and made again, and the budget holds\n",
           passes ? "" : "not ");
    return passes ? 0 : 1;
}
