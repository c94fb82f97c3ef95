/* graph.h - graphs as operations that are kept as templates, and their launches. */
#ifndef SIMGPU_DRIVER_GRAPH_H
#define SIMGPU_DRIVER_GRAPH_H
#include "copy.h"
#include "objects.h"

struct graph_node {
    struct graph *graph;
    CUgraphNodeType type;
    struct op *op; /* the template; NULL for nodes that only order others */
    struct graph_node **dependencies;
    size_t dependency_count;
    struct event *event;       /* of event nodes */
    struct graph *child;       /* of child graph nodes; owned */
    struct block *block;       /* of allocation and free nodes; shared by all graphs that name it */
    struct graph_node *origin; /* what it was cloned from; NULL for the first */
    const void *function;      /* handle of a kernel node */
    void **param_pointers;     /* into the template's parameters, for queries; made at the first query */
    bool disabled;
    /* While launching: */
    unsigned branch; /* the timeline that it runs on */
    struct op *issued;
    bool followed; /* another node goes on along its branch */
    unsigned mark; /* for walks */
};

struct graph {
    struct graph_node **nodes;
    size_t count, room;
    struct context *context;
    struct graph *origin;
};

struct exec {
    struct graph *graph; /* a clone, in an order in which it can run */
    struct timeline *timelines;
    unsigned branches;
    unsigned long long flags;
    struct op *last; /* the end of its newest launch */
};

struct graph *graph_create(struct context *context, bool with_handles);
void graph_destroy(struct graph *graph);
/* A node of that type with `op` as template (taken, also on failure). */
CUresult graph_add(struct graph *graph, CUgraphNodeType type, struct op *op, const CUgraphNode *dependencies, size_t count,
                   struct graph_node **ret_node);
void graph_remove(struct graph_node *node);
CUresult graph_clone(const struct graph *graph, bool with_handles, struct graph **ret_graph);
/* The clone of `origin` in `graph`, or NULL. */
struct graph_node *graph_find_clone(const struct graph *graph, const struct graph_node *origin);
bool graph_depends(const struct graph_node *node, const struct graph_node *on);
CUresult node_depend(struct graph_node *node, struct graph_node *on);
void node_replace_op(struct graph_node *node, struct op *op);
CUresult graph_memory(struct context *context, size_t bytes, struct block **ret_block);

CUresult exec_create(const struct graph *graph, unsigned long long flags, struct exec **ret_exec);
void exec_destroy(struct exec *exec);
CUresult exec_launch(struct exec *exec, struct stream *stream);
#endif
