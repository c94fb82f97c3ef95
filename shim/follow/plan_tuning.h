/* plan_tuning.h - keeps the iterations of a device that are known in full, with the plan of each, and improves plans by how
 * long steps turn out to take.
 *
 * A plan is a prediction. Once it has been followed a few times, it is known how long a step takes. Unless that is close to
 * the bound that no plan is below, plans that leave a little more or less of the budget free are tried, and the fastest one
 * stays. If none is faster than the same iteration on demand, the iteration has no plan. Engine lock held throughout. */
#ifndef SPILLWAY_SHIM_PLAN_TUNING_H
#define SPILLWAY_SHIM_PLAN_TUNING_H
#include "detect/iteration.h"
#include "drift.h"
#include "ledger.h"
#include "plan_thread.h"

/* The states of a known iteration and its plans:
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
 *     FIRST      best_us is 0 and best NULL: the iteration follows the first plan, a better one for the same terms, or none
 *                as yet; a thread may be making one
 *     TRYING     best_us is what a step takes by the best plan so far, which is `best`, or the one in force if that is NULL;
 *                a thread may be making the next one; `tried` of them were tried
 *     SETTLED    the plan in force is the best one, or none if on demand is faster; best_us is what a step takes; no thread
 *                is at work
 *     STRAYED    steps have come to take another time for good: spw_tuning_improve() has said that it is to be forgotten
 *
 * If the course has learned more (`knows_more`), the next iteration is planned with that, in any state but the last. TRYING
 * begins again, and so does FIRST, unless it is known by then what a step takes (`usual_us`): then it becomes TRYING as
 * well. Apart from the state, a thread may be at work, and the link or the budget may differ from what it was on demand. */
enum spw_tuning_state { SPW_TUNING_UNPLANNED, SPW_TUNING_FIRST, SPW_TUNING_TRYING, SPW_TUNING_SETTLED, SPW_TUNING_STRAYED };

struct spw_beginning {   /* how an iteration is known to begin (beginning.h) */
    bool is_known;       /* it was left at least once, and the following is known: */
    uint64_t live_bytes; /* bytes allocated on the device when it was last begun */
    uint64_t made_bytes; /* bytes that it allocates */
    bool is_guessed;     /* it was begun by its first operation alone, and has not been complete since */
    unsigned misses;     /* such guesses since it was last complete, after which the program went another way */
    uint32_t next;       /* the iteration that came after it last time; 0: none */
};

struct spw_tuned_iteration {
    uint32_t id;     /* the detector's number for it */
    uint64_t serial; /* no other iteration ever has the same */
    enum spw_tuning_state state;
    struct spw_course *course;
    struct spw_course_plan *plan;     /* the plan in force; at first the one that does nothing */
    uint32_t number;                  /* the number under which that plan is counted; 0: it does nothing */
    struct spw_plan_thread *planning; /* makes another plan; NULL: nobody does */
    uint64_t last_used;
    bool lacked_memory; /* planning lacked memory: worth another attempt */
    bool may_replay;    /* plans may have operations replayed */
    bool knows_more;    /* its course knows more than when it was last planned */
    bool is_recalled;   /* its course was told what earlier runs know of its kernels (kernel_profile.h) */
    bool probing_began; /* probing of the launches of its course has begun, and may not be done */
    bool is_learned;    /* its course tells reads from writes, and knows what can be replayed */
    bool *hopeless;     /* by operation: a wait of the host after it did not end (throttle.h); NULL: no memory */
    unsigned in_a_row;  /* complete ones on its course in a row, since the course was last lost */
    unsigned followed;  /* complete ones in all */
    struct spw_beginning beginning;

    /* measuring and trying */
    struct spw_course_plan *best;     /* the best plan that was tried, if it is not the one in force */
    double best_us;                   /* what a step took by the best plan; 0: none was measured yet */
    double usual_us;                  /* the least median of steps by the plan in force; 0: not known yet */
    unsigned tried, trial_iterations; /* plans tried; iterations by the one in force */
    struct spw_drift drift;           /* of steps by the one in force */
    bool on_other_terms;              /* its steps on demand were measured with another link or another budget */
    unsigned strayed;                 /* SETTLED: looks in a row at which a step took another time than best_us */
};

struct spw_tuned_iterations {
    struct spw_tuned_iteration list[SPW_ITERATION_SHAPES];
    unsigned count;
};

struct spw_tuned_iteration *spw_tuned_iterations_find(struct spw_tuned_iterations *iterations,
                                                      uint32_t id); /* NULL: it is not known */

/* Adds an iteration, which owns the course from then on. If there is no room, forgets the one that was not used for the
 * longest time, but not `but`. Returns NULL if there is no memory; then the course is still the caller's. */
struct spw_tuned_iteration *spw_tuned_iterations_add(struct spw_tuned_iterations *iterations, uint32_t id,
                                                     struct spw_course *course, uint64_t now,
                                                     const struct spw_tuned_iteration *but);
void spw_tuning_forget(struct spw_tuned_iteration *tuned); /* pointers to other iterations stay good */
void spw_tuned_iterations_finish(struct spw_tuned_iterations *iterations);

/* Call when the durations of its operations are known: makes a first plan, unless that would take longer than an iteration,
 * and has a better one made. */
void spw_tuning_plan(struct spw_device *d, struct spw_tuned_iteration *tuned);

/* Before that: an earlier run's plan for the iteration was made of these choices (plan/choice.h). */
void spw_tuning_begin_with(struct spw_tuned_iteration *tuned, const uint8_t *choices, size_t count, uint64_t of);

/* Returns the choices of the best plan that was tried; empty if there is none. */
const struct spw_plan_choices *spw_tuning_choices(const struct spw_tuned_iteration *tuned);

/* Call when its course has learned what its operations really do: the next iteration is planned with that, with replays if
 * it `may_replay`. What is known of plans so far stays known, and the new one is compared with it. */
void spw_tuning_learned(struct spw_tuned_iteration *tuned, bool may_replay);

/* Call when its course knows less than it did: plans made with the former knowledge are worth nothing, and the next one
 * takes their place. */
void spw_tuning_unlearned(struct spw_tuned_iteration *tuned);

/* Call when the budget has changed: plans for the former one are worth nothing, nor are the times of steps on demand. */
void spw_tuning_budget_changed(struct spw_tuned_iteration *tuned);

/* Call when one of these iterations begins; the last one followed the plan if it `went_by_plan`. Puts a better plan in
 * force if there is one. Returns false if steps have changed for good since it was recorded: it should be forgotten and
 * learned again. */
bool spw_tuning_improve(struct spw_device *d, struct spw_tuned_iteration *tuned, bool went_by_plan);

/* Returns true if its plan needs versions kept (versions.h), or the plan of the next iteration may. While a thread makes a
 * plan, nobody needs them. */
bool spw_tuning_wants_versions(const struct spw_tuned_iteration *tuned);

/* Stops all threads that make plans. */
void spw_tuned_iterations_stop(struct spw_tuned_iterations *iterations);

/* What each copy costs the host in addition to its bytes, in microseconds. A variable for tests whose operations take
 * less. */
extern double spw_plan_move_us SPW_OURS;

/* A first plan is put in force whatever a step takes on demand. A variable for tests on a device whose copies take no
 * time. */
extern bool spw_plan_need_not_win SPW_OURS;
#endif
