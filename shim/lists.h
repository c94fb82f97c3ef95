/* lists.h - PyTorch's lists of tensors among parameters: which of their entries the blocks of a launch name.
 *
 * Kernels for many tensors at once (optimizers, norms, scaling of gradients) get a struct by value that has room for
 * hundreds of tensors. A launch fills the first entries; behind them lies what was on the host's stack before, addresses of
 * tensors of other launches among it, which no block of this one looks at:
 *
 *     addresses[lists][tensors]   numel[tensors]   a scalar or one address more for each tensor
 *     block_to_tensor[blocks]     block_to_chunk[blocks]     start_tensor
 *
 * All of ATen/native/cuda/MultiTensorApply.cuh. What is left out here is never seen by the scan, so only what is certain is:
 * the kernel's name says what the struct is of, its size is exactly that of one PyTorch has had, and at each launch the
 * blocks go through tensors and chunks in just the order in which PyTorch numbers them. Else a launch is scanned as any
 * other. */
#ifndef SPILLWAY_SHIM_LISTS_H
#define SPILLWAY_SHIM_LISTS_H
#include "scan.h"
#include <stdbool.h>

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

/* What a launch passes, with zeros where its blocks look at nothing. */
struct spw_filled {
    void **params, **extra;          /* as given to a launch; one of them is NULL */
    CUdeviceptr hits[SPW_SCAN_ROOM]; /* for the caller */
};

/* The launch's parameters filled in so, of a kernel whose layout has lists; free() it. NULL: there is nothing certain to
 * leave out, or no memory. */
struct spw_filled *spw_lists_filled(const struct spw_layout *layout, const unsigned grid[3], void *const *params,
                                    void *const *extra);
#endif
