/* bandwidth.h - how fast a device's copies to and from the host go, measured around the copies that are made anyway.
 *
 * A pair of timed events stands around each whole copy of a tensor that is large enough for its latency to matter little:
 * all of them until enough is known, then eight in a row out of every 512. Where both directions are measured at once,
 * what they overlapped tells how fast each is beside the other. Copies of one direction that overlap, on streams of their
 * own, tell nothing. The values are medians, in which a copy weighs as much as it has bytes. No copy is ever made to
 * measure: memory that is short at all moves tensors in the first iterations. Engine lock held in all of these. */
#ifndef SPILLWAY_SHIM_BANDWIDTH_H
#define SPILLWAY_SHIM_BANDWIDTH_H
#include <cuda.h>
#include <stdbool.h>
#include <stdint.h>

struct spw_bandwidth_pair; /* two events */

/* Around the submission of a copy of `bytes` to `stream` of the current context, in one piece or several. NULL: it is not
 * measured; that is fine for end(). `submitted` is false where one of the pieces was refused. */
struct spw_bandwidth_pair *spw_bandwidth_begin_locked(int device, bool out, uint64_t bytes, CUcontext context,
                                                      CUstream stream);
void spw_bandwidth_end_locked(struct spw_bandwidth_pair *pair, CUstream stream, bool submitted);

struct spw_bandwidth {
    double d2h_bytes_per_us, h2d_bytes_per_us; /* of either direction alone, latency of its copies included; > 0 */
    double duplex_share;  /* what is left of that while a copy runs in the other direction; 0 < share <= 1 */
    bool duplex_measured; /* else the share is a guess */
};

/* Reads the times of copies that are complete; begin() does it too. */
void spw_bandwidth_collect_locked(int device);

/* What was read until now. True: both directions were measured, three times at least. False: what was not is a guess, from
 * the other direction where that is known. */
bool spw_bandwidth_locked(int device, struct spw_bandwidth *ret_bandwidth);

/* Of one direction alone, in bytes per microsecond: what bandwidth() answers, without the rest. > 0 */
double spw_bandwidth_one_way_locked(int device, bool out);

/* Copies may go at another speed than they did: all are measured until it is known again, or many have gone by. What was
 * known counts until then. */
void spw_bandwidth_doubt_locked(int device);
bool spw_bandwidth_in_doubt_locked(int device);

/* The context is about to be destroyed, and the events with it. What is known stays. */
void spw_bandwidth_context_gone_locked(CUcontext context);
void spw_bandwidth_reset(void); /* forgets everything without a driver call: for tests */
#endif
