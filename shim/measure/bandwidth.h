/* bandwidth.h - measures how fast a device's copies to and from the host are, using the copies that are made anyway.
 *
 * A pair of timed events stands around each whole copy of a tensor that is large enough for its latency to matter little:
 * around every copy until enough is known, then around eight in a row out of every 512. If both directions are measured at
 * once, their overlap tells how fast each is beside the other. Copies of one direction that overlap each other, on streams
 * of their own, tell nothing. The values are medians, in which a copy weighs as much as it has bytes. No copy is made just
 * to be measured: if memory is short at all, tensors are moved in the first iterations. The engine lock is held for all
 * functions. */
#ifndef SPILLWAY_SHIM_BANDWIDTH_H
#define SPILLWAY_SHIM_BANDWIDTH_H
#include <cuda.h>
#include <stdbool.h>
#include <stdint.h>

struct spw_bandwidth_pair; /* two events */

/* Called around the submission of a copy of `bytes` bytes to `stream` of the current context, in one piece or several.
 * NULL: it is not measured, which the second accepts. `submitted` is false if one of the pieces was refused. */
struct spw_bandwidth_pair *spw_bandwidth_begin_locked(int device, bool out, uint64_t bytes, CUcontext context,
                                                      CUstream stream);
void spw_bandwidth_end_locked(struct spw_bandwidth_pair *pair, CUstream stream, bool submitted);

struct spw_bandwidth {
    double d2h_bytes_per_us, h2d_bytes_per_us; /* of one direction alone, with the latency of its copies; > 0 */
    double duplex_share;                       /* the fraction of it that is left while a copy runs in the other direction; 0
                                                * < share <= 1 */
    bool duplex_measured;                      /* otherwise the share is a guess */
};

/* Reads the times of copies that are complete; spw_bandwidth_begin_locked() does that, too. */
void spw_bandwidth_collect_locked(int device);

/* Returns what was measured so far. True: both directions were measured at least three times. False: a direction that was
 * not is a guess, made from the other one if that is known. */
bool spw_bandwidth_locked(int device, struct spw_bandwidth *ret_bandwidth);

/* Returns the speed of one direction alone, in bytes per microsecond, as spw_bandwidth_locked() reports it. > 0 */
double spw_bandwidth_one_way_locked(int device, bool out);

/* Notes that copies may have another speed than before: all are measured until the speed is known again, or many have
 * passed. Until then the old values hold. */
void spw_bandwidth_doubt_locked(int device);
bool spw_bandwidth_in_doubt_locked(int device);

/* The context is about to be destroyed, and the events with it. What is known stays. */
void spw_bandwidth_context_gone_locked(CUcontext context);
void spw_bandwidth_reset(void); /* forgets everything without a driver call: for tests */
#endif
