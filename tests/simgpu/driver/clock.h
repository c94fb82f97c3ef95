/* clock.h - vector clocks: which operation the program itself orders before which.
 *
 * Each timeline (a stream, a branch of a graph) numbers its operations. A `struct when` names one operation and knows,
 * for every other timeline, up to which number that timeline is ordered before it. Time plays no part here. */
#ifndef SIMGPU_DRIVER_CLOCK_H
#define SIMGPU_DRIVER_CLOCK_H
#include <stdbool.h>
#include <stdint.h>

struct clock; /* an immutable, reference-counted table: timeline -> number; NULL is empty */

struct when { /* identifies one operation */
    struct clock *known;
    unsigned slot;     /* its timeline */
    uint64_t position; /* its number there, from 1 */
};

struct timeline { /* makes operations, one after the other */
    unsigned slot;
    uint64_t position;     /* of the newest operation */
    struct clock *known;   /* what the next operation knows, apart from its predecessors here */
    uint64_t host_version; /* how much of the host's knowledge is included */
};

int timeline_init(struct timeline *timeline); /* returns 0 or -ENOMEM */
void timeline_finish(struct timeline *timeline);
/* Returns the next operation of the timeline, which knows everything that the host has learned by now. The caller drops
 * it. */
struct when timeline_next(struct timeline *timeline);
/* Orders later operations of the timeline after `other`. */
void timeline_follow(struct timeline *timeline, const struct when *other);

struct when when_keep(const struct when *when);
void when_drop(struct when *when);
bool when_ordered(const struct when *earlier, const struct when *later);

/* The host has learned that `when` is complete, and everything before it. */
void host_learn(const struct when *when);
bool host_knows(unsigned slot, uint64_t position);
uint64_t host_knowledge_version(void);
#endif
