/* graph.h - graphs are pinned as a whole: what a node may touch stays resident, as launching a graph names none of it.
 *
 * Nodes become known where they are made: by operations on a capturing stream, which come to the hooks of launches,
 * copies and sets, and by the calls that add a node or change its parameters, which hooks_graph.c answers. */
#ifndef SPILLWAY_SHIM_GRAPH_H
#define SPILLWAY_SHIM_GRAPH_H
#include "ours.h"
#include <cuda.h>
#include <stdatomic.h>
#include <stdbool.h>

extern atomic_int spw_captures_active SPW_OURS; /* captures begun and not ended, on any stream */

bool spw_is_capturing_now(CUstream stream);

/* True when what is submitted to the stream becomes part of a graph instead of running: it is to be pinned and passed
 * on, and nothing of our own may be submitted to that stream. An error counts as true: the driver will refuse the
 * operation anyway. A hook of a per-thread call (_ptsz) gives CU_STREAM_PER_THREAD for 0. One load when nothing
 * captures. */
static inline bool spw_is_capturing(CUstream stream)
{
    return atomic_load_explicit(&spw_captures_active, memory_order_relaxed) > 0 && spw_is_capturing_now(stream);
}

/* Pins all that a launch may touch, everything if it cannot be parsed. For launches on a capturing stream and kernel
 * nodes. Copies and sets on a capturing stream are pinned by spw_pin_address(). */
void spw_pin_launch(CUfunction f, void *const *params, void *const *extra);

/* Pins the word that one stream memory operation waits for or writes. */
void spw_pin_memop(const CUstreamBatchMemOpParams *p);
#endif
