/* uses.c - tells whether the uses of a piece of memory are complete, and orders streams behind them. */
#include <errno.h>

#include "ask.h"
#include "context.h"
#include "driver.h"
#include "capture.h"
#include "events.h"
#include "lock.h"
#include "result.h"
#include "stream_table.h"

static void forget_all(struct spw_uses *u)
{
    u->count = 0;
    u->stream[0] = 0;
    u->everybody = 0;
    u->gathered = false;
}

static void forget_done(struct spw_uses *u)
{
    unsigned kept = 0;
    for (unsigned i = 0; i < u->count; i++) {
        if (spw_stream_table[u->stream[i]]->done >= u->number[i])
            continue;
        u->stream[kept] = u->stream[i];
        u->number[kept++] = u->number[i];
    }
    u->count = (uint8_t)kept;
    if (!kept)
        u->stream[0] = 0;
}

void spw_uses_add_slow_locked(struct spw_uses *u, struct spw_stream *s, uint64_t number)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    for (unsigned i = 0; i < u->count; i++) {
        if (u->stream[i] == s->id) {
            u->number[i] = number;
            return;
        }
    }
    if (u->count == SPW_USES)
        forget_done(u);
    if (u->count == SPW_USES) { /* then all work on its device stands for it, beside the uses that are noted */
        u->everybody |= spw_uses_everybody_beside(s);
        return;
    }
    u->stream[u->count] = s->id;
    u->number[u->count++] = number;
}

void spw_uses_merge_locked(struct spw_uses *into, const struct spw_uses *from)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    into->everybody |= from->everybody;
    into->gathered |= from->gathered;
    for (unsigned i = 0; i < from->count; i++) {
        unsigned k = 0;
        while (k < into->count && into->stream[k] != from->stream[i])
            k++;
        if (k < into->count && into->number[k] >= from->number[i])
            continue;
        spw_uses_add_slow_locked(into, spw_stream_table[from->stream[i]], from->number[i]);
    }
}

int spw_uses_each_locked(struct spw_uses *u, int (*each)(struct spw_stream *s, uint64_t number, void *arg), void *arg)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    int r = 0;
    for (uint32_t i = 1; u->everybody && i < spw_stream_table_used && r == 0; i++)
        if (spw_stream_table[i]->done < spw_stream_table[i]->begun &&
            u->everybody & spw_uses_everybody_beside(spw_stream_table[i]))
            r = each(spw_stream_table[i], spw_stream_table[i]->begun, arg);
    for (unsigned i = 0; i < u->count && r == 0; i++)
        if (spw_stream_table[u->stream[i]]->done < u->number[i])
            r = each(spw_stream_table[u->stream[i]], u->number[i], arg);
    return r;
}

static int is_in_call(struct spw_stream *s, uint64_t number, void *arg)
{
    (void)arg;
    return atomic_load_explicit(&s->in_call, memory_order_acquire) != 0 || (s->beginning && number >= s->beginning);
}

bool spw_uses_in_call_locked(const struct spw_uses *u)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    return spw_uses_each_locked((struct spw_uses *)u, is_in_call, NULL) != 0;
}

static int is_not_done(struct spw_stream *s, uint64_t number, void *arg)
{
    (void)arg;
    spw_marks_retire_locked(s);
    return s->done < number;
}

static int is_gated(struct spw_stream *s, uint64_t number, void *arg)
{
    (void)arg;
    return spw_stream_is_gated_locked(s) && number >= s->gate_first;
}

bool spw_uses_gated_locked(const struct spw_uses *u)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    return spw_gated_streams && spw_uses_each_locked((struct spw_uses *)u, is_gated, NULL) != 0;
}

static int gate_late(struct spw_stream *s, uint64_t number, void *arg)
{
    (void)arg;
    spw_stream_gate_late_locked(s, number);
    return 0;
}

void spw_uses_late_locked(struct spw_uses *u)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    (void)spw_uses_each_locked(u, gate_late, NULL);
}

static int is_beyond(struct spw_stream *s, uint64_t number, void *arg)
{
    const struct spw_uses *u = arg;
    bool is_covered = u->everybody & spw_uses_everybody_beside(s);
    for (unsigned i = 0; i < u->count; i++)
        is_covered |= u->stream[i] == s->id && u->number[i] >= number;
    return !is_covered && is_not_done(s, number, NULL);
}

bool spw_uses_beyond_locked(struct spw_uses *a, const struct spw_uses *u)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    return spw_uses_each_locked(a, is_beyond, (void *)u) != 0;
}

static int is_any(struct spw_stream *s, uint64_t number, void *arg)
{
    (void)s;
    (void)number;
    (void)arg;
    return 1;
}

bool spw_uses_seen_done_locked(const struct spw_uses *u)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    return spw_uses_each_locked((struct spw_uses *)u, is_any, NULL) == 0;
}

bool spw_uses_done_locked(struct spw_uses *u)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    if (spw_uses_each_locked(u, is_not_done, NULL))
        return false;
    forget_all(u);
    return true;
}

static int is_other(struct spw_stream *s, uint64_t number, void *arg)
{
    return s != arg && is_not_done(s, number, NULL);
}

bool spw_uses_only_locked(struct spw_uses *u, const struct spw_stream *s)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    return spw_uses_each_locked(u, is_other, (void *)s) == 0;
}

static int is_ours(struct spw_stream *s, uint64_t number, void *arg)
{
    return s->ours && is_not_done(s, number, arg);
}

bool spw_uses_hidden_locked(struct spw_uses *u)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    return u->gathered && spw_uses_each_locked(u, is_ours, NULL) != 0;
}

static int is_of_the_program(struct spw_stream *s, uint64_t number, void *arg)
{
    (void)number;
    (void)arg;
    return !s->ours;
}

void spw_uses_gather_locked(struct spw_uses *u, struct spw_stream *s, uint64_t number)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    const bool stands = u->gathered || spw_uses_each_locked(u, is_of_the_program, NULL) != 0;
    *u = (struct spw_uses){.gathered = stands};
    spw_uses_add_locked(u, s, number);
}

static int is_another_of_the_program(struct spw_stream *s, uint64_t number, void *arg)
{
    return !s->ours && is_other(s, number, arg);
}

bool spw_uses_of_others_locked(struct spw_uses *u, const struct spw_stream *s)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    return spw_uses_each_locked(u, is_another_of_the_program, (void *)s) != 0 || spw_uses_hidden_locked(u);
}

static int mark_one(struct spw_stream *s, uint64_t number, void *arg)
{
    CUevent event;
    uint64_t covered;
    (void)arg;
    return spw_mark_for_locked(s, number, &event, &covered);
}

int spw_uses_mark_locked(struct spw_uses *u)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    return spw_uses_each_locked(u, mark_one, NULL);
}

void spw_streams_await_ended_threads_locked(void)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    CUcontext waited_for = NULL;
    for (uint32_t i = 1; i < spw_stream_table_used && !spw_anything_captures(); i++) {
        struct spw_stream *s = spw_stream_table[i];
        if (!s->per_thread || !s->gone || s->done == s->begun)
            continue;
        if (s->context != waited_for && spw_context_synchronize(s->context) < 0)
            continue;
        waited_for = s->context;
        s->done = s->begun;
    }
}

/* The host waits for the stream. A stream that cannot be waited for alone is waited for with its whole context, which would
 * end each capture there. */
static int await(struct spw_stream *s)
{
    if (spw_stream_is_reachable_locked(s) && !spw_is_capturing(s->handle)) {
        struct spw_context_guard guard;
        int r = spw_context_enter(&guard, s->context);
        if (r == 0) {
            r = spw_result(SPW_ASK(cuStreamSynchronize, s->handle));
            spw_context_leave(&guard);
        }
        if (r == 0)
            return 0;
    }
    return spw_anything_captures() ? -EBUSY : spw_context_synchronize(s->context);
}

int spw_stream_may_be_captured_locked(struct spw_stream *s)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    CUevent event;
    uint64_t covered;
    spw_marks_retire_locked(s);
    return s->done < s->begun ? spw_mark_for_locked(s, s->begun, &event, &covered) : 0;
}

void spw_streams_capture_begins_locked(void)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    for (uint32_t i = 1; i < spw_stream_table_used; i++) {
        struct spw_stream *s = spw_stream_table[i];
        const int r = spw_stream_may_be_captured_locked(s);
        if (r == 0 || r == -EAGAIN || spw_anything_captures()) /* -EAGAIN: its thread has not submitted everything yet */
            continue;
        if (spw_context_synchronize(s->context) == 0)
            s->done = s->begun;
    }
}

static int wait_event_on(struct spw_stream *s, CUevent event)
{
    struct spw_context_guard guard;
    int r = spw_context_enter(&guard, s->context);
    if (r < 0)
        return r;
    r = spw_result(SPW_ASK(cuStreamWaitEvent, s->handle, event, 0));
    spw_context_leave(&guard);
    return r;
}

static int order_one(struct spw_stream *s, uint64_t number, void *arg)
{
    struct spw_stream *after = arg;
    CUevent event;
    uint64_t covered;
    if (s == after)
        return 0;
    int r = spw_mark_for_locked(s, number, &event, &covered);
    if (r == -EAGAIN)
        return r;
    if (r == 0)
        r = wait_event_on(after, event);
    /* If the device cannot be told to wait, the host waits: slow, but correct. */
    return r < 0 ? await(s) : 0;
}

int spw_uses_order_locked(struct spw_uses *u, struct spw_stream *s)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    return spw_uses_each_locked(u, order_one, s);
}

struct ordering {
    struct spw_stream *after;
    const struct spw_stream *beside;
};

static int order_other(struct spw_stream *s, uint64_t number, void *arg)
{
    const struct ordering *o = arg;
    return s == o->beside ? 0 : order_one(s, number, o->after);
}

int spw_uses_order_beside_locked(struct spw_uses *u, struct spw_stream *s, const struct spw_stream *beside)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    struct ordering o = {s, u->gathered ? NULL : beside};
    return spw_uses_each_locked(u, order_other, &o);
}

static bool may_work_on(const struct spw_stream *s, uint64_t devices)
{
    return !s->gone && !s->ours && s->begun && (s->device < 0 || devices >> s->device & 1);
}

bool spw_streams_others_locked(const struct spw_stream *s)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    for (uint32_t i = 1; i < spw_stream_table_used; i++) {
        const struct spw_stream *other = spw_stream_table[i];
        if (other != s && !other->ours && (other->gone ? other->done < other->begun : other->begun > 0))
            return true;
    }
    return false;
}

/* Records an event behind everything that `s` was given. An operation that is being begun comes after it. */
static int record_behind(struct spw_stream *s)
{
    struct spw_context_guard guard;
    if (spw_is_capturing(s->handle) || !spw_stream_may_record_locked(s))
        return -EXDEV;
    int r = spw_context_enter(&guard, s->context);
    if (r < 0)
        return r;
    r = spw_event_make(&s->behind, CU_EVENT_DISABLE_TIMING);
    if (r == 0)
        r = spw_result(SPW_ASK(cuEventRecord, s->behind, s->handle));
    spw_context_leave(&guard);
    return r;
}

int spw_streams_follow_locked(struct spw_stream *s, uint64_t devices)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    bool is_recorded = false;
    for (uint32_t i = 1; i < spw_stream_table_used; i++) {
        struct spw_stream *other = spw_stream_table[i];
        if (other == s || !may_work_on(other, devices))
            continue;
        if (!is_recorded && record_behind(s) < 0)
            return await(s);
        is_recorded = true;
        if (spw_is_capturing(other->handle) || !spw_stream_is_reachable_locked(other) || wait_event_on(other, s->behind) < 0)
            return await(s); /* for this stream and all that follow */
    }
    return 0;
}

static bool is_legacy(const struct spw_stream *s)
{
    return s->handle == CU_STREAM_LEGACY;
}

void spw_stream_take_turn_slow_locked(struct spw_stream *s)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    bool has_others = false;
    for (uint32_t i = 1; i < spw_stream_table_used && !has_others; i++) {
        const struct spw_stream *other = spw_stream_table[i];
        has_others = other != s && other->blocking && s->blocking && other->context == s->context &&
                     (is_legacy(s) || is_legacy(other)) && other->done < other->begun;
    }
    if (has_others && record_behind(s) < 0 && !spw_anything_captures())
        (void)spw_context_synchronize(s->context);
}
