/* probe.c - looks at launches and tries them again, on the program's stream. */
#include "probe.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "probe_snapshot.h"
#include "ask.h"
#include "bandwidth.h"
#include "context.h"
#include "digest.h"
#include "own_memory.h"
#include "driver.h"
#include "layout.h"
#include "lock.h"
#include "log.h"
#include "mover.h"
#include "recorded_op.h"
#include "result.h"
#include "scratch.h"
#include "slab.h"
#include "stash.h"
#include "validation.h"
#include "twins.h"
#include "versions.h"

enum {
    EXAMS = 64,   /* whose answers are awaited */
    PASSES = 2,   /* launches again */
    ATTEMPTS = 3, /* for what must not fail */
    DENIALS = 3,  /* of scratch memory, in iterations */
    PATTERN = 0x5a
};

/* What the launch finds in a piece, and what has to be put aside of that: as it was before, and as the launch left it. */
enum content {
    DEFINED,  /* both */
    FRESH,    /* nothing was ever written to it, so that it is undefined: as the launch left it */
    CONSTANT, /* by its type it only reads there, and it was seen to leave it alike: nothing */
};

/* One block or slot that the launch touches. */
struct piece {
    struct spw_block *block;
    struct spw_slot *slot; /* of the two one is NULL */
    uint64_t serial;
    CUdeviceptr address;
    size_t bytes;
    uint64_t hits; /* which of the parameters' addresses lie in it */
    enum content content;
    uint64_t kept, before;        /* places put aside: as the launch left it; as it was before */
    uint32_t tickets[1 + PASSES]; /* 0: none */
};

struct exam {
    enum spw_probe_step step; /* NOTHING: this one is free */
    uint32_t lesson;
    uint32_t count;
    struct piece *pieces; /* SPW_WRITESET_HITS of them */
    CUfunction function;
    uint64_t places;       /* with it, the kind */
    uint32_t number, hits; /* of these; behind them those that are doubted */
    uint32_t doubted_count;
    uint16_t doubted[SPW_WRITESET_HITS];     /* their places */
    uint32_t numbers[SPW_CALL_ARGS_NUMBERS]; /* that it was given */
    unsigned number_count;
    struct spw_scalar_args given; /* the same with its addresses, once it was run again; or all zeroes */
};

struct spw_probe {
    struct spw_device *device;
    struct spw_probe_policy policy;
    struct spw_probe_snapshot snapshot;
    uint64_t wanted_bytes; /* of scratch memory, as soon as there is something to try */
    unsigned denied;       /* so often there was no room for it, or it went again, since a launch was tried last */
    struct exam exams[EXAMS], *now;
    bool leaves_scratch; /* behind the launch that is being tried, which has bytes there */
    struct spw_probe_counts counts;
};

struct spw_probe *spw_probe_create(struct spw_device *d)
{
    struct spw_probe *t = calloc(1, sizeof(*t));
    if (t)
        t->device = d;
    return t;
}

const struct spw_probe_policy *spw_probe_get_policy(const struct spw_probe *t)
{
    return &t->policy;
}

struct spw_probe_policy *spw_probe_get_policy_mutable(struct spw_probe *t)
{
    return &t->policy;
}

struct spw_probe_counts spw_probe_counts_of(const struct spw_probe *t)
{
    return t->counts;
}

/* ---- exams ---- */

static struct exam *free_exam(struct spw_probe *t)
{
    for (unsigned i = 0; i < EXAMS; i++) {
        struct exam *e = &t->exams[i];
        if (e->step != SPW_PROBE_NOTHING)
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
    spw_scalar_args_finish(&e->given);
    e->step = SPW_PROBE_NOTHING;
}

static void miss_exam(struct spw_probe *t, struct exam *e)
{
    t->counts.failures++;
    spw_probe_kind_missed(&t->policy, e->lesson);
    end_exam(e);
}

void spw_probe_destroy(struct spw_probe *t)
{
    if (!t)
        return;
    for (unsigned i = 0; i < EXAMS; i++) {
        if (t->exams[i].step != SPW_PROBE_NOTHING)
            end_exam(&t->exams[i]);
        free(t->exams[i].pieces);
    }
    spw_probe_policy_finish(&t->policy);
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

/* Both runs found what the program's launch did. */
static enum spw_replay_verdict judge(const struct spw_hash hashes[1 + PASSES])
{
    if (!spw_hash_equal(hashes[1], hashes[2]))
        return SPW_REPLAY_DIFFERS;
    return spw_hash_equal(hashes[0], hashes[1]) ? SPW_REPLAYABLE : SPW_REPLAY_HIDDEN_STATE;
}

/* The worst is what counts: results that differ explain everything else. */
static enum spw_replay_verdict worse(enum spw_replay_verdict a, enum spw_replay_verdict b)
{
    if (a == SPW_REPLAY_DIFFERS || b == SPW_REPLAY_DIFFERS)
        return SPW_REPLAY_DIFFERS;
    return a == SPW_REPLAYABLE ? b : a;
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

static void note_look(struct spw_probe *t, const struct exam *e, const struct seen *seen)
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
            spw_probe_kind_widened(&t->policy, e->lesson);
    }
    spw_probe_kind_observed(&t->policy, e->lesson, kind && kind->changed);
}

/* 1: taken note of; 0: not yet; negative: there will be no answer. */
static int read_exam(struct spw_probe *t, struct exam *e)
{
    const bool is_look = e->step == SPW_PROBE_OBSERVE;
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
        spw_probe_kind_replayed(&t->policy, e->lesson, verdict);
    if (!is_look && verdict == SPW_REPLAYABLE)
        spw_validation_note_tried_locked(e->function, &e->given);
    return 1;
}

static void poll(struct spw_probe *t, struct exam *e)
{
    const int r = e->step == SPW_PROBE_NOTHING || e == t->now ? 0 : read_exam(t, e);
    if (r > 0)
        end_exam(e);
    else if (r < 0)
        miss_exam(t, e);
}

void spw_probe_poll(struct spw_probe *t)
{
    for (unsigned i = 0; i < EXAMS; i++)
        poll(t, &t->exams[i]);
}

/* The same for the one whose answer says what is next for the kind. */
static void poll_kind(struct spw_probe *t, const struct spw_writeset *kind)
{
    for (unsigned i = 0; i < EXAMS; i++)
        if (t->exams[i].number == kind->number)
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

/* Another thread may be about to submit the launch that is being tried: what it touches lies there. */
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

bool spw_probe_give_up_scratch_locked(struct spw_probe *t)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    const bool goes = t->snapshot.scratch && !t->now;
    if (goes)
        leave_scratch(t);
    return goes;
}

/* ---- iterations ---- */

void spw_probe_begin(struct spw_probe *t, const struct spw_course *course, double iteration_us)
{
    t->wanted_bytes = spw_scratch_bytes_locked(t->device, course);
    t->denied = 0;
    spw_probe_policy_begin(&t->policy, iteration_us);
}

bool spw_probe_round_unlocking(struct spw_probe *t)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    spw_probe_poll(t);
    spw_probe_snapshot_reap_locked(&t->snapshot);
    const bool is_complete = spw_probe_policy_round(&t->policy);
    if (is_complete || !spw_probe_policy_wants_probes(&t->policy)) {
        leave_scratch(t);
    } else {
        if (spw_twins_have_variables)
            (void)spw_stash_ready_unlocking(t->device); /* or launches that need it are not tried yet */
        take_scratch(t);
    }
    return is_complete;
}

void spw_probe_end(struct spw_probe *t)
{
    leave_scratch(t);
}

/* ---- what a launch touches ---- */

static bool same_piece(const struct piece *p, const struct spw_block *b, const struct spw_slot *slot)
{
    return p->block == b && p->slot == slot;
}

/* Of what is pinned nobody says whether it was written: as if it were. */
static bool add_piece(struct exam *e, const struct spw_op *op, struct spw_block *b, struct spw_slot *slot, unsigned hit)
{
    const struct spw_versioned *content = spw_versioned_at_locked(op->hits[hit], NULL);
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
                                           .content = content && spw_version_is_fresh(content) ? FRESH : DEFINED,
                                           .hits = UINT64_C(1) << hit};
    return true;
}

/* What only one of several addresses in it says is not enough. */
static void find_constants(struct exam *e, const struct spw_op *op)
{
    const uint64_t constant = op->writeset ? op->writeset->declared.constant & ~op->writeset->writes : 0;
    for (uint32_t i = 0; i < e->count; i++)
        if (e->pieces[i].content == DEFINED && !(e->pieces[i].hits & ~(constant & bits_of(op->count - op->doubtful))))
            e->pieces[i].content = CONSTANT;
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
        if (!add_piece(e, op, slot ? NULL : spw_block_of(o), slot, i))
            return false;
    }
    find_constants(e, op);
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

static int ask(struct spw_probe *t, const struct spw_op *op, struct exam *e, unsigned which)
{
    int r = 0;
    for (uint32_t i = 0; i < e->count && r == 0; i++)
        r = spw_digest_ask_locked(t->device, op->stream->context, op->handle, e->pieces[i].address, e->pieces[i].bytes,
                                  &e->pieces[i].tickets[which]);
    return r;
}

/* What a launch puts aside takes so many bytes of scratch and host memory. */
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

/* Places for everything, in `room` bytes of scratch memory first: what is copied most often comes first. */
static struct places lay_out(struct exam *e, uint64_t room)
{
    struct places found = {0};
    for (uint32_t i = 0; i < e->count; i++)
        if (e->pieces[i].content == DEFINED)
            e->pieces[i].before = place(&found, room, e->pieces[i].bytes);
    for (uint32_t i = 0; i < e->count; i++)
        if (e->pieces[i].content != CONSTANT)
            e->pieces[i].kept = place(&found, room, e->pieces[i].bytes);
    return found;
}

static struct spw_object *object_of(const struct piece *p)
{
    return p->block ? &p->block->object : &p->slot->slab->object;
}

/* Behind all that any stream does with what the launch touches: it may be given an address by chance (scan.h) that is none
 * of its business. Copies out of what it only reads are over, too. */
static int follow_uses(const struct spw_probe *t, const struct spw_op *op, const struct exam *e)
{
    int r = 0;
    for (uint32_t i = 0; i < e->count && r == 0; i++) {
        struct spw_uses users = spw_users_of_locked(object_of(&e->pieces[i]));
        r = spw_uses_order_locked(&users, op->stream);
        if (r == 0 && e->pieces[i].block)
            r = spw_mover_order_locked(t->device, e->pieces[i].block, op->stream, true);
    }
    return r;
}

static int fill(const struct spw_op *op, const struct piece *p)
{
    return spw_result(SPW_ASK_QUIETLY(cuMemsetD8Async, p->address, PATTERN, p->bytes, op->handle));
}

/* Before the program's launch: its bytes are saved, and those that are undefined are known. */
static int save_before(struct spw_probe *t, const struct spw_op *op, const struct exam *e)
{
    int r = 0;
    for (uint32_t i = 0; i < e->count && r == 0; i++) {
        const struct piece *p = &e->pieces[i];
        if (p->content == FRESH)
            r = fill(op, p);
        else if (p->content == DEFINED)
            r = spw_probe_snapshot_save_locked(&t->snapshot, op->stream, p->before, p->address, p->bytes);
    }
    return r;
}

static int keep_all(struct spw_probe *t, const struct spw_op *op, const struct exam *e)
{
    int r = 0;
    for (uint32_t i = 0; i < e->count && r == 0; i++)
        if (e->pieces[i].content != CONSTANT)
            r = spw_probe_snapshot_save_locked(&t->snapshot, op->stream, e->pieces[i].kept, e->pieces[i].address,
                                               e->pieces[i].bytes);
    return r;
}

static int put_back_all(struct spw_probe *t, const struct spw_op *op, const struct exam *e)
{
    int worst = 0;
    for (uint32_t i = 0; i < e->count; i++) {
        int r = e->pieces[i].content == CONSTANT ? 0 : -EIO;
        for (unsigned attempt = 0; attempt < ATTEMPTS && r < 0; attempt++)
            r = spw_probe_snapshot_load_locked(&t->snapshot, op->stream, e->pieces[i].address, e->pieces[i].kept,
                                               e->pieces[i].bytes);
        worst = r < 0 ? r : worst;
    }
    return worst;
}

/* What the launch was shown by the program it is shown again: no kernel is to run on an index, an address or a flag that is
 * not the program's. */
static int restore(struct spw_probe *t, const struct spw_op *op, const struct exam *e)
{
    int r = 0;
    for (uint32_t i = 0; i < e->count && r == 0; i++) {
        const struct piece *p = &e->pieces[i];
        if (p->content == FRESH)
            r = fill(op, p);
        else if (p->content == DEFINED)
            r = spw_probe_snapshot_load_locked(&t->snapshot, op->stream, p->address, p->before, p->bytes);
    }
    return r;
}

static int run_again(struct spw_probe *t, const struct spw_op *op, struct exam *e)
{
    int r = spw_twin_order_locked(op->function, op->stream->context, op->stream);
    for (unsigned pass = 0; pass < PASSES && r == 0; pass++) {
        r = restore(t, op, e);
        if (r == 0)
            r = spw_recorded_op_submit_locked(op->recorded_op, op->stream);
        if (r == 0)
            r = ask(t, op, e, 1 + pass);
    }
    return r;
}

static void note_uses(struct spw_probe *t, const struct spw_op *op, const struct exam *e)
{
    const uint64_t number = spw_stream_next_locked(op->stream);
    for (uint32_t i = 0; i < e->count; i++)
        spw_uses_add_locked(&object_of(&e->pieces[i])->uses, op->stream, number);
    if (e->step == SPW_PROBE_REPLAY)
        spw_probe_snapshot_used_locked(&t->snapshot, op->stream, number);
}

/* Whatever other streams do next comes behind what was written here. */
static int be_followed(struct spw_probe *t, const struct spw_op *op)
{
    spw_uses_add_locked(&t->device->replays, op->stream, op->stream->begun);
    (void)spw_uses_mark_locked(&t->device->replays);
    return spw_streams_follow_locked(op->stream, spw_mover_users_locked(t->device));
}

/* ---- before and after ---- */

static void begin_exam(const struct spw_op *op, enum spw_probe_step step, uint32_t lesson, struct exam *e)
{
    e->step = step;
    e->lesson = lesson;
    e->function = op->function;
    e->places = op->kind->places;
    e->number = op->kind->number;
    e->number_count = spw_call_args_numbers(op->submission, e->numbers);
    e->hits = op->count - op->doubtful;
    e->doubted_count = op->doubtful < SPW_WRITESET_HITS ? op->doubtful : SPW_WRITESET_HITS;
    if (e->doubted_count)
        memcpy(e->doubted, op->submission->launch.doubted, e->doubted_count * sizeof(*e->doubted));
}

/* Time that copies to the host and back take. */
static double host_us(const struct spw_probe *t, uint64_t bytes)
{
    enum { COPIES = 3 };
    struct spw_bandwidth link;
    (void)spw_bandwidth_locked(t->device->ordinal, &link);
    return COPIES * (double)bytes / link.h2d_bytes_per_us;
}

/* Into scratch memory; or what has no room there into host memory, which takes longer. */
static struct places find_memory(struct spw_probe *t, struct exam *e, struct spw_probe_launch *launch)
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

/* What is filled may be another stream's: that stream comes behind it from here on, whatever becomes of the probe. */
static int prepare(struct spw_probe *t, const struct spw_op *op, const struct exam *e, uint64_t host_bytes)
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

bool spw_probe_before(struct spw_probe *t, struct spw_op *op, double us)
{
    uint32_t lesson;
    if (t->now || !op->kind)
        return false;
    poll_kind(t, op->kind);
    struct exam *e = free_exam(t);
    if (!e)
        return false;
    struct places places = {0};
    struct spw_probe_launch launch = {.kind = op->kind, .geometry = op->signature.geometry, .us = us};
    int r = list_pieces(e, t->device, op) ? 0 : -EINVAL;
    if (r == 0)
        places = find_memory(t, e, &launch);
    const enum spw_probe_step step = spw_probe_policy_next(&t->policy, &launch, &lesson);
    if (step == SPW_PROBE_NOTHING)
        return false;
    begin_exam(op, step, lesson, e);
    if (r == 0)
        r = step == SPW_PROBE_REPLAY ? prepare(t, op, e, places.host) : ask(t, op, e, 0);
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

/* 0: done; 1: not, but everything is as it was; negative: it could not be put back. */
static int look(struct spw_probe *t, const struct spw_op *op, struct exam *e)
{
    t->counts.looks++;
    return ask(t, op, e, 1) < 0 ? 1 : 0;
}

static int try_again(struct spw_probe *t, const struct spw_op *op, struct exam *e)
{
    if (!op->recorded_op || follow_uses(t, op, e) < 0 || ask(t, op, e, 0) < 0 || keep_all(t, op, e) < 0)
        return 1;
    t->counts.trials++;
    (void)spw_scalar_args_take(&e->given, op->recorded_op); /* or it was not seen to be right with them */
    const int r = run_again(t, op, e), back = put_back_all(t, op, e);
    if (back < 0)
        return back;
    const int following = be_followed(t, op);
    return following < 0 ? following : r < 0;
}

static void say_lost(const struct spw_op *op)
{
    char name[256];
    spw_warn(
        "%s was launched again to see whether it gives the same, and then the driver refused to copy what it touches back "
        "to its place: the program is told that the launch failed",
        spw_function_name(op->function, name, sizeof(name)));
}

CUresult spw_probe_after(struct spw_op *op, CUresult result)
{
    struct spw_probe *t = op->probe;
    spw_lock();
    struct exam *e = t->now;
    struct spw_context_guard guard;
    t->now = NULL;
    op->probe = NULL;
    if (result != CUDA_SUCCESS || !are_still_there(e) || spw_context_enter(&guard, NULL) < 0) {
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
