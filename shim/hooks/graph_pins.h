/* graph_pins.h - an executable graph has its addresses for as long as it lives: what lies there is pinned, and so is what is
 * allocated there meanwhile.
 *
 * The addresses are read from the graph, with the driver's help, when it is made executable. Where that is not possible, as
 * with conditional nodes, all that any node was ever told lasts for good (lasting.h). What an executable graph's nodes are
 * told later lasts for good as well. */
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

/* It is about to go: before the driver may give its handle out again. */
void spw_graph_pins_forget(CUgraphExec exec);
#endif
