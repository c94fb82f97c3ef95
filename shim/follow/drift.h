/* drift.h - whether steps by a plan take another time than they did because the link to the host is not what it was.
 *
 * A plan stands on the speed of copies as it was measured when it was made. Copies are hardly measured later on: nothing
 * tells that a neighbour uses the same link, or does so no longer, but the steps. Where these take another time than they
 * did, look after look, or much comes late, copies are measured anew, and where their speed is another one the iteration is
 * planned anew. Engine lock held throughout. */
#ifndef SPILLWAY_SHIM_DRIFT_H
#define SPILLWAY_SHIM_DRIFT_H
#include "ledger.h"
#include "plan_thread.h"

struct spw_drift {       /* of a tuned iteration; starts as all zeroes */
    uint32_t plan;       /* the number of the one in force; what follows is about its iterations */
    unsigned iterations; /* since the last look */
    unsigned strange;    /* looks in a row at which they took another time, or much came late */
    bool doubts;         /* copies are being measured anew */
    unsigned resting;    /* iterations without a look */
    double usual_us;     /* what they take; 0: not known yet */
    double late_us;      /* for which copies in came late since the start, as it was at the last look */
};

/* An iteration by `plan`, which has that number, is complete. `usual_us`: what one was found to take, 0: not known. True:
 * copies go at another speed than it was made with, and from now on it counts as made with that; *ret_step_us: what a step
 * by it takes now. */
bool spw_drift_iteration_locked(struct spw_drift *drift, const struct spw_device *d, struct spw_course_plan *plan,
                                uint32_t number, double usual_us, double *ret_step_us);
#endif
