/* rematerialiser.h - the functions through which lower rooms have dropped blocks made again.
 *
 * Operations and the pager know that a block may be dropped, and what for. Whether a given block may be dropped, how the
 * block that is made in its place is compared, and how it is made is up to the rooms above; they are asked through these
 * functions alone. The caller holds the engine lock. For functions that end in _unlocking the caller also holds the slow
 * lock of the device; they release the engine lock while they wait. As long as nothing was ever dropped, only `may_drop`
 * and `kept` are called. */
#ifndef SPILLWAY_SHIM_REMATERIALISER_H
#define SPILLWAY_SHIM_REMATERIALISER_H
#include "ours.h"
#include "lock.h"
#include <errno.h>
#include <stdbool.h>

struct spw_block;
struct spw_device;
struct spw_op;
struct spw_recorded_op;
struct spw_stream;
struct spw_versioned;

enum spw_due { SPW_DUE_NOT, SPW_DUE_BY_COPY, SPW_DUE_BY_DIGEST };

struct spw_rematerialiser {
    /* An operation that was to be kept (op->wish) has been recorded, and the driver is called next: saves what the
     * operation is about to overwrite. A negative result means that it cannot be replayed; the caller makes it void. */
    int (*kept)(struct spw_op *op, struct spw_recorded_op *recorded_op);

    /* Something is about to happen to `what` (NULL: to everything that is dropped): makes every dropped block that depends
     * on it, on the device, and submits that to `s` (NULL: any stream). With `is_known`, `what` is certain to change, so
     * retained blocks from which nothing is to be made at present are given up. Otherwise `what` may change, and these
     * blocks stay dropped. Negative, after a warning: a block could not be made, and the change must not happen, since
     * bytes would be lost. */
    int (*rescue_unlocking)(struct spw_device *d, const struct spw_versioned *what, bool is_known, struct spw_stream *s);

    /* Makes the bytes of a dropped block. Returns 0 or a failure; then the block stays dropped (replay.h). */
    int (*make_unlocking)(struct spw_device *d, struct spw_block *b, struct spw_stream *s);

    /* Returns false if the block must not be dropped, because a replay of it could not be verified or was wrong once. */
    bool (*may_drop)(const struct spw_device *d, const struct spw_block *b);

    /* The block is about to be dropped. Returns whether its replacement will be compared, and how: with a copy or with a
     * digest. */
    enum spw_due (*due)(struct spw_device *d, const struct spw_block *b);

    /* The block is being dropped, and its copy out was submitted if `due` is by copy. Sets up what its replacement will be
     * compared with, as one of the uses of the block. Returns false if the block must not be dropped. */
    bool (*dropping)(struct spw_device *d, struct spw_block *b, enum spw_due due);

    /* The block is not dropped after all, was made again, or is not wanted any more. */
    void (*not_dropped)(struct spw_block *b);

    /* The block was dropped, and freed before it was made again. */
    void (*unclaimed)(const struct spw_block *b);
};
extern const struct spw_rematerialiser *spw_rematerialiser SPW_OURS; /* NULL: nothing is ever dropped */

/* Calls spw_rematerialiser->make_unlocking(); returns -ESTALE if there is no rematerialiser. */
static inline int spw_rematerialise_unlocking(struct spw_device *d, struct spw_block *b, struct spw_stream *s)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    return spw_rematerialiser ? spw_rematerialiser->make_unlocking(d, b, s) : -ESTALE;
}

/* Calls spw_rematerialiser->rescue_unlocking(); returns 0 if there is no rematerialiser. */
static inline int spw_rescue_unlocking(struct spw_device *d, const struct spw_versioned *what, bool is_known,
                                       struct spw_stream *s)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    return spw_rematerialiser ? spw_rematerialiser->rescue_unlocking(d, what, is_known, s) : 0;
}
#endif
