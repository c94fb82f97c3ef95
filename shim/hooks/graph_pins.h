/* graph_pins.h - an executable graph has its addresses for as long as it lives: what lies there is pinned, and so is what is
 * allocated there meanwhile.
 *
 * The addresses are read from the graph, with the driver's help, when it is made executable. Where that is not possible, as
 * with conditional nodes, all that any node was ever told lasts for good (lasting.h). What one of its nodes is told later
 * counts until that node is told something else, or the graph is updated or goes. */
#ifndef SPILLWAY_SHIM_GRAPH_PINS_H
#define SPILLWAY_SHIM_GRAPH_PINS_H
#include <cuda.h>
#include <stdbool.h>

#include "lasting.h"

/* Before the driver is asked to make a graph executable, or to update one with it. 0; negative: what it has does not fit
 * beside what is pinned, nothing is held, and the driver must not be asked. No lock held. */
int spw_graph_pins_begin(struct spw_lasting *held, CUgraph graph);

/* The driver has answered, and `exec` has what the graph has: instead of what it had, or beside that; NULL: none has. */
void spw_graph_pins_end(struct spw_lasting *held, CUgraphExec exec, bool instead);

/* The same of what one of its nodes has; `exec` NULL: the driver has refused it. */
void spw_graph_pins_end_node(struct spw_lasting *held, CUgraphExec exec, CUgraphNode node);

/* For a node of an executable graph that is told something by a call of its own: each address in it, then all of them
 * together before the driver is asked, which pins them (pin.h), then the driver's answer, which is returned. */
void spw_graph_pins_gather(CUdeviceptr address);
void spw_graph_pins_tell(void);
CUresult spw_graph_pins_told(CUgraphExec exec, CUgraphNode node, CUresult answer);

/* It is about to go: before the driver may give its handle out again. */
void spw_graph_pins_forget(CUgraphExec exec);
#endif
