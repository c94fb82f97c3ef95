/* arena.c - the bounds of all arenas. */
#include "arena.h"

CUdeviceptr spw_arena_low, spw_arena_high;
