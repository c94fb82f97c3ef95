/* throttle.h - how far the host runs ahead of the device while tensors wait for memory to come back into.
 *
 * Memory becomes free when the device is past its last use, and is handed on in the program's own calls. A host that is far
 * ahead makes none at that time: it stands at the first operation whose tensor is not there, and copies begin late. So as
 * long as a tensor waits, the host stays close: behind an operation it waits until the device has only a little more to do
 * than that, and whatever becomes free meanwhile is handed on at once. The device never runs empty for it.
 *
 * What the device does may depend on what the program does next, also where it did not the last time. So a wait only asks,
 * and gives up after some time; behind that operation of the course the host does not wait again. */
#ifndef SPILLWAY_SHIM_THROTTLE_H
#define SPILLWAY_SHIM_THROTTLE_H
#include "course/course.h"
#include "ledger.h"
#include "streams.h"

enum { SPW_THROTTLE_OPS = 32 };

struct spw_throttle { /* of a device; starts as all zeroes */
    struct spw_throttled_op {
        struct spw_uses end;
        double until_us;     /* work of the device up to its end, in all that was noted */
    } ops[SPW_THROTTLE_OPS]; /* submitted while a tensor waited: a ring, number n is at n % SPW_THROTTLE_OPS */
    unsigned count;
    double work_us;
    uint32_t op;       /* of the course, that was noted last */
    unsigned given_up; /* waits in a row that did not end by themselves */
    uint32_t looks;    /* that a wait takes at most; 0: nobody has asked yet */
    uint64_t restarts;
};

/* What comes next has nothing to do with what came before. Engine lock. */
void spw_throttle_restart_locked(struct spw_throttle *pace);

/* Those before `op` of the course were submitted, the last of them to `s`. Where a tensor of the device waits for memory,
 * waits until the device is close. `hopeless`, by operation, false at first: behind which a wait did not end. Needs the
 * device's slow lock and the engine lock, and lets go of that while it waits; course and `hopeless` have to stay until then,
 * or the pace is restarted. */
void spw_throttle_unlocking(struct spw_throttle *pace, struct spw_device *d, struct spw_stream *s,
                            const struct spw_course *course, bool *hopeless, uint32_t op);
#endif
