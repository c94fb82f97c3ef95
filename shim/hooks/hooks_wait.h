/* hooks_wait.h - notes calls that make a stream wait for what the program may do later: a gate (streams.h). */
#ifndef SPILLWAY_SHIM_HOOKS_WAIT_H
#define SPILLWAY_SHIM_HOOKS_WAIT_H
#include <cuda.h>

/* Call when the driver has answered such a call on the stream. In a capture, graphs wait like this from then on. Returns
 * `result`. */
CUresult spw_waits_for_the_program(CUstream stream, CUresult result);

/* Notes that some graph may get a node that waits like this. */
void spw_graphs_wait_for_the_program(void);

/* Call when the driver has answered the launch of a graph, which may have such nodes. Returns `result`. */
CUresult spw_graph_waits_for_the_program(CUstream stream, CUresult result);
#endif
