/* now.h - the host's clock, for measuring durations. */
#ifndef SPILLWAY_SHIM_NOW_H
#define SPILLWAY_SHIM_NOW_H
#include <stdint.h>
#include <time.h>

/* Returns nanoseconds since some moment in the past; never goes backwards. */
static inline uint64_t spw_now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}
#endif
