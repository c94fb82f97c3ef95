/* random-graph.h - training iterations of random structure for tests of planners: layers with skips, updates in place,
 * shared parameters, what may not be replayed or moved, fused and separate optimizers. */
#ifndef SPILLWAY_TESTS_UNIT_RANDOM_GRAPH_H
#define SPILLWAY_TESTS_UNIT_RANDOM_GRAPH_H
#include "plan/graph.h"

/* A finished graph, the same for the same seed; for spw_graph_destroy(). */
struct spw_graph *random_graph(uint64_t seed);
/* The next of a row of numbers, below `below` (>= 1). */
uint32_t random_below(uint64_t *state, uint32_t below);
#endif
