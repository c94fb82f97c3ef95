/* address_ranges.h - the ranges of numbers that can be addresses of tensors, or of device memory that is not ours. Kernels
 * that search device memory for addresses are given these ranges. */
#ifndef SPILLWAY_SHIM_ADDRESS_RANGES_H
#define SPILLWAY_SHIM_ADDRESS_RANGES_H
#include "arena.h"
#include "outside.h"
#include <stdint.h>

struct spw_address_ranges {
    struct spw_address_range {
        uint64_t low, extent; /* bytes; 0: the range is empty */
    } in[2];
};

/* Returns the ranges as they are at this moment. Memory that is not ours may be found later and extend the second range
 * (outside.h). Any thread may call this. */
static inline struct spw_address_ranges spw_address_ranges_now(void)
{
    struct spw_address_ranges r = {{{spw_arena_low, spw_arena_high - spw_arena_low}}};
    CUdeviceptr low, extent;
    if (spw_outside_extent(&low, &extent))
        r.in[1] = (struct spw_address_range){low, extent};
    return r;
}
#endif
