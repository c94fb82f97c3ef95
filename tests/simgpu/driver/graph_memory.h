/* graph_memory.h - memory that graphs allocate and free: its address stays, its bytes are there only while it is allocated.
 *
 * A node's memory is a block that all nodes which name it share; it lives as long as one of them, or as an allocation that
 * was launched and not freed. Whether it is allocated is known twice: to the host, when launches and frees are called, and
 * to the device, when they are carried out. */
#ifndef SIMGPU_DRIVER_GRAPH_MEMORY_H
#define SIMGPU_DRIVER_GRAPH_MEMORY_H
#include "graph.h"

struct graph_memory {
    uint64_t owner;                   /* the graph whose node allocates it */
    bool freed_inside, freed_outside; /* a node of the owner, of other graphs frees it */
    bool allocated;                   /* as the host sees it */
};

/* For an allocation node that is to be made; graph_memory_drop() it where that fails. */
CUresult graph_memory_create(struct context *context, struct device *device, size_t bytes, struct block **ret_block);
/* The memory of that address, if a new node of the graph may free it; else CUDA_ERROR_INVALID_VALUE. */
CUresult graph_memory_to_free(const struct graph *graph, CUdeviceptr address, struct block **ret_block);
/* It is the memory of that allocation or free node now. */
void node_take_memory(struct graph_node *node, struct block *block);
struct block *graph_memory_keep(struct block *block);
void graph_memory_drop(struct block *block);

/* What an allocation or free node does; NULL without memory. */
struct op *memory_node_op(const struct graph_node *node, struct context *context);
/* Frees in the order of the stream, and after `after` (NULL: nothing in particular). CUDA_ERROR_INVALID_VALUE: it is not
 * allocated, or the graph that allocates it frees it. */
CUresult graph_memory_free(struct block *block, struct stream *stream, struct op *after);
/* Waits for the device and frees. CUDA_ERROR_INVALID_VALUE as above. */
CUresult graph_memory_free_now(struct block *block);

/* Before a launch: CUDA_ERROR_INVALID_VALUE where something is allocated still, or not allocated that is to be freed. With
 * CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH what is allocated still is freed on the stream. */
CUresult exec_prepare_memory(const struct exec *exec, struct stream *stream);
/* After it: the host knows what is allocated now. */
void exec_account_memory(const struct exec *exec);

/* When the device gets to an OP_GRAPH_ALLOC; to an OP_GRAPH_FREE, whose reference goes. */
void graph_memory_appear(struct block *block);
void graph_memory_vanish(struct block *block);
#endif
