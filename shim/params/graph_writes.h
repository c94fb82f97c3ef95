/* graph_writes.h - lists what executable graphs copy from host memory, and what they write outside the arenas.
 *
 * What a graph touches is pinned, so most of its copies and sets never matter again. But a copy from host memory brings
 * whatever the host has put there by the time of each launch, for instance addresses. And a write outside the arenas may
 * change a variable of a module. These writes are read from the graph through the driver when it is instantiated, whether
 * they were captured or added, in child graphs as well. The list follows later changes of the executable graph.
 *
 * Any thread. */
#ifndef SPILLWAY_SHIM_GRAPH_WRITES_H
#define SPILLWAY_SHIM_GRAPH_WRITES_H
#include "boxes.h"
#include "ours.h"

struct spw_graph_write {
    CUgraphNode node;
    struct spw_box box; /* of a set, the source is empty */
    bool is_off;        /* the program has disabled the node */
};

struct spw_graph_writes {
    struct spw_graph_write *list;
    size_t count, room;
    bool calls_host; /* one of its nodes calls a host function */
    bool is_unknown; /* there may be other writes, or more */
};

/* A node with this copy or set is about to be made or changed, in some graph or by a capture (`box` is NULL if that does
 * not say what the node is). No graph is read until a node has come that matters. */
void spw_graph_writes_meet(const struct spw_box *box);

/* Returns the box that a set writes. */
struct spw_box spw_graph_writes_set_box(const CUDA_MEMSET_NODE_PARAMS *set);

/* The driver has instantiated the graph as `exec`, or updated `exec` with the graph. */
void spw_graph_writes_made(CUgraphExec exec, CUgraph graph);
void spw_graph_writes_updated(CUgraphExec exec, CUgraph graph);

/* The node of the executable graph has been changed: to this copy or set; to disabled or enabled; to this child graph. */
void spw_graph_writes_change(CUgraphExec exec, CUgraphNode node, const struct spw_box *box);
void spw_graph_writes_enable(CUgraphExec exec, CUgraphNode node, bool on);
void spw_graph_writes_exchange(CUgraphExec exec, CUgraph child);

/* The executable graph is about to be destroyed; called before the driver may reuse its handle. */
void spw_graph_writes_forget(CUgraphExec exec);

/* Returns what the graph writes when it is launched. The caller frees the list. If there is no memory, the result is
 * unknown. */
struct spw_graph_writes spw_graph_writes_of(CUgraphExec exec);

void spw_graph_writes_reset(void); /* forgets everything: for tests */
#endif
