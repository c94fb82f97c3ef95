/* graph.h - graphs as operations that are kept as templates, and what is made of them to launch. */
#ifndef SIMGPU_DRIVER_GRAPH_H
#define SIMGPU_DRIVER_GRAPH_H
#include "copy.h"
#include "objects.h"
#include "user_object.h"

struct node_list { /* in the order in which the edges were made */
    struct graph_node **at;
    size_t count, room;
};

struct place {                     /* whose memory a copy or set touches, as it was when the node was given its parameters */
    const struct device *device;   /* NULL: host memory */
    const struct context *context; /* NULL: no context's in particular */
};

struct graph_node {
    struct graph *graph;
    CUgraphNodeType type;
    size_t index;                /* in its graph */
    uint64_t id;                 /* never used again; grows from node to node */
    uint64_t origin;             /* the id of what it was cloned from; 0: of nothing */
    struct op *op;               /* the template; NULL for nodes that only order others */
    struct place source, target; /* of copies and sets */
    struct node_list dependencies, dependents;
    struct event *event;   /* of event nodes; counted */
    struct graph *child;   /* of child graph nodes; owned */
    struct block *block;   /* of allocation and free nodes; shared by all graphs that name it */
    const void *function;  /* handle of a kernel node */
    void **param_pointers; /* into the template's parameters, for queries; made at the first query */
    bool disabled;
    /* For walks: */
    uint64_t mark;           /* the walk that has seen it */
    struct graph_node *next; /* on the walk's stack */
    size_t step;             /* how many of its dependencies the walk has tried */
    struct graph_node *pair; /* its counterpart in an update */
    /* In an executable graph: */
    unsigned branch;  /* the timeline that it runs on */
    bool followed;    /* another node goes on along its branch */
    struct op *start; /* while launching: what the nodes of its child graph come after ... */
    struct op *done;  /* ... and what comes after it, waits for */
};

struct graph {
    uint64_t id, origin;       /* as for nodes */
    struct graph_node **nodes; /* in the order in which they were added */
    size_t count, room;
    size_t memory_nodes;       /* how many of them allocate or free */
    struct graph_node **order; /* by graph_sort() */
    struct graph_node *parent; /* the child graph node that owns it; NULL: the program does */
    struct context *context;
    uint64_t walks;
    struct user_ref *users, *next_users; /* what it keeps alive; during an update: will */
};

struct exec {
    struct graph *graph; /* a clone, sorted, with all its child graphs */
    struct timeline *timelines;
    unsigned branches;
    unsigned long long flags;
    struct op *last;       /* the end of its newest launch */
    unsigned refs;         /* one for the handle, one for each launch that isn't done */
    unsigned launches;     /* those that aren't done */
    struct user_ref *held; /* what an update has replaced, while launches from before may use it */
    struct exec *next;     /* the next one with memory nodes that has a handle */
};

struct graph *graph_create(struct context *context, bool with_handles);
void graph_destroy(struct graph *graph);
/* A node of that type with `op` as template (taken, also on failure). Dependencies must be different nodes of the graph. */
CUresult graph_add(struct graph *graph, CUgraphNodeType type, struct op *op, const CUgraphNode *dependencies, size_t count,
                   struct graph_node **ret_node);
void graph_remove(struct graph_node *node);
/* Whether it, or a child graph, allocates or frees: such a graph can't be cloned, and only grows. */
bool graph_has_memory_nodes(const struct graph *graph);
/* Without handles: for the driver's own use; the program cannot name its nodes. */
CUresult graph_clone(const struct graph *graph, bool with_handles, struct graph **ret_graph);
/* What `node`, alive, has become in `clone`, a direct clone of its graph; or NULL. */
struct graph_node *graph_find_clone(const struct graph *clone, const struct graph_node *node);
/* Whether `node` is `on`, or comes after it. */
bool graph_depends(const struct graph_node *node, const struct graph_node *on);
/* Fills `order`: each node after what it depends on, otherwise as they were added. CUDA_ERROR_INVALID_VALUE: there is a
 * cycle, and *ret_offender is on it. */
CUresult graph_sort(struct graph *graph, struct graph_node **ret_offender);
/* CUDA_ERROR_INVALID_VALUE: another graph's node, the node itself, or an edge that there is already. */
CUresult node_depend(struct graph_node *node, struct graph_node *on);
/* False: there was no such edge. */
bool node_depend_no_more(struct graph_node *node, struct graph_node *on);
void node_replace_op(struct graph_node *node, struct op *op);
void places_of(const struct op *op, struct place *ret_source, struct place *ret_target);

/* *ret_offender: on failure the node of the graph that is to blame, or NULL. */
CUresult exec_create(struct graph *graph, unsigned long long flags, struct exec **ret_exec,
                     struct graph_node **ret_offender);
struct exec *exec_keep(struct exec *exec);
void exec_drop(struct exec *exec);
/* When a launch gets to its end. */
void exec_launch_is_done(struct exec *exec);
/* The handle is gone; what was launched goes on. */
void exec_destroy(struct exec *exec);
/* What the exec made of that node of its source graph; NULL: that is no node any more, or of another graph. */
struct graph_node *exec_find(const struct exec *exec, CUgraphNode node);
CUresult exec_launch(struct exec *exec, struct stream *stream);
/* Gives the nodes of `target`, the graph of an exec or one of its child graphs, the parameters of those of `graph`; or
 * changes nothing, answers CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE, and *ret_info tells why. */
CUresult exec_update(struct exec *exec, struct graph *target, struct graph *graph, CUgraphExecUpdateResultInfo *ret_info);
/* Whether a node of an exec may do that instead. */
CUgraphExecUpdateResult update_allows(const struct graph_node *node, const struct op *op, const void *function);
#endif
