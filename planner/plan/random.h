/* random.h - generates pseudo-random numbers that are the same for the same seed (splitmix64: Steele, Lea, Flood 2014). */
#ifndef SPILLWAY_PLANNER_RANDOM_H
#define SPILLWAY_PLANNER_RANDOM_H
#include <stddef.h>
#include <stdint.h>

static inline uint64_t spw_random_next(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15ull;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
}

/* 0 <= number < limit; limit > 0. */
static inline size_t spw_random_below(uint64_t *state, size_t limit)
{
    return (size_t)(((unsigned __int128)spw_random_next(state) * limit) >> 64);
}

/* 0 <= number < 1. */
static inline double spw_random_fraction(uint64_t *state)
{
    return (double)(spw_random_next(state) >> 11) * 0x1p-53;
}
#endif
