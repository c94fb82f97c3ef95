/* mover.h - the only one that moves bytes and changes what is mapped. Decides nothing: engine.h does. */
#ifndef SPILLWAY_SHIM_MOVER_H
#define SPILLWAY_SHIM_MOVER_H
#include "copy_streams.h"
#include "host_memory.h"
#include "ledger.h"

struct spw_moved {                /* since the start; engine lock */
    uint64_t out_bytes, in_bytes; /* copied to the host, from the host */
    uint64_t out_count, in_count; /* blocks */
    uint64_t dropped_count;       /* evicted without a copy: clean, or never written */
    uint64_t map_count, unmap_count;
    uint64_t host_refused_count; /* evictions that found no host memory */
};

extern struct spw_moved spw_moved;

/* Copies are cut into pieces, so that the program's own small copies get in between: of as many bytes as the link carries
 * in a third of a millisecond, 16 MiB at most. On slow links they are of 512 KiB at least, since each piece costs the link
 * some microseconds; of 32 KiB where the program itself copies to the device often: once for SPW_PIECE_OFTEN of our copies
 * or more, since the start. */
#define SPW_PIECE_US 300.0
enum { SPW_PIECE_LEAST = 32 << 10, SPW_PIECE_LEAST_ALONE = 512 << 10, SPW_PIECE_MOST = 16 << 20, SPW_PIECE_OFTEN = 2 };

/* Takes what the block lacks from the pool of its device and maps it, with access for its device and the peers that may use
 * it. On failure the block stays absent and has no memory, except for what the driver refuses to unmap: that stays mapped,
 * and the next try completes it. -ENOMEM: the pool has no room. -EBUSY: what is stale has to be waited for first. On success
 * the block is resident, its contents undefined. */
int spw_mover_attach_locked(struct spw_device *d, struct spw_block *b);

/* Unmaps the block, whose users have all been waited for, and takes its memory to the pool; where memory may change hands on
 * the device, its address is left stale instead, and they may still be at it; -EBUSY: but not in this case
 * (deferred_unmap.h). The block is then DROPPED if that is what it was to be, EVICTED if its host copy holds the bytes, else
 * EMPTY. On failure it is as it was. */
int spw_mover_detach_locked(struct spw_device *d, struct spw_block *b);

/* Submits the copy to the host, after all uses so far; the copy is itself a use. -ENOMEM: no host memory. -EAGAIN: a use is
 * in another thread's call. -EBUSY: it would keep others from being copied (copy_streams.h). On failure the block is as it
 * was; on success it is EVICTING and host_copy_valid as soon as its uses are done, for all of which operation
 * b->leave_number of a copy-out stream then stands. */
int spw_mover_copy_out_locked(struct spw_device *d, struct spw_block *b);

/* What is copied out from here on comes after all copies in that were submitted. 0 or a failure to order that. */
int spw_mover_out_after_in_locked(struct spw_device *d);

/* Submits the copy back into the block, just attached. On success it is RESTORING until operation b->restore_number of the
 * copy-in stream is complete; the host copy stays valid. On failure host_copy still holds the bytes and nothing is in
 * flight. */
int spw_mover_copy_in_locked(struct spw_device *d, struct spw_block *b);

/* The block was EVICTING and is not any more: it is resident, as before, and COPYING while a copy still reads it. */
void spw_mover_keep_locked(struct spw_device *d, struct spw_block *b);

/* What is submitted to `s` next comes after the copies in flight that it must not overtake: those into the block, and for
 * one that writes those out of it and the digest. Forgets what is in flight where it is complete. 0 or a failure of the
 * driver. */
int spw_mover_order_locked(struct spw_device *d, struct spw_block *b, struct spw_stream *s, bool writes);

/* Submits the copy between device memory and memory of the host pool in pieces; none reaches across a border between
 * separately pinned stretches of host memory. The stream's context is current. 0 or a failure of the driver. */
int spw_mover_copy_range_locked(struct spw_stream *s, CUdeviceptr address, void *host, size_t bytes, bool out);

/* Returns the block's host copy to the pool; no copy uses it. */
void spw_mover_drop_host_copy_locked(struct spw_block *b);

/* Gives so many bytes of host copies back, good ones too: of resident blocks, of this device before others, which are dirty
 * then. Where all that could go have copies in flight, waits for those of one. 1: try again; 0: there are none; -ETIME: it
 * was waited for in vain; negative: a failure to wait. */
int spw_mover_spare_host_copies_unlocking(const struct spw_device *d, uint64_t bytes);

/* Devices that may use each other's memory after cuCtxEnablePeerAccess(). Applies to what is mapped now and later. */
int spw_mover_enable_peer_locked(int user, int owner);

/* The program copies between the two devices, which it may without any peer access. The driver stages that for memory of its
 * own; memory that we map has to be in reach of whichever of them copies. Does nothing where it is already, or cannot be. */
void spw_mover_connect_locked(int a, int b);

/* The context is about to go, with its streams. */
void spw_mover_context_gone_locked(CUcontext context);

/* Gives the host memory back that holds nothing: what was page-locked in a context that goes is no longer so without it, or
 * is not there any more. What holds tensors of other contexts stays as it is. While that context is current. */
void spw_mover_give_back_host_memory_locked(void);

/* Forgets the host pool and all counts: for tests. */
void spw_mover_reset(void);

#endif
