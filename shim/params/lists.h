/* lists.h - PyTorch's lists of tensors among parameters: which of their entries the blocks of a launch name.
 *
 * Kernels for many tensors at once (optimizers, norms, scaling of gradients) get a struct by value (structs.h) that has room
 * for hundreds of tensors, of which a launch fills in the first entries:
 *
 *     addresses[lists][tensors]   numel[tensors]   a scalar or one address more for each tensor
 *     block_to_tensor[blocks]     block_to_chunk[blocks]     start_tensor
 *
 * All of ATen/native/cuda/MultiTensorApply.cuh. It is known by the name and by being exactly as large as one that PyTorch
 * has had, and at each launch by its blocks, which go through tensors and chunks in just the order in which PyTorch numbers
 * them. */
#ifndef SPILLWAY_SHIM_LISTS_H
#define SPILLWAY_SHIM_LISTS_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A struct that is the first parameter. */
struct spw_lists {
    uint16_t lists;      /* addresses that each tensor has */
    uint16_t tensors;    /* that there is room for */
    uint16_t each_bytes; /* of scalar or address that each tensor has beside these and its number of elements */
    uint16_t blocks;
    uint16_t index_bytes; /* of a block's tensor */
    uint16_t tail_bytes;  /* behind the last array */
};

/* What the first parameter of a kernel of this name is, when it has so many bytes. False: something else, or unknown. */
bool spw_lists_recognise(const char *name, size_t bytes, struct spw_lists *ret);

/* Copies what blocks of a launch of that grid may look at to the same places of `to`. False: they are other blocks than
 * PyTorch makes, nothing was copied. */
bool spw_lists_copy_used(const struct spw_lists *l, const unsigned grid[3], const unsigned char *from, unsigned char *to);
#endif
