/* rematerialiser.h - what makes dropped blocks again, as the rooms below it see it.
 *
 * Operations and the pager know that a block may be dropped, and what for; whether one may be, how what is made in its place
 * is compared, and how it is made are the affair of the rooms above, which are asked through these functions alone. They
 * are called with the engine lock held, and, where they end in _unlocking, the slow lock of the device as well: these let go
 * of the engine lock while they wait. Nobody calls one while nothing was ever dropped but `may_drop` and `kept`. */
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
    /* An operation that was asked to be kept (op->wish) is: before the driver is told of it, in time to save what it is
     * about to overwrite. Negative: it cannot be replayed, and is void. */
    int (*kept)(struct spw_op *op, struct spw_recorded_op *recorded_op);

    /* Something is about to happen to `what`: whatever would be made of it on the device is made now, submitted to `s`,
     * NULL: to none in particular. NULL: whatever is dropped. Where `what` may be written but `is_known` says that it is
     * not known to be, retained blocks of which nothing is to be made now are left dropped. Negative, which is said: it
     * could not be done, and that must not happen, since bytes would be lost. */
    int (*rescue_unlocking)(struct spw_device *d, const struct spw_versioned *what, bool is_known, struct spw_stream *s);

    /* Makes the bytes of a dropped block. 0 or a failure; then it stays dropped (replay.h). */
    int (*make_unlocking)(struct spw_device *d, struct spw_block *b, struct spw_stream *s);

    /* False: the block must not be dropped, since its making cannot be watched or was wrong once. */
    bool (*may_drop)(const struct spw_device *d, const struct spw_block *b);

    /* The block is about to be dropped: whether what is made in its place will be compared, and with what. */
    enum spw_due (*due)(struct spw_device *d, const struct spw_block *b);

    /* It is, and its copy out was submitted where it is due by one: sees to what it will be compared with, which is one of
     * its uses. False: it must not be dropped. */
    bool (*dropping)(struct spw_device *d, struct spw_block *b, enum spw_due due);

    /* It is not dropped after all, was made again, or nobody wants it any more. */
    void (*not_dropped)(struct spw_block *b);

    /* It is dropped, and freed before anybody had it made again. */
    void (*unclaimed)(const struct spw_block *b);
};
extern const struct spw_rematerialiser *spw_rematerialiser SPW_OURS; /* NULL: nothing is ever dropped */

/* spw_rematerialiser->make_unlocking(); -ESTALE: nobody can. */
static inline int spw_rematerialise_unlocking(struct spw_device *d, struct spw_block *b, struct spw_stream *s)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    return spw_rematerialiser ? spw_rematerialiser->make_unlocking(d, b, s) : -ESTALE;
}

/* spw_rematerialiser->rescue_unlocking(). */
static inline int spw_rescue_unlocking(struct spw_device *d, const struct spw_versioned *what, bool is_known,
                                       struct spw_stream *s)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    return spw_rematerialiser ? spw_rematerialiser->rescue_unlocking(d, what, is_known, s) : 0;
}
#endif
