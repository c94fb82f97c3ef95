/* random-schedules.h - small random iterations, valid timed events for them, and what goes wrong with events. */
#ifndef SPILLWAY_TESTS_FUZZ_RANDOM_SCHEDULES_H
#define SPILLWAY_TESTS_FUZZ_RANDOM_SCHEDULES_H
#include "plan/check.h"
#include "resimulate.h"

struct random_case {
    struct spw_graph *graph;
    struct spw_check_rules rules;
    uint8_t start[32];
    struct spw_timed_step events[RESIMULATE_EVENTS];
    size_t count;
    double time_us; /* what the time line says of the events before they are damaged */
    uint64_t peak_bytes, host_peak_bytes;
};

/* A graph with everything that graphs have (persistent, initial and fixed tensors, updates in place, side buffers, what
 * takes no time), with durations that are whole numbers, and a schedule that the builder has let pass, timed. False: the
 * builder came to no end with it; there is nothing to be given back. */
bool random_case_make(struct random_case *one, uint64_t *seed);
void random_case_finish(struct random_case *one);

/* Changes one thing: an event is left out, doubled, moved in time or in the list, made another one; or a rule or a start. */
void random_case_damage(struct random_case *one, uint64_t *seed);
#endif
