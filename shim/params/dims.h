/* dims.h - recognises shapes of tensors among parameters, and copies only the dimensions that are filled in.
 *
 * PyTorch passes shapes by value (structs.h), with room for 25 dimensions, in two forms:
 *
 *     TensorInfo          address   length[25]   stride[25]   dimensions          ATen/cuda/detail/TensorInfo.cuh
 *     OffsetCalculator    dimensions   divider[25]   stride[25][tensors]          ATen/cuda/detail/OffsetCalculator.cuh
 *
 * The second form also lies in the middle of the parameter of reductions (ATen/native/cuda/Reduce.cuh):
 *
 *     ReduceOp            what it does   OffsetCalculator of 1 tensor   of 2 tensors   addresses and counts, 64 bytes
 *
 * The numbers in them are no addresses, but the stack contents in the unfilled part may be. TensorInfo is recognised by the
 * kernel's name and its exact size, and by lengths and strides that a tensor can have. OffsetCalculator begins the
 * parameter of element-wise kernels, the rest of which is not known. It is recognised by its dividers: each comes with the
 * two numbers that replace a division by it (Granlund and Montgomery 1994), and their product is the number of elements. */
#ifndef SPILLWAY_SHIM_DIMS_H
#define SPILLWAY_SHIM_DIMS_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct spw_info {
    uint16_t number_bytes; /* size of each length and stride: 4 or 8 */
};

/* Returns true if a parameter of `bytes` bytes of a kernel of this name is a TensorInfo. */
bool spw_info_recognise(const char *name, size_t bytes, struct spw_info *ret);

/* Copies the address and the dimensions that are filled in to the same places of `to`. Returns false, and copies nothing,
 * if no tensor can have such dimensions. */
bool spw_info_copy_used(const struct spw_info *s, const unsigned char *from, unsigned char *to);

struct spw_calculator {
    uint16_t bytes; /* size of the parameter that begins with it */
};

/* Returns true if the second parameter of a kernel of this name, of `bytes` bytes, begins with an OffsetCalculator. The
 * first parameter is then the number of elements, of 4 bytes. */
bool spw_calculator_recognise(const char *name, size_t bytes, struct spw_calculator *ret);

/* Copies the whole parameter without the dimensions that are not filled in. Returns false, and copies nothing, if it does
 * not begin with an OffsetCalculator for that many elements. */
bool spw_calculator_copy_used(const struct spw_calculator *s, uint32_t elements, const unsigned char *from,
                              unsigned char *to);

struct spw_reduction {
    uint16_t bytes; /* size of the parameter */
};

/* Returns true if the only parameter of a kernel of this name, of `bytes` bytes, is a ReduceOp. */
bool spw_reduction_recognise(const char *name, size_t bytes, struct spw_reduction *ret);

/* Copies the whole parameter without the dimensions that its two calculators do not have. Returns false, and copies
 * nothing, if the calculators are not where they should be. */
bool spw_reduction_copy_used(const struct spw_reduction *s, const unsigned char *from, unsigned char *to);
#endif
