/* graph_fixture.h - what the tests of graphs share: some memory, two streams, an empty graph, and nodes that add to it. */
#ifndef SIMGPU_TESTS_GRAPH_FIXTURE_H
#define SIMGPU_TESTS_GRAPH_FIXTURE_H
#include "device.h"

enum { COUNT = 1024, BYTES = 4 * COUNT };

extern CUdeviceptr memory; /* COUNT floats, all 0 */
extern CUstream one, two;  /* non-blocking */
extern CUgraph graph;
extern CUgraphExec exec; /* of graph, made by instantiate() */

/* Calls device_start() and sets the variables above; the host knows that nothing is running. */
void graph_start(void);
CUgraph new_graph(void);
/* Make nodes after `count` others: one that adds `value` to all of memory, one that does nothing. */
CUgraphNode new_add(CUgraph in, const CUgraphNode *after, size_t count, float value);
CUgraphNode new_empty(CUgraph in, const CUgraphNode *after, size_t count);
/* Makes a node that sets memory to float `value` (its bits as an integer). */
CUgraphNode new_set(CUgraph in, const CUgraphNode *after, size_t count, float value);
/* Adds one edge. */
CUresult add_edge(CUgraph in, CUgraphNode from, CUgraphNode to);
/* Sets another value for a node made by new_add(). */
CUresult exec_set_value(CUgraphExec of, CUgraphNode node, float value);
void instantiate(void);
/* Launches exec `times` times on stream one, and waits. */
void run(int times);
float first(void); /* of memory */
#endif
