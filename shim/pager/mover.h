/* mover.h - moves the bytes of blocks, and maps and unmaps their memory; only deferred_unmap.c unmaps memory, too. It
 * decides nothing: engine.h does. */
#ifndef SPILLWAY_SHIM_MOVER_H
#define SPILLWAY_SHIM_MOVER_H
#include "copy_streams.h"
#include "host_memory.h"
#include "ledger.h"

struct spw_moved {                /* since the start; engine lock */
    uint64_t out_bytes, in_bytes; /* copied to the host, and from the host */
    uint64_t out_count, in_count; /* blocks copied to the host, and from the host */
    uint64_t dropped_count;       /* blocks evicted without a copy: clean, or never written */
    uint64_t map_count, unmap_count;
    uint64_t host_refused_count; /* evictions that found no host memory */
};

extern struct spw_moved spw_moved;

/* Copies are cut into pieces so that small copies of the program get in between. A piece has as many bytes as the link
 * carries in a third of a millisecond, but at most 16 MiB. On slow links it has at least 512 KiB, since each piece costs
 * the link some microseconds; or at least 32 KiB where the program itself often copies to the device: at least once for
 * SPW_PIECE_OFTEN copies of ours, since the start. */
#define SPW_PIECE_US 300.0
enum { SPW_PIECE_LEAST = 32 << 10, SPW_PIECE_LEAST_ALONE = 512 << 10, SPW_PIECE_MOST = 16 << 20, SPW_PIECE_OFTEN = 2 };

/* Takes the memory that the block lacks from the pool of its device and maps it, with access for that device and the peers
 * that may use it. On success the block is resident and its contents are undefined. On failure it stays absent and has no
 * memory, except for pieces that the driver refuses to unmap: these stay mapped, and the next try completes them. Returns
 * -ENOMEM if the pool has no room, -EBUSY if a stale address has to be waited for first (deferred_unmap.h), or a failure of
 * the driver. */
int spw_mover_attach_locked(struct spw_device *d, struct spw_block *b);

/* Unmaps the block and gives its memory to the pool. All its users have been waited for; or memory may change hands on the
 * device, and then the address is left stale and users may still be using it (deferred_unmap.h). Returns -EBUSY if that is
 * not possible for this block and its users are not done. The block is then DROPPED if it has `drops`, EVICTED if its host
 * copy holds the bytes, else EMPTY. On failure it is as it was. */
int spw_mover_detach_locked(struct spw_device *d, struct spw_block *b);

/* Submits the copy of the block to the host, after all its uses so far; the copy is one more use. On success the block is
 * EVICTING and host_copy_valid, and operation b->leave_number of a copy-out stream stands for all its uses. Returns -ENOMEM
 * if there is no host memory, -EAGAIN if a use is in another thread's driver call, -EBUSY if the copy would keep others
 * from being copied (copy_streams.h), or a failure of the driver. On failure the block is as it was. */
int spw_mover_copy_out_locked(struct spw_device *d, struct spw_block *b);

/* Orders the copies out that are submitted from here on, on the first copy-out stream, after all copies in submitted so
 * far. Returns 0 or a failure of the driver. */
int spw_mover_out_after_in_locked(struct spw_device *d);

/* Submits the copy back into a block that was just attached. On success the block is RESTORING until operation
 * b->restore_number of the copy-in stream is complete, and the host copy stays valid. On failure the host copy still holds
 * the bytes and nothing is in flight. */
int spw_mover_copy_in_locked(struct spw_device *d, struct spw_block *b);

/* Ends the eviction of an EVICTING block that stays: it is resident as before, and COPYING while a copy still reads it. */
void spw_mover_keep_locked(struct spw_device *d, struct spw_block *b);

/* Orders what is submitted to `s` next after the copies in flight that it must not overtake: copies into the block and its
 * fence, and, if it `writes`, copies out of the block and the digest. If these are complete, forgets them instead. Returns
 * 0 or a failure of the driver. */
int spw_mover_order_locked(struct spw_device *d, struct spw_block *b, struct spw_stream *s, bool writes);

/* Submits the copy between device memory and memory of the host pool in pieces, none of which crosses a border between
 * separately pinned stretches of host memory. The stream's context is current. Returns 0 or a failure of the driver. */
int spw_mover_copy_range_locked(struct spw_stream *s, CUdeviceptr address, void *host, size_t bytes, bool out);

/* Returns the block's host copy to the pool. No copy in flight may use it. */
void spw_mover_drop_host_copy_locked(struct spw_block *b);

/* Gives `bytes` of host copies of resident blocks back to the pool, valid ones too, from this device before others; the
 * blocks are dirty then. If all that could go have copies in flight, waits for the copies of one. Returns 1: try again; 0:
 * there are none; -ETIME: the wait took too long; or another failure to wait. */
int spw_mover_spare_host_copies_unlocking(const struct spw_device *d, uint64_t bytes);

/* Lets device `user` access the memory of device `owner`, as after cuCtxEnablePeerAccess(); this covers memory that is
 * mapped and memory that will be. Returns 0 or a failure of the driver. */
int spw_mover_enable_peer_locked(int user, int owner);

/* Lets two devices access each other's memory as far as they can, for copies of the program between them. The program may
 * copy without peer access, and the driver then stages copies of its own memory; but memory that we map has to be
 * accessible to whichever device copies. */
void spw_mover_connect_locked(int a, int b);

/* Call before a context and its streams are destroyed. */
void spw_mover_context_gone_locked(CUcontext context);

/* Gives unused host memory back to the system, while the context that is about to be destroyed is current: memory that was
 * page-locked in that context is no longer page-locked, or no longer there, without it. Memory that holds tensors of other
 * contexts stays as it is. */
void spw_mover_give_back_host_memory_locked(void);

/* Forgets the host pool and all counts: for tests. */
void spw_mover_reset(void);

#endif
