/* graph_fixture.h - what the tests of graphs share: some memory, two streams, an empty graph, and nodes that add to it. */
#ifndef SIMGPU_TESTS_GRAPH_FIXTURE_H
#define SIMGPU_TESTS_GRAPH_FIXTURE_H
#include "device.h"

enum { COUNT = 1024, BYTES = 4 * COUNT };

extern CUdeviceptr memory; /* COUNT floats, all 0 */
extern CUstream one, two;  /* non-blocking */
extern CUgraph graph;
extern CUgraphExec exec; /* of graph, by instantiate() */

/* device_start(), and the variables above; the host knows that nothing is running. */
void graph_start(void);
CUgraph new_graph(void);
/* Nodes after `count` others: one that adds `value` to all of memory, one that does nothing. */
CUgraphNode new_add(CUgraph in, const CUgraphNode *after, size_t count, float value);
CUgraphNode new_empty(CUgraph in, const CUgraphNode *after, size_t count);
/* Sets memory to float `value` (its bits as an integer). */
CUgraphNode new_set(CUgraph in, const CUgraphNode *after, size_t count, float value);
/* One edge. */
CUresult add_edge(CUgraph in, CUgraphNode from, CUgraphNode to);
/* Another value for a node made by new_add(). */
CUresult exec_set_value(CUgraphExec of, CUgraphNode node, float value);
void instantiate(void);
/* Launches exec on stream one so many times, and waits. */
void run(int times);
float first(void); /* of memory */
#endif
