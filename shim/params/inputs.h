/* inputs.h - what PyTorch concatenates, as its kernels get it: which of the inputs that there is room for a launch has.
 *
 * One struct by value (structs.h), with a row of blocks for each input that is filled in:
 *
 *     address[inputs]   offset[inputs]   length[inputs]   elements[inputs]   contiguous[inputs]   shape[shapes]
 *
 * CatArrInputTensorMetadata of ATen/native/cuda/Shape.cu. It is known by the name, which tells how many there is room for,
 * and the exact size that follows; and at each launch by its numbers: each input begins where the one before ends, and each
 * has as many elements for its length as the others. */
#ifndef SPILLWAY_SHIM_INPUTS_H
#define SPILLWAY_SHIM_INPUTS_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A struct that is the second parameter. */
struct spw_inputs {
    uint16_t inputs;     /* that there is room for */
    uint16_t shapes;     /* 1: all inputs are contiguous, and nobody looks at it; else as many as inputs */
    uint16_t dimensions; /* of the four that a shape has room for */
};

/* What the second parameter of a kernel of this name is, when it has so many bytes. False: something else, or unknown. */
bool spw_inputs_recognise(const char *name, size_t bytes, struct spw_inputs *ret);

/* Copies what blocks of a launch of that grid may look at to the same places of `to`. False: these are other inputs than
 * PyTorch fills in, nothing was copied. */
bool spw_inputs_copy_used(const struct spw_inputs *s, const unsigned grid[3], const unsigned char *from, unsigned char *to);

/* What the third parameter of such a kernel is, the lengths and strides of the result: TensorSizeStride, numbers of 4 bytes
 * all of it, of which as many are filled in as there are dimensions. False: something else, or unknown. */
bool spw_result_recognise(const char *name, size_t bytes, struct spw_inputs *ret);

/* Copies the dimensions that there are. False: some length is 0, nothing was copied. */
bool spw_result_copy_used(const struct spw_inputs *s, const unsigned char *from, unsigned char *to);
#endif
