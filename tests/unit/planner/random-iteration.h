/* random-iteration.h - small iterations of random structure: training steps with all their oddities, and arbitrary programs.
 */
#ifndef SPILLWAY_TESTS_UNIT_RANDOM_ITERATION_H
#define SPILLWAY_TESTS_UNIT_RANDOM_ITERATION_H
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "plan/graph.h"

/* The same finished graph for the same seed. Three out of four are training steps of up to `most_layers` layers: forward,
 * with skips, several outputs and updates in place; backward; accumulation of gradients; updates of parameters and of the
 * optimizer's state. The others are operations that read and write whatever there is. In all of them some tensors carry
 * over, are there from the start, may not leave, are tiny or of no size at all, and live longer than they are used; some
 * operations may not be replayed, and some take no time. */
struct spw_graph *random_iteration(uint64_t seed, uint32_t most_layers);
#endif
