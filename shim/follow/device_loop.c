/* device_loop.c - handles the boundaries of iterations: going on with the next one, leaving the course, entering
 * another. */
#include "device_loop.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "beginning.h"
#include "check.h"
#include "transfers.h"
#include "context.h"
#include "digest.h"
#include "own_memory.h"
#include "op.h"
#include "kernel_profile.h"
#include "log.h"
#include "mover.h"
#include "dependents.h"
#include "plan_stats.h"
#include "kept_ops.h"
#include "scratch.h"
#include "settings.h"
#include "spot_checks.h"
#include "branches.h"
#include "deferred_unmap.h"
#include "steptime.h"

enum {
    CONFIRMED = 16,       /* iterations in a row after which one is taken for the whole */
    PROBED_AFTER = 2,     /* iterations in a row before its launches are probed; */
    PROBED_AFTER_ALL = 6, /* or in all, if other iterations come in between */
    MOST = 8,             /* nearly all: one part in so many of the bytes may differ */
};

static const double AS_FAST = 1.005; /* times what the operations take by themselves */

void spw_device_loop_lack_memory(const struct spw_device *d, const char *what)
{
    static int warned;
    spw_warn_once(&warned,
                  "device %d: the host has no memory left %s: eviction on demand goes on meanwhile" SPW_SEE("host-memory"),
                  d->ordinal, what);
}

int spw_device_loop_create(struct spw_device *d, struct spw_device_loop **ret_loop)
{
    struct spw_device_loop *p = calloc(1, sizeof(*p));
    if (!p || spw_known_iterations_init(&p->known, d) < 0) {
        free(p);
        return -ENOMEM;
    }
    spw_plan_executor_init(&p->on, d);
    *ret_loop = p;
    return 0;
}

/* ---- on the course, and off it ---- */

/* The only place where the state changes. An iteration that was followed for long is observed less closely. If for as long
 * no wait took too long, memory may change hands before it is out of use: its next owner is ordered after that. */
static void enter(struct spw_device_loop *p, enum spw_device_state state)
{
    const bool is_confirmed = state == SPW_DEVICE_CONFIRMED;
    SPW_ASSERT((state == SPW_DEVICE_WATCHED) == !p->on.now, "a device is on a course, or watched");
    p->state = state;
    if (state == SPW_DEVICE_WATCHED)
        return; /* leave_course() has seen to the rest */
    spw_plan_executor_look_closer(&p->on, !is_confirmed);
    spw_unmap_allow_deferral_locked(p->on.device, is_confirmed && p->prompt >= CONFIRMED);
}

static enum spw_device_state trusted(const struct spw_tuned_iteration *tuned)
{
    return tuned->in_a_row >= CONFIRMED ? SPW_DEVICE_CONFIRMED : SPW_DEVICE_FOLLOWING;
}

/* Takes what the session found out: it has added to the course what earlier runs know of its kernels, if they know
 * anything. */
static void take_answer(struct spw_device_loop *p, struct spw_tuned_iteration *tuned, enum spw_probe_session_answer answer)
{
    if (answer == SPW_PROBE_SESSION_GOES_ON)
        return;
    tuned->is_recalled = true;
    tuned->is_learned |= answer == SPW_PROBE_SESSION_LEARNED;
    if (tuned->state == SPW_TUNING_UNPLANNED)
        tuned->may_replay = true; /* its first plan will use that */
    else
        spw_tuning_learned(tuned, true);
}

/* If earlier runs have left something, lets the session listen to the first iteration of a course; recall() takes the
 * result. */
static void listen(struct spw_device_loop *p, const struct spw_tuned_iteration *tuned)
{
    if (!spw_settings_get()->recompute || tuned->is_learned || tuned->is_recalled || !spw_kernel_profile_is_there_locked() ||
        (p->session && !spw_probe_session_is_idle(p->session)))
        return;
    if (!p->session)
        p->session = spw_probe_session_create(p->on.device);
    if (p->session)
        (void)spw_probe_session_begin_locked(p->session, tuned->course, tuned->serial, true);
}

/* The same for the iteration that is being recorded. */
static void listen_to_recording(struct spw_device_loop *p)
{
    if (!spw_settings_get()->recompute || !spw_kernel_profile_is_there_locked() ||
        (p->session && !spw_probe_session_is_idle(p->session)))
        return;
    if (!p->session)
        p->session = spw_probe_session_create(p->on.device);
    if (p->session)
        spw_probe_session_hear_locked(p->session);
    p->began |= spw_probe_session_is_hearing(p->session);
}

/* Its first operation is the next. Returns 0 or -ENOMEM. */
static int enter_course(struct spw_device_loop *p, struct spw_tuned_iteration *tuned)
{
    const int r = spw_plan_executor_enter_locked(&p->on, tuned);
    if (r == 0)
        listen(p, tuned);
    if (r == 0)
        enter(p, spw_plan_executor_is_there(&p->on) ? trusted(tuned) : SPW_DEVICE_FOLLOWING);
    if (r == -ENOMEM)
        spw_device_loop_lack_memory(p->on.device, "to follow an iteration");
    return r;
}

static void leave_course(struct spw_device_loop *p)
{
    if (p->on.now && spw_probe_session_is_about(p->session, p->on.now->course))
        spw_probe_session_pause_locked(p->session);
    spw_throttle_restart_locked(&p->pace);
    spw_unmap_allow_deferral_locked(p->on.device, false);
    spw_plan_executor_leave_locked(&p->on);
    enter(p, SPW_DEVICE_WATCHED);
}

void spw_device_loop_destroy(struct spw_device_loop *p)
{
    leave_course(p);
    spw_known_iterations_finish(&p->known);
    spw_probe_session_destroy(p->session);
    free(p);
}

/* ---- a boundary ---- */

/* Takes what was recorded, once something happens after its last operation. */
static void finish_recording(struct spw_device_loop *p)
{
    bool lacks;
    struct spw_tuned_iteration *tuned = spw_known_iterations_take_locked(&p->known, p->on.now, &lacks);
    if (lacks)
        spw_device_loop_lack_memory(p->on.device, "for a plan");
    if (!tuned || p->state != SPW_DEVICE_WATCHED) {
        spw_probe_session_hear_no_more_locked(p->session);
        return;
    }
    if (spw_probe_session_is_hearing(p->session))
        take_answer(p, tuned, spw_probe_session_heard_locked(p->session, tuned->course, tuned->serial));
    spw_known_iterations_plan_remembered_locked(&p->known);
    p->began |= enter_course(p, tuned) == 0;
    if (!p->on.now && spw_probe_session_is_about(p->session, tuned->course))
        spw_probe_session_pause_locked(p->session);
}

/* Plans the recorded iteration, once the device has done all of it too and its durations are known. */
static void await_durations(struct spw_device_loop *p)
{
    const struct spw_tuned_iteration *tuned = spw_known_iterations_timed_locked(&p->known);
    if (!tuned || p->on.now != tuned)
        return;
    spw_plan_executor_take_up_plan(&p->on);
    if (tuned->number)
        spw_steptime_broken_locked(p->on.device->ordinal); /* this iteration began on demand and ends by plan */
}

/* The next iteration of the course begins. */
static void rewind_course(struct spw_device_loop *p, bool catches_up)
{
    if (catches_up)
        spw_observer_catch_up_and_rewind(p->known.watch, &p->on.place.cursor);
    else
        spw_cursor_rewind(&p->on.place.cursor);
    spw_plan_executor_rewind_locked(&p->on);
}

/* Another operation came than the course expects: leaves the course. */
static void lose(struct spw_device_loop *p)
{
    const bool was_guessed = p->on.now->beginning.is_guessed;
    const bool is_soon = spw_beginning_left(&p->on);
    spw_plan_follower_lost_locked(p->on.device, !was_guessed || !is_soon);
    p->on.now->in_a_row = 0;
    p->left = p->left ? p->left : p->on.now->id;
    if (!spw_device_loop_is_observing(p))
        spw_observer_catch_up(p->known.watch, &p->on.place.cursor);
    spw_debug("device %d: off the course at operation %u of %u", p->on.device->ordinal, p->on.place.cursor.op,
              p->on.now->course->op_count);
    leave_course(p);
}

/* Leaves the course at the beginning of an iteration, and forgets it. */
static void give_up(struct spw_device_loop *p, const char *why)
{
    struct spw_tuned_iteration *tuned = p->on.now;
    lose(p);
    spw_known_iterations_forget_locked(&p->known, tuned, why);
}

/* True if the same operations work on tensors of other sizes (another batch): another iteration, which the detector has to
 * see. */
static bool is_another(const struct spw_device_loop *p)
{
    return p->on.strange_bytes > p->on.made_bytes / MOST;
}

/* The iteration is complete. How many came in a row decides how far the next one is trusted. */
static void count_iteration(struct spw_device_loop *p)
{
    struct spw_tuned_iteration *tuned = p->on.now;
    tuned->last_used = ++p->known.clock;
    tuned->followed++;
    spw_beginning_proved(&p->known.iterations, tuned, p->left);
    p->left = 0;
    p->prompt = p->waits_in_vain == spw_waits_in_vain ? p->prompt + 1 : 0;
    p->waits_in_vain = spw_waits_in_vain;
    tuned->in_a_row = is_another(p) || p->on.has_branched ? 0 : tuned->in_a_row + 1;
    p->on.strange_bytes = 0;
    enter(p, trusted(tuned));
}

/* Begins the next iteration by the plan in force; `before` is the plan of the last one. */
static void begin_by_plan(struct spw_device_loop *p, const struct spw_course_plan *before, bool all_done)
{
    if (before != p->on.now->plan)
        p->on.kept = NULL;
    p->on.conforms = all_done && before == p->on.now->plan;
    p->began = true;
    if (p->on.now->number)
        (void)spw_mover_out_after_in_locked(p->on.device);
}

/* When the first iteration of a course is complete, plans with what earlier runs know of its kernels. */
static void recall(struct spw_device_loop *p)
{
    struct spw_tuned_iteration *tuned = p->on.now;
    if (tuned->is_recalled || !spw_probe_session_is_about(p->session, tuned->course))
        return;
    tuned->is_recalled = true;
    take_answer(p, tuned, spw_probe_session_recall_locked(p->session));
}

/* Makes the device ready for the next iteration, in steps that make use of those before. Returns false if it was given
 * up. */
static bool next_iteration(struct spw_device_loop *p)
{
    /* 1. Note what the iteration was, before anything changes. The plan is for comparison only: step 5 may end it. */
    const struct spw_course_plan *before = p->on.now->plan;
    const bool all_done = spw_plan_executor_is_done(&p->on) && !p->on.has_branched,
               was_observing = spw_device_loop_is_observing(p),
               is_learning = spw_probe_session_is_about(p->session, p->on.now->course),
               was_there = spw_plan_executor_is_there(&p->on);
    spw_spot_check_next_iteration_locked();

    /* 2. Count it, which decides whether the detector is told of the next one. */
    count_iteration(p);

    /* 3. A recording would miss what is not told from here on. */
    if (!spw_device_loop_is_observing(p) && spw_known_iterations_is_recording(&p->known))
        spw_known_iterations_stop_recording_locked(&p->known);

    /* 4. Take what earlier runs know of its kernels, now that each has come. */
    recall(p);

    /* 5. Take the plan for the next one. An iteration in which launches were probed does not show how long a step takes. */
    const bool is_as_it_was = spw_tuning_improve(p->on.device, p->on.now, !is_learning);

    /* 6. Go back to the beginning, with the actions of that plan. If the detector was told of nothing, it is told that now,
     * since it will be told of the rest. */
    rewind_course(p, spw_device_loop_is_observing(p) && !was_observing);

    /* 7. Find out whether the course can go on. While operations are told, missing tensors are looked for in them; else the
     * tensors have to be there under their new numbers. */
    if (!is_as_it_was || !(was_observing ? was_there : spw_plan_executor_is_there(&p->on))) {
        give_up(p, is_as_it_was ? "work on other tensors than they did" : "take another time than they did");
        return false;
    }

    /* 8. Begin: with the plan's copies, and with its time. */
    begin_by_plan(p, before, all_done);
    spw_plan_follower_begins_locked(p->on.device, p->on.stream, p->on.now->id, p->on.now->number);
    if (is_learning)
        spw_steptime_broken_locked(p->on.device->ordinal); /* it takes longer than later ones will */
    return true;
}

/* Lets the device follow the course of a known iteration. The one followed so far, if any, may be a part of it, or the same
 * operations on tensors of other sizes: it is followed until the other has a plan, or while only it has one itself. */
static bool take_up(struct spw_device_loop *p, struct spw_tuned_iteration *tuned)
{
    (void)spw_tuning_improve(p->on.device, tuned, false);
    const bool is_nearer = p->on.now && spw_branch_is_nearer(p->on.now->course, tuned, p->ended_in_a_row);
    const bool is_better = is_nearer && (tuned->plan->predicted_us < INFINITY || !p->on.now->number);
    if (p->on.now && !is_better)
        return false;
    leave_course(p);
    tuned->last_used = p->known.clock;
    if (enter_course(p, tuned) < 0)
        return false;
    spw_plan_follower_begins_locked(p->on.device, p->on.stream, tuned->id, tuned->number);
    p->began = true;
    return true;
}

/* The detector has seen the last operation of an iteration that it knows. */
static void learn(struct spw_device_loop *p)
{
    const uint32_t ended = p->known.ended_shape;
    const bool is_sure = p->known.ended_surely;
    p->ended_in_a_row = ended == p->ended ? p->ended_in_a_row + 1 : 1;
    p->ended = ended;
    if (!p->on.now)
        p->known.clock++;
    struct spw_tuned_iteration *tuned = spw_known_iterations_boundary(&p->known);
    if (p->known.state == SPW_KNOWN_RECORDING)
        listen_to_recording(p);
    const bool may_be = tuned && (is_sure || !spw_beginning_is_doubted(tuned));
    const bool is_taken_up = may_be && tuned != p->on.now && take_up(p, tuned);
    if (is_taken_up && !is_sure && tuned->beginning.is_known)
        tuned->beginning.is_guessed = true;
    if (!is_taken_up && !p->on.now)
        spw_plan_follower_begins_locked(p->on.device, p->on.stream, ended, 0);
}

void spw_device_loop_settle_locked(struct spw_device_loop *p)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    if (spw_plan_executor_is_complete(&p->on))
        (void)next_iteration(p);
    if (p->known.ended)
        learn(p);
    if (p->known.state == SPW_KNOWN_RECORDED)
        finish_recording(p);
}

void spw_device_loop_context_gone_locked(struct spw_device_loop *p, CUcontext context)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    spw_device_loop_settle_locked(p);
    if (spw_plan_executor_works_in_locked(&p->on, context))
        lose(p);
}

/* ---- what the engine tells ---- */

void spw_device_loop_observe_locked(struct spw_device_loop *p, struct spw_op *op, struct spw_object *const *objects,
                                    unsigned count)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    if (spw_known_iterations_observe_locked(&p->known, op, objects, count) < 0)
        spw_device_loop_lack_memory(p->on.device, "to record an iteration");
    if (!spw_probe_session_is_hearing(p->session))
        return;
    if (spw_known_iterations_is_recording(&p->known) && p->known.recorded != SPW_NO_INDEX)
        spw_probe_session_hear_op_locked(p->session, op, p->known.recorded);
    else
        spw_probe_session_hear_no_more_locked(p->session);
}

/* Leaves a course whose iteration works on other tensors, so that the plan would move the wrong ones, or was broken off. As
 * it begins again when its turn comes, this does not count against guesses. */
static void lose_turn(struct spw_device_loop *p)
{
    struct spw_beginning *beginning = &p->on.now->beginning;
    const unsigned misses = beginning->misses;
    lose(p);
    beginning->misses = misses;
}

/* The operation is the expected one. */
static void follow_expected(struct spw_device_loop *p, struct spw_op *op)
{
    const uint32_t operation = p->on.place.cursor.op - 1;
    if (spw_device_loop_is_observing(p) && !spw_plan_executor_is_in_turn(&p->on, op, operation)) {
        lose_turn(p);
        return;
    }
    spw_branch_end(&p->on, op, operation);
    if (spw_device_loop_is_observing(p))
        spw_plan_executor_find_missing(&p->on, op, operation);
    else
        op->stream->calm = spw_place_is_calm(&p->on.place);
    if (spw_plan_executor_keeps(&p->on, operation))
        spw_kept_ops_wish_locked(op, operation);
    if (spw_probe_session_is_about(p->session, p->on.now->course))
        spw_probe_session_op_locked(p->session, op, operation);
}

/* After a lost course and something else, such as an evaluation, begins the known iteration that this operation begins. */
static bool begin_anew(struct spw_device_loop *p, struct spw_op *op, uint64_t key)
{
    struct spw_tuned_iteration *tuned = spw_beginning_find(&p->known.iterations, p->left, key, p->on.device->live_bytes);
    if (!tuned)
        return false;
    (void)spw_tuning_improve(p->on.device, tuned, false);
    if (enter_course(p, tuned) < 0)
        return false;
    tuned->beginning.is_guessed = true;
    spw_plan_follower_lost_locked(p->on.device, false); /* what ran on demand is no iteration of that length */
    spw_plan_follower_begins_locked(p->on.device, p->on.stream, tuned->id, tuned->number);
    spw_steptime_broken_locked(p->on.device->ordinal); /* it takes longer than later ones will */
    p->began = true;
    const bool is_begun = spw_cursor_op(&p->on.place.cursor, key, true) == SPW_CURSOR_EXPECTED;
    if (is_begun)
        follow_expected(p, op);
    else
        lose(p);
    return is_begun;
}

/* For an operation of the backbone that is not the expected one: the program may have taken another branch than
 * recorded. */
static enum spw_cursor_answer take_branch(struct spw_device_loop *p, const struct spw_op *op, uint64_t key)
{
    uint32_t operation;
    if (!spw_branch_find(&p->on, &p->known.iterations, p->left, op, key, &operation))
        return SPW_CURSOR_LOST;
    if (!spw_device_loop_is_observing(p)) {
        spw_observer_catch_up(p->known.watch, &p->on.place.cursor);
        enter(p, SPW_DEVICE_FOLLOWING);
    }
    if (spw_probe_session_is_about(p->session, p->on.now->course))
        spw_probe_session_pause_locked(p->session);
    spw_steptime_broken_locked(p->on.device->ordinal); /* it takes another time than others do */
    return spw_branch_go(&p->on, key, operation);
}

static enum spw_cursor_answer place_of(struct spw_device_loop *p, const struct spw_op *op, uint64_t key, bool backbone)
{
    const enum spw_cursor_answer answer = spw_cursor_op(&p->on.place.cursor, key, backbone);
    return answer == SPW_CURSOR_LOST && backbone ? take_branch(p, op, key) : answer;
}

void spw_device_loop_follow_locked(struct spw_device_loop *p, struct spw_op *op)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    const uint64_t key = spw_observer_key(p->known.watch, &op->signature);
    const bool backbone = op->signature.kind < SPW_ITERATION_COPY_H2D;
    if (!p->on.now) {
        if (backbone)
            (void)begin_anew(p, op, key);
        return;
    }
    enum spw_cursor_answer answer = place_of(p, op, key, backbone);
    if (answer == SPW_CURSOR_COMPLETE) {
        if (!next_iteration(p))
            return;
        answer = place_of(p, op, key, backbone);
    }
    if (answer == SPW_CURSOR_EXTRA && !spw_device_loop_is_observing(p))
        spw_plan_executor_note_extra(&p->on, op);
    if (answer == SPW_CURSOR_EXPECTED)
        follow_expected(p, op);
    if (answer == SPW_CURSOR_LOST || answer == SPW_CURSOR_COMPLETE) {
        if (backbone && spw_beginning_comes_again(&p->on, key))
            lose_turn(p); /* as when an evaluation ends where the way back would begin */
        else
            lose(p);
        if (backbone)
            (void)begin_anew(p, op, key);
    }
}

/* True if no plan with replays could be faster, as this one hides all its copies: nothing to learn then, unless for a
 * trace. */
static bool is_as_fast_as_can_be(const struct spw_course_plan *plan)
{
    return !spw_settings_get()->probe && plan->predicted_us <= AS_FAST * plan->compute_us;
}

/* True if the iteration has a plan and has come a few times: probing takes time and memory. */
static bool may_probe(const struct spw_device_loop *p, const struct spw_tuned_iteration *tuned)
{
    return tuned != p->known.awaited &&
           (tuned->in_a_row >= PROBED_AFTER || tuned->followed >= PROBED_AFTER_ALL || tuned->probing_began);
}

/* Sets the session to this course, which may be probed from the next iteration on. Returns false if not yet, or not at
 * all. */
static bool begin_probing_unlocking(struct spw_device_loop *p, struct spw_tuned_iteration *tuned)
{
    const bool is_under_way = spw_probe_session_is_about(p->session, tuned->course);
    if (is_under_way && tuned->probing_began)
        return true;
    if (!spw_scratch_leaves_room_locked(p->on.device, tuned->course)) {
        spw_info("device %d: the budget is too small to find out what can be recomputed", p->on.device->ordinal);
        tuned->is_learned = true;
        return false;
    }
    if (!p->session)
        p->session = spw_probe_session_create(p->on.device);
    if (spw_digests_open_unlocking(p->on.device, p->on.stream->context) == -ENOMEM)
        return false; /* the next iteration may find room */
    return p->on.now == tuned && p->session &&
           (is_under_way || spw_probe_session_begin_locked(p->session, tuned->course, tuned->serial, false) == 0);
}

/* Probes new launches of the course once it has come a few times. If something else came meanwhile, such as evaluations,
 * goes on as soon as the course is back. A session that only listens needs digests for what earlier runs know of the
 * course. */
static void probe_unlocking(struct spw_device_loop *p)
{
    struct spw_tuned_iteration *tuned = p->on.now;
    p->began = false;
    if (spw_probe_session_is_hearing(p->session) && spw_digests_open_unlocking(p->on.device, p->on.stream->context) < 0)
        spw_probe_session_hear_no_more_locked(p->session);
    if (!spw_settings_get()->recompute || !tuned || tuned->is_learned || is_as_fast_as_can_be(tuned->plan))
        return;
    if (!may_probe(p, tuned)) {
        if (spw_probe_session_is_about(p->session, tuned->course) &&
            spw_digests_open_unlocking(p->on.device, p->on.stream->context) < 0 && p->on.now == tuned)
            spw_probe_session_pause_locked(p->session);
        return;
    }
    if (!begin_probing_unlocking(p, tuned))
        return;
    tuned->probing_began = true;
    if (!spw_probe_session_iteration_unlocking(p->session) || p->on.now != tuned)
        return;
    tuned->is_learned = true;
    spw_tuning_learned(tuned, true);
    spw_known_iterations_note_locked(&p->known);
}

bool spw_device_loop_want_versions(const struct spw_device_loop *p)
{
    bool wanted = spw_settings_get()->probe || /* the trace says of each launch what it writes */
                  (p->on.now && spw_probe_session_is_about(p->session, p->on.now->course)) ||
                  spw_probe_session_is_hearing(p->session);
    for (unsigned i = 0; i < p->known.iterations.count; i++)
        wanted |= spw_tuning_wants_versions(&p->known.iterations.list[i]);
    return wanted;
}

static void note_what_is_left(struct spw_device_loop *p)
{
    p->on.place.left = spw_plan_executor_has_left(&p->on);
    p->on.place.busy = p->on.place.left || p->on.pending.count || !spw_transfer_is_idle(p->on.device);
}

void spw_device_loop_look_after_unlocking(struct spw_device_loop *p,
                                          void (*spare_versions)(struct spw_device *d, struct spw_stream *s))
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    struct spw_context_guard guard;
    bool entered = spw_context_enter(&guard, NULL) == 0;
    spw_retained_all_sweep_locked(p->on.device);
    spw_unmap_limit_locked(p->on.device);
    spw_plan_executor_keep_operations_unlocking(&p->on);
    if (spw_plan_executor_is_complete(&p->on))
        spw_plan_executor_carry_out_due_unlocking(&p->on, true);
    if (spw_plan_executor_is_complete(&p->on))
        (void)next_iteration(p);
    if (p->known.ended && p->state == SPW_DEVICE_WATCHED)
        learn(p);
    await_durations(p);
    if (p->began) {
        probe_unlocking(p);
        spw_kernel_profile_write_unlocking();
        spare_versions(p->on.device, p->on.stream);
    }
    if (p->on.now && !p->on.conforms && spw_plan_executor_conform_locked(&p->on) < 0)
        spw_device_loop_lack_memory(p->on.device, "to take up a plan");
    p->on.conforms = true;
    spw_plan_executor_carry_out_due_unlocking(&p->on, false);
    spw_transfer_pump_locked(p->on.device);
    if (entered)
        spw_context_leave(&guard);
    note_what_is_left(p);
}

void spw_device_loop_go_before_unlocking(struct spw_device_loop *p)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    spw_plan_executor_carry_out_due_unlocking(&p->on, true);
    note_what_is_left(p);
}

void spw_device_loop_keep_pace_unlocking(struct spw_device_loop *p, struct spw_stream *s)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    if (!p->on.now || !p->on.now->hopeless)
        return;
    spw_throttle_unlocking(&p->pace, p->on.device, s, p->on.now->course, p->on.now->hopeless, p->on.place.cursor.op);
    note_what_is_left(p);
}
