/* graph_memory.h - memory that graphs allocate and free: its address stays, its bytes exist only while it is allocated.
 *
 * A node's memory is a block shared by all nodes that refer to it. It lives as long as one of them, or as an allocation
 * that was launched and not freed. Whether it is allocated is tracked twice: for the host, when launches and frees are
 * called, and for the device, when they are executed. */
#ifndef SIMGPU_DRIVER_GRAPH_MEMORY_H
#define SIMGPU_DRIVER_GRAPH_MEMORY_H
#include "graph.h"

struct graph_memory {
    uint64_t owner;                   /* the graph whose node allocates it */
    bool freed_inside, freed_outside; /* a node of the owner, or of another graph, frees it */
    bool allocated;                   /* from the host's point of view */
};

/* Creates memory for a new allocation node; graph_memory_drop() it if the node cannot be made. */
CUresult graph_memory_create(struct context *context, struct device *device, size_t bytes, struct block **ret_block);
/* Gets the memory at that address, if a new node of the graph may free it; else CUDA_ERROR_INVALID_VALUE. */
CUresult graph_memory_to_free(const struct graph *graph, CUdeviceptr address, struct block **ret_block);
/* Makes it the memory of that allocation or free node. */
void node_take_memory(struct graph_node *node, struct block *block);
struct block *graph_memory_keep(struct block *block);
void graph_memory_drop(struct block *block);

/* Returns the operation of an allocation or free node; NULL without memory. */
struct op *memory_node_op(const struct graph_node *node, struct context *context);
/* Frees in the order of the stream, and after `after` (NULL: nothing in particular). CUDA_ERROR_INVALID_VALUE: it is not
 * allocated, or the graph that allocates it frees it. */
CUresult graph_memory_free(struct block *block, struct stream *stream, struct op *after);
/* Waits for the device and frees. CUDA_ERROR_INVALID_VALUE as above. */
CUresult graph_memory_free_now(struct block *block);

/* To be called before a launch. CUDA_ERROR_INVALID_VALUE: an allocation still exists, or one that is to be freed does
 * not. With CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH existing allocations are freed on the stream. */
CUresult exec_prepare_memory(const struct exec *exec, struct stream *stream);
/* To be called after the launch: updates what is allocated for the host. */
void exec_account_memory(const struct exec *exec);

/* To be called when the device executes an OP_GRAPH_ALLOC, and an OP_GRAPH_FREE, whose reference is dropped. */
void graph_memory_appear(struct block *block);
void graph_memory_vanish(struct block *block);
#endif
