/* terms.h - the terms on which bounds are looked for: the machine, and how long that may take. */
#ifndef SPILLWAY_PLANNER_TERMS_H
#define SPILLWAY_PLANNER_TERMS_H

/* The machine, and what ends the look early; all zero: copies do not hinder each other, and nothing does. Each operation
 * gives a valid bound, so one for which fewer are looked at is lower. */
struct spw_bounds_terms {
    double duplex;                      /* speed of a copy while one runs in the other direction, as a share; 0: all of it */
    double limit_s;                     /* about so much of the host's time; 0: half a second */
    double (*now_s)(void *now_context); /* may be NULL; where it is infinite, the bound is not wanted any more */
    void *now_context;
};
#endif
