/* capture.h - tells whether what is submitted to a stream is executed or captured into a graph. */
#ifndef SPILLWAY_SHIM_CAPTURE_H
#define SPILLWAY_SHIM_CAPTURE_H
#include "ours.h"
#include <cuda.h>
#include <stdatomic.h>
#include <stdbool.h>

extern atomic_int spw_captures_active SPW_OURS; /* captures that have begun and not ended, on any stream */

/* Returns true if some stream captures, or did a moment ago. */
static inline bool spw_anything_captures(void)
{
    return atomic_load_explicit(&spw_captures_active, memory_order_relaxed) > 0;
}

bool spw_is_capturing_now(CUstream stream);

/* Returns true if what is submitted to the stream becomes part of a graph instead of being executed. Then its memory has to
 * be pinned and the call passed on, and nothing of our own may be submitted to the stream. An error counts as true, since
 * the driver will refuse the operation anyway. A hook of a per-thread call (_ptsz) passes CU_STREAM_PER_THREAD for 0. Costs
 * one load while nothing captures. */
static inline bool spw_is_capturing(CUstream stream)
{
    return spw_anything_captures() && spw_is_capturing_now(stream);
}
#endif
