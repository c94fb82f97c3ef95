/* capture.h - whether what is submitted to a stream runs, or becomes part of a graph. */
#ifndef SPILLWAY_SHIM_CAPTURE_H
#define SPILLWAY_SHIM_CAPTURE_H
#include "ours.h"
#include <cuda.h>
#include <stdatomic.h>
#include <stdbool.h>

extern atomic_int spw_captures_active SPW_OURS; /* captures begun and not ended, on any stream */

/* Some stream captures, or a moment ago. */
static inline bool spw_anything_captures(void)
{
    return atomic_load_explicit(&spw_captures_active, memory_order_relaxed) > 0;
}

bool spw_is_capturing_now(CUstream stream);

/* True when what is submitted to the stream becomes part of a graph instead of running: it is to be pinned and passed
 * on, and nothing of our own may be submitted to that stream. An error counts as true: the driver will refuse the
 * operation anyway. A hook of a per-thread call (_ptsz) gives CU_STREAM_PER_THREAD for 0. One load when nothing
 * captures. */
static inline bool spw_is_capturing(CUstream stream)
{
    return spw_anything_captures() && spw_is_capturing_now(stream);
}
#endif
