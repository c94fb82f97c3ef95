/* terms.h - describes the machine for which bounds are computed, and how long the computation may take. */
#ifndef SPILLWAY_PLANNER_TERMS_H
#define SPILLWAY_PLANNER_TERMS_H

/* The machine and the time limit. All zero: copies do not slow each other down, and nothing cancels the computation.
 * Every operation gives a valid bound, so a computation that examines fewer operations gives a lower one. */
struct spw_bounds_terms {
    double duplex;  /* speed of a copy while another runs in the other direction, as a share; 0: full speed */
    double limit_s; /* host time to spend, about; 0 or above 0.5: half a second */
    double (*now_s)(void *now_context); /* may be NULL; an infinite value cancels the computation */
    void *now_context;
};
#endif
