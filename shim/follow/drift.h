/* drift.h - finds out whether steps by a plan take another time than they did because the link to the host has changed.
 *
 * A plan relies on the speed of copies that was measured when it was made. Later, copies are hardly measured: only the
 * steps show that a neighbour uses the same link, or no longer does. If steps take another time than they did, look after
 * look, or much comes late, copies are measured again; if their speed has changed, the iteration is planned again. Engine
 * lock held throughout. */
#ifndef SPILLWAY_SHIM_DRIFT_H
#define SPILLWAY_SHIM_DRIFT_H
#include "ledger.h"
#include "plan_thread.h"

struct spw_drift {       /* of a tuned iteration; starts as all zeroes */
    uint32_t plan;       /* the number of the plan in force; the following is about its iterations */
    unsigned iterations; /* iterations since the last look */
    unsigned strange;    /* looks in a row at which steps took another time, or much came late */
    bool doubts;         /* copies are being measured again */
    unsigned resting;    /* iterations left without a look */
    double usual_us;     /* what a step takes; 0: not known yet */
    double late_us;      /* microseconds by which copies in came late since the start of the process, at the last look */
};

/* Call when an iteration by `plan`, which has that number, is complete. `usual_us` is what an iteration was found to take
 * (0: not known). Returns true if copies go at another speed than the plan was made with; then *ret_step_us is what a step
 * by it takes now, and from now on the plan counts as made with the new speed. */
bool spw_drift_iteration_locked(struct spw_drift *drift, const struct spw_device *d, struct spw_course_plan *plan,
                                uint32_t number, double usual_us, double *ret_step_us);
#endif
