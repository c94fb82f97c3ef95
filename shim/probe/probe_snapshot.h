/* probe_snapshot.h - memory in which a probe (probe.h) puts aside what a launch touches: scratch memory on the device as
 * long as tensors leave room for it, else pinned host memory, where copies take longer.
 *
 * Scratch memory is taken for a number of probes, and given back when an operation needs it. Host memory is taken for one
 * launch, and given back when the device is done with it. All copies of one launch go to one stream, in order. Engine lock
 * throughout. */
#ifndef SPILLWAY_SHIM_PROBE_SNAPSHOT_H
#define SPILLWAY_SHIM_PROBE_SNAPSHOT_H
#include "ledger.h"

enum {
    SPW_PROBE_SNAPSHOT_ALIGNMENT = 256, /* of places in it */
    SPW_PROBE_SNAPSHOT_HOST_SHARE = 4   /* at most this part of the host budget is taken for a launch */
};

static inline uint64_t spw_probe_snapshot_rounded(uint64_t bytes)
{
    return (bytes + SPW_PROBE_SNAPSHOT_ALIGNMENT - 1) / SPW_PROBE_SNAPSHOT_ALIGNMENT * SPW_PROBE_SNAPSHOT_ALIGNMENT;
}

#define SPW_PROBE_SNAPSHOT_HOST (UINT64_C(1) << 63) /* flag in a place: it is in host memory */

struct spw_probe_snapshot {    /* of one device; starts as all zeroes */
    struct spw_block *scratch; /* NULL: there is none */
    char *host;                /* NULL: there is none */
    size_t host_bytes;
    struct spw_uses host_uses;
};

/* Takes scratch memory of `bytes`; does nothing if there is some already. The device's slow lock is held too; the engine
 * lock is released while room is made. Returns false if there was no room. */
bool spw_probe_snapshot_take_scratch_unlocking(struct spw_probe_snapshot *snapshot, struct spw_device *d, uint64_t bytes);
void spw_probe_snapshot_give_scratch_locked(struct spw_probe_snapshot *snapshot, struct spw_device *d);

/* Takes `host_bytes` of host memory for the next launch. Returns false if there is not that much. */
bool spw_probe_snapshot_begin_locked(struct spw_probe_snapshot *snapshot, uint64_t host_bytes);

/* Returns true if `bytes` of host memory are within the share of the host budget. */
bool spw_probe_snapshot_may_use_host_locked(uint64_t bytes);

/* Copy between device memory and a place on the stream. A place is an offset in scratch memory, or, with
 * SPW_PROBE_SNAPSHOT_HOST, in host memory. Return 0 or a failure of the driver. */
int spw_probe_snapshot_save_locked(struct spw_probe_snapshot *snapshot, struct spw_stream *s, uint64_t place,
                                   CUdeviceptr from, size_t bytes);
int spw_probe_snapshot_load_locked(struct spw_probe_snapshot *snapshot, struct spw_stream *s, CUdeviceptr to, uint64_t place,
                                   size_t bytes);

/* Call after the last copy for a launch: operation `number` of the stream is the last to use the memory. */
void spw_probe_snapshot_used_locked(struct spw_probe_snapshot *snapshot, struct spw_stream *s, uint64_t number);

/* Gives host memory back if the device is done with it. */
void spw_probe_snapshot_reap_locked(struct spw_probe_snapshot *snapshot);
#endif
