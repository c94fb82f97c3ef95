/* graph_params.h - what a graph node is told to do, in the many forms of the API, and back. */
#ifndef SIMGPU_DRIVER_GRAPH_PARAMS_H
#define SIMGPU_DRIVER_GRAPH_PARAMS_H
#include "graph.h"

struct node_params {
    CUgraphNodeType type;
    CUDA_KERNEL_NODE_PARAMS kernel;
    CUDA_MEMCPY3D memcpy;
    CUDA_MEMSET_NODE_PARAMS memset;
    CUDA_HOST_NODE_PARAMS host;
    CUgraph child;
    CUevent event;
    CUmemPoolProps pool; /* of an allocation */
    size_t bytes;
    CUdeviceptr address; /* what it returned, or what is to be freed */
};

CUresult params_from_generic(const CUgraphNodeParams *generic, struct node_params *ret_params);
/* The template of such a node; NULL where the node only orders others. */
CUresult params_make_op(struct context *context, const struct node_params *params, struct op **ret_op);
/* What a node has besides its template. */
CUresult params_finish_node(struct context *context, struct node_params *params, struct graph_node *node);
/* Gives the node new parameters of its own type, or changes nothing. A node of an exec (else NULL) takes fewer changes. */
CUresult params_change_node(struct context *context, struct node_params *params, struct graph_node *node, struct exec *exec);
/* The other way round; pointers stay the node's. CUDA_ERROR_INVALID_VALUE where the type is another. */
CUresult params_of_node(struct graph_node *node, struct node_params *ret_params, CUgraphNodeType type);
#endif
