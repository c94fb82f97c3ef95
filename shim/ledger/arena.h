/* arena.h - the bounds of the addresses that the library gives out. */
#ifndef SPILLWAY_SHIM_ARENA_H
#define SPILLWAY_SHIM_ARENA_H
#include <cuda.h>
#include <stdbool.h>

#include "ours.h"

/* [low, high) spans the arenas of all devices; both are 0 until there is one. Extended under the engine lock whenever a
 * device gets its arena. */
extern CUdeviceptr spw_arena_low SPW_OURS, spw_arena_high SPW_OURS;

static inline bool spw_in_arena(CUdeviceptr address)
{
    return address - spw_arena_low < spw_arena_high - spw_arena_low;
}
#endif
