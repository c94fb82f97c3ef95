/* plan_tuning.h - the iterations of a device that are known in full, with the plan of each, and how plans get better by what
 * they turn out to take.
 *
 * A plan is a prediction. Once it has been followed a few times, what a step took is known; unless that is close to what no
 * plan is below, plans that leave a little more or less of the budget alone are tried, and the one that was fastest stays.
 * Where none is faster than the same iteration on demand, there is none. Engine lock held throughout. */
#ifndef SPILLWAY_SHIM_PLAN_TUNING_H
#define SPILLWAY_SHIM_PLAN_TUNING_H
#include "detect/iteration.h"
#include "drift.h"
#include "ledger.h"
#include "plan_thread.h"

/* Where a known iteration is with its plans:
 *
 *     UNPLANNED
 *        |  spw_tuning_plan(): its durations are known
 *        v
 *     FIRST ------------------------------------------------+
 *        |  judge(): measured; another plan may be faster   |  judge(): measured; nothing is left to gain
 *        |  look_at_link(): copies go at another speed      |
 *        v                                                  v
 *     TRYING --judge(): all were tried---------------> SETTLED --look_for_strays()--> STRAYED
 *        ^                                                |
 *        +---look_at_link(), plan_with_what_was_learned()-+
 *
 *     FIRST <--spw_tuning_unlearned()-- any but STRAYED
 *
 *     state      what holds in it
 *     UNPLANNED  the plan in force does nothing, no thread is at work
 *     FIRST      best_us is 0 and best NULL: followed is the first plan, a better one for the same terms, or none as yet; a
 *                thread may be making one
 *     TRYING     best_us is what a step takes by the best plan so far, which is `best`, or where that is NULL the one in
 *                force; a thread may be making the next one; there were `tried` of them
 *     SETTLED    the plan in force is the best one, or none where on demand is faster; best_us is what a step takes; no
 *                thread is at work
 *     STRAYED    a step has come to take another time for good: spw_tuning_improve() has said that it is to be forgotten
 *
 * What the course has learned (`knows_more`) is planned with at the next iteration in any state but the last: TRYING
 * begins anew, and so does FIRST, but where it is known by then what a step takes (`usual_us`): that is TRYING as well. That
 * a thread is at work, and that the link or the budget is not what it was on demand, are facts beside the state. */
enum spw_tuning_state { SPW_TUNING_UNPLANNED, SPW_TUNING_FIRST, SPW_TUNING_TRYING, SPW_TUNING_SETTLED, SPW_TUNING_STRAYED };

struct spw_beginning {   /* how an iteration is known to begin (beginning.h) */
    bool is_known;       /* it was left at least once: */
    uint64_t live_bytes; /* of the device, when it was begun last */
    uint64_t made_bytes; /* that it allocates */
    bool is_guessed;     /* it was begun by its first operation alone, and was not complete since */
    unsigned misses;     /* such guesses, since it was complete last, after which the program went another way */
    uint32_t next;       /* the iteration that came after it last time; 0: none */
};

struct spw_tuned_iteration {
    uint32_t id;     /* the detector's */
    uint64_t serial; /* no other iteration ever has it */
    enum spw_tuning_state state;
    struct spw_course *course;
    struct spw_course_plan *plan;     /* in force; at first the one to do nothing */
    uint32_t number;                  /* of that plan, as it is counted; 0: it does nothing */
    struct spw_plan_thread *planning; /* another one is being made */
    uint64_t last_used;
    bool lacked_memory; /* for planning: worth another attempt */
    bool may_replay;    /* plans may have operations of it run again */
    bool knows_more;    /* its course does, than when it was planned last */
    bool is_recalled;   /* its course was told what earlier runs know of its kernels (kernel_profile.h) */
    bool probing_began; /* of the launches of its course, which may not be done */
    bool is_learned;    /* its course tells reads from writes, and what can be replayed */
    bool *hopeless;     /* by operation: a wait of the host behind it did not end (throttle.h); NULL: no memory */
    unsigned in_a_row;  /* complete ones on its course, since it was lost last */
    unsigned followed;  /* in all */
    struct spw_beginning beginning;

    /* measuring and trying */
    struct spw_course_plan *best;     /* of those that were tried, if it is not the one in force */
    double best_us;                   /* what a step took by the best; 0: none was measured yet */
    double usual_us;                  /* the least median of steps by the plan in force; 0: it is not known yet */
    unsigned tried, trial_iterations; /* plans; iterations by the one in force */
    struct spw_drift drift;           /* of steps by the one in force */
    bool on_other_terms;              /* than its steps on demand were measured on: another link, another budget */
    unsigned strayed;                 /* SETTLED: looks in a row at which a step took something else than best_us */
};

struct spw_tuned_iterations {
    struct spw_tuned_iteration list[SPW_ITERATION_SHAPES];
    unsigned count;
};

struct spw_tuned_iteration *spw_tuned_iterations_find(struct spw_tuned_iterations *iterations,
                                                      uint32_t id); /* NULL: it is not known */

/* One more, which owns the course from then on. The one that was not used for the longest time makes room, but not `but`.
 * NULL: no memory; the course is still the caller's. */
struct spw_tuned_iteration *spw_tuned_iterations_add(struct spw_tuned_iterations *iterations, uint32_t id,
                                                     struct spw_course *course, uint64_t now,
                                                     const struct spw_tuned_iteration *but);
void spw_tuning_forget(struct spw_tuned_iteration *tuned); /* pointers to others stay good */
void spw_tuned_iterations_finish(struct spw_tuned_iterations *iterations);

/* The durations of its operations are known: makes a first plan, unless that would take longer than an iteration, and lets a
 * better one be made. */
void spw_tuning_plan(struct spw_device *d, struct spw_tuned_iteration *tuned);

/* Before that: an earlier run's plan for it was made of these choices (plan/choice.h). */
void spw_tuning_begin_with(struct spw_tuned_iteration *tuned, const uint8_t *choices, size_t count, uint64_t of);

/* What the best plan of those that were tried is made of; empty: there is none. */
const struct spw_plan_choices *spw_tuning_choices(const struct spw_tuned_iteration *tuned);

/* Its course has learned what its operations really do: from the next iteration on a plan is made that makes use of it, with
 * replays if it `may_replay`. What is known of plans so far stays known: the new one is tried against it. */
void spw_tuning_learned(struct spw_tuned_iteration *tuned, bool may_replay);

/* It knows less than it did: the plans that were made with that are worth nothing, and the next one takes their place. */
void spw_tuning_unlearned(struct spw_tuned_iteration *tuned);

/* The budget is another one: plans for the former one are worth nothing, nor is what steps took on demand. */
void spw_tuning_budget_changed(struct spw_tuned_iteration *tuned);

/* One of these iterations begins, the last one followed the plan if it `went_by_plan`: puts a better plan in force if
 * there is one. False: the steps have changed for good since it was recorded; it should be forgotten and learned anew. */
bool spw_tuning_improve(struct spw_device *d, struct spw_tuned_iteration *tuned, bool went_by_plan);

/* Its plan wants versions kept (versions.h), or the one of the next iteration may. While a thread makes one nobody does. */
bool spw_tuning_wants_versions(const struct spw_tuned_iteration *tuned);

/* No thread goes on. */
void spw_tuned_iterations_stop(struct spw_tuned_iterations *iterations);

/* What each copy takes the host beside its bytes, in microseconds. A variable for tests whose operations take less. */
extern double spw_plan_move_us SPW_OURS;

/* A first plan is put in force whatever a step takes on demand. A variable for tests on a device whose copies take no
 * time. */
extern bool spw_plan_need_not_win SPW_OURS;
#endif
