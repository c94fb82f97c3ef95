/* probe_session.c - follows the iterations that are learned from, and draws the conclusions. */
#include "probe_session.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
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

/* What an operation was like when it last came. */
struct fact {
    CUfunction function;
    uint64_t places; /* of a launch: with `number`, its class */
    uint32_t number, hits;
    uint64_t reads; /* bit per hit: the operation is known to only read there, as a copy's source or a library's input */
    uint64_t works; /* bit per hit: it is in the workspace of a library's call */
    uint64_t makes; /* of a copy or set: bit per hit that it overwrites completely */
    enum spw_replay_verdict refused; /* SPW_REPLAYABLE: only a probe could still speak against it */
    bool known;                      /* it has come */
};

struct spw_probe_session {
    struct spw_device *device;
    struct spw_probe *probe;
    enum spw_probe_session_state state;
    struct spw_course *course; /* NULL: IDLE or HEARING */
    uint64_t serial;           /* of the iteration that the course is of */
    struct fact *facts;        /* by operation */
    uint32_t fact_room, heard; /* HEARING: the number of operations that have come, in order */
    struct spw_probe_session_result result;
};

/* True if the drawing in probe_session.h has such an arrow. */
static bool is_allowed(enum spw_probe_session_state from, enum spw_probe_session_state to)
{
    enum {
        I = 1 << SPW_SESSION_IDLE,
        H = 1 << SPW_SESSION_HEARING,
        A = 1 << SPW_SESSION_AWAITING,
        L = 1 << SPW_SESSION_LOOKING,
        P = 1 << SPW_SESSION_PROBING,
        E = 1 << SPW_SESSION_PAUSED_EARLY,
        W = 1 << SPW_SESSION_PAUSED
    };
    static const unsigned from_which[] = {[SPW_SESSION_IDLE] = I | H | A | L | P | E | W,
                                          [SPW_SESSION_HEARING] = I | H,
                                          [SPW_SESSION_AWAITING] = I | E,
                                          [SPW_SESSION_LOOKING] = I | H | A | E,
                                          [SPW_SESSION_PROBING] = L | W,
                                          [SPW_SESSION_PAUSED_EARLY] = A | L,
                                          [SPW_SESSION_PAUSED] = P};
    return from_which[to] >> from & 1;
}

static bool holds(const struct spw_probe_session *session)
{
    if (session->state == SPW_SESSION_IDLE)
        return !session->course && !session->facts;
    return (session->state == SPW_SESSION_HEARING) == !session->course;
}

/* The only place where the state changes. */
static void enter(struct spw_probe_session *session, enum spw_probe_session_state state)
{
    SPW_ASSERT(is_allowed(session->state, state), "an arrow of the drawing in probe_session.h");
    session->state = state;
    SPW_ASSERT(holds(session), "what probe_session.h says of the state");
}

struct spw_probe_session *spw_probe_session_create(struct spw_device *d)
{
    struct spw_probe_session *session = calloc(1, sizeof(*session));
    if (!session)
        return NULL;
    session->device = d;
    session->probe = spw_probe_create(d);
    if (session->probe)
        return session;
    free(session);
    return NULL;
}

static void forget_course(struct spw_probe_session *session)
{
    free(session->facts);
    session->facts = NULL;
    session->fact_room = 0;
    session->course = NULL;
    enter(session, SPW_SESSION_IDLE);
}

void spw_probe_session_destroy(struct spw_probe_session *session)
{
    if (!session)
        return;
    forget_course(session);
    spw_probe_destroy(session->probe);
    free(session);
}

static void stop(struct spw_probe_session *session)
{
    spw_probe_end(session->probe);
    forget_course(session);
}

static double work_us(const struct spw_course *course)
{
    double us = 0;
    for (uint32_t i = 0; i < course->op_count; i++)
        us += course->ops[i].us > 0 ? course->ops[i].us : 0;
    return us;
}

static bool is_paused(const struct spw_probe_session *session)
{
    return session->state == SPW_SESSION_PAUSED_EARLY || session->state == SPW_SESSION_PAUSED;
}

int spw_probe_session_begin_locked(struct spw_probe_session *session, struct spw_course *course, uint64_t serial,
                                   bool begins_now)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    const enum spw_probe_session_state next = begins_now ? SPW_SESSION_LOOKING : SPW_SESSION_AWAITING;
    if (is_paused(session) && session->serial == serial) {
        spw_versions_keep_locked(true);
        if (session->state == SPW_SESSION_PAUSED)
            spw_probe_go_on(session->probe);
        enter(session, session->state == SPW_SESSION_PAUSED ? SPW_SESSION_PROBING : next);
        return 0;
    }
    if (session->course)
        stop(session);
    forget_course(session); /* what was heard, too */
    session->facts = calloc((size_t)course->op_count + 1, sizeof(*session->facts));
    if (!session->facts)
        return -ENOMEM;
    session->course = course;
    session->serial = serial;
    enter(session, next);
    spw_versions_keep_locked(true);
    return 0;
}

bool spw_probe_session_is_idle(const struct spw_probe_session *session)
{
    return !session->course;
}

bool spw_probe_session_is_about(const struct spw_probe_session *session, const struct spw_course *course)
{
    return session && !is_paused(session) && session->course == course && course;
}

void spw_probe_session_pause_locked(struct spw_probe_session *session)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    spw_probe_end(session->probe);
    enter(session, session->state == SPW_SESSION_PROBING ? SPW_SESSION_PAUSED : SPW_SESSION_PAUSED_EARLY);
}

/* ---- what an operation says of itself ---- */

static bool is_whole(CUdeviceptr address, uint64_t bytes)
{
    const struct spw_object *o = spw_object_at_locked(address);
    const struct spw_block *b = (const struct spw_block *)o;
    return o && o->kind == SPW_KIND_BLOCK && b->address == address && b->size_bytes == bytes;
}

/* Copies and sets write to their first hits. Those with a single destination show whether they cover all of it. */
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

void spw_probe_session_op_locked(struct spw_probe_session *session, struct spw_op *op, uint32_t ordinal)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    if (!session->course || ordinal >= session->course->op_count)
        return;
    const struct spw_course_op *o = &session->course->ops[ordinal];
    struct fact *f = &session->facts[ordinal];
    *f = fact_of(op);
    if (!op->function || !f->known || f->refused != SPW_REPLAYABLE || session->state != SPW_SESSION_PROBING)
        return;
    if (spw_probe_before(session->probe, op, o->us > 0 ? o->us : 0) && !op->wish)
        op->wish = ordinal + 1;
}

/* ---- while it is recorded ---- */

void spw_probe_session_hear_locked(struct spw_probe_session *session)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    if (session->course)
        return;
    enter(session, SPW_SESSION_HEARING);
    session->heard = 0;
    spw_versions_keep_locked(true);
}

bool spw_probe_session_is_hearing(const struct spw_probe_session *session)
{
    return session && session->state == SPW_SESSION_HEARING;
}

void spw_probe_session_hear_op_locked(struct spw_probe_session *session, const struct spw_op *op, uint32_t number)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    if (number != session->heard || SPW_GROW(session->facts, session->fact_room, number + 1) < 0) {
        forget_course(session);
        return;
    }
    session->facts[session->heard++] = fact_of(op);
}

void spw_probe_session_hear_no_more_locked(struct spw_probe_session *session)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    if (spw_probe_session_is_hearing(session))
        forget_course(session);
}

/* ---- conclusions ---- */

/* NULL: nothing is known of the launch any more. */
static struct spw_launch_class *class_of(const struct fact *f)
{
    struct spw_launch_class *class = f->number ? spw_launch_class_of_locked(f->function, f->places, f->hits) : NULL;
    return class && class->number == f->number ? class : NULL;
}

static enum spw_replay_verdict verdict_of(const struct spw_probe_session *session, const struct fact *f,
                                          const struct spw_launch_class *class)
{
    if (f->refused != SPW_REPLAYABLE)
        return f->refused;
    return f->function ? spw_probe_verdict_locked(class, session->device) : SPW_REPLAYABLE;
}

/* Returns how hit `i` is used. A launch is taken to update what it writes, however much of it it was seen to leave. */
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

static enum spw_replay_verdict conclude(struct spw_probe_session *session, uint32_t ordinal, uint8_t *access)
{
    const struct fact *f = &session->facts[ordinal];
    const struct spw_launch_class *class = class_of(f);
    const enum spw_replay_verdict verdict = f->known || f->hits ? verdict_of(session, f, class) : SPW_REPLAY_NOT_TRIED;
    const bool replayable = verdict == SPW_REPLAYABLE;
    const double us = session->course->ops[ordinal].us;
    session->result.count[verdict]++;
    session->result.us[verdict] += us > 0 ? us : 0;
    for (uint32_t i = 0; i < f->hits && f->known; i++)
        access[i] = access_of(f, class, i);
    if (f->known)
        (void)spw_course_learn(session->course, ordinal, access, f->hits,
                               replayable); /* with another number of hits the course stays as it was */
    return verdict;
}

static void say(const struct spw_probe_session *session)
{
    const struct spw_probe_session_result *r = &session->result;
    spw_info(
        "device %d: of %u operations in an iteration %u can be replayed (%.3f ms); %u were not tried, %u differ between "
        "runs, %u have hidden state, %u are of other kinds",
        session->device->ordinal, session->course->op_count, r->count[SPW_REPLAYABLE], r->us[SPW_REPLAYABLE] / 1000,
        r->count[SPW_REPLAY_NOT_TRIED], r->count[SPW_REPLAY_DIFFERS], r->count[SPW_REPLAY_HIDDEN_STATE],
        session->course->op_count - r->count[SPW_REPLAYABLE] - r->count[SPW_REPLAY_NOT_TRIED] -
            r->count[SPW_REPLAY_DIFFERS] - r->count[SPW_REPLAY_HIDDEN_STATE]);
}

/* Says for each kind of operation what becomes of it, and why. */
static void say_classes(const struct spw_probe_session *session)
{
    char name[256];
    for (uint32_t i = 0; spw_log_enabled(SPW_LOG_DEBUG) && i < session->course->op_count; i++) {
        const struct fact *f = &session->facts[i];
        bool is_first = f->function != NULL;
        for (uint32_t k = 0; k < i && is_first; k++)
            is_first = session->facts[k].function != f->function || session->facts[k].places != f->places;
        if (is_first)
            spw_debug("device %d: replay of %s: %s", session->device->ordinal,
                      spw_readable_name(f->function, name, sizeof(name)),
                      spw_replay_verdict_text(verdict_of(session, f, class_of(f))));
    }
}

static void conclude_all(struct spw_probe_session *session)
{
    uint32_t most = 0;
    memset(&session->result, 0, sizeof(session->result));
    for (uint32_t i = 0; i < session->course->op_count; i++)
        most = session->facts[i].hits > most ? session->facts[i].hits : most;
    uint8_t *access = calloc((size_t)most + 1, 1);
    struct spw_judged *judged = calloc((size_t)session->course->op_count + 1, sizeof(*judged));
    for (uint32_t i = 0; access && judged && i < session->course->op_count; i++)
        judged[i] = (struct spw_judged){session->facts[i].function, conclude(session, i, access)};
    say(session);
    say_classes(session);
    if (access && judged)
        spw_refusals_learned_locked(session->device, session->course, judged);
    free(access);
    free(judged);
}

static void finish(struct spw_probe_session *session)
{
    conclude_all(session);
    spw_launch_classes_note_locked();
    forget_course(session);
}

/* Adds what earlier runs have found out about each operation. Returns true if that is all there is. */
static bool recall_classes(struct spw_probe_session *session)
{
    bool all = true;
    for (uint32_t i = 0; i < session->course->op_count; i++) {
        const struct fact *f = &session->facts[i];
        struct spw_launch_class *class = class_of(f);
        const struct spw_probed *it = class ? spw_probed_of_locked(class, session->device) : NULL;
        all &= !f->function || f->refused != SPW_REPLAYABLE || (it && spw_probed_is_complete(it));
    }
    return all;
}

enum spw_probe_session_answer spw_probe_session_heard_locked(struct spw_probe_session *session, struct spw_course *course,
                                                             uint64_t serial)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    if (session->state != SPW_SESSION_HEARING || session->heard != course->op_count) {
        spw_probe_session_hear_no_more_locked(session);
        return SPW_PROBE_SESSION_GOES_ON;
    }
    session->course = course;
    session->serial = serial;
    enter(session, SPW_SESSION_LOOKING);
    return spw_probe_session_recall_locked(session);
}

enum spw_probe_session_answer spw_probe_session_recall_locked(struct spw_probe_session *session)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    const bool has_come = session->state == SPW_SESSION_LOOKING || session->state == SPW_SESSION_PROBING;
    if (!has_come || !spw_kernel_profile_is_there_locked())
        return SPW_PROBE_SESSION_GOES_ON;
    if (recall_classes(session)) {
        finish(session);
        return SPW_PROBE_SESSION_LEARNED;
    }
    conclude_all(session);
    return SPW_PROBE_SESSION_RECALLED;
}

/* Learning may begin anywhere in an iteration, and the first whole one is only observed: nothing is probed before all
 * operations have come. */
bool spw_probe_session_iteration_unlocking(struct spw_probe_session *session)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    if (session->state == SPW_SESSION_AWAITING) {
        enter(session, SPW_SESSION_LOOKING);
        return false;
    }
    if (session->state == SPW_SESSION_LOOKING) {
        spw_probe_begin(session->probe, session->course, work_us(session->course));
        enter(session, SPW_SESSION_PROBING);
    }
    if (session->state != SPW_SESSION_PROBING || !spw_probe_iteration_unlocking(session->probe))
        return false;
    finish(session);
    return true;
}

int spw_probe_session_give_room_locked(struct spw_probe_session *session)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    return session ? spw_probe_give_up_scratch_locked(session->probe) : 0;
}

int spw_probe_session_give_host_memory_locked(struct spw_probe_session *session)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    return session ? spw_probe_give_up_host_memory_locked(session->probe) : 0;
}

struct spw_probe_session_result spw_probe_session_result_locked(const struct spw_probe_session *session)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    struct spw_probe_session_result result = session->result;
    const struct spw_probe_counts counts = spw_probe_counts_of(session->probe);
    result.looks = counts.looks;
    result.trials = counts.trials;
    result.failures = counts.failures;
    return result;
}
