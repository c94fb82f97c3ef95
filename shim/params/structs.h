/* structs.h - PyTorch's structures among parameters that a launch fills in only in part: what of them it uses.
 *
 * Structs passed by value have room for more tensors, or more dimensions, than there are. Behind what a launch fills in lies
 * what was on the host's stack before, addresses of tensors of other launches among it, which no block of this one looks at.
 * What is left out here is never seen by the scan, so only what is certain is: a kind of structure (structs.c has a line for
 * each) knows a parameter by the kernel's name and the parameter's size, and at each launch by what was filled in, which has
 * to be just as PyTorch fills it in. Else the parameter is scanned as any other. */
#ifndef SPILLWAY_SHIM_STRUCTS_H
#define SPILLWAY_SHIM_STRUCTS_H
#include "dims.h"
#include "inputs.h"
#include "lists.h"
#include "param.h"

struct spw_struct_kind;

/* One parameter of a kernel. */
struct spw_struct {
    const struct spw_struct_kind *kind;
    uint16_t param;
    union {
        struct spw_lists lists;
        struct spw_inputs inputs;
        struct spw_info info;
        struct spw_calculator calculator;
        struct spw_reduction reduction;
    };
};

/* What parameter `param` of a kernel of this name is, of the `count` that it has. False: nothing that is known. */
bool spw_struct_recognise(const char *name, const struct spw_param *params, unsigned count, unsigned param,
                          struct spw_struct *ret);

/* Copies what the launch uses of the structure, to where there are zeros. `first`: what it gives for its first parameter.
 * False: the structure is not as it should be, and nothing was copied. */
bool spw_struct_copy_used(const struct spw_struct *s, const unsigned grid[3], const unsigned char *first,
                          const unsigned char *from, unsigned char *to);
#endif
