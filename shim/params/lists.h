/* lists.h - recognises PyTorch's lists of tensors among parameters, and copies only the entries that the blocks of a launch
 * use.
 *
 * Kernels for many tensors at once (optimizers, norms, scaling of gradients) get a struct by value (structs.h) with room
 * for hundreds of tensors, of which a launch fills in the first entries:
 *
 *     addresses[lists][tensors]   numel[tensors]   a scalar or one address more for each tensor
 *     block_to_tensor[blocks]     block_to_chunk[blocks]     start_tensor
 *
 * All of these come from ATen/native/cuda/MultiTensorApply.cuh. The struct is recognised by the kernel's name and by a size
 * that PyTorch has used. At each launch it is recognised by its blocks, which go through tensors and chunks in exactly the
 * order in which PyTorch numbers them. */
#ifndef SPILLWAY_SHIM_LISTS_H
#define SPILLWAY_SHIM_LISTS_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The struct, which is the first parameter. */
struct spw_lists {
    uint16_t lists;      /* number of addresses for each tensor */
    uint16_t tensors;    /* number of tensors that there is room for */
    uint16_t each_bytes; /* size of the scalar or address that each tensor has beside its addresses and its number of
                          * elements */
    uint16_t blocks;
    uint16_t index_bytes; /* size of a block's tensor index */
    uint16_t tail_bytes;  /* bytes behind the last array */
};

/* Recognises the first parameter, of `bytes` bytes, of a kernel of this name. Returns false if it is something else or
 * unknown. */
bool spw_lists_recognise(const char *name, size_t bytes, struct spw_lists *ret);

/* Copies what the blocks of a launch of that grid may look at to the same places of `to`. Returns false, and copies
 * nothing, if the blocks are not as PyTorch makes them. */
bool spw_lists_copy_used(const struct spw_lists *l, const unsigned grid[3], const unsigned char *from, unsigned char *to);
#endif
