/* copy_streams.h - the two streams of a device on which tensors are copied out and in, and which copies are in flight there;
 * more for copies out while something is gated; and one for what runs beside the program's streams.
 *
 * Engine lock throughout. */
#ifndef SPILLWAY_SHIM_COPY_STREAMS_H
#define SPILLWAY_SHIM_COPY_STREAMS_H
#include "ledger.h"

/* The device has both: d->mover. They are made for the context of the first block that needs them, for the primary context
 * instead of a green one. 0, -ENOMEM or a failure of the driver. */
int spw_copy_streams_ready_locked(struct spw_device *d, CUcontext context);

/* The stream on which the device's copies out go, made where there is none: for the context of the first block that moves or
 * is looked through, which is its context then. Whoever submits to it numbers that. 0, -ENOMEM or a failure of the driver.
 */
int spw_copy_streams_out_locked(struct spw_device *d, CUcontext context, struct spw_stream **ret_stream);

/* The same for what comes behind all uses of the block. Where anything is gated (streams.h), it is one where that does not
 * come behind what the block itself does not wait for: what it holds could not leave then, though it may be out of use.
 * -EBUSY: there is none now; never for a block that is out of use. */
int spw_copy_streams_out_of_locked(struct spw_device *d, struct spw_block *b, struct spw_stream **ret_stream);

/* What was numbered last on the stream of copies out `s` reads the block, behind its uses: `gated`, if some of these were.
 */
void spw_copy_streams_reads_locked(struct spw_block *b, struct spw_stream *s, bool gated);

/* The stream for what runs beside the program's, and waits for nothing but who uses the same memory; of the copy streams'
 * context. NULL: there is none, and none could be made. */
struct spw_stream *spw_stream_beside_locked(struct spw_device *d);

/* From here on an operation of a copy-out stream that copies nothing stands for all uses of the block so far. Fails as
 * above. */
int spw_copy_streams_gather_uses_locked(struct spw_device *d, struct spw_block *b, struct spw_stream **ret_stream);

/* Waits for all uses of the block, its copies among them, as spw_uses_wait_a_while_unlocking(); but for a copy that has
 * begun. After -ETIME, whatever holds up its copy counts as gated. */
int spw_copy_streams_wait_unlocking(struct spw_device *d, struct spw_block *b);

/* The copies that may be in flight: into the block, or, with `both`, out of it as well, and the digest that reads it. */
struct spw_uses spw_copies_locked(const struct spw_device *d, const struct spw_block *b, bool both);

/* True when no copy in either direction is in flight: its host copy is nobody's target or source. */
bool spw_copies_done_locked(struct spw_device *d, const struct spw_block *b);

/* True when a copy out of it, or what is to prove one right, is not known to be complete. */
bool spw_is_copying_out_locked(const struct spw_block *b);
#endif
