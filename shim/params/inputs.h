/* inputs.h - recognises the inputs of PyTorch's concatenation kernels, and copies only those that a launch has.
 *
 * They are passed as one struct by value (structs.h), and each row of the grid's blocks works on one input:
 *
 *     address[inputs]   offset[inputs]   length[inputs]   elements[inputs]   contiguous[inputs]   shape[shapes]
 *
 * This is CatArrInputTensorMetadata of ATen/native/cuda/Shape.cu. It is recognised by the kernel's name, which tells how
 * many inputs there is room for, and by the exact size that follows from it. At each launch it is recognised by its
 * numbers: each input begins where the one before ends, and each has as many elements for its length as the others. */
#ifndef SPILLWAY_SHIM_INPUTS_H
#define SPILLWAY_SHIM_INPUTS_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The struct, which is the second parameter. */
struct spw_inputs {
    uint16_t inputs;     /* number of inputs that there is room for */
    uint16_t shapes;     /* 1: all inputs are contiguous, and the shape is not used; else one for each input */
    uint16_t dimensions; /* in use, of the four that a shape has room for */
};

/* Recognises the second parameter, of `bytes` bytes, of a kernel of this name. Returns false if it is something else or
 * unknown. */
bool spw_inputs_recognise(const char *name, size_t bytes, struct spw_inputs *ret);

/* Copies what the blocks of a launch of that grid may look at to the same places of `to`. Returns false, and copies
 * nothing, if the inputs are not as PyTorch fills them in. */
bool spw_inputs_copy_used(const struct spw_inputs *s, const unsigned grid[3], const unsigned char *from, unsigned char *to);

/* Recognises the third parameter of such a kernel, the lengths and strides of the result: TensorSizeStride, all numbers of
 * 4 bytes, of which as many are filled in as there are dimensions. Returns false if it is something else or unknown. */
bool spw_result_recognise(const char *name, size_t bytes, struct spw_inputs *ret);

/* Copies the dimensions that are filled in. Returns false, and copies nothing, if some length is 0. */
bool spw_result_copy_used(const struct spw_inputs *s, const unsigned char *from, unsigned char *to);
#endif
