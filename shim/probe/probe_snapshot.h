/* probe_snapshot.h - memory where a probe (probe.h) puts aside what a launch touches: scratch memory on the device, as long
 * as tensors leave room for it, else pinned host memory, where the copies take longer.
 *
 * Scratch memory is taken for a number of probes and goes when an operation needs it; host memory is taken for one launch
 * and goes when the device is done with it. All copies of one launch go to one stream, in its order. Engine lock throughout.
 */
#ifndef SPILLWAY_SHIM_PROBE_SNAPSHOT_H
#define SPILLWAY_SHIM_PROBE_SNAPSHOT_H
#include "ledger.h"

enum {
    SPW_PROBE_SNAPSHOT_ALIGNMENT = 256, /* of places in it */
    SPW_PROBE_SNAPSHOT_HOST_SHARE = 4   /* of the host budget, at most that part is taken for a launch */
};

static inline uint64_t spw_probe_snapshot_rounded(uint64_t bytes)
{
    return (bytes + SPW_PROBE_SNAPSHOT_ALIGNMENT - 1) / SPW_PROBE_SNAPSHOT_ALIGNMENT * SPW_PROBE_SNAPSHOT_ALIGNMENT;
}

#define SPW_PROBE_SNAPSHOT_HOST (UINT64_C(1) << 63) /* in a place: it is in host memory */

struct spw_probe_snapshot {    /* of one device; all zeroes at first */
    struct spw_block *scratch; /* NULL: there is none */
    char *host;                /* NULL: there is none */
    size_t host_bytes;
    struct spw_uses host_uses;
};

/* Scratch memory of so many bytes. Nothing happens where there is some. The device's slow lock is held too, and the engine
 * lock is let go of while room is made. False: there was no room. */
bool spw_probe_snapshot_take_scratch_unlocking(struct spw_probe_snapshot *snapshot, struct spw_device *d, uint64_t bytes);
void spw_probe_snapshot_give_scratch_locked(struct spw_probe_snapshot *snapshot, struct spw_device *d);

/* The next launch needs so many bytes of host memory. False: there is not so much. */
bool spw_probe_snapshot_begin_locked(struct spw_probe_snapshot *snapshot, uint64_t host_bytes);

/* Whether host memory could be had for so many bytes, as far as the host budget goes. */
bool spw_probe_snapshot_may_use_host_locked(uint64_t bytes);

/* Copies between device memory and a place, which is an offset in scratch memory, or in host memory with
 * SPW_PROBE_SNAPSHOT_HOST, on the stream. 0 or a failure of the driver. */
int spw_probe_snapshot_save_locked(struct spw_probe_snapshot *snapshot, struct spw_stream *s, uint64_t place,
                                   CUdeviceptr from, size_t bytes);
int spw_probe_snapshot_load_locked(struct spw_probe_snapshot *snapshot, struct spw_stream *s, CUdeviceptr to, uint64_t place,
                                   size_t bytes);

/* That was all of the launch: operation `number` of the stream is the last to use it. */
void spw_probe_snapshot_used_locked(struct spw_probe_snapshot *snapshot, struct spw_stream *s, uint64_t number);

/* Gives host memory back that the device is done with. */
void spw_probe_snapshot_reap_locked(struct spw_probe_snapshot *snapshot);
#endif
