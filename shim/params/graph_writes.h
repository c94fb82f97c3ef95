/* graph_writes.h - what executable graphs copy from the host, and what they write outside of the arenas.
 *
 * What a graph touches is pinned, so most of its copies and sets never matter again. One from memory of the host brings what
 * the host has put there by the time of each launch, addresses for instance. One to memory outside of the arenas may write a
 * variable of a module. Which there are is read from the graph with the driver's help when it is made executable, whether
 * they were captured or added, in child graphs as well, and is changed with the executable graph.
 *
 * Any thread. */
#ifndef SPILLWAY_SHIM_GRAPH_WRITES_H
#define SPILLWAY_SHIM_GRAPH_WRITES_H
#include "boxes.h"
#include "ours.h"

struct spw_graph_write {
    CUgraphNode node;
    struct spw_box box; /* a set comes from nowhere */
    bool is_off;        /* the program has disabled the node */
};

struct spw_graph_writes {
    struct spw_graph_write *list;
    size_t count, room;
    bool calls_host; /* a function of the host's is among its nodes */
    bool is_unknown; /* there may be more, and others */
};

/* A node with this copy or set is about to be made, or changed: in some graph, or by a capture (which need not say what it
 * is: NULL). Until one is met that matters, no graph is looked at. */
void spw_graph_writes_meet(const struct spw_box *box);

/* Where a set writes. */
struct spw_box spw_graph_writes_set_box(const CUDA_MEMSET_NODE_PARAMS *set);

/* The driver has made `exec` of the graph, or updated it with the graph. */
void spw_graph_writes_made(CUgraphExec exec, CUgraph graph);
void spw_graph_writes_updated(CUgraphExec exec, CUgraph graph);

/* The node of the executable graph copies or sets this now; is disabled or enabled; is this child graph now. */
void spw_graph_writes_change(CUgraphExec exec, CUgraphNode node, const struct spw_box *box);
void spw_graph_writes_enable(CUgraphExec exec, CUgraphNode node, bool on);
void spw_graph_writes_exchange(CUgraphExec exec, CUgraph child);

/* It is about to go: before the driver may give its handle out again. */
void spw_graph_writes_forget(CUgraphExec exec);

/* What it is going to write; the list is the caller's, to be freed. Without memory it is unknown. */
struct spw_graph_writes spw_graph_writes_of(CUgraphExec exec);

void spw_graph_writes_reset(void); /* forgets everything: for tests */
#endif
