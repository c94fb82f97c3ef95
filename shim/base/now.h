/* now.h - the host's clock, for how long something lasted. */
#ifndef SPILLWAY_SHIM_NOW_H
#define SPILLWAY_SHIM_NOW_H
#include <stdint.h>
#include <time.h>

/* Does not go backwards; counts from some moment in the past. */
static inline uint64_t spw_now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}
#endif
