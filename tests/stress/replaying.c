/* replaying.c - threads that copy and set tensors (workers.h), with every operation kept, while at every step some tensor is
 * dropped, told to leave, freed or made again, as no plan would.
 *
 *     replaying LIBCUDA SEED STEPS
 */
#include <stdio.h>

#include "transfers.h"
#include "lock.h"
#include "plan_follower.h"
#include "kept_ops.h"
#include "replay.h"
#include "call_args.h"
#include "workers.h"

enum { TENSORS = 10 }; /* the others are small */

#define SMALL_BYTES ((size_t)512)
#define BUDGET      (9 * MIB)

/* ---- what follows the iteration: here, whatever is done is wanted later ---- */

static void keep_op(struct spw_op *op, struct spw_object *const *objects, unsigned count)
{
    (void)objects;
    (void)count;
    if (op->submission)
        spw_kept_ops_wish_locked(op, 0);
}

static void keep_freed(struct spw_device *d, struct spw_block *b)
{
    b->expected = 0;
    (void)spw_retained_wanted_locked(d, b, false);
}

static void follow_like_that(void)
{
    static struct spw_follower mine;
    spw_plan_follower_open();
    mine = *spw_follower;
    mine.op = keep_op;
    mine.free = keep_freed;
    spw_follower = &mine;
}

/* ---- what a program does besides ---- */

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
    const struct spw_call_args submission = {.kind = SPW_SUBMIT_COPY, .copy = {to->a, from->a, to->bytes}};
    struct spw_op op = {.handle = w->streams[stream],
                        .hits = hits,
                        .count = 2,
                        .room = 2,
                        .read_only = 1,
                        .name = "a copy",
                        .submission = &submission};
    begin(&op);
    MUST(cuMemcpyDtoDAsync_v2(to->a, from->a, to->bytes, w->streams[stream]));
    spw_op_answered(&op, true);
    to->value = from->value;
    to->written = true;
}

/* ---- and what a plan might ---- */

static int run_again(struct spw_block *b, struct spw_stream *s)
{
    struct spw_recorded_op *m = b->content.maker;
    if (!m)
        return 0;
    spw_recorded_op_hold(m);
    int r = spw_replay_operation_unlocking(worker_device, m, s, true);
    spw_recorded_op_let_go(m);
    return r;
}

static void plan(struct worker *w, struct tensor *t)
{
    const unsigned what = any(w, 10);
    if (pthread_mutex_trylock(&worker_device->slow) != 0)
        return;
    spw_lock();
    struct spw_object *o = spw_object_at_locked(t->a);
    struct spw_block *b = o->kind == SPW_KIND_BLOCK ? spw_block_of(o) : NULL;
    if (b && what < 6)
        (void)spw_transfer_drop_locked(worker_device, b);
    else if (b && what < 7)
        (void)spw_transfer_evict_locked(worker_device, b);
    else if (b && what < 8)
        (void)spw_transfer_prefetch_locked(worker_device, b);
    else if (b && what < 9)
        (void)run_again(b, any(w, 2) ? spw_stream_of_locked(w->streams[0]) : NULL);
    spw_transfer_pump_locked(worker_device);
    spw_retained_all_sweep_locked(worker_device);
    check_blocks_unlock();
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
        const unsigned i = any(w, WORKER_TENSORS), what = any(w, 20);
        struct tensor *t = &w->tensors[i];
        if (!t->a)
            allocate(w, t, i < TENSORS ? (1 + any(w, 4)) * MIB / 4 : SMALL_BYTES);
        else if (what == 0)
            give_back(w, t);
        else if (what == 1)
            check_reads(w);
        else if (what == 2 && t->written)
            read_back(w, t);
        else if (what == 3)
            break_versions();
        else if (what < 10)
            copy(w, &w->tensors[any(w, WORKER_TENSORS)], t);
        else
            plan(w, t);
    }
    finish_work(w);
    return NULL;
}

static void begin_to_keep(void)
{
    const struct spw_course course = {.op_count = 1, .ops = (struct spw_course_op[]){{0}}};
    const struct spw_actions actions = {0};
    pthread_mutex_lock(&worker_device->slow);
    spw_lock();
    if (spw_kept_ops_begin_unlocking(worker_device, &course, 0, &actions) < 0)
        fail("there is no stash", 0);
    follow_like_that();
    spw_plan_follower_any = true;
    spw_unlock();
    pthread_mutex_unlock(&worker_device->slow);
}

int main(int argc, char **argv)
{
    if (!run_workers(argc, argv, BUDGET, begin_to_keep, work))
        return 2;
    const struct spw_replayed *r = &spw_replayed;
    const bool held = worker_device->handles.made_bytes_peak <= BUDGET, none_failed = !r->failed_count && !r->owed_count;
    const bool replayed = spw_transfer_counts.dropped_count > 100 && r->count[SPW_REPLAY_DEMAND] &&
                          r->count[SPW_REPLAY_PLAN] && r->count[SPW_REPLAY_RESCUE];
    printf("# %llu dropped; %llu made on demand, %llu by plan, %llu rescued\n",
           (unsigned long long)spw_transfer_counts.dropped_count, (unsigned long long)r->count[SPW_REPLAY_DEMAND],
           (unsigned long long)r->count[SPW_REPLAY_PLAN], (unsigned long long)r->count[SPW_REPLAY_RESCUE]);
    const bool passes = held && none_failed && replayed;
    printf("%sok 1 - tensors have their bytes whatever is dropped and made again, and the budget holds\n",
           passes ? "" : "not ");
    return passes ? 0 : 1;
}
