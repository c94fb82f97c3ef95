/* address_ranges.h - between which numbers an address lies that a kernel may follow: one of a tensor, or of memory that is
 * not ours. For the kernels that look for such words in device memory. */
#ifndef SPILLWAY_SHIM_ADDRESS_RANGES_H
#define SPILLWAY_SHIM_ADDRESS_RANGES_H
#include "arena.h"
#include "outside.h"
#include <stdint.h>

struct spw_address_ranges {
    struct spw_address_range {
        uint64_t low, extent; /* 0: none */
    } in[2];
};

/* As things are: memory that is not ours may be met later (outside.h). Any thread. */
static inline struct spw_address_ranges spw_address_ranges_now(void)
{
    struct spw_address_ranges r = {{{spw_arena_low, spw_arena_high - spw_arena_low}}};
    CUdeviceptr low, extent;
    if (spw_outside_extent(&low, &extent))
        r.in[1] = (struct spw_address_range){low, extent};
    return r;
}
#endif
