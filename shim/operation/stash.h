/* stash.h - device memory for former contents of small allocations, bounded and counted in the budget.
 *
 * An operation that reads and writes a small allocation can only be run again with what the allocation held before. That is
 * saved here when the operation runs first. While the operation runs again, what the allocation holds by then is put away
 * here as well. The caller holds the engine lock throughout. */
#ifndef SPILLWAY_SHIM_STASH_H
#define SPILLWAY_SHIM_STASH_H
#include "ledger.h"

/* Makes the block the stash of the device (own_memory.h). The block stays resident, and nothing else uses it. Returns 0 or
 * -ENOMEM. */
int spw_stash_open_locked(struct spw_device *d, struct spw_block *b);
bool spw_stash_is_open_locked(const struct spw_device *d);

/* Returns the block of the stash, or NULL if there is no stash. */
struct spw_block *spw_stash_block_locked(const struct spw_device *d);

/* Closes the stash and hands its block to the caller. Returns NULL, and does nothing, if something is in it or there is no
 * stash. */
struct spw_block *spw_stash_close_locked(struct spw_device *d);

/* Reserve `bytes` bytes until they are given back. They return -ENOSPC if there is no stash or no room in it. The second is
 * for what stays as long as an operation is kept: it uses the first half only. The other half is for what a replay puts
 * away while it runs, so that a replay on which something depends is never refused. */
int spw_stash_take_locked(struct spw_device *d, uint64_t bytes, uint32_t *ret_offset);
int spw_stash_take_for_long_locked(struct spw_device *d, uint64_t bytes, uint32_t *ret_offset);

/* The first returns how many bytes of the stash a request for `bytes` takes, the second how many bytes everything that one
 * replay puts away may take together. */
uint64_t spw_stash_rounded(uint64_t bytes);
uint64_t spw_stash_moment_bytes_locked(const struct spw_device *d);
void spw_stash_give_locked(struct spw_device *d, uint32_t offset, uint64_t bytes);

/* The first returns the address of an offset in the stash; the second notes that operation `number` of the stream uses the
 * stash. The stash must be open. */
CUdeviceptr spw_stash_address_locked(const struct spw_device *d, uint32_t offset);
void spw_stash_used_locked(struct spw_device *d, struct spw_stream *s, uint64_t number);

/* Sets bytes of the stash to zero, ordered like the copies below. */
int spw_stash_clear_locked(struct spw_device *d, struct spw_stream *s, uint64_t number, uint64_t bytes, uint32_t offset);

/* Copy `bytes` bytes from `address` to the stash, or back, on the stream, as a part of its operation `number` and behind
 * all earlier uses of the stash. They return 0, or a failure of the driver; then nothing was copied. */
int spw_stash_save_locked(struct spw_device *d, struct spw_stream *s, uint64_t number, CUdeviceptr address, uint64_t bytes,
                          uint32_t offset);
int spw_stash_load_locked(struct spw_device *d, struct spw_stream *s, uint64_t number, CUdeviceptr address, uint64_t bytes,
                          uint32_t offset);

#endif
