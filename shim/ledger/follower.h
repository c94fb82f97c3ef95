/* follower.h - what follows the program from iteration to iteration, as the engine below it sees it.
 *
 * The follower (plan_follower.h) learns of what the program does, and has tensors leave and come back ahead of need. Rooms
 * below it tell it through these functions alone. Engine lock where nothing else is said. */
#ifndef SPILLWAY_SHIM_FOLLOWER_H
#define SPILLWAY_SHIM_FOLLOWER_H
#include "ours.h"
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct spw_block;
struct spw_device;
struct spw_object;
struct spw_op;
struct spw_recorded_op;
struct spw_slot;
struct spw_stream;

struct spw_follower {
    /* Memory is short on the device: it is watched from now on. */
    void (*press)(struct spw_device *d);
    /* Versions began to be kept (versions.h), or are not any more. */
    void (*versions_kept)(void);

    /* Only while spw_plan_follower_any: */

    /* The operation was begun: everything that it touches is there. `objects` is what it touches where that took a closer
     * look, else NULL: then its hits say so. Sets op->timed where its duration is wanted. */
    void (*op)(struct spw_op *op, struct spw_object *const *objects, unsigned count);
    /* Something that is planned before the next operation was left until that is there (spw_plan_follower_has_left()):
     * carries that out. Needs the slow lock of the stream's device as well, lets go of the engine lock while it waits. */
    void (*before_unlocking)(struct spw_stream *s);
    /* The driver has taken an operation: carries out what is due. No lock held. */
    void (*after)(struct spw_stream *s);

    void (*alloc)(struct spw_device *d, struct spw_block *b);
    void (*free)(struct spw_device *d, struct spw_block *b);
    void (*free_slot)(struct spw_device *d, const struct spw_slot *slot); /* while it has its serial still */
    void (*pin)(struct spw_block *b);

    /* The device has another budget: plans for the one before are worth nothing. Slow lock too. */
    void (*budget_changed)(struct spw_device *d);
    /* The program says that an iteration begins. */
    void (*hint)(void);
    /* Nothing else can go. 1: what was taken for finding something out about the program went to the cache; 0: there is
     * none; -EAGAIN: not yet, for it is in use. Slow lock too. */
    int (*give_room)(struct spw_device *d);
    /* The same of memory of the host, whichever device it was taken for. */
    int (*give_host_memory)(void);
    /* Somebody lacks so many bytes, as an operation on the stream does, and would have them but for what is taken for
     * running others again. Makes all that is dropped on the device, and gives some of that back (own_memory.h). True: some
     * went. Slow lock too, nothing may be dropped meanwhile (d->making), and the engine lock is let go of. */
    bool (*give_own_memory_unlocking)(struct spw_device *d, uint64_t lacking_bytes, struct spw_stream *s);
    /* A replay of the operation gave other bytes (verify.h): the iteration that is followed is planned anew without it and
     * all others of its function, no launch of which is taken for one that can be replayed any more. */
    void (*condemned)(struct spw_device *d, const struct spw_recorded_op *wrong);
};
extern const struct spw_follower *spw_follower SPW_OURS; /* NULL: nobody follows */
/* Some device is watched or on its course; written with the engine lock. */
extern atomic_bool spw_plan_follower_any SPW_OURS;
#endif
