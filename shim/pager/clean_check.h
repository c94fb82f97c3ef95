/* clean_check.h - proves that a tensor which is evicted without a copy still holds what its host copy holds.
 *
 * What a launch writes is known from a few observations (launch_class.h). A kernel that multiplies by 1 leaves its tensor
 * unchanged until one day it multiplies by 0.5. So a tensor that is clean only because launches are believed not to write
 * it is not evicted on that belief alone. While versions are kept, each copy out is preceded by a digest of the bytes that
 * it copies. Before a tensor that is clean by belief is evicted without a copy, a second digest is taken after its last
 * use. Its memory is released once both digests are known and equal.
 *
 *     clean, believed --leaves--> second digest --equal------> gone, no copy
 *                        |             |  differs, or fails
 *                        |             v
 *                        +--no first-> dirty: copied out like any other
 *
 * The first digest also holds for the copy, since nothing that may write the tensor runs while it is copied. Even a launch
 * that is believed to read only is ordered after the copy (mover.h): it may count up in the tensor and back down again,
 * which no digest shows. A launch whose kernel type or library says that it reads only is not delayed.
 *
 * A plan also makes copies of tensors that nobody reads again before they are evicted, or that are written before. No
 * second digest follows such a copy, so it is made without the first.
 *
 * When the digests differ, some belief was wrong, and it is not known which. From then on this process takes all functions
 * concerned to write everything that they are passed, what may be dropped on such a belief is not made again (verify.h), and
 * the epoch is raised before the next operation (versions.h). A tensor that nothing has touched since it was brought in
 * needs no proof.
 *
 * A digest is submitted to the program's stream that still uses the tensor, or that has used it by plan, if there is only
 * one such stream; else to the copy-out stream. There, copies would wait behind the digest for the program's kernels, and
 * memory that needs no copy would wait for copies.
 *
 * Engine lock throughout; nothing here waits, and in steady state nothing is allocated. */
#ifndef SPILLWAY_SHIM_CLEAN_CHECK_H
#define SPILLWAY_SHIM_CLEAN_CHECK_H
#include "content.h"
#include "lock.h"
#include "ours.h"
#include "launch_class.h"
#include <cuda.h>

struct spw_block;
struct spw_device;
struct spw_op;
struct spw_stream;
struct spw_uses;

struct spw_clean_check_counts { /* since the start of the process; engine lock */
    uint64_t proven_count;      /* evictions without a copy that were proven right */
    uint64_t unproven_count;    /* copies that were made because there was nothing to compare with */
};

extern struct spw_clean_check_counts spw_clean_check_counts;

/* Notes that a launch of the function is believed not to write the block. */
static inline void spw_clean_check_assume(struct spw_clean_check *proof, CUfunction function)
{
    proof->readers = (proof->believed ? proof->readers : 0) | spw_launch_class_bit_of(function);
    proof->believed = true;
}

/* Notes for an operation that was begun: the blocks that it is believed not to write are clean by belief only from now
 * on. */
void spw_clean_check_note_locked(const struct spw_op *op);

/* Call before the block is copied to the host: submits the first digest after all its uses so far, as one more use. */
void spw_clean_check_copying_locked(struct spw_device *d, struct spw_block *b);

/* Call when the host copy has become void. */
void spw_clean_check_void_locked(struct spw_block *b);

/* Call before the block is evicted. If it is clean by belief only, submits the second digest after all its uses, as one
 * more use; if that is not possible for want of a first digest, the block counts as dirty from now on. Returns 0, or the
 * failure to order the digest; then nothing has changed. */
int spw_clean_check_ask_locked(struct spw_device *d, struct spw_block *b);

/* Call when the uses of a block that is being evicted are done. Returns true if it has to be copied out after all, and
 * marks it as dirty then. */
bool spw_clean_check_forbids_locked(struct spw_device *d, struct spw_block *b);

/* Submits a digest of the block's bytes after all uses of the block so far, for a block that is about to be evicted. The
 * digest counts as one more use. Stores its ticket in *ret_ticket. Returns 0, or a negative errno; then *ret_ticket is not
 * set. */
int spw_clean_check_digest_locked(struct spw_device *d, struct spw_block *b, uint32_t *ret_ticket);

/* The same in two steps, for a caller that submits the hash itself: the first returns the stream to use, the second records
 * the hash on that stream as a use of the block. */
int spw_clean_check_reader_locked(struct spw_device *d, struct spw_block *b, struct spw_stream **ret_stream);
void spw_clean_check_read_locked(struct spw_block *b, struct spw_stream *s);

/* Returns the only stream of the program that still has one of these uses in flight, or, if none has, the only one among
 * them. NULL: there are several, or none that work can be submitted to now. */
struct spw_stream *spw_clean_check_only_user_locked(const struct spw_device *d, struct spw_uses *uses);

/* Call when the block is not evicted after all. */
void spw_clean_check_cancel_locked(struct spw_block *b);

/* Call when no copy of the block and no digest is in flight any more: takes the answer to the first digest and releases its
 * ticket. */
void spw_clean_check_copies_done_locked(struct spw_device *d, struct spw_block *b);

/* Call when the block's memory is gone: once it is brought in again, its bytes need no proof. */
void spw_clean_check_gone_locked(struct spw_device *d, struct spw_block *b);

/* Call when the block belongs to nobody any more. */
void spw_clean_check_forget_locked(struct spw_block *b);

/* Raises the epoch if a belief was wrong, and releases the engine lock meanwhile. Call without a slow lock. */
void spw_clean_check_settle_slow_unlocking(void);

static inline void spw_clean_check_settle_unlocking(void)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    if (spw_launch_classes_doubted)
        spw_clean_check_settle_slow_unlocking();
}

void spw_clean_check_reset(void); /* for tests */
#endif
