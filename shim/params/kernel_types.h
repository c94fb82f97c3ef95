/* kernel_types.h - what the type of a kernel says of the addresses that a launch is given: where it only reads, and where it
 * may write. The name is read once for each function (signature.h, elementwise.h); a launch is looked at with what that
 * told. */
#ifndef SPILLWAY_SHIM_KERNEL_TYPES_H
#define SPILLWAY_SHIM_KERNEL_TYPES_H
#include "layout.h"
#include "signature.h"

struct spw_kernel_types {
    uint64_t constant, mutable; /* a bit for each of the first 64 parameters */
    int tensors;                /* the parameter with PyTorch's array of tensors; negative: there is none */
};

/* Of a function of that mangled name. A name that was cut off says nothing. */
void spw_kernel_types_read(const char *name, const struct spw_layout *layout, struct spw_kernel_types *ret_types);

static inline bool spw_kernel_types_say_any(const struct spw_kernel_types *types)
{
    return types->constant || types->mutable || types->tensors >= 0;
}

/* Words of the image where there is an address by chance: they are no hits. */
struct spw_no_hits {
    const uint16_t *words;
    unsigned count;
};

/* Of a launch with plain parameters whose addresses lie in [low, high): a bit for each of its first 64 hits, in the order of
 * the scan (scan.h). */
void spw_kernel_types_of_hits(const struct spw_kernel_types *types, const struct spw_layout *layout, void *const *params,
                              CUdeviceptr low, CUdeviceptr high, struct spw_no_hits except,
                              struct spw_declared *ret_declared);
#endif
