/* events.h - makes and releases our own events: marks of streams, and pairs around what is timed.
 *
 * All of our events are made, released and counted here. Their owners release them before their context is destroyed, since
 * events are destroyed with it. A pool keeps pairs by context: idle ones, and ended ones that were not read yet. Its owner
 * guards it. */
#ifndef SPILLWAY_SHIM_EVENTS_H
#define SPILLWAY_SHIM_EVENTS_H
#include <cuda.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Returns how many of the driver's events exist, in use or not. Any thread. */
uint64_t spw_events_held(void);

/* Makes the event in the current context, unless it exists. Returns 0 or a negative result. */
int spw_event_make(CUevent *event, unsigned flags);

/* Destroys the event, if it exists. With `destroy` false it is only forgotten, as in a forked child and in tests. */
void spw_event_drop(CUevent *event, bool destroy);

/* Stores the time between two events. Returns false if one of them was not recorded or is not complete. */
bool spw_event_elapsed_us(CUevent from, CUevent to, double *ret_us);

struct spw_event_pair { /* two timed events; first member of each element of a pool */
    CUevent begin, end;
    CUcontext context;
    struct spw_event_pair *next;
};

/* The first makes the events that do not exist yet, in the current context, and returns true if both exist then. */
bool spw_event_pair_make(struct spw_event_pair *pair);
void spw_event_pair_drop(struct spw_event_pair *pair, bool destroy);

struct spw_event_pool { /* all zero but for the first three members: empty */
    size_t element_bytes;
    bool quiet;                                 /* refusals are not warned of (ask.h) */
    bool single;                                /* `end` is not used and stays NULL */
    struct spw_event_pair *idle, *first, *last; /* `first` to `last`: ended pairs, the oldest first */
};

/* The first takes an idle pair of the context. The second makes a pair in that context, which is current; the members of
 * the element behind the pair are zero. NULL: there is none. */
struct spw_event_pair *spw_event_pool_take(struct spw_event_pool *pool, CUcontext context);
struct spw_event_pair *spw_event_pool_make(const struct spw_event_pool *pool, CUcontext context);

/* For a pair that was taken or made: make it idle again; enter it as ended; destroy it (NULL has no effect). */
void spw_event_pool_give(struct spw_event_pool *pool, struct spw_event_pair *pair);
void spw_event_pool_ended(struct spw_event_pool *pool, struct spw_event_pair *pair);
void spw_event_pool_destroy(const struct spw_event_pool *pool, struct spw_event_pair *pair, bool destroy);

/* Returns the pair that ended first, which the caller then gives back. NULL: there is none, or the device has not got there
 * yet. */
struct spw_event_pair *spw_event_pool_next(struct spw_event_pool *pool);

/* Returns some pair of the context that is idle or ended, without taking it; NULL: there is none. */
const struct spw_event_pair *spw_event_pool_find(const struct spw_event_pool *pool, CUcontext context);

/* Destroys all pairs of the context that are in the pool; NULL: of every context. */
void spw_event_pool_drop(struct spw_event_pool *pool, CUcontext context, bool destroy);
#endif
