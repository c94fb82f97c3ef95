/* hooks_graph.h - pins what graphs use: the memory of their nodes stays resident, since launching a graph does not name it.
 *
 * Nodes become known where they are made: by operations on a capturing stream, which come to the hooks of launches, copies
 * and sets, and by the calls that add a node or change its parameters, which hooks_graph.c answers. */
#ifndef SPILLWAY_SHIM_HOOKS_GRAPH_H
#define SPILLWAY_SHIM_HOOKS_GRAPH_H
#include <cuda.h>

/* Pins everything that a launch may touch; everything there is if it cannot be parsed. For launches on a capturing stream
 * and kernel nodes. Copies and sets on a capturing stream are pinned with spw_pin_of_node(). */
void spw_pin_launch(CUfunction f, void *const *params, void *const *extra);

/* Handles an attribute of such a launch or node: if kernels may give the node other parameters later, pins everything. */
void spw_pin_launch_attribute(CUlaunchAttributeID attribute, const CUlaunchAttributeValue *value);
#endif
