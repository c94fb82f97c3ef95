/* read_check.h - shows, before something is dropped, that what it is made from was not changed by launches which are only
 * believed to read it.
 *
 * Unless the kernel's type says so, it is only an observation of earlier launches that a launch leaves a tensor unchanged.
 * A kernel that counts overflows may write the tensor for the first time after many steps. What was made from the tensor
 * can be made again only as long as the tensor holds what its maker read. So before such a launch touches what a kept
 * operation has read or made, the tensor is hashed. It is hashed again after its last use, when a block that is made from
 * it is to be dropped. That block's memory is released once both answers have arrived and are equal. (Wei et al.,
 * PhoenixOS, arXiv 2405.12079, section 4, also speculate and validate, by instrumented kernels.) If they differ, that block
 * is copied out instead, and nothing is believed of those kernels any more.
 *
 * Two digests do not show a change that was undone in between. So there is another digest before each kept operation that
 * reads the tensor after such a launch. There is also one after each kept operation that is itself such a launch, before
 * the next one: run again, it would change the tensor again. All of these digests have to equal the first.
 *
 * From then on such a launch counts as one that writes: whatever depends on the tensor is made again first (versions.h). So
 * the tensor is as its readers found it whenever they are run again.
 *
 * A tensor is hashed as a whole, whatever its size, so that a single changed word is noticed. The engine lock is held
 * throughout; nothing here waits. */
#ifndef SPILLWAY_SHIM_READ_CHECK_H
#define SPILLWAY_SHIM_READ_CHECK_H
#include "recorded_touch.h"
#include "slab.h"

struct spw_op;

struct spw_read_check_counts { /* numbers since the start */
    uint64_t based_count;      /* first digests */
    uint64_t checked_count;    /* later digests */
    uint64_t shown_count;      /* checks of which all later digests were equal */
    uint64_t refuted_count;    /* checks that found a change */
    uint64_t unknown_count;    /* checks without an answer, so that something was copied */
};
extern struct spw_read_check_counts spw_read_check_counts SPW_OURS;

/* Notes that an operation was kept and is submitted next: from now on it matters what happens to the memory that it
 * touches. */
void spw_read_check_rely_locked(struct spw_recorded_op *recorded_op);

/* Takes another digest of what the operation reads, for an operation that was kept and is submitted next to `s`: the memory
 * may have been changed since the first digest, and be changed back later. */
void spw_read_check_read_locked(const struct spw_recorded_op *recorded_op, struct spw_stream *s);

/* Takes the digests that are due before the operation, which is submitted next. What it is known to write already has
 * versions above `clock`. */
void spw_read_check_touch_locked(const struct spw_op *op, uint64_t clock);

/* The operation is about to write the block of `t`, which launches since its last writer are only believed not to have
 * changed. Asks for a digest of it, and hands the answers over to t->since. Returns false if that is impossible. The second
 * forgets the digests of a check. */
bool spw_read_check_pass_on_locked(const struct spw_op *op, struct spw_recorded_op_touch *t);
void spw_read_check_forget_locked(struct spw_read_check *u);

/* ---- for the drop check (drop_check.h) ---- */

/* A block or slot, with the place where it lies. */
struct spw_read_check_of {
    struct spw_versioned *what;
    struct spw_object *object;
    CUdeviceptr address;
    size_t bytes;
};

static inline struct spw_read_check_of spw_read_check_of_block(struct spw_block *b)
{
    return (struct spw_read_check_of){&b->content, &b->object, b->address, b->size_bytes};
}

static inline struct spw_read_check_of spw_read_check_of_slot(struct spw_slot *slot)
{
    return (struct spw_read_check_of){&slot->content, &slot->slab->object, spw_slot_address(slot), slot->size_bytes};
}

/* Returns true if a kept operation of this epoch has read or made it. */
bool spw_read_check_is_relied_on_locked(const struct spw_read_check *u);

/* Compares the answers that have arrived. */
void spw_read_check_settle_locked(struct spw_device *d, struct spw_read_check *u);

/* Closes an OPEN check: submits the second digest to the stream, ordered behind all uses of the memory. NULL: there is no
 * stream. Returns 0 if the check is PENDING, or -ESTALE if it is UNKNOWN from now on. */
int spw_read_check_close_locked(struct spw_device *d, const struct spw_read_check_of *t, struct spw_stream *s);

/* Starts again for a block that was made again: bytes that nobody defines may differ from before. */
void spw_read_check_renew_locked(struct spw_block *b);

void spw_read_check_reset(void); /* for tests */
#endif
