/* copy_streams.h - the streams of a device on which spillway copies tensors out and in: one for each direction, more for
 * copies out while something is gated, and one for operations that run beside the program's streams; and which copies are
 * in flight.
 *
 * Engine lock throughout. */
#ifndef SPILLWAY_SHIM_COPY_STREAMS_H
#define SPILLWAY_SHIM_COPY_STREAMS_H
#include "ledger.h"

/* Makes the two copy streams of the device (d->mover) if there are none yet: in the context of the first block that needs
 * them, or in the primary context instead of a green one. Returns 0, -ENOMEM or a failure of the driver. */
int spw_copy_streams_ready_locked(struct spw_device *d, CUcontext context);

/* Finds the stream for the device's copies out. Makes it if there is none, in the context of the first block that is moved
 * or searched, which is its context from then on. The caller numbers what it submits there. Returns 0, -ENOMEM or a failure
 * of the driver. */
int spw_copy_streams_out_locked(struct spw_device *d, CUcontext context, struct spw_stream **ret_stream);

/* The same for work that comes after all uses of the block. While anything is gated (streams.h), it is a stream on which
 * that work does not come after gated work that the block itself does not wait for; else the block could not leave although
 * it may be out of use. Returns -EBUSY if there is no such stream now, which never happens for a block that is out of
 * use. */
int spw_copy_streams_out_of_locked(struct spw_device *d, struct spw_block *b, struct spw_stream **ret_stream);

/* Records that the operation numbered last on the copy-out stream `s` reads the block, after its uses; `gated`: some of
 * these uses are gated. */
void spw_copy_streams_reads_locked(struct spw_block *b, struct spw_stream *s, bool gated);

/* Returns the stream for operations that run beside the program's streams and wait only for users of the same memory; it is
 * in the copy streams' context. NULL: there is none, and none could be made. */
struct spw_stream *spw_stream_beside_locked(struct spw_device *d);

/* Makes one operation of a copy-out stream, which copies nothing, stand for all uses of the block so far. Returns the
 * stream in *ret_stream, and fails as spw_copy_streams_out_of_locked(). */
int spw_copy_streams_gather_uses_locked(struct spw_device *d, struct spw_block *b, struct spw_stream **ret_stream);

/* Waits for all uses of the block, its copies included, like spw_uses_wait_a_while_unlocking(), but without a time limit
 * for a copy out that has begun. After -ETIME, whatever holds up its copy counts as gated. */
int spw_copy_streams_wait_unlocking(struct spw_device *d, struct spw_block *b);

/* Returns the copies that may be in flight: into the block, or, with `both`, out of it as well, and the digest that reads
 * it. While the block is FENCED, its fence is among them. */
struct spw_uses spw_copies_locked(const struct spw_device *d, const struct spw_block *b, bool both);

/* Returns true if none of these is in flight in either direction: nothing reads or writes the block's host copy. */
bool spw_copies_done_locked(struct spw_device *d, const struct spw_block *b);

/* Returns true if a copy out of the block, or a digest on a copy-out stream, is not known to be complete. */
bool spw_is_copying_out_locked(const struct spw_block *b);
#endif
