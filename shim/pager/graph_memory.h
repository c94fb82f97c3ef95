/* graph_memory.h - charges memory that graphs allocate themselves to the budget of its device (unmanaged.h).
 *
 * The driver says how much it has reserved for graphs, but not how much it will reserve. An allocation is charged from the
 * moment at which it becomes a node, since that is where a program expects to be refused. What the driver reserves for it
 * later is not charged twice: a device is charged for what is reserved, and for what graphs that were not launched yet may
 * still have reserved. Reserved memory stays so until the driver gives it back (cuDeviceGraphMemTrim), whatever becomes of
 * the graph. */
#ifndef SPILLWAY_SHIM_GRAPH_MEMORY_H
#define SPILLWAY_SHIM_GRAPH_MEMORY_H
#include "ledger.h"

struct spw_graph_promise {
    struct spw_device *device; /* the device that is charged; NULL: nobody is */
    uint64_t bytes, reserved_bytes, launches;
};

/* Call before an allocation node is made: charges `bytes`. Returns 0, or -ENOMEM if the budget cannot hold that too, which
 * is logged. Call this and all other functions here with no lock held. */
int spw_graph_memory_promise(struct spw_graph_promise *p, struct spw_device *d, uint64_t bytes, const char *call);

/* The same for an allocation node with these parameters; NULL stands for no such node. */
int spw_graph_memory_promise_node(struct spw_graph_promise *p, const CUDA_MEM_ALLOC_NODE_PARAMS *params);

/* Call when the driver has answered. `graph` is the graph that the node is in; NULL: it is not known, and the promise stays
 * charged. */
void spw_graph_memory_answered(const struct spw_graph_promise *p, CUgraph graph, bool made);

/* Returns the graph that the stream captures into; NULL if it captures none, or the driver does not say which. */
CUgraph spw_graph_memory_captured_into(CUstream stream);

/* Call before a graph is made executable, which may have been done before: returns 0, or -ENOMEM as above. After 0, call
 * spw_graph_memory_instance() with what the driver made (NULL: it refused). */
int spw_graph_memory_before_instance(CUgraph graph);
void spw_graph_memory_instance(CUgraph graph, CUgraphExec exec);

/* Call when a graph was launched or uploaded: what it allocates is reserved by now. */
void spw_graph_memory_launched(CUgraphExec exec);

/* Call before a graph or an executable graph is destroyed, since the driver may give its handle out again. */
void spw_graph_memory_forget(const void *graph);

/* Call when what the driver has reserved may have changed. */
void spw_graph_memory_settle(void);

void spw_graph_memory_reset(void); /* forgets everything: for tests */
#endif
