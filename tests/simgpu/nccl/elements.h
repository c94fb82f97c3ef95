/* elements.h - the element types of NCCL, and reductions of them. */
#ifndef SIMGPU_NCCL_ELEMENTS_H
#define SIMGPU_NCCL_ELEMENTS_H
#include <nccl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Returns the size of an element; 0 for an invalid type. */
size_t element_bytes(ncclDataType_t type);
/* Returns the value of one element. */
double element_value(ncclDataType_t type, const void *at);

enum { REDUCTION_ELEMENTS = 4096 }; /* most elements at a time */

/* Sums (or the like) of elements, to which one rank after the other is added: in double precision, or for integers in 64
 * bits. They are rounded once, when they are taken. */
struct reduction {
    ncclDataType_t type;
    ncclRedOp_t op; /* a built-in one */
    unsigned ranks; /* number of ranks added */
    union {
        double real[REDUCTION_ELEMENTS];
        uint64_t whole[REDUCTION_ELEMENTS];
    } u;
};

void reduction_begin(struct reduction *reduction, ncclDataType_t type, ncclRedOp_t op);
/* Adds the next rank's elements, each multiplied by `scale`. */
void reduction_add(struct reduction *reduction, const void *elements, size_t count, double scale);
void reduction_take(const struct reduction *reduction, void *ret_elements, size_t count);
#endif
