/* plan_thread.h - makes a plan for a course: what to do before each operation, and how long that will take.
 *
 * Plain numbers in, plain numbers out; no driver call. A first plan is made at once, a better one on a thread of low
 * priority, which touches only its own copies and ends with them. */
#ifndef SPILLWAY_SHIM_PLAN_THREAD_H
#define SPILLWAY_SHIM_PLAN_THREAD_H
#include "course/course.h"
#include "plan/actions.h"

struct spw_plan_choices { /* the choices that a plan was made of; all zeroes: nothing is known */
    uint8_t *list;        /* coded as in plan/choice.h */
    size_t count;
    uint64_t of; /* a digest of which uses of which tensors they are about */
};

struct spw_plan_terms {
    uint64_t device_bytes,
        host_bytes; /* bytes that tensors may take: all of a device's, this device's share of the host's */
    double reserve; /* share of device_bytes that the plan leaves free; less if little is lacking */
    uint64_t granule_bytes;
    double d2h_bytes_per_us, h2d_bytes_per_us, duplex;
    double move_us;  /* that each copy takes in addition to its bytes */
    bool may_replay; /* may replay what the course knows to be replayable */
    const struct spw_plan_choices
        *begin_with;      /* of an earlier plan for the course, or NULL: the search goes on from there */
    bool only_begin_with; /* no search: -ENOSPC if they are about something else, or make no plan */
};

struct spw_course_plan {
    struct spw_actions
        actions; /* on tensors of the course; a drop says that a tensor is to leave, although its owner goes on holding it */
    uint8_t *due; /* by operation, op_count + 1 of them: whether there is anything to do before it */
    struct spw_course_marks marks;
    double compute_us, predicted_us, lower_bound_us; /* of an iteration */
    double reserve;                                  /* the share that it was made with */
    double d2h_bytes_per_us, h2d_bytes_per_us;       /* the speeds that it was made with, or that it was compared at later */
    uint64_t peak_bytes, out_bytes, in_bytes, host_bytes;
    uint32_t replay_count, recorded_count; /* operations that are replayed; operations that are to be recorded for that */
    double replayed_us;                    /* time that they take; none of it is in compute_us */
    double planning_s;                     /* host time spent on planning */
    struct spw_plan_choices choices;
    bool is_quick;
};

/* Returns true if the plan can be carried out as it was meant only while versions are kept (versions.h). */
static inline bool spw_course_plan_wants_versions(const struct spw_course_plan *plan)
{
    return plan->recorded_count || plan->marks.believes;
}

void spw_course_plan_destroy(struct spw_course_plan *plan); /* NULL is fine */

/* Returns the plan to do nothing, for as long as there is no better one: predicted_us is infinite. NULL: no memory. */
struct spw_course_plan *spw_course_plan_none(const struct spw_course *course);

/* Makes a plan within the terms: with copies alone, unless one with replays promises to be faster. `quick`: takes the first
 * that is found. `cancelled` may be NULL; once it is true the search ends early. Returns 0; -ENOSPC if there is no plan;
 * -EINVAL if the course makes no iteration; -ECANCELED; or -ENOMEM. */
int spw_plan_course(const struct spw_course *course, const struct spw_plan_terms *terms, bool quick, const bool *cancelled,
                    struct spw_course_plan **ret_plan);

/* The same on a thread of its own, for the course as it is now. Returns 0, or -EAGAIN if there can be no thread. Engine
 * lock held. */
struct spw_plan_thread;
int spw_plan_thread_start(const struct spw_course *course, const struct spw_plan_terms *terms,
                          struct spw_plan_thread **ret_planning);
bool spw_plan_thread_is_done(const struct spw_plan_thread *planning);
/* Waits for the thread, ends it and returns its plan (NULL: none). With `cancel`, tells it to stop first. */
struct spw_course_plan *spw_plan_thread_finish(struct spw_plan_thread *planning, bool cancel);

/* Tells a thread that nobody needs any more to stop, and does not wait for it. Engine lock held. */
void spw_plan_thread_abandon_locked(struct spw_plan_thread *planning);

/* Ends abandoned threads that have stopped; with `wait`, all abandoned ones. Engine lock held. */
void spw_plan_thread_reap_locked(bool wait);
void spw_plan_thread_forget_abandoned(void); /* in a forked child, which has none of these threads */
#endif
