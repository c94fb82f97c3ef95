/* read_check.h - what launches are only believed to read is shown to be unchanged before anything is dropped that is made of
 * it.
 *
 * That a launch leaves a tensor alike was observed of earlier ones, unless the kernel's type says it. One that counts
 * overflows may write it for the first time after many steps. What was made of the tensor can be made again only as long
 * as the tensor holds what its maker read. So before such a launch comes to what an operation that is kept has to do with,
 * the tensor is hashed, and again behind its last use when something is to be dropped that is made of it. The memory of
 * that goes once the answers are there and equal (Wei et al., PhoenixOS, arXiv 2405.12079, section 4, speculate and validate
 * likewise, by instrumented kernels). Otherwise it is copied, and nothing is believed of those kernels any more.
 *
 * What is changed and changed back in between, these two do not show. So there is another digest before each operation that
 * is kept and reads the tensor after such a launch; and one behind each that is kept and is such a launch itself, before the
 * next: run again, it would change the tensor again. All of them have to be equal to the first.
 *
 * From then on such a launch counts as one that writes: what depends on the tensor is made again first (versions.h). So it
 * is as its makers found it whenever it is made again.
 *
 * All of a tensor is hashed, whatever its size, so that a single word that was changed is seen. Engine lock throughout;
 * nobody waits. */
#ifndef SPILLWAY_SHIM_READ_CHECK_H
#define SPILLWAY_SHIM_READ_CHECK_H
#include "recorded_touch.h"
#include "slab.h"

struct spw_op;

struct spw_read_check_counts { /* since the start */
    uint64_t based_count;      /* first digests */
    uint64_t checked_count;    /* later ones */
    uint64_t shown_count;      /* all later ones were equal */
    uint64_t refuted_count;    /* it was not */
    uint64_t unknown_count;    /* there was none, so that something was copied */
};
extern struct spw_read_check_counts spw_read_check_counts SPW_OURS;

/* The operation was kept and is to be submitted next: what it touches matters from now on. */
void spw_read_check_rely_locked(struct spw_recorded_op *recorded_op);

/* As above, and it is to be submitted to `s`. What it reads may have been changed since the first digest, and be changed
 * back later: there is another digest of it. */
void spw_read_check_read_locked(const struct spw_recorded_op *recorded_op, struct spw_stream *s);

/* The operation is to be submitted next, and what it is known to write has newer versions than `clock` already. */
void spw_read_check_touch_locked(const struct spw_op *op, uint64_t clock);

/* The operation is about to write what `t` is of, which others may have changed since it was made: that is asked about, and
 * told by `t` from now on (since). False: it cannot be. */
bool spw_read_check_pass_on_locked(const struct spw_op *op, struct spw_recorded_op_touch *t);
void spw_read_check_forget_locked(struct spw_read_check *u);

/* ---- for who asks about what something is made of (drop_check.h) ---- */

/* Something with a version, where it lies. */
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

/* An operation that is kept has to do with it, in this epoch. */
bool spw_read_check_is_relied_on_locked(const struct spw_read_check *u);

/* Looks at the answers, where there may be some. */
void spw_read_check_settle_locked(struct spw_device *d, struct spw_read_check *u);

/* It is OPEN: submits the second digest to the stream, which comes behind all uses of it. NULL: there is none. 0: it is
 * PENDING; -ESTALE: it is UNKNOWN from now on. */
int spw_read_check_close_locked(struct spw_device *d, const struct spw_read_check_of *t, struct spw_stream *s);

/* The block was made again, maybe of other undefined bytes. */
void spw_read_check_renew_locked(struct spw_block *b);

void spw_read_check_reset(void); /* for tests */
#endif
