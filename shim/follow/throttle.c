/* throttle.c - waits for the device behind operations while tensors wait for memory, and hands it on as it becomes free. */
#include "throttle.h"

#include <sched.h>

#include "transfers.h"
#include "lock.h"

#define AHEAD_US 1000.0 /* work that the device still has when the host goes on */

enum {
    ENDS_BY_ITSELF = 1, /* of an operation: the host can wait behind it */
    DOES_NOT,
};
enum {
    LOOKS_EACH_US = 4, /* as long as an iteration takes, or a few times that */
    LOOKS_AT_LEAST = 10000,
    YIELDS_EVERY = 64,
    GIVES_UP = 3, /* waits, before it is left at that */
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
    pace->restarts++;
}

static void note(struct spw_throttle *pace, struct spw_stream *s, const struct spw_course *course, uint32_t op)
{
    struct spw_throttled_op next = {.until_us = 0};
    const double us = course->ops[op - 1].us;
    if (pace->count && pace->op == op)
        return; /* something that the course does not know: it may come or not */
    spw_uses_add_locked(&next.end, s, s->begun);
    pace->op = op;
    pace->work_us += us > 0 ? us : 0;
    next.until_us = pace->work_us;
    if (spw_uses_mark_locked(&next.end) == 0)
        pace->ops[pace->count++ % SPW_THROTTLE_OPS] = next;
}

/* How many of those that were noted, from the oldest on, have work enough behind them. */
static unsigned count_far(const struct spw_throttle *pace, unsigned first)
{
    unsigned end = first;
    while (end < pace->count && pace->work_us - pace->ops[end % SPW_THROTTLE_OPS].until_us >= AHEAD_US)
        end++;
    return end - first;
}

static unsigned most_looks(const struct spw_course *course)
{
    double us = 0;
    for (uint32_t o = 0; o < course->op_count; o++)
        us += course->ops[o].us > 0 ? course->ops[o].us : 0;
    const double looks = us * LOOKS_EACH_US;
    return looks < LOOKS_AT_LEAST ? LOOKS_AT_LEAST : looks < 1e9 ? (unsigned)looks : 1000000000;
}

/* Asks again and again. False: it does not end. */
static bool watch_unlocking(struct spw_uses *end, unsigned looks)
{
    while (!spw_uses_done_locked(end)) {
        if (looks-- == 0)
            return false;
        spw_unlock();
        if (looks % YIELDS_EVERY == 0)
            (void)sched_yield();
        spw_lock();
    }
    return true;
}

static bool wait_unlocking(struct spw_uses end, bool is_known, unsigned looks)
{
    return is_known ? spw_uses_wait_unlocking(&end) == 0 : watch_unlocking(&end, looks);
}

/* Waits for `count` of those that were noted, from number `first` on, as long as somebody waits for memory. False: one does
 * not end by itself. *ret_all: the device has come past all of them. */
static bool come_close_unlocking(struct spw_throttle *pace, struct spw_device *d, unsigned first, unsigned count,
                                 bool is_known, unsigned looks, bool *ret_all)
{
    const uint64_t restarts = pace->restarts;
    *ret_all = false;
    for (; count && somebody_waits(d); count--, first++) {
        if (!wait_unlocking(pace->ops[first % SPW_THROTTLE_OPS].end, is_known, looks))
            return false;
        if (pace->restarts != restarts)
            return true;
        spw_transfer_pump_locked(d);
    }
    *ret_all = count == 0;
    return true;
}

void spw_throttle_unlocking(struct spw_throttle *pace, struct spw_device *d, struct spw_stream *s,
                            const struct spw_course *course, uint8_t *known, uint32_t op)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    const uint64_t restarts = pace->restarts;
    if (!somebody_waits(d) || op == 0 || pace->given_up >= GIVES_UP || known[op] == DOES_NOT) {
        pace->count = 0;
        return;
    }
    note(pace, s, course, op);
    const bool is_known = known[op] == ENDS_BY_ITSELF;
    const unsigned first = pace->count > SPW_THROTTLE_OPS ? pace->count - SPW_THROTTLE_OPS : 0, far = count_far(pace, first);
    bool all;
    if (!far)
        return;
    const bool ended = come_close_unlocking(pace, d, first, far, is_known, is_known ? 0 : most_looks(course), &all);
    if (pace->restarts != restarts)
        return;
    if (!ended) {
        known[op] = DOES_NOT;
        pace->count = 0;
        pace->given_up++;
    } else if (all) {
        known[op] = ENDS_BY_ITSELF;
    }
}
