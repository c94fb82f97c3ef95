/* events.h - events of our own: marks of streams, and pairs around what is timed.
 *
 * All are made and given back here, and counted. Whoever keeps some gives them back before their context goes: events die
 * with it. A pool keeps pairs by their context, those that are idle and those that have ended and were not read yet. Its
 * owner guards it. */
#ifndef SPILLWAY_SHIM_EVENTS_H
#define SPILLWAY_SHIM_EVENTS_H
#include <cuda.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How many of the driver's events are kept by all, in use or not. Any thread. */
uint64_t spw_events_held(void);

/* Makes the event in the current context; nothing where it is there already. 0 or a negative result. */
int spw_event_make(CUevent *event, unsigned flags);

/* Gives the event back; `destroy` false: only forgets it, as a forked child and tests do. Nothing where there is none. */
void spw_event_drop(CUevent *event, bool destroy);

/* False where one of the two was not recorded or is not complete. */
bool spw_event_elapsed_us(CUevent from, CUevent to, double *ret_us);

struct spw_event_pair { /* events that are timed; begins each element of a pool */
    CUevent begin, end;
    CUcontext context;
    struct spw_event_pair *next;
};

/* Both events are there, made in the current context where they were not. */
bool spw_event_pair_make(struct spw_event_pair *pair);
void spw_event_pair_drop(struct spw_event_pair *pair, bool destroy);

struct spw_event_pool { /* all zeroes but for the first three: empty */
    size_t element_bytes;
    bool quiet;                                 /* refusals are not told of (ask.h) */
    bool single;                                /* has no use for `end`: that stays NULL */
    struct spw_event_pair *idle, *first, *last; /* `first` to `last`: ended, the oldest first */
};

/* A pair of the context that is idle, or a new one, made in that context, which is current. NULL: there is none. What is
 * behind the pair in a new element is zero. */
struct spw_event_pair *spw_event_pool_take(struct spw_event_pool *pool, CUcontext context);
struct spw_event_pair *spw_event_pool_make(const struct spw_event_pool *pool, CUcontext context);

/* A pair that was taken or made: it is idle again; it has ended; it goes. NULL is fine where it goes. */
void spw_event_pool_give(struct spw_event_pool *pool, struct spw_event_pair *pair);
void spw_event_pool_ended(struct spw_event_pool *pool, struct spw_event_pair *pair);
void spw_event_pool_destroy(const struct spw_event_pool *pool, struct spw_event_pair *pair, bool destroy);

/* The pair that ended first, for the caller to give back; NULL: there is none, or the device has not got there yet. */
struct spw_event_pair *spw_event_pool_next(struct spw_event_pool *pool);

/* Some pair of the context that is in nobody's hands, which stays where it is; NULL: there is none. */
const struct spw_event_pair *spw_event_pool_find(const struct spw_event_pool *pool, CUcontext context);

/* All of these go. NULL: those of every context. */
void spw_event_pool_drop(struct spw_event_pool *pool, CUcontext context, bool destroy);
#endif
