/* graph.h - graphs: operations that are kept as templates, and executable graphs made from them. */
#ifndef SIMGPU_DRIVER_GRAPH_H
#define SIMGPU_DRIVER_GRAPH_H
#include "copy.h"
#include "objects.h"
#include "user_object.h"

struct node_list { /* in the order in which the edges were made */
    struct graph_node **at;
    size_t count, room;
};

struct place {                     /* whose memory a copy or set touches, at the time when the node got its parameters */
    const struct device *device;   /* NULL: host memory */
    const struct context *context; /* NULL: of no particular context */
};

struct graph_node {
    struct graph *graph;
    CUgraphNodeType type;
    size_t index;                /* in its graph */
    uint64_t id;                 /* never reused; increases from node to node */
    uint64_t origin;             /* the id of the node from which it was cloned; 0: none */
    struct op *op;               /* the template; NULL for nodes that only order others */
    struct place source, target; /* of copies and sets */
    struct node_list dependencies, dependents;
    struct event *event;   /* of event nodes; reference-counted */
    struct graph *child;   /* of child graph nodes; owned */
    struct block *block;   /* of allocation and free nodes; shared by all graphs with such a node */
    const void *function;  /* handle of a kernel node */
    void **param_pointers; /* into the template's parameters, for queries; made at the first query */
    bool disabled;
    /* For walks: */
    uint64_t mark;           /* the last walk that visited it */
    struct graph_node *next; /* on the walk's stack */
    size_t step;             /* number of its dependencies that the walk has tried */
    struct graph_node *pair; /* its counterpart in an update */
    /* In an executable graph: */
    unsigned branch;  /* the timeline on which it runs */
    bool followed;    /* another node continues its branch */
    struct op *start; /* during a launch: the operation after which the nodes of its child graph come ... */
    struct op *done;  /* ... and the operation for which later nodes wait */
};

struct graph {
    uint64_t id, origin;       /* as for nodes */
    struct graph_node **nodes; /* in the order in which they were added */
    size_t count, room;
    size_t memory_nodes;       /* number of nodes that allocate or free */
    struct graph_node **order; /* set by graph_sort() */
    struct graph_node *parent; /* the child graph node that owns it; NULL: the program owns it */
    struct context *context;
    uint64_t walks;
    struct user_ref *users, *next_users; /* what it keeps alive; next_users: during an update, what it will */
};

struct exec {
    struct graph *graph; /* a clone, sorted, with all its child graphs */
    struct timeline *timelines;
    unsigned branches;
    unsigned long long flags;
    struct op *last;       /* the end of its latest launch */
    unsigned refs;         /* one for the handle, one for each unfinished launch */
    unsigned launches;     /* unfinished ones */
    struct user_ref *held; /* what an update has replaced, while earlier launches may use it */
    struct exec *next;     /* the next exec that has memory nodes and a handle */
};

struct graph *graph_create(struct context *context, bool with_handles);
void graph_destroy(struct graph *graph);
/* Adds a node of that type with `op` as template (taken over, also on failure). The dependencies must be different nodes
 * of the graph. */
CUresult graph_add(struct graph *graph, CUgraphNodeType type, struct op *op, const CUgraphNode *dependencies, size_t count,
                   struct graph_node **ret_node);
void graph_remove(struct graph_node *node);
/* Returns true if it, or a child graph, allocates or frees: such a graph cannot be cloned, and only grows. */
bool graph_has_memory_nodes(const struct graph *graph);
/* Clones a graph. Without handles: for the driver's own use; the program cannot refer to its nodes. */
CUresult graph_clone(const struct graph *graph, bool with_handles, struct graph **ret_graph);
/* Returns the counterpart of `node`, which has to be alive, in `clone`, a direct clone of its graph; or NULL. */
struct graph_node *graph_find_clone(const struct graph *clone, const struct graph_node *node);
/* Returns true if `node` is `on`, or comes after it. */
bool graph_depends(const struct graph_node *node, const struct graph_node *on);
/* Fills `order`: each node after its dependencies, otherwise in the order of adding. CUDA_ERROR_INVALID_VALUE: there is a
 * cycle, and *ret_offender is on it. */
CUresult graph_sort(struct graph *graph, struct graph_node **ret_offender);
/* Adds a dependency. CUDA_ERROR_INVALID_VALUE: another graph's node, the node itself, or an existing edge. */
CUresult node_depend(struct graph_node *node, struct graph_node *on);
/* Removes a dependency. Returns false if there was no such edge. */
bool node_depend_no_more(struct graph_node *node, struct graph_node *on);
void node_replace_op(struct graph_node *node, struct op *op);
void places_of(const struct op *op, struct place *ret_source, struct place *ret_target);

/* Instantiates a graph. *ret_offender: on failure the node of the graph that caused it, or NULL. */
CUresult exec_create(struct graph *graph, unsigned long long flags, struct exec **ret_exec,
                     struct graph_node **ret_offender);
struct exec *exec_keep(struct exec *exec);
void exec_drop(struct exec *exec);
/* To be called when a launch has ended. */
void exec_launch_is_done(struct exec *exec);
/* Handles the end of the handle; launches continue. */
void exec_destroy(struct exec *exec);
/* Returns the exec's counterpart of that node of its source graph; NULL: it is no node any more, or of another graph. */
struct graph_node *exec_find(const struct exec *exec, CUgraphNode node);
CUresult exec_launch(struct exec *exec, struct stream *stream);
/* Gives the nodes of `target`, the graph of an exec or one of its child graphs, the parameters of those of `graph`. Or
 * changes nothing and returns CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE; *ret_info then says why. */
CUresult exec_update(struct exec *exec, struct graph *target, struct graph *graph, CUgraphExecUpdateResultInfo *ret_info);
/* Checks whether a node of an exec may be changed to this operation. */
CUgraphExecUpdateResult update_allows(const struct graph_node *node, const struct op *op, const void *function);
#endif
