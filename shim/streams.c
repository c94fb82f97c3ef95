/* streams.c - the records of streams: numbers of operations, marks, and waiting for uses. */
#include "streams.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "ask.h"
#include "context.h"
#include "driver.h"
#include "graph.h"
#include "lock.h"
#include "result.h"

enum { MAX_STREAMS = 4096, BUCKETS = 1024 };

/* Guarded by the engine lock. Index 0 stays empty. A record whose stream is gone is used again once all of its work is
 * complete; its numbers go on, so that an old (stream, number) pair stays true. */
static struct spw_stream *table[MAX_STREAMS];
static uint32_t table_used = 1;
static uint32_t bucket_next[MAX_STREAMS], bucket_first[BUCKETS];
static uint64_t events_held;

_Thread_local struct spw_stream_answer spw_last_stream;
uint64_t spw_streams_generation = 1;

static _Thread_local uint64_t thread_number; /* from 1; 0 until the thread uses its own default stream */
static uint64_t threads_numbered;
static pthread_key_t thread_end; /* its destructor tells that a thread has ended */
static bool thread_end_made;

static bool handle_is_shared(CUstream h)
{
    return h == NULL || h == CU_STREAM_LEGACY || h == CU_STREAM_PER_THREAD;
}

static unsigned bucket_of(CUstream handle, uint64_t owner)
{
    uint64_t x = ((uint64_t)(uintptr_t)handle ^ (owner * 0x9e3779b97f4a7c15u)) * 0xbf58476d1ce4e5b9u;
    return (unsigned)(x >> 40) % BUCKETS;
}

static void bucket_insert(struct spw_stream *s)
{
    unsigned b = bucket_of(s->handle, s->owner);
    bucket_next[s->id] = bucket_first[b];
    bucket_first[b] = s->id;
}

static void bucket_remove(struct spw_stream *s)
{
    uint32_t *at = &bucket_first[bucket_of(s->handle, s->owner)];
    while (*at && *at != s->id)
        at = &bucket_next[*at];
    if (*at)
        *at = bucket_next[s->id];
}

/* `context` is NULL where the handle alone tells the stream. */
static struct spw_stream *bucket_find(CUstream handle, CUcontext context, uint64_t owner)
{
    for (uint32_t i = bucket_first[bucket_of(handle, owner)]; i; i = bucket_next[i])
        if (table[i]->handle == handle && table[i]->owner == owner && (!context || table[i]->context == context))
            return table[i];
    return NULL;
}

/* A mark that is known to be complete is taken off; the newest of them says how far the stream has come. */
static void retire_marks(struct spw_stream *s)
{
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

static void drop_events(struct spw_stream *s)
{
    for (unsigned i = 0; i < SPW_STREAM_MARKS; i++) {
        if (!s->marks[i].event)
            continue;
        (void)SPW_ASK(cuEventDestroy_v2, s->marks[i].event);
        s->marks[i].event = NULL;
        events_held--;
    }
    s->mark_first = s->mark_count = 0;
}

/* A record whose stream is gone and whose work is complete; its events go back to the driver. */
static struct spw_stream *reusable_record(void)
{
    for (uint32_t i = 1; i < table_used; i++) {
        struct spw_stream *s = table[i];
        if (!s->gone)
            continue;
        retire_marks(s);
        if (s->done < s->begun || s->waiters)
            continue;
        drop_events(s);
        return s;
    }
    return NULL;
}

static int find_failure; /* why the last look for a stream found none; engine lock */

int spw_stream_find_failure_locked(void)
{
    return find_failure;
}

static struct spw_stream *new_record(CUstream handle, CUcontext context, uint64_t owner)
{
    struct spw_stream *s = reusable_record();
    if (!s) {
        s = table_used < MAX_STREAMS ? calloc(1, sizeof(*s)) : NULL;
        if (!s) {
            find_failure = -ENOMEM;
            return NULL;
        }
        s->id = table_used;
        table[table_used++] = s;
    }
    s->handle = handle;
    s->context = context;
    s->device = -1;
    s->place = NULL;
    s->calm = false;
    s->owner = owner;
    s->gone = s->ours = false;
    s->per_thread = handle == CU_STREAM_PER_THREAD;
    bucket_insert(s);
    return s;
}

/* A thread has ended: nobody submits to its default streams any more. What is still under way there is waited for through
 * the context. */
static void thread_ended(void *number)
{
    spw_lock();
    for (uint32_t i = 1; i < table_used; i++) {
        struct spw_stream *s = table[i];
        if (!s->per_thread || s->gone || s->owner != (uint64_t)(uintptr_t)number)
            continue;
        bucket_remove(s);
        s->gone = true;
    }
    spw_streams_generation++;
    spw_unlock();
}

static uint64_t this_thread(void)
{
    if (thread_number)
        return thread_number;
    thread_number = ++threads_numbered;
    if (!thread_end_made)
        thread_end_made = pthread_key_create(&thread_end, thread_ended) == 0;
    if (thread_end_made)
        (void)pthread_setspecific(thread_end, (void *)(uintptr_t)thread_number);
    return thread_number;
}

static uint64_t owner_of(CUstream handle, CUcontext context)
{
    return handle == CU_STREAM_PER_THREAD ? this_thread() : (uint64_t)(uintptr_t)context;
}

static struct spw_stream *find_or_make(CUstream handle, CUcontext context, uint64_t owner)
{
    struct spw_stream *s = bucket_find(handle, context, owner);
    if (s)
        return s;
    if (!context && spw_driver.cuStreamGetCtx(handle, &context) != CUDA_SUCCESS)
        return NULL;
    return new_record(handle, context, owner);
}

/* A default stream is another one in each context, so the driver is asked which context this is. */
static struct spw_stream *find_default(CUstream handle)
{
    static _Thread_local struct {
        CUstream handle;
        CUcontext context;
        uint64_t generation;
        struct spw_stream *stream;
    } last __attribute__((tls_model("initial-exec")));
    CUcontext context = NULL;
    if (spw_driver.cuCtxGetCurrent(&context) != CUDA_SUCCESS || !context)
        return NULL;
    if (last.context == context && last.handle == handle && last.generation == spw_streams_generation)
        return last.stream;
    CUstream shown = handle ? handle : CU_STREAM_LEGACY;
    struct spw_stream *s = find_or_make(shown, context, owner_of(shown, context));
    if (s) {
        last.handle = handle;
        last.context = context;
        last.stream = s;
        last.generation = spw_streams_generation;
    }
    return s;
}

struct spw_stream *spw_stream_find_locked(CUstream handle)
{
    find_failure = -ENODEV;
    if (handle_is_shared(handle))
        return find_default(handle);
    struct spw_stream *s = find_or_make(handle, NULL, 0);
    if (s) {
        spw_last_stream.handle = handle;
        spw_last_stream.stream = s;
        spw_last_stream.generation = spw_streams_generation;
    }
    return s;
}

struct spw_stream *spw_stream_adopt_locked(CUstream handle, CUcontext context)
{
    struct spw_stream *s = new_record(handle, context, 0);
    if (s)
        s->ours = true;
    return s;
}

struct spw_stream *spw_stream_by_id_locked(uint32_t id)
{
    return id && id < table_used ? table[id] : NULL;
}

static unsigned mark_at(const struct spw_stream *s, unsigned k)
{
    return (s->mark_first + k) % SPW_STREAM_MARKS;
}

/* Gives up the mark of a full ring that is missed least: the one between the two that are closest together, the newest among
 * equals. Whoever waits for what it covered waits a little longer, however far the host runs ahead. */
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

/* The place for the next mark. */
static int mark_slot(struct spw_stream *s, unsigned *ret_slot)
{
    retire_marks(s);
    if (s->mark_count == SPW_STREAM_MARKS)
        give_up_one_mark(s);
    unsigned i = mark_at(s, s->mark_count);
    if (!s->marks[i].event) {
        int r = spw_result(SPW_ASK(cuEventCreate, &s->marks[i].event, CU_EVENT_DISABLE_TIMING));
        if (r < 0)
            return r;
        events_held++;
    }
    *ret_slot = i;
    return 0;
}

int spw_stream_mark_locked(struct spw_stream *s)
{
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
    s->marks[i].number = s->begun;
    s->mark_count++;
    return 0;
}

void spw_stream_maybe_mark_locked(struct spw_stream *s)
{
    uint64_t last = s->done;
    if (s->mark_count)
        last = s->marks[mark_at(s, s->mark_count - 1)].number;
    if (s->begun >= last + SPW_MARK_EVERY && atomic_load_explicit(&s->in_call, memory_order_acquire) == 0)
        (void)spw_stream_mark_locked(s);
}

void spw_stream_gone_locked(CUstream handle)
{
    struct spw_stream *s = bucket_find(handle, NULL, 0);
    if (!s)
        return;
    if (s->done < s->begun && spw_stream_mark_locked(s) < 0) {
        /* No event to be had: the context's end of work stands for the stream's. */
        struct spw_context_guard guard;
        if (spw_context_enter(&guard, s->context) == 0) {
            (void)SPW_ASK(cuStreamSynchronize, handle);
            spw_context_leave(&guard);
        }
        s->done = s->begun;
    }
    bucket_remove(s);
    s->gone = true;
    spw_streams_generation++;
}

void spw_streams_context_gone_locked(CUcontext context)
{
    for (uint32_t i = 1; i < table_used; i++) {
        struct spw_stream *s = table[i];
        if (s->context != context)
            continue;
        drop_events(s);
        s->done = s->begun;
        if (!s->gone)
            bucket_remove(s);
        s->gone = true;
        s->context = NULL;
    }
    spw_streams_generation++;
}

unsigned spw_streams_of_context_locked(CUcontext context, struct spw_stream **ret_streams, uint64_t *ret_begun,
                                       unsigned room)
{
    unsigned n = 0;
    for (uint32_t i = 1; i < table_used && n < room; i++) {
        struct spw_stream *s = table[i];
        if (s->context != context || s->done >= s->begun || atomic_load_explicit(&s->in_call, memory_order_acquire))
            continue;
        ret_streams[n] = s;
        ret_begun[n++] = s->begun;
    }
    return n;
}

/* ---- uses ---- */

static void forget_all(struct spw_uses *u)
{
    u->count = 0;
    u->stream[0] = 0;
    u->overflow = false;
}

static void forget_done(struct spw_uses *u)
{
    unsigned kept = 0;
    for (unsigned i = 0; i < u->count; i++) {
        if (table[u->stream[i]]->done >= u->number[i])
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
    for (unsigned i = 0; i < u->count; i++) {
        if (u->stream[i] == s->id) {
            u->number[i] = number;
            return;
        }
    }
    if (u->count == SPW_USES)
        forget_done(u);
    if (u->count == SPW_USES) {
        u->overflow = true;
        return;
    }
    u->stream[u->count] = s->id;
    u->number[u->count++] = number;
}

void spw_uses_merge_locked(struct spw_uses *into, const struct spw_uses *from)
{
    into->overflow |= from->overflow;
    for (unsigned i = 0; i < from->count; i++) {
        unsigned k = 0;
        while (k < into->count && into->stream[k] != from->stream[i])
            k++;
        if (k < into->count && into->number[k] >= from->number[i])
            continue;
        spw_uses_add_slow_locked(into, table[from->stream[i]], from->number[i]);
    }
}

/* Calls `each` for every (stream, number) that the uses stand for until it answers other than 0. */
static int for_each_use(struct spw_uses *u, int (*each)(struct spw_stream *s, uint64_t number, void *arg), void *arg)
{
    int r = 0;
    if (u->overflow) {
        for (uint32_t i = 1; i < table_used && r == 0; i++)
            if (table[i]->done < table[i]->begun)
                r = each(table[i], table[i]->begun, arg);
        return r;
    }
    for (unsigned i = 0; i < u->count && r == 0; i++)
        if (table[u->stream[i]]->done < u->number[i])
            r = each(table[u->stream[i]], u->number[i], arg);
    return r;
}

static int is_in_call(struct spw_stream *s, uint64_t number, void *arg)
{
    (void)number;
    (void)arg;
    return atomic_load_explicit(&s->in_call, memory_order_acquire) != 0;
}

bool spw_uses_in_call_locked(const struct spw_uses *u)
{
    return for_each_use((struct spw_uses *)u, is_in_call, NULL) != 0;
}

static int is_not_done(struct spw_stream *s, uint64_t number, void *arg)
{
    (void)arg;
    retire_marks(s);
    return s->done < number;
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
    return for_each_use((struct spw_uses *)u, is_any, NULL) == 0;
}

bool spw_uses_done_locked(struct spw_uses *u)
{
    if (for_each_use(u, is_not_done, NULL))
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
    return for_each_use(u, is_other, (void *)s) == 0;
}

/* The oldest mark that covers operation `number`; records one when there is none.
 * -EAGAIN while an operation of the stream is in another thread's call; -EXDEV when only its own thread could record. */
static int mark_for(struct spw_stream *s, uint64_t number, CUevent *ret_event, uint64_t *ret_number)
{
    for (int attempt = 0; attempt < 2; attempt++) {
        for (unsigned k = 0; k < s->mark_count; k++) {
            unsigned i = mark_at(s, k);
            if (s->marks[i].number >= number) {
                *ret_event = s->marks[i].event;
                *ret_number = s->marks[i].number;
                return 0;
            }
        }
        if (atomic_load_explicit(&s->in_call, memory_order_acquire) != 0)
            return -EAGAIN;
        if (s->per_thread && s->owner != thread_number)
            return -EXDEV;
        int r = spw_stream_mark_locked(s);
        if (r < 0)
            return r;
    }
    return -EAGAIN;
}

static int mark_one(struct spw_stream *s, uint64_t number, void *arg)
{
    CUevent event;
    uint64_t covered;
    (void)arg;
    return mark_for(s, number, &event, &covered);
}

int spw_uses_mark_locked(struct spw_uses *u)
{
    return for_each_use(u, mark_one, NULL);
}

static int synchronize(CUcontext context)
{
    struct spw_context_guard guard;
    int r = spw_context_enter(&guard, context);
    if (r < 0)
        return r;
    r = spw_result(SPW_ASK(cuCtxSynchronize));
    spw_context_leave(&guard);
    return r;
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
    int r = mark_for(s, number, &event, &covered);
    if (r == -EAGAIN)
        return r;
    if (r == 0)
        r = wait_event_on(after, event);
    /* Where the device cannot be told to wait, the host waits for all of the context: slow and right. */
    return r < 0 ? synchronize(s->context) : 0;
}

int spw_uses_order_locked(struct spw_uses *u, struct spw_stream *s)
{
    return for_each_use(u, order_one, s);
}

bool spw_stream_is_reachable_locked(const struct spw_stream *s)
{
    return !s->gone && (!s->per_thread || s->owner == thread_number);
}

static bool may_work_on(const struct spw_stream *s, uint64_t devices)
{
    return !s->gone && !s->ours && s->begun && (s->device < 0 || devices >> s->device & 1);
}

int spw_streams_follow_locked(struct spw_stream *s, uint64_t devices)
{
    for (uint32_t i = 1; i < table_used; i++) {
        struct spw_stream *other = table[i];
        if (other == s || !may_work_on(other, devices))
            continue;
        if (spw_is_capturing(other->handle) || !spw_stream_is_reachable_locked(other))
            return synchronize(s->context); /* for this one and all that follow */
        int r = order_one(s, s->begun, other);
        if (r < 0)
            return r == -EAGAIN ? synchronize(s->context) : r;
    }
    return 0;
}

struct pending {
    struct spw_stream *stream;
    uint64_t number;
};

static int first_pending(struct spw_stream *s, uint64_t number, void *arg)
{
    struct pending *p = arg;
    retire_marks(s);
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
    if (r < 0)
        r = synchronize(context);
    spw_lock();
    s->waiters--;
    return r;
}

void spw_streams_await_waiters_unlocking(CUcontext context)
{
    for (uint32_t i = 1; i < table_used; i++)
        while (table[i]->context == context && table[i]->waiters) {
            spw_unlock();
            sched_yield();
            spw_lock();
        }
}

/* Waits until operation `number` of a stream is complete. */
static int wait_for_unlocking(struct spw_stream *s, uint64_t number)
{
    for (retire_marks(s); s->done < number; retire_marks(s)) {
        CUevent event = NULL;
        uint64_t covered = s->begun;
        int r = mark_for(s, number, &event, &covered);
        if (r == -EAGAIN) { /* another thread is between numbering and submitting: it will not be long */
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

/* Waits for all that has been submitted to any stream; what others submit meanwhile is not waited for. */
static int wait_for_everything_unlocking(void)
{
    int r = 0;
    for (uint32_t i = 1; i < table_used && r == 0; i++)
        r = wait_for_unlocking(table[i], table[i]->begun);
    return r;
}

int spw_uses_wait_unlocking(struct spw_uses *u)
{
    struct pending p;
    int r = 0;
    if (u->overflow) {
        forget_all(u); /* what is noted from here on is waited for below */
        r = wait_for_everything_unlocking();
        u->overflow |= r < 0;
    }
    while (r == 0 && for_each_use(u, first_pending, &p))
        r = wait_for_unlocking(p.stream, p.number);
    if (r == 0)
        forget_all(u);
    return r;
}

void spw_streams_count_locked(uint64_t *ret_streams, uint64_t *ret_events)
{
    *ret_streams = table_used - 1;
    *ret_events = events_held;
}

void spw_streams_reset(void)
{
    for (uint32_t i = 1; i < table_used; i++)
        free(table[i]);
    memset(table, 0, sizeof(table));
    memset(bucket_first, 0, sizeof(bucket_first));
    table_used = 1;
    events_held = 0;
    spw_streams_generation++;
}
