/* graph_pins.h - pins what lies at the addresses in an executable graph for as long as the graph exists, and what is
 * allocated there meanwhile.
 *
 * The addresses are read from the graph, with the driver's help, when it is made executable. If that is not possible, as
 * with conditional nodes, all addresses that any node was ever given last for good (lasting.h). Addresses that a node is
 * given later count until that node is given others, or the graph is updated or destroyed. */
#ifndef SPILLWAY_SHIM_GRAPH_PINS_H
#define SPILLWAY_SHIM_GRAPH_PINS_H
#include <cuda.h>
#include <stdbool.h>

#include "lasting.h"

/* Call before the driver is asked to make a graph executable, or to update an executable one with it. Returns 0; or
 * negative if what the graph uses does not fit beside what is pinned already: then nothing is held, and the driver must not
 * be asked. Call with no lock held. */
int spw_graph_pins_begin(struct spw_lasting *held, CUgraph graph);

/* Call when the driver has answered: `exec` now has the graph's addresses, `instead` of those that it had or in addition.
 * NULL: no executable graph has them. */
void spw_graph_pins_end(struct spw_lasting *held, CUgraphExec exec, bool instead);

/* The same for the addresses of one of its nodes; `exec` NULL: the driver has refused. */
void spw_graph_pins_end_node(struct spw_lasting *held, CUgraphExec exec, CUgraphNode node);

/* For a call that gives a node of an executable graph other parameters: gather() for each address in these, then tell()
 * before the driver is asked, which pins them all (pin.h), then told() with the driver's answer, which it returns. */
void spw_graph_pins_gather(CUdeviceptr address);
void spw_graph_pins_tell(void);
CUresult spw_graph_pins_told(CUgraphExec exec, CUgraphNode node, CUresult answer);

/* Call before an executable graph is destroyed, since the driver may give its handle out again. */
void spw_graph_pins_forget(CUgraphExec exec);
#endif
