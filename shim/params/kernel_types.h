/* kernel_types.h - tells from the type of a kernel which addresses of a launch it only reads, and which it may write. The
 * name is read once for each function (signature.h, elementwise.h); each launch is judged by the result. */
#ifndef SPILLWAY_SHIM_KERNEL_TYPES_H
#define SPILLWAY_SHIM_KERNEL_TYPES_H
#include "layout.h"
#include "signature.h"

struct spw_kernel_types {
    uint64_t constant, mutable; /* a bit for each of the first 64 parameters */
    int tensors;                /* index of the parameter that is PyTorch's array of tensors; negative: there is none */
};

/* Reads the types of a function of that mangled name. A truncated name says nothing. */
void spw_kernel_types_read(const char *name, const struct spw_layout *layout, struct spw_kernel_types *ret_types);

static inline bool spw_kernel_types_say_any(const struct spw_kernel_types *types)
{
    return types->constant || types->mutable || types->tensors >= 0;
}

/* Words of the parameter image that look like addresses by chance and do not count as hits. */
struct spw_no_hits {
    const uint16_t *words;
    unsigned count;
};

/* Reports in *ret_declared a bit for each of the first 64 hits of a launch with plain parameters, in the order of the scan
 * (scan.h). Addresses lie in [low, high). */
void spw_kernel_types_of_hits(const struct spw_kernel_types *types, const struct spw_layout *layout, void *const *params,
                              CUdeviceptr low, CUdeviceptr high, struct spw_no_hits except,
                              struct spw_declared *ret_declared);
#endif
