/* random.h - random numbers from their position alone, so that it does not matter who computes which, nor how often. */
#ifndef WORKLOADS_RANDOM_H
#define WORKLOADS_RANDOM_H
#include "launch.h"

/* From 0 to less than 1. */
static ON_DEVICE inline float random_unit(uint64_t seed, uint64_t i)
{
    uint64_t z = (seed + i + 1) * 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    z ^= z >> 31;
    return (float)(z >> 40) * (1.0f / 16777216.0f);
}
#endif
