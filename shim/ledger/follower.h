/* follower.h - the functions through which lower rooms report to the follower, which follows the program from iteration to
 * iteration.
 *
 * The follower (plan_follower.h) learns what the program does, and evicts and prefetches tensors ahead of need. Lower rooms
 * reach it through these functions alone. The caller holds the engine lock unless stated otherwise. */
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
    /* Memory is short on the device: the follower watches it from now on. */
    void (*press)(struct spw_device *d);
    /* Versions have begun to be kept (versions.h), or are not kept any more. */
    void (*versions_kept)(void);

    /* Called only while spw_plan_follower_any is set: */

    /* The operation was begun, and everything that it touches is resident. `objects` is what it touches if that took a
     * closer look; else it is NULL, and the operation's hits tell. Sets op->timed if its duration is wanted. */
    void (*op)(struct spw_op *op, struct spw_object *const *objects, unsigned count);
    /* Carries out an action that is planned before the stream's next operation and was postponed until that operation comes
     * (spw_plan_follower_has_left()). Also needs the slow lock of the stream's device; releases the engine lock while it
     * waits. */
    void (*before_unlocking)(struct spw_stream *s);
    /* The driver has taken an operation: carries out the actions that are due. No lock held. */
    void (*after)(struct spw_stream *s);

    void (*alloc)(struct spw_device *d, struct spw_block *b);
    void (*free)(struct spw_device *d, struct spw_block *b);
    void (*free_slot)(struct spw_device *d, const struct spw_slot *slot); /* called while the slot still has its serial */
    void (*pin)(struct spw_block *b);

    /* The device's budget has changed: plans for the former one are worthless. Also needs the slow lock. */
    void (*budget_changed)(struct spw_device *d);
    /* The program announces the beginning of an iteration. */
    void (*hint)(void);
    /* Called when nothing else can be evicted. Returns 1 if memory that was taken for probes was put into the cache, 0 if
     * there is none, or -EAGAIN if it is in use at the moment. Also needs the slow lock. */
    int (*give_room)(struct spw_device *d);
    /* The same for host memory, whichever device it was taken for. */
    int (*give_host_memory)(void);
    /* `lacking_bytes` bytes are missing for an operation on the stream, and would be there without the memory that is taken
     * for replays. Makes everything again that is dropped on the device, and releases some of that memory (own_memory.h).
     * Returns true if some was released. Also needs the slow lock, and d->making so that nothing more is dropped; releases
     * the engine lock. */
    bool (*give_own_memory_unlocking)(struct spw_device *d, uint64_t lacking_bytes, struct spw_stream *s);
    /* A replay of the operation gave other bytes (verify.h): the iteration is planned again without replays of it and of
     * all others of its function, which count as not replayable from now on. */
    void (*condemned)(struct spw_device *d, const struct spw_recorded_op *wrong);
};
extern const struct spw_follower *spw_follower SPW_OURS; /* NULL: there is no follower */
/* Some device is watched or on its course. Written under the engine lock. */
extern atomic_bool spw_plan_follower_any SPW_OURS;
#endif
