/* probe.c - observes launches and tries them again, on the program's stream. */
#include "probe.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "probe_snapshot.h"
#include "ask.h"
#include "bandwidth.h"
#include "context.h"
#include "digest.h"
#include "exam.h"
#include "exam_answers.h"
#include "own_memory.h"
#include "driver.h"
#include "lock.h"
#include "log.h"
#include "mover.h"
#include "now.h"
#include "readable.h"
#include "recorded_op.h"
#include "result.h"
#include "scratch.h"
#include "stash.h"
#include "slab.h"
#include "twins.h"
#include "versions.h"

enum {
    EXAMS = 64,   /* launches whose answers are awaited */
    ATTEMPTS = 3, /* for what must not fail */
    DENIALS = 3,  /* iterations in which scratch memory was refused */
    PATTERN = 0x5a,
    WAIT_S = 5, /* limit for the answer whether variables hold addresses: longer than a stream usually has work for */
    POLL_US = 20,
    WAITS = 2 /* waits without an answer before no more are tried: the stream may wait for the thread that would wait here */
};

struct spw_probe {
    struct spw_device *device;
    struct spw_probe_policy policy;
    struct spw_probe_snapshot snapshot;
    uint64_t wanted_bytes; /* of scratch memory, once there is something to try */
    unsigned denied; /* times that there was no room for it, or that it was taken away, since a launch was last tried */
    struct spw_exam exams[EXAMS], *now;
    unsigned vain_waits; /* waits for a module's variables without an answer */
    bool leaves_scratch; /* scratch memory is given back after the launch that is being tried, which has bytes there */
    struct spw_probe_counts counts;
};

struct spw_probe *spw_probe_create(struct spw_device *d)
{
    struct spw_probe *t = calloc(1, sizeof(*t));
    if (t)
        t->device = t->policy.device = d;
    return t;
}

struct spw_probe_counts spw_probe_counts_of(const struct spw_probe *t)
{
    return t->counts;
}

/* ---- exams ---- */

static struct spw_exam *free_exam(struct spw_probe *t)
{
    for (unsigned i = 0; i < EXAMS; i++) {
        struct spw_exam *e = &t->exams[i];
        if (e->step != SPW_PROBE_NOTHING)
            continue;
        if (!e->pieces)
            e->pieces = malloc(SPW_CLASS_HITS * sizeof(*e->pieces));
        return e->pieces ? e : NULL;
    }
    return NULL;
}

static void miss_exam(struct spw_probe *t, struct spw_exam *e)
{
    struct spw_probed *class = spw_exam_class_locked(e, t->device);
    t->counts.failures++;
    if (class)
        spw_probe_class_missed(class);
    spw_exam_end_locked(e);
}

void spw_probe_destroy(struct spw_probe *t)
{
    if (!t)
        return;
    for (unsigned i = 0; i < EXAMS; i++) {
        if (t->exams[i].step != SPW_PROBE_NOTHING)
            spw_exam_end_locked(&t->exams[i]);
        free(t->exams[i].pieces);
    }
    spw_probed_forget_locked(t->device);
    free(t);
}

static void poll(struct spw_probe *t, struct spw_exam *e)
{
    const int r = e->step == SPW_PROBE_NOTHING || e == t->now ? 0 : spw_exam_read_locked(t->device, e);
    if (r > 0)
        spw_exam_end_locked(e);
    else if (r < 0)
        miss_exam(t, e);
}

void spw_probe_poll(struct spw_probe *t)
{
    for (unsigned i = 0; i < EXAMS; i++)
        poll(t, &t->exams[i]);
}

/* Reads the answers that decide what is next for the class. */
static void poll_class(struct spw_probe *t, const struct spw_launch_class *class)
{
    for (unsigned i = 0; i < EXAMS; i++)
        if (t->exams[i].number == class->number)
            poll(t, &t->exams[i]);
}

/* ---- scratch memory ---- */

static void take_scratch(struct spw_probe *t)
{
    t->leaves_scratch = false;
    if (t->snapshot.scratch || !t->wanted_bytes || t->denied >= DENIALS)
        return;
    t->denied++;
    (void)spw_probe_snapshot_take_scratch_unlocking(&t->snapshot, t->device, t->wanted_bytes);
}

/* Another thread may be about to submit the launch that is being tried, whose bytes are in scratch memory. */
static void leave_scratch(struct spw_probe *t)
{
    t->leaves_scratch = t->now != NULL;
    if (!t->now)
        spw_probe_snapshot_give_scratch_locked(&t->snapshot, t->device);
}

static void leave_scratch_late(struct spw_probe *t)
{
    if (t->leaves_scratch)
        leave_scratch(t);
}

int spw_probe_give_up_scratch_locked(struct spw_probe *t)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    if (!t->snapshot.scratch)
        return 0;
    if (t->now)
        return -EAGAIN;
    leave_scratch(t);
    return 1;
}

int spw_probe_give_up_host_memory_locked(struct spw_probe *t)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    if (!t->snapshot.host)
        return 0;
    (void)spw_uses_mark_locked(&t->snapshot.host_uses);
    spw_probe_snapshot_reap_locked(&t->snapshot);
    return t->snapshot.host ? -EAGAIN : 1;
}

/* ---- iterations ---- */

void spw_probe_begin(struct spw_probe *t, const struct spw_course *course, double iteration_us)
{
    t->wanted_bytes = spw_scratch_bytes_locked(t->device, course);
    t->denied = 0;
    spw_probe_policy_begin(&t->policy, iteration_us);
}

bool spw_probe_iteration_unlocking(struct spw_probe *t)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    spw_probe_poll(t);
    spw_probe_snapshot_reap_locked(&t->snapshot);
    const bool is_complete = spw_probe_policy_iteration(&t->policy);
    if (is_complete || !spw_probe_policy_wants_probes(&t->policy)) {
        leave_scratch(t);
    } else {
        if (spw_twins_have_variables)
            (void)spw_stash_ready_unlocking(t->device); /* without it, launches that need it are not tried yet */
        take_scratch(t);
    }
    return is_complete;
}

void spw_probe_go_on(struct spw_probe *t)
{
    spw_probe_policy_go_on(&t->policy);
}

void spw_probe_end(struct spw_probe *t)
{
    leave_scratch(t);
}

/* ---- what is submitted; the stream's next operation stands for all of it ---- */

static int ask(struct spw_probe *t, const struct spw_op *op, struct spw_exam *e, unsigned which)
{
    int r = 0;
    for (uint32_t i = 0; i < e->count && r == 0; i++)
        r = spw_digest_ask_locked(t->device, op->stream->context, op->handle, e->pieces[i].address, e->pieces[i].bytes,
                                  &e->pieces[i].tickets[which]);
    return r;
}

/* Bytes of scratch and host memory for what a launch has put aside. */
struct places {
    uint64_t scratch, host;
};

static uint64_t place(struct places *p, uint64_t room, size_t bytes)
{
    const uint64_t rounded = spw_probe_snapshot_rounded(bytes), in_scratch = p->scratch, in_host = p->host;
    const bool fits = p->scratch + rounded <= room;
    *(fits ? &p->scratch : &p->host) += rounded;
    return fits ? in_scratch : in_host | SPW_PROBE_SNAPSHOT_HOST;
}

/* Assigns places to everything, first in `room` bytes of scratch memory; what is copied most often comes first. */
static struct places lay_out(struct spw_exam *e, uint64_t room)
{
    struct places found = {0};
    for (uint32_t i = 0; i < e->count; i++)
        if (e->pieces[i].content == SPW_EXAM_DEFINED)
            e->pieces[i].before = place(&found, room, e->pieces[i].bytes);
    for (uint32_t i = 0; i < e->count; i++)
        if (e->pieces[i].content != SPW_EXAM_CONSTANT)
            e->pieces[i].kept = place(&found, room, e->pieces[i].bytes);
    return found;
}

/* Orders the launch after everything that any stream does with what it touches: it may have been passed by chance an
 * address (scan.h) that has nothing to do with it. Copies out of what it only reads count too. */
static int follow_uses(const struct spw_probe *t, const struct spw_op *op, const struct spw_exam *e)
{
    int r = 0;
    for (uint32_t i = 0; i < e->count && r == 0; i++) {
        struct spw_uses users = spw_users_of_locked(spw_exam_object(&e->pieces[i]));
        r = spw_uses_order_locked(&users, op->stream);
        if (r == 0 && e->pieces[i].block)
            r = spw_mover_order_locked(t->device, e->pieces[i].block, op->stream, true);
    }
    return r;
}

static int fill(const struct spw_op *op, const struct spw_exam_piece *p)
{
    return spw_result(SPW_ASK_QUIETLY(cuMemsetD8Async, p->address, PATTERN, p->bytes, op->handle));
}

/* Before the program's launch: saves its bytes, and fills undefined memory. */
static int save_before(struct spw_probe *t, const struct spw_op *op, const struct spw_exam *e)
{
    int r = 0;
    for (uint32_t i = 0; i < e->count && r == 0; i++) {
        const struct spw_exam_piece *p = &e->pieces[i];
        if (p->content == SPW_EXAM_FRESH)
            r = fill(op, p);
        else if (p->content == SPW_EXAM_DEFINED)
            r = spw_probe_snapshot_save_locked(&t->snapshot, op->stream, p->before, p->address, p->bytes);
    }
    return r;
}

static int keep_all(struct spw_probe *t, const struct spw_op *op, const struct spw_exam *e)
{
    int r = 0;
    for (uint32_t i = 0; i < e->count && r == 0; i++)
        if (e->pieces[i].content != SPW_EXAM_CONSTANT)
            r = spw_probe_snapshot_save_locked(&t->snapshot, op->stream, e->pieces[i].kept, e->pieces[i].address,
                                               e->pieces[i].bytes);
    return r;
}

static int put_back_all(struct spw_probe *t, const struct spw_op *op, const struct spw_exam *e)
{
    int worst = 0;
    for (uint32_t i = 0; i < e->count; i++) {
        int r = e->pieces[i].content == SPW_EXAM_CONSTANT ? 0 : -EIO;
        for (unsigned attempt = 0; attempt < ATTEMPTS && r < 0; attempt++)
            r = spw_probe_snapshot_load_locked(&t->snapshot, op->stream, e->pieces[i].address, e->pieces[i].kept,
                                               e->pieces[i].bytes);
        worst = r < 0 ? r : worst;
    }
    return worst;
}

/* Restores what the program's launch found: no kernel must run on an index, address or flag that is not the program's. */
static int restore(struct spw_probe *t, const struct spw_op *op, const struct spw_exam *e)
{
    int r = 0;
    for (uint32_t i = 0; i < e->count && r == 0; i++) {
        const struct spw_exam_piece *p = &e->pieces[i];
        if (p->content == SPW_EXAM_FRESH)
            r = fill(op, p);
        else if (p->content == SPW_EXAM_DEFINED)
            r = spw_probe_snapshot_load_locked(&t->snapshot, op->stream, p->address, p->before, p->bytes);
    }
    return r;
}

static int run_again(struct spw_probe *t, const struct spw_op *op, struct spw_exam *e)
{
    int r = spw_twin_order_locked(op->function, op->stream->context, op->stream);
    for (unsigned pass = 0; pass < SPW_EXAM_PASSES && r == 0; pass++) {
        r = restore(t, op, e);
        if (r == 0)
            r = spw_recorded_op_submit_locked(op->recorded_op, op->stream);
        if (r == 0)
            r = ask(t, op, e, 1 + pass);
    }
    return r;
}

static void note_uses(struct spw_probe *t, const struct spw_op *op, const struct spw_exam *e)
{
    const uint64_t number = spw_stream_next_locked(op->stream);
    for (uint32_t i = 0; i < e->count; i++)
        spw_uses_add_locked(&spw_exam_object(&e->pieces[i])->uses, op->stream, number);
    if (e->step == SPW_PROBE_REPLAY)
        spw_probe_snapshot_used_locked(&t->snapshot, op->stream, number);
}

/* Orders whatever other streams do next after what was written or read here, streams that are not known yet included. */
static int be_followed(struct spw_probe *t, const struct spw_op *op)
{
    spw_uses_add_locked(&t->device->replays, op->stream, op->stream->begun);
    (void)spw_uses_mark_locked(&t->device->replays);
    return spw_streams_follow_locked(op->stream, spw_device_users_locked(t->device));
}

/* ---- before and after ---- */

/* Returns the time that copies to the host and back take. */
static double host_us(const struct spw_probe *t, uint64_t bytes)
{
    enum { COPIES = 3 };
    struct spw_bandwidth link;
    (void)spw_bandwidth_locked(t->device->ordinal, &link);
    return COPIES * (double)bytes / link.h2d_bytes_per_us;
}

/* Finds places in scratch memory; for what has no room there, in host memory, where copies take longer. */
static struct places find_memory(struct spw_probe *t, struct spw_exam *e, struct spw_probe_launch *launch)
{
    const bool has_scratch = t->snapshot.scratch || t->denied < DENIALS;
    const struct places places = lay_out(e, has_scratch ? t->wanted_bytes : 0);
    launch->fits = !places.host;
    if (places.host)
        spw_probe_snapshot_reap_locked(&t->snapshot);
    launch->has_memory = (t->snapshot.scratch || !places.scratch) && !(places.host && t->snapshot.host);
    launch->fits_late = spw_probe_snapshot_may_use_host_locked(places.host);
    launch->late_us = host_us(t, places.host);
    return places;
}

/* Memory that is filled may be another stream's: that stream is ordered after it, whatever becomes of the probe. */
static int prepare(struct spw_probe *t, const struct spw_op *op, const struct spw_exam *e, uint64_t host_bytes)
{
    if (!spw_probe_snapshot_begin_locked(&t->snapshot, host_bytes))
        return -ENOMEM;
    int r = follow_uses(t, op, e);
    if (r == 0) {
        r = save_before(t, op, e);
        const int following = be_followed(t, op);
        r = r < 0 ? r : following;
    }
    return r;
}

/* Hashes what the launch touches while no other stream uses it: the program orders streams only where they use the same
 * bytes. */
static int observe(struct spw_probe *t, const struct spw_op *op, struct spw_exam *e, unsigned which)
{
    const bool is_alone = !spw_streams_others_locked(op->stream);
    int r = is_alone ? 0 : follow_uses(t, op, e);
    if (r == 0)
        r = ask(t, op, e, which);
    const int following = be_followed(t, op);
    return r < 0 ? r : following;
}

/* A probe is ordered after all uses of what the launch touches, and all streams after the probe. If a host function holds
 * some of that back, the program may be waiting for other parts of it before it lets the function return. */
static bool would_wait_for_the_program(const struct spw_op *op)
{
    bool would = spw_gated_streams && spw_stream_is_gated_locked(op->stream) && spw_streams_others_locked(op->stream);
    for (unsigned hit = 0; spw_gated_streams && hit < op->count && !would; hit++) {
        struct spw_object *o = spw_object_at_locked(op->hits[hit]);
        would = o && spw_uses_held_back_locked(&o->uses, op->stream);
    }
    return would;
}

bool spw_probe_before(struct spw_probe *t, struct spw_op *op, double us)
{
    if (t->now || !op->class || spw_recorded_op_order_unseen) /* observations would order streams as well */
        return false;
    poll_class(t, op->class);
    struct spw_exam *e = would_wait_for_the_program(op) ? NULL : free_exam(t);
    if (!e)
        return false;
    struct places places = {0};
    struct spw_probe_launch launch = {.class = op->class, .geometry = op->signature.geometry, .us = us};
    int r = spw_exam_list_locked(e, t->device, op) ? 0 : -EINVAL;
    if (r == 0)
        places = find_memory(t, e, &launch);
    const enum spw_probe_step step = spw_probe_policy_next(&t->policy, &launch);
    if (step == SPW_PROBE_NOTHING)
        return false;
    spw_exam_begin_locked(op, step, e);
    if (r == 0)
        r = step == SPW_PROBE_REPLAY ? prepare(t, op, e, places.host) : observe(t, op, e, 0);
    note_uses(t, op, e);
    if (r < 0) {
        miss_exam(t, e);
        return false;
    }
    op->probe = t;
    t->now = e;
    t->denied = step == SPW_PROBE_REPLAY ? 0 : t->denied;
    return step == SPW_PROBE_REPLAY;
}

/* Returns 0 if done; 1 if not, but everything is as it was; negative if the bytes could not be put back. */
static int look(struct spw_probe *t, const struct spw_op *op, struct spw_exam *e)
{
    t->counts.looks++;
    return observe(t, op, e, 1) < 0 ? 1 : 0;
}

/* False if another thread may submit to the stream meanwhile: the trial would undo what it does. */
static bool has_stream_to_itself(const struct spw_op *op)
{
    return atomic_load_explicit(&op->stream->in_call, memory_order_acquire) == 1;
}

static int try_again(struct spw_probe *t, const struct spw_op *op, struct spw_exam *e)
{
    if (!op->recorded_op || !has_stream_to_itself(op) || follow_uses(t, op, e) < 0 || ask(t, op, e, 0) < 0 ||
        keep_all(t, op, e) < 0)
        return 1;
    t->counts.trials++;
    const int r = run_again(t, op, e), back = put_back_all(t, op, e);
    if (back < 0)
        return back;
    const int following = be_followed(t, op);
    return following < 0 ? following : r < 0;
}

/* Waits until it is known that the variables of its module hold no address, as far as that depends on what was submitted
 * before: a launch that follows one must not be tried. The driver has the launch, so an event can tell when the stream has
 * come so far, unless another thread is in a driver call on it. Releases the lock meanwhile. */
static bool has_plain_variables_unlocking(struct spw_probe *t, const struct spw_op *op)
{
    enum spw_saved_state state = op->recorded_op ? spw_recorded_op_variables_locked(op->recorded_op) : SPW_SAVED_UNKNOWN;
    if (state != SPW_SAVED_SEARCHED || t->vain_waits == WAITS || !has_stream_to_itself(op) ||
        spw_stream_mark_locked(op->stream) < 0)
        return state == SPW_SAVED_PLAIN;
    const uint64_t until_ns = spw_now_ns() + WAIT_S * UINT64_C(1000000000);
    while (state == SPW_SAVED_SEARCHED && spw_now_ns() < until_ns) {
        spw_unlock();
        (void)usleep(POLL_US);
        spw_lock();
        state = spw_recorded_op_variables_locked(op->recorded_op);
    }
    t->vain_waits += state == SPW_SAVED_SEARCHED;
    return state == SPW_SAVED_PLAIN;
}

static void say_lost(const struct spw_op *op)
{
    char name[256];
    spw_warn(
        "%s was launched again to see whether it gives the same, and then the driver refused to copy what it touches back "
        "to its place: the program is told that the launch failed" SPW_SEE("not-made-ready"),
        spw_readable_name(op->function, name, sizeof(name)));
}

CUresult spw_probe_after(struct spw_op *op, CUresult result)
{
    struct spw_probe *t = op->probe;
    spw_lock();
    struct spw_exam *e = t->now;
    struct spw_context_guard guard;
    const bool is_worth_it = e->step == SPW_PROBE_OBSERVE || result != CUDA_SUCCESS || has_plain_variables_unlocking(t, op);
    t->now = NULL;
    op->probe = NULL;
    if (result != CUDA_SUCCESS || !is_worth_it || !spw_exam_is_there_locked(e) || spw_context_enter(&guard, NULL) < 0) {
        miss_exam(t, e);
        leave_scratch_late(t);
        spw_unlock();
        return result;
    }
    const int r = e->step == SPW_PROBE_OBSERVE ? look(t, op, e) : try_again(t, op, e);
    note_uses(t, op, e);
    const int sent = spw_digests_send_locked(t->device, op->handle);
    if (r < 0)
        say_lost(op);
    if (r != 0 || sent < 0)
        miss_exam(t, e);
    leave_scratch_late(t);
    spw_context_leave(&guard);
    spw_unlock();
    return r < 0 ? CUDA_ERROR_LAUNCH_FAILED : result;
}
