/* throttle.c - waits for the device after operations while tensors wait for memory, and hands memory on as it becomes
 * free. */
#include "throttle.h"

#include "transfers.h"
#include "lock.h"
#include "uses_wait.h"

#define AHEAD_US 1000.0 /* work that the device still has when the host goes on */

enum {
    LOOKS_EACH_US = 4, /* about as long as an iteration takes, or a few times that */
    LOOKS_AT_LEAST = 10000,
    LOOKS_AT_MOST = 1000000000,
    GIVES_UP = 3, /* waits in a row before no more are tried */
};

static bool somebody_waits(const struct spw_device *d)
{
    return d->queues[SPW_QUEUE_AWAITED].first != NULL;
}

void spw_throttle_restart_locked(struct spw_throttle *pace)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    pace->count = 0;
    pace->given_up = 0;
    pace->looks = 0;
    pace->restarts++;
}

static void note(struct spw_throttle *pace, struct spw_stream *s, const struct spw_course *course, uint32_t op)
{
    struct spw_throttled_op next = {.until_us = 0};
    const double us = course->ops[op - 1].us;
    if (pace->count && pace->op == op)
        return; /* an operation that the course does not know: it may come or not */
    spw_uses_add_locked(&next.end, s, s->begun);
    pace->op = op;
    pace->work_us += us > 0 ? us : 0;
    next.until_us = pace->work_us;
    if (spw_uses_mark_locked(&next.end) == 0)
        pace->ops[pace->count++ % SPW_THROTTLE_OPS] = next;
}

/* Returns how many of the noted operations, from number `first` on, have enough work after them. */
static unsigned count_far(const struct spw_throttle *pace, unsigned first)
{
    unsigned end = first;
    while (end < pace->count && pace->work_us - pace->ops[end % SPW_THROTTLE_OPS].until_us >= AHEAD_US)
        end++;
    return end - first;
}

static uint32_t most_looks(const struct spw_course *course)
{
    double us = 0;
    for (uint32_t o = 0; o < course->op_count; o++)
        us += course->ops[o].us > 0 ? course->ops[o].us : 0;
    const double looks = us * LOOKS_EACH_US;
    return looks < LOOKS_AT_LEAST ? LOOKS_AT_LEAST : looks < LOOKS_AT_MOST ? (uint32_t)looks : LOOKS_AT_MOST;
}

/* Waits for `count` of the noted operations, from number `first` on, as long as a tensor waits for memory. Returns false if
 * one does not end by itself. */
static bool come_close_unlocking(struct spw_throttle *pace, struct spw_device *d, unsigned first, unsigned count)
{
    const uint64_t restarts = pace->restarts;
    for (; count && somebody_waits(d); count--, first++) {
        struct spw_uses end = pace->ops[first % SPW_THROTTLE_OPS].end;
        if (!spw_uses_watch_unlocking(&end, pace->looks))
            return false;
        if (pace->restarts != restarts)
            return true;
        spw_transfer_pump_locked(d);
    }
    return true;
}

void spw_throttle_unlocking(struct spw_throttle *pace, struct spw_device *d, struct spw_stream *s,
                            const struct spw_course *course, bool *hopeless, uint32_t op)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    const uint64_t restarts = pace->restarts;
    if (!somebody_waits(d) || op == 0 || pace->given_up >= GIVES_UP || hopeless[op]) {
        pace->count = 0;
        return;
    }
    note(pace, s, course, op);
    const unsigned first = pace->count > SPW_THROTTLE_OPS ? pace->count - SPW_THROTTLE_OPS : 0, far = count_far(pace, first);
    if (!far)
        return;
    if (!pace->looks)
        pace->looks = most_looks(course);
    const bool ended = come_close_unlocking(pace, d, first, far);
    if (pace->restarts != restarts)
        return;
    pace->given_up = ended ? 0 : pace->given_up + 1;
    if (!ended) {
        hopeless[op] = true;
        pace->count = 0;
    }
}
