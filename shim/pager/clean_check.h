/* clean_check.h - a tensor that leaves without a copy because launches are believed not to have written it is proven to hold
 * what its copy on the host holds.
 *
 * What a launch writes is known from a few observations (launch_class.h). One that multiplies by 1 leaves its tensor alike
 * until one day it multiplies by 0.5, so a tensor that only such a belief calls clean is not let go on its strength. While
 * versions are kept, a copy out comes after a digest of what it will copy. Before a believed tensor goes without a copy,
 * a second one is taken behind its last use, and its memory goes once both are known and equal.
 *
 *     clean, believed --leaves--> second digest --equal------> gone, no copy
 *                        |             |  differs, or fails
 *                        |             v
 *                        +--no first-> dirty: copied out like any other
 *
 * Equal digests say the same of the copy, since nobody touches the tensor while it is copied who might write it. A launch
 * that is only believed to read comes after the copy, too (mover.h): it may count in the tensor, and back to what was there,
 * which no digest tells. What its type or its library says to read only does not wait.
 *
 * A copy that a plan has made of what nobody reads any more before it leaves, or what is written by then, is not followed by
 * a second digest, and comes without the first.
 *
 * When they differ, a belief was wrong, and it is not known which: from then on none is held in this process, what may be
 * dropped on its strength is not made again (verify.h), and before the next operation the epoch is raised (versions.h). What
 * nobody has touched since it came back needs no proof.
 *
 * A digest goes to the program's stream that is still using the tensor, or has used it by plan, if that is only one: in the
 * copy-out stream, where it goes else, copies would wait for a kernel that waits for the program's, and memory that needs no
 * copy for copies.
 *
 * Engine lock throughout; nobody waits, and in steady state nothing is made. */
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

struct spw_clean_check_counts { /* since the start; engine lock */
    uint64_t proven_count;      /* went without a copy */
    uint64_t unproven_count;    /* copied because there was nothing to compare with */
};

extern struct spw_clean_check_counts spw_clean_check_counts;

/* A launch of the function is believed not to write it. */
static inline void spw_clean_check_assume(struct spw_clean_check *proof, CUfunction function)
{
    proof->readers = (proof->believed ? proof->readers : 0) | spw_launch_class_bit_of(function);
    proof->believed = true;
}

/* The operation was begun: what it is believed not to write is from now on clean by belief only. */
void spw_clean_check_note_locked(const struct spw_op *op);

/* The block is about to be copied to the host, after all its uses, of which the digest is one. */
void spw_clean_check_copying_locked(struct spw_device *d, struct spw_block *b);

/* The host copy is void. */
void spw_clean_check_void_locked(struct spw_block *b);

/* The block is about to leave. Where it is clean by belief only, the second digest is submitted behind all its uses, and is
 * one; or the block is dirty from now on. 0 or a failure to order that; then all is as it was. */
int spw_clean_check_ask_locked(struct spw_device *d, struct spw_block *b);

/* The uses of a block that leaves are done: true when it must be copied out after all, and is dirty now. */
bool spw_clean_check_forbids_locked(struct spw_device *d, struct spw_block *b);

/* Of the bytes of a block that is about to leave, behind all its uses, of which it is one: the ticket. 0 or a failure; then
 * there is none. */
int spw_clean_check_digest_locked(struct spw_device *d, struct spw_block *b, uint32_t *ret_ticket);

/* The two halves of that, for who hashes it otherwise: the stream for it, and that it was submitted there. */
int spw_clean_check_reader_locked(struct spw_device *d, struct spw_block *b, struct spw_stream **ret_stream);
void spw_clean_check_read_locked(struct spw_block *b, struct spw_stream *s);

/* The only stream of the program's that is using what has these uses, or else has used it; NULL: there are several, or none
 * that can be submitted to now. */
struct spw_stream *spw_clean_check_only_user_locked(const struct spw_device *d, struct spw_uses *uses);

/* It stays after all. */
void spw_clean_check_cancel_locked(struct spw_block *b);

/* No copy of it is in flight any more, and no digest is: the answer to the first digest is taken, and its ticket given back.
 */
void spw_clean_check_copies_done_locked(struct spw_device *d, struct spw_block *b);

/* Its memory is gone: what it holds when it is back needs no proof. */
void spw_clean_check_gone_locked(struct spw_device *d, struct spw_block *b);

/* It is nobody's any more. */
void spw_clean_check_forget_locked(struct spw_block *b);

/* Raises the epoch when a belief was wrong. Lets go of the engine lock then; no slow lock is held. */
void spw_clean_check_settle_slow_unlocking(void);

static inline void spw_clean_check_settle_unlocking(void)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    if (spw_launch_classes_doubted)
        spw_clean_check_settle_slow_unlocking();
}

void spw_clean_check_reset(void); /* for tests */
#endif
