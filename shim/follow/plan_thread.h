/* plan_thread.h - makes a plan of a course: what to do before each operation, and what that promises.
 *
 * Plain numbers in, plain numbers out; no driver call. A first plan is made at once, a better one on a thread of low
 * priority that touches nothing but its own copies, and is ended with it. */
#ifndef SPILLWAY_SHIM_PLAN_THREAD_H
#define SPILLWAY_SHIM_PLAN_THREAD_H
#include "course/course.h"
#include "plan/actions.h"

struct spw_plan_choices { /* what a plan was made of; starts as all zeroes: nothing is known of it */
    uint8_t *list;        /* plan/choice.h */
    size_t count;
    uint64_t of; /* which uses of which tensors they are about */
};

struct spw_plan_terms {
    uint64_t device_bytes, host_bytes; /* what tensors may take; all of a device's, this device's share of the host's */
    double reserve;                    /* share of device_bytes that the plan leaves alone; less where little is lacking */
    uint64_t granule_bytes;
    double d2h_bytes_per_us, h2d_bytes_per_us, duplex;
    double move_us;  /* that each copy takes longer than its bytes */
    bool may_replay; /* what the course knows to be replayable */
    const struct spw_plan_choices
        *begin_with;      /* of an earlier plan for the course, or NULL: the search goes on from there */
    bool only_begin_with; /* there is no search: -ENOSPC where those are about something else, or come to no plan */
};

struct spw_course_plan {
    struct spw_actions
        actions;  /* on tensors of the course: a drop says that one is to leave, though its owner goes on holding it */
    uint8_t *due; /* by operation, op_count + 1 of them: whether there is anything to do before it */
    struct spw_course_marks marks;
    double compute_us, predicted_us, lower_bound_us; /* of an iteration */
    double reserve;                                  /* that it was made with */
    double d2h_bytes_per_us, h2d_bytes_per_us;       /* the same; or at which it was held against another one */
    uint64_t peak_bytes, out_bytes, in_bytes, host_bytes;
    uint32_t replay_count, recorded_count; /* operations that run again; those that are to be recorded for that */
    double replayed_us;                    /* that they take; none of it is in compute_us */
    double planning_s;                     /* host time that it took */
    struct spw_plan_choices choices;
    bool is_quick;
};

/* It can be carried out as it was meant only while versions are kept (versions.h). */
static inline bool spw_course_plan_wants_versions(const struct spw_course_plan *plan)
{
    return plan->recorded_count || plan->marks.believes;
}

void spw_course_plan_destroy(struct spw_course_plan *plan); /* NULL is fine */

/* The plan to do nothing, until there is a better one: predicted_us is infinite. NULL: no memory. */
struct spw_course_plan *spw_course_plan_none(const struct spw_course *course);

/* A plan within the terms: with copies alone, unless one with replays promises to be faster. `quick`: the first that is
 * found. 0; -ENOSPC: there is none; -EINVAL: the course makes no
 * iteration; -ENOMEM. `cancelled` may be NULL; once true it ends early, with -ECANCELED. */
int spw_plan_course(const struct spw_course *course, const struct spw_plan_terms *terms, bool quick, const bool *cancelled,
                    struct spw_course_plan **ret_plan);

/* The same on a thread of its own, of the course as it is now. 0 or -EAGAIN: there can be no thread. Engine lock held. */
struct spw_plan_thread;
int spw_plan_thread_start(const struct spw_course *course, const struct spw_plan_terms *terms,
                          struct spw_plan_thread **ret_planning);
bool spw_plan_thread_is_done(const struct spw_plan_thread *planning);
/* Waits for it, takes what came of it (NULL: no plan) and ends it. With `cancel` it is told to stop first. */
struct spw_course_plan *spw_plan_thread_finish(struct spw_plan_thread *planning, bool cancel);

/* Nobody wants it any more: it is told to stop, and nobody waits for it. Engine lock held. */
void spw_plan_thread_abandon_locked(struct spw_plan_thread *planning);

/* Ends those that were abandoned and have stopped; with `wait` all of them. Engine lock held. */
void spw_plan_thread_reap_locked(bool wait);
void spw_plan_thread_forget_abandoned(void); /* in a forked child, which has none of these threads */
#endif
