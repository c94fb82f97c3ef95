/* trial.c - looks at launches and tries them again, on the program's stream. */
#include "trial.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "context.h"
#include "digest.h"
#include "driver.h"
#include "layout.h"
#include "lock.h"
#include "log.h"
#include "mover.h"
#include "pools.h"
#include "reruns.h"
#include "result.h"
#include "room.h"
#include "scratch.h"
#include "slab.h"
#include "trust.h"
#include "twins.h"
#include "versions.h"

enum {
    EXAMS = 64,   /* whose answers are awaited */
    PASSES = 3,   /* launches again */
    ATTEMPTS = 3, /* for what must not fail */
    DENIALS = 3,  /* of scratch memory, in iterations */
    PATTERN_A = 0x5a,
    PATTERN_B = 0xa5
};

/* One block or slot that the launch touches. */
struct piece {
    struct spw_block *block;
    struct spw_slot *slot; /* of the two one is NULL */
    uint64_t serial;
    CUdeviceptr address;
    size_t bytes;
    uint64_t hits;                /* which of the parameters' addresses lie in it */
    uint64_t kept, before;        /* offsets in scratch memory: as the launch left it; of a slot as it was before */
    uint32_t tickets[1 + PASSES]; /* 0: none */
};

struct exam {
    enum spw_lesson_step step; /* NOTHING: this one is free */
    uint32_t lesson;
    uint32_t count;
    struct piece *pieces; /* SPW_WRITESET_HITS of them */
    uint64_t written;     /* which were seen to change before */
    CUfunction function;
    uint64_t places;       /* with it, the kind */
    uint32_t number, hits; /* of these; behind them those that are doubted */
    uint32_t doubted_count;
    uint16_t doubted[SPW_WRITESET_HITS];      /* their places */
    uint32_t numbers[SPW_SUBMISSION_NUMBERS]; /* that it was given */
    unsigned number_count;
    struct spw_numbers given; /* the same with its addresses, once it was run again; or all zeroes */
};

struct spw_trial {
    struct spw_device *device;
    struct spw_lessons lessons;
    struct spw_block *scratch; /* NULL: there is none */
    uint64_t wanted_bytes;     /* of it, as soon as there is something to try */
    unsigned denied;           /* so often there was no room for it, or it went again, since a launch was tried last */
    struct exam exams[EXAMS], *now;
    struct spw_trial_counts counts;
};

struct spw_trial *spw_trial_create(struct spw_device *d)
{
    struct spw_trial *t = calloc(1, sizeof(*t));
    if (t)
        t->device = d;
    return t;
}

const struct spw_lessons *spw_trial_lessons(const struct spw_trial *t)
{
    return &t->lessons;
}

struct spw_lessons *spw_trial_lessons_mutable(struct spw_trial *t)
{
    return &t->lessons;
}

struct spw_trial_counts spw_trial_counts_of(const struct spw_trial *t)
{
    return t->counts;
}

/* ---- exams ---- */

static struct exam *free_exam(struct spw_trial *t)
{
    for (unsigned i = 0; i < EXAMS; i++) {
        struct exam *e = &t->exams[i];
        if (e->step != SPW_LESSON_NOTHING)
            continue;
        if (!e->pieces)
            e->pieces = malloc(SPW_WRITESET_HITS * sizeof(*e->pieces));
        return e->pieces ? e : NULL;
    }
    return NULL;
}

static void end_exam(struct exam *e)
{
    for (uint32_t i = 0; i < e->count; i++)
        for (unsigned k = 0; k <= PASSES; k++)
            spw_digest_forget_locked(e->pieces[i].tickets[k]);
    spw_numbers_finish(&e->given);
    e->step = SPW_LESSON_NOTHING;
}

static void miss_exam(struct spw_trial *t, struct exam *e)
{
    t->counts.failures++;
    spw_lesson_missed(&t->lessons, e->lesson);
    end_exam(e);
}

void spw_trial_destroy(struct spw_trial *t)
{
    if (!t)
        return;
    for (unsigned i = 0; i < EXAMS; i++) {
        if (t->exams[i].step != SPW_LESSON_NOTHING)
            end_exam(&t->exams[i]);
        free(t->exams[i].pieces);
    }
    spw_lessons_finish(&t->lessons);
    free(t);
}

/* ---- answers ---- */

/* 1: all are there, in `hashes`; 0: not yet; negative: some will never come. */
static int read_hashes(struct spw_device *d, const struct piece *piece, unsigned count, struct spw_hash *hashes)
{
    for (unsigned k = 0; k < count; k++) {
        const int r = spw_digest_answer_locked(d, piece->tickets[k], &hashes[k]);
        if (r <= 0)
            return r;
    }
    return 1;
}

static enum spw_replay_verdict judge(const struct spw_hash hashes[1 + PASSES])
{
    const bool same = spw_hash_equal(hashes[1], hashes[3]), follows = !spw_hash_equal(hashes[1], hashes[2]);
    if (!same)
        return SPW_REPLAY_DIFFERS;
    if (follows)
        return SPW_REPLAY_READS_OWN_OUTPUT;
    return spw_hash_equal(hashes[0], hashes[1]) ? SPW_REPLAYABLE : SPW_REPLAY_HIDDEN_STATE;
}

/* The worst is what counts: results that differ explain everything else. */
static enum spw_replay_verdict worse(enum spw_replay_verdict a, enum spw_replay_verdict b)
{
    static const enum spw_replay_verdict worst_first[] = {SPW_REPLAY_DIFFERS, SPW_REPLAY_READS_OWN_OUTPUT,
                                                          SPW_REPLAY_HIDDEN_STATE};
    for (unsigned i = 0; i < sizeof(worst_first) / sizeof(*worst_first); i++)
        if (a == worst_first[i] || b == worst_first[i])
            return worst_first[i];
    return SPW_REPLAYABLE;
}

/* It turned out to write what it was taken to read only, some time ago: what was made from that since cannot be relied on.
 */
static void distrust(const struct exam *e, uint64_t changed)
{
    for (uint32_t i = 0; i < e->count; i++) {
        const struct piece *p = &e->pieces[i];
        uint64_t serial;
        struct spw_versioned *v = p->hits & changed ? spw_versioned_at_locked(p->address, &serial) : NULL;
        if (v && serial == p->serial)
            spw_version_raise_locked(v);
    }
}

/* Which pieces changed, or did not, by hits. What is doubted to be an address for this launch says nothing where it leads to
 * what the launch may have changed otherwise. */
struct seen {
    uint64_t changed, doubted_changed, unchanged;
};

static uint64_t bits_of(uint32_t hits)
{
    return hits >= SPW_WRITESET_HITS ? UINT64_MAX : (UINT64_C(1) << hits) - 1;
}

static void see(const struct exam *e, const struct piece *p, bool is_changed, struct seen *seen)
{
    const uint64_t known = p->hits & bits_of(e->hits);
    if (!is_changed)
        seen->unchanged |= p->hits;
    else if (known)
        seen->changed |= known;
    else
        seen->doubted_changed |= p->hits;
}

static void note_doubted(const struct exam *e, const struct seen *seen)
{
    for (uint32_t i = 0; i < e->doubted_count && e->hits + i < SPW_WRITESET_HITS; i++) {
        const uint64_t hit = UINT64_C(1) << (e->hits + i);
        struct spw_writeset *place = spw_writeset_of_place_locked(e->function, e->doubted[i]);
        const bool was_spared = spw_writeset_is_spared(place);
        if (place && hit & (seen->doubted_changed | seen->unchanged))
            (void)spw_writeset_observed_locked(place, (hit & seen->doubted_changed) != 0, 1);
        if (was_spared && hit & seen->doubted_changed)
            distrust(e, hit);
    }
}

static void note_look(struct spw_trial *t, const struct exam *e, const struct seen *seen)
{
    const uint64_t changed = seen->changed;
    note_doubted(e, seen);
    struct spw_writeset *kind = spw_writeset_of_locked(e->function, e->places, e->hits);
    if (kind && kind->number == e->number) {
        const uint64_t before = kind->changed;
        if (spw_writeset_observed_locked(kind, changed, UINT64_MAX))
            distrust(e, changed);
        spw_writeset_note_numbers_locked(kind, e->numbers, e->number_count);
        if (kind->changed != before)
            spw_lesson_widened(&t->lessons, e->lesson);
    }
    spw_lesson_looked(&t->lessons, e->lesson, kind && kind->changed);
}

/* 1: taken note of; 0: not yet; negative: there will be no answer. */
static int read_exam(struct spw_trial *t, struct exam *e)
{
    const bool is_look = e->step == SPW_LESSON_LOOK;
    enum spw_replay_verdict verdict = SPW_REPLAYABLE;
    struct seen seen = {0};
    for (uint32_t i = 0; i < e->count; i++) {
        struct spw_hash hashes[1 + PASSES];
        const int r = read_hashes(t->device, &e->pieces[i], is_look ? 2 : 1 + PASSES, hashes);
        if (r <= 0)
            return r;
        if (is_look)
            see(e, &e->pieces[i], !spw_hash_equal(hashes[0], hashes[1]), &seen);
        else
            verdict = worse(verdict, judge(hashes));
    }
    if (is_look)
        note_look(t, e, &seen);
    else
        spw_lesson_tried(&t->lessons, e->lesson, verdict);
    if (!is_look && verdict == SPW_REPLAYABLE)
        spw_trust_note_tried_locked(e->function, &e->given);
    return 1;
}

static void poll(struct spw_trial *t, struct exam *e)
{
    const int r = e->step == SPW_LESSON_NOTHING || e == t->now ? 0 : read_exam(t, e);
    if (r > 0)
        end_exam(e);
    else if (r < 0)
        miss_exam(t, e);
}

void spw_trial_poll(struct spw_trial *t)
{
    for (unsigned i = 0; i < EXAMS; i++)
        poll(t, &t->exams[i]);
}

/* The same for the one whose answer says what is next for the kind. */
static void poll_kind(struct spw_trial *t, const struct spw_writeset *kind)
{
    for (unsigned i = 0; i < EXAMS; i++)
        if (t->exams[i].number == kind->number)
            poll(t, &t->exams[i]);
}

/* ---- scratch memory ---- */

static void take_scratch(struct spw_trial *t)
{
    struct spw_device *d = t->device;
    struct spw_block *b;
    if (t->scratch || !t->wanted_bytes || t->denied >= DENIALS)
        return;
    t->denied++;
    if (spw_block_create_locked(d, t->wanted_bytes, &b) < 0)
        return;
    b->pool = spw_pool_book_of_locked(NULL); /* and no context: it is no allocation of the program's */
    b->pinned = true;
    struct spw_context_guard guard;
    const bool entered = spw_context_enter(&guard, NULL) == 0;
    const int r = spw_engine_make_ready_unlocking(d, b);
    if (entered)
        spw_context_leave(&guard);
    if (r < 0) {
        spw_room_retire_block_locked(d, b);
        return;
    }
    t->scratch = b;
}

static void give_scratch(struct spw_trial *t)
{
    if (t->scratch)
        spw_room_retire_block_locked(t->device, t->scratch);
    t->scratch = NULL;
}

bool spw_trial_give_up_scratch_locked(struct spw_trial *t)
{
    const bool goes = t->scratch && !t->now;
    if (goes)
        give_scratch(t);
    return goes;
}

/* ---- iterations ---- */

void spw_trial_begin(struct spw_trial *t, const struct spw_course *course, double iteration_us)
{
    t->wanted_bytes = spw_scratch_bytes_locked(t->device, course);
    t->denied = 0;
    spw_lessons_begin(&t->lessons, iteration_us);
}

bool spw_trial_round_unlocking(struct spw_trial *t)
{
    spw_trial_poll(t);
    const bool is_complete = spw_lessons_round(&t->lessons);
    if (is_complete || !spw_lessons_want_trials(&t->lessons))
        give_scratch(t);
    else
        take_scratch(t);
    return is_complete;
}

void spw_trial_end(struct spw_trial *t)
{
    give_scratch(t);
}

/* ---- what a launch touches ---- */

static bool same_piece(const struct piece *p, const struct spw_block *b, const struct spw_slot *slot)
{
    return p->block == b && p->slot == slot;
}

static bool add_piece(struct exam *e, struct spw_block *b, struct spw_slot *slot, unsigned hit)
{
    for (uint32_t i = 0; i < e->count; i++)
        if (same_piece(&e->pieces[i], b, slot)) {
            e->pieces[i].hits |= UINT64_C(1) << hit;
            return true;
        }
    if (e->count == SPW_WRITESET_HITS)
        return false;
    e->pieces[e->count++] = (struct piece){.block = b,
                                           .slot = slot,
                                           .serial = b ? b->serial : slot->serial,
                                           .address = b ? b->address : spw_slot_address(slot),
                                           .bytes = b ? b->size_bytes : slot->size_bytes,
                                           .hits = UINT64_C(1) << hit};
    return true;
}

static bool list_pieces(struct exam *e, const struct spw_device *d, const struct spw_op *op)
{
    e->count = 0;
    for (unsigned i = 0; i < op->count && i < SPW_WRITESET_HITS; i++) {
        struct spw_object *o = spw_object_at_locked(op->hits[i]);
        struct spw_slot *slot = NULL;
        if (!o || o->attention & SPW_FREE)
            continue;
        if (o->device != d->ordinal)
            return false;
        if (o->kind == SPW_KIND_SLAB && !(slot = spw_slab_slot_at_locked((struct spw_slab *)o, op->hits[i])))
            continue;
        if (!add_piece(e, slot ? NULL : spw_block_of(o), slot, i))
            return false;
    }
    return e->count > 0;
}

/* It is who it was, and its bytes are where they were. */
static bool is_still_there(const struct piece *p)
{
    if (p->slot)
        return p->slot->serial == p->serial && p->slot->size_bytes == p->bytes;
    return p->block->serial == p->serial && !p->block->doomed &&
           !(p->block->object.attention & (SPW_ABSENT | SPW_FREE | SPW_EVICTING));
}

static bool are_still_there(const struct exam *e)
{
    for (uint32_t i = 0; i < e->count; i++)
        if (!is_still_there(&e->pieces[i]))
            return false;
    return true;
}

/* ---- what is submitted; the stream's next operation stands for all of it ---- */

static int ask(struct spw_trial *t, const struct spw_op *op, struct exam *e, unsigned which)
{
    int r = 0;
    for (uint32_t i = 0; i < e->count && r == 0; i++)
        r = spw_digest_ask_locked(t->device, op->stream->context, op->handle, e->pieces[i].address, e->pieces[i].bytes,
                                  &e->pieces[i].tickets[which]);
    return r;
}

static int copy(const struct spw_op *op, CUdeviceptr to, CUdeviceptr from, size_t bytes)
{
    return spw_result(spw_driver.cuMemcpyDtoDAsync_v2(to, from, bytes, op->handle));
}

/* Places in scratch memory for everything. False: it is too small, or was not to be had. */
static bool lay_out(const struct spw_trial *t, struct exam *e)
{
    uint64_t used = 0;
    for (uint32_t i = 0; i < e->count; i++) {
        struct piece *p = &e->pieces[i];
        const uint64_t bytes = spw_scratch_rounded(p->bytes);
        p->kept = used;
        p->before = p->kept + bytes;
        used += p->slot ? 2 * bytes : bytes;
    }
    return used <= t->wanted_bytes && (t->scratch || t->denied < DENIALS);
}

static int save_slots(const struct spw_trial *t, const struct spw_op *op, const struct exam *e)
{
    int r = 0;
    for (uint32_t i = 0; i < e->count && r == 0; i++)
        if (e->pieces[i].slot)
            r = copy(op, t->scratch->address + e->pieces[i].before, e->pieces[i].address, e->pieces[i].bytes);
    return r;
}

static int keep_all(const struct spw_trial *t, const struct spw_op *op, const struct exam *e)
{
    int r = 0;
    for (uint32_t i = 0; i < e->count && r == 0; i++)
        r = copy(op, t->scratch->address + e->pieces[i].kept, e->pieces[i].address, e->pieces[i].bytes);
    return r;
}

static int put_back_all(const struct spw_trial *t, const struct spw_op *op, const struct exam *e)
{
    int worst = 0;
    for (uint32_t i = 0; i < e->count; i++) {
        int r = -EIO;
        for (unsigned attempt = 0; attempt < ATTEMPTS && r < 0; attempt++)
            r = copy(op, e->pieces[i].address, t->scratch->address + e->pieces[i].kept, e->pieces[i].bytes);
        worst = r < 0 ? r : worst;
    }
    return worst;
}

/* The output is something else, and small things are what they were before. */
static int spoil(const struct spw_trial *t, const struct spw_op *op, const struct exam *e, unsigned char pattern)
{
    int r = 0;
    for (uint32_t i = 0; i < e->count && r == 0; i++) {
        const struct piece *p = &e->pieces[i];
        if (p->slot)
            r = copy(op, p->address, t->scratch->address + p->before, p->bytes);
        else if (p->hits & e->written)
            r = spw_result(spw_driver.cuMemsetD8Async(p->address, pattern, p->bytes, op->handle));
    }
    return r;
}

static int run_again(struct spw_trial *t, const struct spw_op *op, struct exam *e)
{
    static const unsigned char patterns[PASSES] = {PATTERN_A, PATTERN_B, PATTERN_A};
    int r = spw_twin_order_locked(op->function, op->stream->context, op->stream);
    for (unsigned pass = 0; pass < PASSES && r == 0; pass++) {
        r = spoil(t, op, e, patterns[pass]);
        if (r == 0)
            r = spw_rerun_submit_locked(op->rerun, op->stream);
        if (r == 0)
            r = ask(t, op, e, 1 + pass);
    }
    return r;
}

static void note_uses(const struct spw_trial *t, const struct spw_op *op, const struct exam *e)
{
    const uint64_t number = spw_stream_next_locked(op->stream);
    for (uint32_t i = 0; i < e->count; i++) {
        struct piece *p = &e->pieces[i];
        struct spw_uses *uses = p->block ? &p->block->object.uses : &p->slot->slab->object.uses;
        spw_uses_add_locked(uses, op->stream, number);
    }
    if (t->scratch)
        spw_uses_add_locked(&t->scratch->object.uses, op->stream, number);
}

/* ---- before and after ---- */

static void begin_exam(const struct spw_op *op, enum spw_lesson_step step, uint32_t lesson, struct exam *e)
{
    e->step = step;
    e->lesson = lesson;
    e->function = op->function;
    e->places = op->kind->places;
    e->number = op->kind->number;
    e->number_count = spw_submission_numbers(op->submission, e->numbers);
    e->hits = op->count - op->doubtful;
    e->doubted_count = op->doubtful < SPW_WRITESET_HITS ? op->doubtful : SPW_WRITESET_HITS;
    if (e->doubted_count)
        memcpy(e->doubted, op->submission->launch.doubted, e->doubted_count * sizeof(*e->doubted));
    e->written = op->kind->changed;
}

bool spw_trial_before(struct spw_trial *t, struct spw_op *op, double us)
{
    uint32_t lesson;
    if (t->now || !op->kind)
        return false;
    poll_kind(t, op->kind);
    struct exam *e = free_exam(t);
    if (!e)
        return false;
    int r = list_pieces(e, t->device, op) ? 0 : -EINVAL;
    const struct spw_launch_told launch = {.kind = op->kind,
                                           .geometry = op->signature.geometry,
                                           .us = us,
                                           .fits = r == 0 && lay_out(t, e),
                                           .has_memory = t->scratch != NULL};
    const enum spw_lesson_step step = spw_lessons_next(&t->lessons, &launch, &lesson);
    if (step == SPW_LESSON_NOTHING)
        return false;
    begin_exam(op, step, lesson, e);
    if (r == 0)
        r = step == SPW_LESSON_LOOK ? ask(t, op, e, 0) : save_slots(t, op, e);
    note_uses(t, op, e);
    if (r < 0) {
        miss_exam(t, e);
        return false;
    }
    op->trial = t;
    t->now = e;
    t->denied = step == SPW_LESSON_TRY ? 0 : t->denied;
    return step == SPW_LESSON_TRY;
}

/* 0: done; 1: not, but everything is as it was; negative: it could not be put back. */
static int look(struct spw_trial *t, const struct spw_op *op, struct exam *e)
{
    t->counts.looks++;
    return ask(t, op, e, 1) < 0 ? 1 : 0;
}

/* What the launch only reads is spoilt and put back all the same: copies out of it, which it need not wait for itself, are
 * over before that. */
static int follow_copies(const struct spw_trial *t, const struct spw_op *op, const struct exam *e)
{
    int r = 0;
    for (uint32_t i = 0; i < e->count && r == 0; i++)
        if (e->pieces[i].block)
            r = spw_mover_order_locked(t->device, e->pieces[i].block, op->stream, true);
    return r;
}

static int try_again(struct spw_trial *t, const struct spw_op *op, struct exam *e)
{
    if (!op->rerun || follow_copies(t, op, e) < 0 || ask(t, op, e, 0) < 0 || keep_all(t, op, e) < 0)
        return 1;
    t->counts.trials++;
    (void)spw_numbers_take(&e->given, op->rerun); /* or it was not seen to be right with them */
    const int r = run_again(t, op, e), back = put_back_all(t, op, e);
    if (back < 0)
        return back;
    return r < 0 ? 1 : 0;
}

static void say_lost(const struct spw_op *op)
{
    char name[256];
    spw_warn(
        "%s was launched again to see whether it gives the same, and then the driver refused to copy what it touches back "
        "to its place: the program is told that the launch failed",
        spw_function_name(op->function, name, sizeof(name)));
}

CUresult spw_trial_after(struct spw_op *op, CUresult result)
{
    struct spw_trial *t = op->trial;
    spw_lock();
    struct exam *e = t->now;
    struct spw_context_guard guard;
    t->now = NULL;
    op->trial = NULL;
    if (result != CUDA_SUCCESS || !are_still_there(e) || spw_context_enter(&guard, NULL) < 0) {
        miss_exam(t, e);
        spw_unlock();
        return result;
    }
    const int r = e->step == SPW_LESSON_LOOK ? look(t, op, e) : try_again(t, op, e);
    note_uses(t, op, e);
    const int sent = spw_digests_send_locked(t->device, op->handle);
    if (r < 0)
        say_lost(op);
    if (r != 0 || sent < 0)
        miss_exam(t, e);
    spw_context_leave(&guard);
    spw_unlock();
    return r < 0 ? CUDA_ERROR_LAUNCH_FAILED : result;
}
