/* uses_wait.c - lets the host wait until a use is complete, without holding the engine lock meanwhile. */
#include "uses_wait.h"

#include <errno.h>
#include <sched.h>
#include <time.h>

#include "ask.h"
#include "capture.h"
#include "context.h"
#include "driver.h"
#include "lock.h"
#include "now.h"
#include "result.h"
#include "stream_table.h"

enum { LOOKS = 64 }; /* queries in a row */

struct pending {
    struct spw_stream *stream;
    uint64_t number;
};

static int first_pending(struct spw_stream *s, uint64_t number, void *arg)
{
    struct pending *p = arg;
    spw_marks_retire_locked(s);
    if (s->done >= number)
        return 0;
    p->stream = s;
    p->number = number;
    return 1;
}

static int wait_unlocking(struct spw_stream *s, CUevent event)
{
    CUcontext context = s->context;
    s->waiters++;
    spw_unlock();
    int r = event ? spw_result(SPW_ASK(cuEventSynchronize, event)) : -EXDEV;
    if (r < 0) /* waiting for the context would end each capture there */
        r = spw_anything_captures() ? -EBUSY : spw_context_synchronize(context);
    spw_lock();
    s->waiters--;
    return r;
}

void spw_streams_await_waiters_unlocking(CUcontext context)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    for (uint32_t i = 1; i < spw_stream_table_used; i++)
        while (spw_stream_table[i]->context == context && spw_stream_table[i]->waiters) {
            spw_unlock();
            sched_yield();
            spw_lock();
        }
}

/* Queries the driver several times without the lock. Returns how often, `most` times at most. */
static uint32_t look_unlocking(struct spw_stream *s, uint64_t number, uint32_t most)
{
    CUevent event;
    uint64_t covered;
    uint32_t looks = 0;
    const bool is_marked = spw_mark_for_locked(s, number, &event, &covered) == 0;
    s->waiters++;
    spw_unlock();
    spw_relax(); /* once for all queries */
    do
        looks++;
    while (is_marked && looks < most && looks < LOOKS && SPW_ASK(cuEventQuery, event) == CUDA_ERROR_NOT_READY);
    (void)spw_restore(CUDA_SUCCESS);
    spw_lock();
    s->waiters--;
    return looks;
}

/* What the calling thread is busy with. */
static _Thread_local struct {
    unsigned depth;
    uint64_t waited_ns; /* in waits with a time limit, since depth was 0 */
} about __attribute__((tls_model("initial-exec")));

void spw_waits_begin(void)
{
    if (about.depth++ == 0)
        about.waited_ns = 0;
}

void spw_waits_end(void)
{
    about.depth--;
}

/* Progress of a wait while something is gated. */
struct patience {
    uint64_t began_ns, moved_ns;
    const struct spw_stream *stream;
    uint64_t done;
};

/* Returns after how many more operations the stream shows progress: at its next mark. If it has none for a long stretch, it
 * is considered to stand still anyway; and a stream that stood still before is not given that much time again. */
static uint64_t until_next_mark(const struct spw_stream *s)
{
    const uint64_t operations = s->mark_count && !s->stood_still ? s->marks[s->mark_first].number - s->done : 1;
    return operations < SPW_MARK_EVERY ? operations : SPW_MARK_EVERY;
}

/* Progress of a gated stream means nothing: it goes on only as far as the gate. */
static bool is_over(struct patience *p, const struct spw_stream *s, uint64_t number)
{
    const uint64_t still_ns = 100000000, now = spw_now_ns();
    const bool is_gated = spw_stream_is_gated_locked(s) && number >= s->gate_first;
    if (p->stream != s || (p->done != s->done && !is_gated))
        p->moved_ns = now;
    p->stream = s;
    p->done = s->done;
    return now - p->moved_ns > still_ns * (is_gated ? 1 : until_next_mark(s)) || now - p->began_ns > SPW_WAIT_MOST_NS;
}

/* Waits until operation `number` of a stream is complete; with `patience` NULL without a time limit. */
static int wait_for_unlocking(struct spw_stream *s, uint64_t number, struct patience *patience)
{
    for (spw_marks_retire_locked(s); s->done < number; spw_marks_retire_locked(s)) {
        if (patience && spw_streams_gated_locked()) {
            if (is_over(patience, s, number)) {
                spw_stream_gate_late_locked(s, number);
                s->stood_still = true;
                return -ETIME;
            }
            (void)look_unlocking(s, number, LOOKS);
            continue;
        }
        CUevent event = NULL;
        uint64_t covered = s->begun;
        int r = spw_mark_for_locked(s, number, &event, &covered);
        if (r == -EAGAIN) { /* another thread is between numbering and submitting, which does not take long */
            spw_unlock();
            sched_yield();
            spw_lock();
            continue;
        }
        r = wait_unlocking(s, r < 0 ? NULL : event);
        if (r < 0)
            return r;
        if (s->done < covered)
            s->done = covered;
    }
    return 0;
}

/* Waits for everything that was submitted to these devices' streams before; later work is not waited for. */
static int wait_for_everybody_unlocking(uint32_t everybody, struct patience *patience)
{
    int r = 0;
    for (uint32_t i = 1; i < spw_stream_table_used && r == 0; i++)
        if (everybody & spw_uses_everybody_beside(spw_stream_table[i]))
            r = wait_for_unlocking(spw_stream_table[i], spw_stream_table[i]->begun, patience);
    return r;
}

static int wait_for_uses_unlocking(struct spw_uses *u, struct patience *patience)
{
    struct pending p;
    const uint32_t everybody = u->everybody;
    u->everybody = 0; /* uses that are noted from here on are waited for below */
    int r = everybody ? wait_for_everybody_unlocking(everybody, patience) : 0;
    if (r < 0)
        u->everybody |= everybody;
    while (r == 0 && spw_uses_each_locked(u, first_pending, &p))
        r = wait_for_unlocking(p.stream, p.number, patience);
    if (r == 0)
        (void)spw_uses_done_locked(u); /* they are done, so this forgets them */
    return r;
}

int spw_uses_wait_unlocking(struct spw_uses *u)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    return wait_for_uses_unlocking(u, NULL);
}

int spw_uses_wait_a_while_unlocking(struct spw_uses *u)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    const uint64_t began_ns = spw_now_ns();
    struct patience patience = {.began_ns = began_ns - (about.depth ? about.waited_ns : 0)};
    const int r = wait_for_uses_unlocking(u, &patience);
    if (patience.stream) /* it was used */
        about.waited_ns += spw_now_ns() - began_ns;
    return r;
}

/* Finds a gate behind which an event is recorded, or else one for which the host can only wait with its whole context. */
static bool find_gate(struct pending *ret)
{
    CUevent event;
    uint64_t covered;
    *ret = (struct pending){NULL, 0};
    for (uint32_t i = 1; i < spw_stream_table_used; i++) {
        struct spw_stream *s = spw_stream_table[i];
        const int r = spw_stream_is_gated_locked(s) ? spw_mark_for_locked(s, s->gate_last, &event, &covered) : -ENOENT;
        if (r == -EXDEV || r == 0)
            *ret = (struct pending){s, s->gate_last};
        if (r == 0)
            return true;
    }
    return false;
}

void spw_streams_await_gate_unlocking(void)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    const struct timespec moment = {.tv_nsec = 50000};
    struct pending p;
    if (find_gate(&p))
        (void)look_unlocking(p.stream, p.number, LOOKS);
    else if (p.stream)
        (void)wait_for_unlocking(p.stream, p.number, NULL);
    spw_unlock();
    (void)nanosleep(&moment, NULL);
    spw_lock();
}

bool spw_uses_watch_unlocking(struct spw_uses *u, uint32_t looks)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    struct pending p;
    while (spw_uses_each_locked(u, first_pending, &p)) {
        if (looks == 0)
            return false;
        looks -= look_unlocking(p.stream, p.number, looks);
    }
    return true;
}
