/* hooks_graph.h - graphs are pinned as a whole: what a node may touch stays resident, as launching a graph names none of it.
 *
 * Nodes become known where they are made: by operations on a capturing stream, which come to the hooks of launches,
 * copies and sets, and by the calls that add a node or change its parameters, which hooks_graph.c answers. */
#ifndef SPILLWAY_SHIM_HOOKS_GRAPH_H
#define SPILLWAY_SHIM_HOOKS_GRAPH_H
#include <cuda.h>

/* Pins all that a launch may touch, everything if it cannot be parsed. For launches on a capturing stream and kernel
 * nodes. Copies and sets on a capturing stream are pinned by spw_pin_address(). */
void spw_pin_launch(CUfunction f, void *const *params, void *const *extra);

/* What an attribute of such a launch or node asks for: where kernels may give the node other parameters later, everything is
 * pinned. */
void spw_pin_launch_attribute(CUlaunchAttributeID attribute, const CUlaunchAttributeValue *value);
#endif
