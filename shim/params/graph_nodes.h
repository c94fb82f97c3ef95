/* graph_nodes.h - walks through the nodes of a graph, as the driver reports them. */
#ifndef SPILLWAY_SHIM_GRAPH_NODES_H
#define SPILLWAY_SHIM_GRAPH_NODES_H
#include <cuda.h>

/* Calls `each` for every node, and for the nodes of a child graph instead of the node that holds it, until `each` returns
 * something other than 0. Returns that, 0, -ENOMEM, or a failure of the driver. */
int spw_graph_nodes_each(CUgraph graph, int (*each)(CUgraphNode node, CUgraphNodeType type, void *arg), void *arg);
#endif
