/* structs.h - recognises PyTorch's structures among parameters that a launch fills in only in part, and copies the part
 * that it uses.
 *
 * Structs passed by value have room for more tensors, or more dimensions, than there are. Behind what a launch fills in
 * lies what the host's stack held before, for instance addresses of tensors of other launches, which no block of this
 * launch looks at. The scan never sees what is left out here, so only what is certain is left out. Each kind of structure
 * (a line in structs.c) recognises a parameter by the kernel's name and the parameter's size, and at each launch by its
 * contents, which have to be exactly as PyTorch fills them in. Otherwise the parameter is scanned like any other. */
#ifndef SPILLWAY_SHIM_STRUCTS_H
#define SPILLWAY_SHIM_STRUCTS_H
#include "dims.h"
#include "inputs.h"
#include "lists.h"
#include "param.h"

struct spw_struct_kind;

/* A recognised parameter of a kernel. */
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

/* Recognises parameter `param`, of `count`, of a kernel of this name. Returns false if it is of no known kind. */
bool spw_struct_recognise(const char *name, const struct spw_param *params, unsigned count, unsigned param,
                          struct spw_struct *ret);

/* Copies the part of the structure that the launch uses to `to`, which is all zero before. `first`: the launch's first
 * parameter. Returns false, and copies nothing, if the structure is not as expected. */
bool spw_struct_copy_used(const struct spw_struct *s, const unsigned grid[3], const unsigned char *first,
                          const unsigned char *from, unsigned char *to);
#endif
