/* marks.c - the marks of a stream: events that tell how far it has come, in a ring that always has room. */
#include <errno.h>

#include "ask.h"
#include "lock.h"
#include "capture.h"
#include "context.h"
#include "driver.h"
#include "events.h"
#include "result.h"
#include "stream_table.h"

void spw_marks_retire_locked(struct spw_stream *s)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    while (s->mark_count) {
        unsigned i = s->mark_first;
        if (s->marks[i].number > s->done) {
            if (SPW_ASK(cuEventQuery, s->marks[i].event) != CUDA_SUCCESS)
                return;
            s->done = s->marks[i].number;
        }
        s->mark_first = (i + 1) % SPW_STREAM_MARKS;
        s->mark_count--;
    }
}

void spw_marks_drop_locked(struct spw_stream *s, bool destroy)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    for (unsigned i = 0; i < SPW_STREAM_MARKS; i++)
        spw_event_drop(&s->marks[i].event, destroy);
    spw_event_drop(&s->behind, destroy);
    s->mark_first = s->mark_count = 0;
}

static unsigned mark_at(const struct spw_stream *s, unsigned k)
{
    return (s->mark_first + k) % SPW_STREAM_MARKS;
}

/* Drops the mark of a full ring that is needed least: the one whose neighbours are closest together, the newest among
 * equals. Whoever waits for what it covered waits a little longer, however far the host is ahead. */
static void give_up_one_mark(struct spw_stream *s)
{
    unsigned least = 1;
    uint64_t least_gap = UINT64_MAX;
    for (unsigned k = 1; k + 1 < s->mark_count; k++) {
        uint64_t gap = s->marks[mark_at(s, k + 1)].number - s->marks[mark_at(s, k - 1)].number;
        if (gap <= least_gap) {
            least = k;
            least_gap = gap;
        }
    }
    CUevent event = s->marks[mark_at(s, least)].event;
    for (unsigned k = least; k + 1 < s->mark_count; k++)
        s->marks[mark_at(s, k)] = s->marks[mark_at(s, k + 1)];
    s->mark_count--;
    s->marks[mark_at(s, s->mark_count)].event = event;
}

/* Finds the place for the next mark. */
static int mark_slot(struct spw_stream *s, unsigned *ret_slot)
{
    spw_marks_retire_locked(s);
    if (s->mark_count == SPW_STREAM_MARKS)
        give_up_one_mark(s);
    *ret_slot = mark_at(s, s->mark_count);
    return spw_event_make(&s->marks[*ret_slot].event, CU_EVENT_DISABLE_TIMING);
}

int spw_stream_mark_locked(struct spw_stream *s)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    struct spw_context_guard guard;
    unsigned i;
    if (spw_is_capturing(s->handle))
        return -EBUSY; /* the event would become a node of the graph */
    int r = spw_context_enter(&guard, s->context);
    if (r < 0)
        return r;
    r = mark_slot(s, &i);
    if (r == 0)
        r = spw_result(SPW_ASK(cuEventRecord, s->marks[i].event, s->handle));
    spw_context_leave(&guard);
    if (r < 0)
        return r;
    s->marks[i].number = s->beginning ? s->beginning - 1 : s->begun;
    s->mark_count++;
    return 0;
}

void spw_stream_maybe_mark_locked(struct spw_stream *s)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    uint64_t last = s->done;
    if (s->mark_count)
        last = s->marks[mark_at(s, s->mark_count - 1)].number;
    if (s->begun >= last + SPW_MARK_EVERY && atomic_load_explicit(&s->in_call, memory_order_acquire) == 0)
        (void)spw_stream_mark_locked(s);
}

int spw_mark_for_locked(struct spw_stream *s, uint64_t number, CUevent *ret_event, uint64_t *ret_number)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    for (int attempt = 0; attempt < 2; attempt++) {
        for (unsigned k = 0; k < s->mark_count; k++) {
            unsigned i = mark_at(s, k);
            if (s->marks[i].number >= number) {
                *ret_event = s->marks[i].event;
                *ret_number = s->marks[i].number;
                return 0;
            }
        }
        const bool is_being_begun = s->beginning && number >= s->beginning;
        if (is_being_begun || atomic_load_explicit(&s->in_call, memory_order_acquire) != 0)
            return -EAGAIN;
        if (s->gone || !spw_stream_may_record_locked(s))
            return -EXDEV;
        int r = spw_stream_mark_locked(s);
        if (r < 0)
            return r;
    }
    return -EAGAIN;
}
