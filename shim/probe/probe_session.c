/* probe_session.c - goes along with the iterations that are learned from, and draws the conclusions. */
#include "probe_session.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "versions.h"
#include "log.h"
#include "refusals.h"
#include "recorded_op.h"
#include "call_args.h"
#include "grow.h"
#include "kernel_profile.h"
#include "probe.h"
#include "readable.h"
#include "launch_class.h"

/* What an operation was like when it came last. */
struct fact {
    CUfunction function;
    uint64_t places; /* of a launch: its class */
    uint32_t number, hits;
    uint64_t reads; /* bit per hit: it is told to only read there, as a copy's source or a library's input */
    uint64_t works; /* bit per hit: it is in the workspace of a library's call */
    uint64_t makes; /* of a copy or set: bit per hit; what it writes it overwrites completely, or reads as well */
    enum spw_replay_verdict refused; /* SPW_REPLAYABLE: nothing is against it but what a probe may say */
    bool known;                      /* it came */
};

struct spw_probe_session {
    struct spw_device *device;
    struct spw_probe *probe;
    struct spw_course *course; /* NULL: nothing is being learned */
    uint64_t serial;           /* of the iteration whose course it is */
    bool is_paused;            /* the course may be gone by now */
    struct fact *facts;        /* by operation */
    uint32_t fact_room;        /* while hearing: so many, of which `heard` were told of, in their order */
    uint32_t heard;
    bool is_hearing;
    bool is_begun;
    bool is_probing;
    bool is_seen; /* all operations have come */
    struct spw_probe_session_result result;
};

struct spw_probe_session *spw_probe_session_create(struct spw_device *d)
{
    struct spw_probe_session *l = calloc(1, sizeof(*l));
    if (!l)
        return NULL;
    l->device = d;
    l->probe = spw_probe_create(d);
    if (l->probe)
        return l;
    free(l);
    return NULL;
}

static void forget_course(struct spw_probe_session *l)
{
    free(l->facts);
    l->facts = NULL;
    l->fact_room = 0;
    l->is_hearing = false;
    l->course = NULL;
}

void spw_probe_session_destroy(struct spw_probe_session *l)
{
    if (!l)
        return;
    forget_course(l);
    spw_probe_destroy(l->probe);
    free(l);
}

static void stop(struct spw_probe_session *l)
{
    spw_probe_end(l->probe);
    forget_course(l);
}

static double work_us(const struct spw_course *course)
{
    double us = 0;
    for (uint32_t i = 0; i < course->op_count; i++)
        us += course->ops[i].us > 0 ? course->ops[i].us : 0;
    return us;
}

int spw_probe_session_begin_locked(struct spw_probe_session *l, struct spw_course *course, uint64_t serial, bool begins_now)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    const bool goes_on = l->course && l->is_paused && l->serial == serial;
    l->is_paused = false;
    if (goes_on) {
        spw_versions_keep_locked(true);
        if (l->is_probing)
            spw_probe_go_on(l->probe);
        else
            l->is_begun = begins_now;
        return 0;
    }
    if (l->course)
        stop(l);
    forget_course(l); /* what was heard, too */
    l->facts = calloc((size_t)course->op_count + 1, sizeof(*l->facts));
    if (!l->facts)
        return -ENOMEM;
    l->course = course;
    l->serial = serial;
    l->is_begun = begins_now;
    l->is_seen = l->is_probing = false;
    spw_versions_keep_locked(true);
    return 0;
}

bool spw_probe_session_is_idle(const struct spw_probe_session *l)
{
    return !l->course;
}

bool spw_probe_session_is_about(const struct spw_probe_session *l, const struct spw_course *course)
{
    return l && !l->is_paused && l->course == course && course;
}

void spw_probe_session_pause_locked(struct spw_probe_session *l)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    spw_probe_end(l->probe);
    l->is_paused = true;
}

/* ---- what an operation says of itself ---- */

static bool is_whole(CUdeviceptr address, uint64_t bytes)
{
    const struct spw_object *o = spw_object_at_locked(address);
    const struct spw_block *b = (const struct spw_block *)o;
    return o && o->kind == SPW_KIND_BLOCK && b->address == address && b->size_bytes == bytes;
}

/* Copies and sets write to their first hits; one with a single end there says whether it covers all of it. */
static uint64_t made_by_copy(const struct spw_op *op)
{
    const struct spw_call_args *s = op->submission;
    if (!s || op->count - op->read_only != 1)
        return 0;
    if (s->kind == SPW_SUBMIT_COPY)
        return is_whole(s->copy.to, s->copy.bytes);
    return s->kind == SPW_SUBMIT_SET && s->set.rows == 1 && is_whole(s->set.to, s->set.width * s->set.element_bytes);
}

static uint64_t bits(unsigned count)
{
    return count >= 64 ? UINT64_MAX : (UINT64_C(1) << count) - 1;
}

static struct fact fact_of(const struct spw_op *op)
{
    struct fact f = {.function = op->function,
                     .places = op->class ? op->class->places : 0,
                     .number = op->class ? op->class->number : 0,
                     .hits = op->count - op->doubtful,
                     .reads = op->inputs,
                     .works = op->scratch,
                     .refused = spw_recorded_op_verdict(op),
                     .known = !op->everything && op->reached == op->count};
    if (op->function)
        return f;
    f.reads = bits(op->count) & ~bits(op->count - op->read_only);
    f.makes = made_by_copy(op);
    return f;
}

void spw_probe_session_op_locked(struct spw_probe_session *l, struct spw_op *op, uint32_t ordinal)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    if (!l->course || ordinal >= l->course->op_count)
        return;
    const struct spw_course_op *o = &l->course->ops[ordinal];
    struct fact *f = &l->facts[ordinal];
    *f = fact_of(op);
    if (!op->function || !f->known || f->refused != SPW_REPLAYABLE || !l->is_seen)
        return;
    if (spw_probe_before(l->probe, op, o->us > 0 ? o->us : 0) && !op->wish)
        op->wish = ordinal + 1;
}

/* ---- while it is recorded ---- */

void spw_probe_session_hear_locked(struct spw_probe_session *l)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    if (l->course)
        return;
    l->is_hearing = true;
    l->heard = 0;
    spw_versions_keep_locked(true);
}

bool spw_probe_session_is_hearing(const struct spw_probe_session *l)
{
    return l && l->is_hearing;
}

void spw_probe_session_hear_op_locked(struct spw_probe_session *l, const struct spw_op *op, uint32_t number)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    if (number != l->heard || SPW_GROW(l->facts, l->fact_room, number + 1) < 0) {
        forget_course(l);
        return;
    }
    l->facts[l->heard++] = fact_of(op);
}

void spw_probe_session_hear_no_more_locked(struct spw_probe_session *l)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    if (spw_probe_session_is_hearing(l))
        forget_course(l);
}

/* ---- conclusions ---- */

/* NULL: nothing is known of the launch by now. */
static struct spw_launch_class *class_of(const struct fact *f)
{
    struct spw_launch_class *class = f->number ? spw_launch_class_of_locked(f->function, f->places, f->hits) : NULL;
    return class && class->number == f->number ? class : NULL;
}

static enum spw_replay_verdict verdict_of(const struct spw_probe_session *l, const struct fact *f,
                                          const struct spw_launch_class *class)
{
    if (f->refused != SPW_REPLAYABLE)
        return f->refused;
    return f->function ? spw_probe_verdict_locked(class, l->device) : SPW_REPLAYABLE;
}

/* How hit `i` is used. What a launch writes it is taken to update, whatever it was seen to leave of it. */
static uint8_t access_of(const struct fact *f, const struct spw_launch_class *class, unsigned i)
{
    const bool is_launch = f->function != NULL, makes = !is_launch && i < 64 && f->makes >> i & 1;
    if (i < 64 && f->works >> i & 1)
        return SPW_COURSE_SCRATCH;
    if (i < 64 && f->reads >> i & 1)
        return SPW_COURSE_READS;
    if (is_launch && !spw_launch_class_writes(class, i))
        return spw_launch_class_is_constant(class, i) ? SPW_COURSE_READS : SPW_COURSE_READS | SPW_COURSE_BELIEVED;
    return makes ? SPW_COURSE_WRITES : SPW_COURSE_READS | SPW_COURSE_WRITES;
}

static enum spw_replay_verdict conclude(struct spw_probe_session *l, uint32_t ordinal, uint8_t *access)
{
    const struct fact *f = &l->facts[ordinal];
    const struct spw_launch_class *class = class_of(f);
    const enum spw_replay_verdict verdict = f->known || f->hits ? verdict_of(l, f, class) : SPW_REPLAY_NOT_TRIED;
    const bool replayable = verdict == SPW_REPLAYABLE;
    const double us = l->course->ops[ordinal].us;
    l->result.count[verdict]++;
    l->result.us[verdict] += us > 0 ? us : 0;
    for (uint32_t i = 0; i < f->hits && f->known; i++)
        access[i] = access_of(f, class, i);
    if (f->known)
        (void)spw_course_learn(l->course, ordinal, access, f->hits, replayable); /* another number of hits: as it was */
    return verdict;
}

static void say(const struct spw_probe_session *l)
{
    const struct spw_probe_session_result *r = &l->result;
    spw_info(
        "device %d: of %u operations in an iteration %u can be replayed (%.3f ms); %u were not tried, %u differ between "
        "runs, %u have hidden state, %u are of other kinds",
        l->device->ordinal, l->course->op_count, r->count[SPW_REPLAYABLE], r->us[SPW_REPLAYABLE] / 1000,
        r->count[SPW_REPLAY_NOT_TRIED], r->count[SPW_REPLAY_DIFFERS], r->count[SPW_REPLAY_HIDDEN_STATE],
        l->course->op_count - r->count[SPW_REPLAYABLE] - r->count[SPW_REPLAY_NOT_TRIED] - r->count[SPW_REPLAY_DIFFERS] -
            r->count[SPW_REPLAY_HIDDEN_STATE]);
}

/* Each kind of operation once: what becomes of it, and why. */
static void say_classes(const struct spw_probe_session *l)
{
    char name[256];
    for (uint32_t i = 0; spw_log_enabled(SPW_LOG_DEBUG) && i < l->course->op_count; i++) {
        const struct fact *f = &l->facts[i];
        bool is_first = f->function != NULL;
        for (uint32_t k = 0; k < i && is_first; k++)
            is_first = l->facts[k].function != f->function || l->facts[k].places != f->places;
        if (is_first)
            spw_debug("device %d: replay of %s: %s", l->device->ordinal, spw_readable_name(f->function, name, sizeof(name)),
                      spw_replay_verdict_text(verdict_of(l, f, class_of(f))));
    }
}

static void conclude_all(struct spw_probe_session *l)
{
    uint32_t most = 0;
    memset(&l->result, 0, sizeof(l->result));
    for (uint32_t i = 0; i < l->course->op_count; i++)
        most = l->facts[i].hits > most ? l->facts[i].hits : most;
    uint8_t *access = calloc((size_t)most + 1, 1);
    struct spw_judged *judged = calloc((size_t)l->course->op_count + 1, sizeof(*judged));
    for (uint32_t i = 0; access && judged && i < l->course->op_count; i++)
        judged[i] = (struct spw_judged){l->facts[i].function, conclude(l, i, access)};
    say(l);
    say_classes(l);
    if (access && judged)
        spw_refusals_learned_locked(l->device, l->course, judged);
    free(access);
    free(judged);
}

static void finish(struct spw_probe_session *l)
{
    conclude_all(l);
    spw_launch_classes_note_locked();
    forget_course(l);
}

/* What earlier runs have found out of each operation is known from here on. True: that is all there is. */
static bool recall_classes(struct spw_probe_session *l)
{
    bool all = true;
    for (uint32_t i = 0; i < l->course->op_count; i++) {
        const struct fact *f = &l->facts[i];
        struct spw_launch_class *class = class_of(f);
        const struct spw_probed *it = class ? spw_probed_of_locked(class, l->device) : NULL;
        all &= !f->function || f->refused != SPW_REPLAYABLE || (it && spw_probed_is_complete(it));
    }
    return all;
}

enum spw_probe_session_answer spw_probe_session_heard_locked(struct spw_probe_session *l, struct spw_course *course,
                                                             uint64_t serial)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    if (!l->is_hearing || l->heard != course->op_count) {
        spw_probe_session_hear_no_more_locked(l);
        return SPW_PROBE_SESSION_GOES_ON;
    }
    l->is_hearing = false;
    l->is_paused = l->is_seen = l->is_probing = false;
    l->is_begun = true;
    l->course = course;
    l->serial = serial;
    return spw_probe_session_recall_locked(l);
}

enum spw_probe_session_answer spw_probe_session_recall_locked(struct spw_probe_session *l)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    if (!l->is_begun || !spw_kernel_profile_is_there_locked())
        return SPW_PROBE_SESSION_GOES_ON;
    if (recall_classes(l)) {
        finish(l);
        return SPW_PROBE_SESSION_LEARNED;
    }
    conclude_all(l);
    return SPW_PROBE_SESSION_RECALLED;
}

/* What is learned from begins anywhere in an iteration, and the first whole one is only looked at: nothing is probed before
 * all operations have come. */
bool spw_probe_session_iteration_unlocking(struct spw_probe_session *l)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    const bool is_first = !l->is_begun;
    l->is_begun = true;
    if (!l->course || is_first)
        return false;
    if (!l->is_probing)
        spw_probe_begin(l->probe, l->course, work_us(l->course));
    l->is_seen = l->is_probing = true;
    if (!spw_probe_iteration_unlocking(l->probe))
        return false;
    finish(l);
    return true;
}

int spw_probe_session_give_room_locked(struct spw_probe_session *l)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    return l ? spw_probe_give_up_scratch_locked(l->probe) : 0;
}

int spw_probe_session_give_host_memory_locked(struct spw_probe_session *l)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    return l ? spw_probe_give_up_host_memory_locked(l->probe) : 0;
}

struct spw_probe_session_result spw_probe_session_result_locked(const struct spw_probe_session *l)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    struct spw_probe_session_result result = l->result;
    const struct spw_probe_counts counts = spw_probe_counts_of(l->probe);
    result.looks = counts.looks;
    result.trials = counts.trials;
    result.failures = counts.failures;
    return result;
}
