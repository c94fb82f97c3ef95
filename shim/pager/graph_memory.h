/* graph_memory.h - memory that graphs allocate themselves, on the bill of its device (unmanaged.h).
 *
 * The driver says how much it has reserved for graphs, and nothing of what it will. An allocation is on the bill from the
 * moment at which it becomes a node, as the program expects to be refused there, and what the driver reserves for it is not
 * counted twice: a device's bill is what is reserved and what graphs that were not launched yet may have reserved for them.
 * What is reserved stays so until the driver gives it back (cuDeviceGraphMemTrim), whatever becomes of the graph. */
#ifndef SPILLWAY_SHIM_GRAPH_MEMORY_H
#define SPILLWAY_SHIM_GRAPH_MEMORY_H
#include "ledger.h"

struct spw_graph_promise {
    struct spw_device *device; /* NULL: on nobody's bill */
    uint64_t bytes, reserved_bytes, launches;
};

/* Before a node is made that allocates: 0, or -ENOMEM where the budget cannot hold that too, which is said. No lock held in
 * any of these. */
int spw_graph_memory_promise(struct spw_graph_promise *p, struct spw_device *d, uint64_t bytes, const char *call);

/* The same for an allocation node with these parameters; NULL: for none. */
int spw_graph_memory_promise_node(struct spw_graph_promise *p, const CUDA_MEM_ALLOC_NODE_PARAMS *params);

/* The driver has answered. `graph`: what the node is in; NULL: not known, and what was promised stays so. */
void spw_graph_memory_answered(const struct spw_graph_promise *p, CUgraph graph, bool made);

/* The graph that a stream captures into; NULL: none, or none that the driver tells. */
CUgraph spw_graph_memory_captured_into(CUstream stream);

/* Before a graph is made executable that may have been before: 0, or -ENOMEM as above. Then, with its success, and what the
 * driver made (NULL: it refused). */
int spw_graph_memory_before_instance(CUgraph graph);
void spw_graph_memory_instance(CUgraph graph, CUgraphExec exec);

/* A graph was launched or uploaded: what it allocates is reserved by now. */
void spw_graph_memory_launched(CUgraphExec exec);

/* A graph or an executable one is about to go: before the driver may give its handle out again. */
void spw_graph_memory_forget(const void *graph);

/* What the driver has reserved may have changed. */
void spw_graph_memory_settle(void);

void spw_graph_memory_reset(void); /* forgets everything: for tests */
#endif
