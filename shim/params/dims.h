/* dims.h - shapes of tensors among parameters: as many dimensions of them are filled in as they say.
 *
 * PyTorch passes them by value (structs.h), with room for 25 dimensions, in two forms:
 *
 *     TensorInfo          address   length[25]   stride[25]   dimensions          ATen/cuda/detail/TensorInfo.cuh
 *     OffsetCalculator    dimensions   divider[25]   stride[25][tensors]          ATen/cuda/detail/OffsetCalculator.cuh
 *
 * The second also in the middle of what reductions get (ATen/native/cuda/Reduce.cuh):
 *
 *     ReduceOp            what it does   OffsetCalculator of 1 tensor   of 2 tensors   addresses and counts, 64 bytes
 *
 * Their numbers are no addresses, but what lay on the stack where none was filled in may be. The first is known by the
 * kernel's name and its exact size, and by lengths and strides that a tensor may have. The second is the first part of what
 * kernels for elements get, of which the rest is not known; it is known by its dividers: each comes with the two numbers
 * that replace a division by it (Granlund and Montgomery 1994), and their product is the number of elements. */
#ifndef SPILLWAY_SHIM_DIMS_H
#define SPILLWAY_SHIM_DIMS_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct spw_info {
    uint16_t number_bytes; /* of lengths and strides: 4 or 8 */
};

/* Whether a parameter of a kernel of this name that has so many bytes is one. */
bool spw_info_recognise(const char *name, size_t bytes, struct spw_info *ret);

/* Copies the address and the dimensions that there are to the same places of `to`. False: they are none that a tensor can
 * have, nothing was copied. */
bool spw_info_copy_used(const struct spw_info *s, const unsigned char *from, unsigned char *to);

struct spw_calculator {
    uint16_t bytes; /* of the parameter that begins with it */
};

/* Whether a kernel of this name begins its second parameter, which has so many bytes, with one; the first is the number of
 * elements, of 4 bytes. */
bool spw_calculator_recognise(const char *name, size_t bytes, struct spw_calculator *ret);

/* Copies all of the parameter but dimensions that there are not. False: it does not begin like that for so many elements,
 * nothing was copied. */
bool spw_calculator_copy_used(const struct spw_calculator *s, uint32_t elements, const unsigned char *from,
                              unsigned char *to);

struct spw_reduction {
    uint16_t bytes; /* of the parameter */
};

/* Whether the only parameter of a kernel of this name, which has so many bytes, is one. */
bool spw_reduction_recognise(const char *name, size_t bytes, struct spw_reduction *ret);

/* Copies all of it but dimensions that its two calculators do not have. False: they are not where they should be, nothing
 * was copied. */
bool spw_reduction_copy_used(const struct spw_reduction *s, const unsigned char *from, unsigned char *to);
#endif
