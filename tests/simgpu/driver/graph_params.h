/* graph_params.h - converts the parameters of graph nodes between the many forms of the API. */
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
    CUdeviceptr address; /* that the allocation returned, or that is to be freed */
};

CUresult params_from_generic(const CUgraphNodeParams *generic, struct node_params *ret_params);
/* Makes the template of such a node; NULL if the node only orders others. */
CUresult params_make_op(struct context *context, const struct node_params *params, struct op **ret_op);
/* Sets what a node has besides its template. */
CUresult params_finish_node(struct context *context, struct node_params *params, struct graph_node *node);
/* Gives the node new parameters of its own type, or changes nothing. A node of an exec (else NULL) allows fewer changes. */
CUresult params_change_node(struct context *context, struct node_params *params, struct graph_node *node, struct exec *exec);
/* Converts in the other direction; pointers remain the node's. CUDA_ERROR_INVALID_VALUE if the type differs. */
CUresult params_of_node(struct graph_node *node, struct node_params *ret_params, CUgraphNodeType type);
#endif
