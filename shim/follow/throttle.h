/* throttle.h - limits how far the host runs ahead of the device while tensors wait for memory to be brought in.
 *
 * Memory becomes free when the device has passed its last use, and is handed on in the program's own calls. A host that is
 * far ahead makes no calls at that time: it waits at the first operation whose tensor is absent, and copies begin late. So
 * as long as a tensor waits, the host stays close: after an operation it waits until the device has only a little more to
 * do, and whatever becomes free meanwhile is handed on at once. The device never runs out of work because of that.
 *
 * What the device does may depend on what the program does next, even if it did not last time. So a wait only polls, and
 * gives up after some time; after that operation of the course the host does not wait again. */
#ifndef SPILLWAY_SHIM_THROTTLE_H
#define SPILLWAY_SHIM_THROTTLE_H
#include "course/course.h"
#include "ledger.h"
#include "streams.h"

enum { SPW_THROTTLE_OPS = 32 };

struct spw_throttle { /* of a device; starts as all zeroes */
    struct spw_throttled_op {
        struct spw_uses end;
        double until_us;     /* work of the device up to the end of the operation, of all that was noted */
    } ops[SPW_THROTTLE_OPS]; /* operations submitted while a tensor waited: a ring, number n is at n % SPW_THROTTLE_OPS */
    unsigned count;
    double work_us;
    uint32_t op;       /* number in the course of the operation noted last */
    unsigned given_up; /* waits in a row that did not end by themselves */
    uint32_t looks;    /* polls that a wait takes at most; 0: not computed yet */
    uint64_t restarts;
};

/* Call when what comes next has nothing to do with what came before. Engine lock. */
void spw_throttle_restart_locked(struct spw_throttle *pace);

/* Call when the operations before `op` of the course were submitted, the last of them to `s`. If a tensor of the device
 * waits for memory, waits until the device is close. `hopeless`, by operation and false at first, notes after which
 * operation a wait did not end. Needs the device's slow lock and the engine lock, and releases the engine lock while it
 * waits. The course and `hopeless` have to stay until then, or the pace is restarted. */
void spw_throttle_unlocking(struct spw_throttle *pace, struct spw_device *d, struct spw_stream *s,
                            const struct spw_course *course, bool *hopeless, uint32_t op);
#endif
