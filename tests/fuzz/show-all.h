/* show-all.h - shows bytes as a trace in every form that the tools have, and stops the process when one is not as promised.
 */
#ifndef SPILLWAY_TESTS_FUZZ_SHOW_ALL_H
#define SPILLWAY_TESTS_FUZZ_SHOW_ALL_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct show_all {
    bool whole;     /* nothing was wrong with it */
    bool shown;     /* something could be read of it */
    bool iteration; /* with an iteration in it */
    bool taken;     /* which the planner takes */
    bool planned;   /* and has plans for, where they are asked for */
};

/* Anything at all may stand in `data`. `at_op`: as in struct model_options. `planning_s`: as report_plan() takes it. */
struct show_all show_all(const uint8_t *data, size_t bytes, uint64_t at_op, double planning_s);
#endif
