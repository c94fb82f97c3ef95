/* graph_nodes.h - the nodes of a graph, as the driver tells them. */
#ifndef SPILLWAY_SHIM_GRAPH_NODES_H
#define SPILLWAY_SHIM_GRAPH_NODES_H
#include <cuda.h>

/* Calls `each` for every node, and for those of child graphs instead of the node that they are in, until it answers other
 * than 0. 0, or what it answered, -ENOMEM, or a failure of the driver. */
int spw_graph_nodes_each(CUgraph graph, int (*each)(CUgraphNode node, CUgraphNodeType type, void *arg), void *arg);
#endif
