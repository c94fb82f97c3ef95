/* stash.h - device memory for what small allocations held at another time: bounded, and counted in the budget.
 *
 * An operation that reads and writes a small allocation can only be run again with what that held before. It is saved here
 * when the operation runs first, and here is put away what the allocation holds by the time that the operation runs again.
 * Engine lock throughout. */
#ifndef SPILLWAY_SHIM_STASH_H
#define SPILLWAY_SHIM_STASH_H
#include "ledger.h"

/* The block, which is resident for good and nobody else's, is the stash of the device (own_memory.h). 0 or -ENOMEM. */
int spw_stash_open_locked(struct spw_device *d, struct spw_block *b);
bool spw_stash_is_open_locked(const struct spw_device *d);

/* The block that is the stash; NULL: there is none. */
struct spw_block *spw_stash_block_locked(const struct spw_device *d);

/* There is none any more, and the block is the caller's. NULL: something is in it, or there is none; nothing happens. */
struct spw_block *spw_stash_close_locked(struct spw_device *d);

/* Room for so many bytes, until they are given back. -ENOSPC: there is no stash, or no room in it. What is to stay for as
 * long as an operation is kept gets it in the first half only: the other one is for what a replay puts away while it runs,
 * which must never be refused to somebody who cannot do without it. */
int spw_stash_take_locked(struct spw_device *d, uint64_t bytes, uint32_t *ret_offset);
int spw_stash_take_for_long_locked(struct spw_device *d, uint64_t bytes, uint32_t *ret_offset);

/* The bytes of the stash that one of so many takes, and those that all that a replay puts away may take together. */
uint64_t spw_stash_rounded(uint64_t bytes);
uint64_t spw_stash_moment_bytes_locked(const struct spw_device *d);
void spw_stash_give_locked(struct spw_device *d, uint32_t offset, uint64_t bytes);

/* Where it lies; and that operation `number` of the stream uses something there. The stash is open. */
CUdeviceptr spw_stash_address_locked(const struct spw_device *d, uint32_t offset);
void spw_stash_used_locked(struct spw_device *d, struct spw_stream *s, uint64_t number);

/* Zeros, in the same way as the copies below. */
int spw_stash_clear_locked(struct spw_device *d, struct spw_stream *s, uint64_t number, uint64_t bytes, uint32_t offset);

/* Copies on the stream, as a part of its operation `number`, behind whatever used the stash before: `bytes` from `address`
 * to the stash, or back. 0 or a failure of the driver: nothing was copied. */
int spw_stash_save_locked(struct spw_device *d, struct spw_stream *s, uint64_t number, CUdeviceptr address, uint64_t bytes,
                          uint32_t offset);
int spw_stash_load_locked(struct spw_device *d, struct spw_stream *s, uint64_t number, CUdeviceptr address, uint64_t bytes,
                          uint32_t offset);

#endif
