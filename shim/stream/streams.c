/* streams.c - the records of streams: finds the stream that a handle means for a thread, and follows it until it is
 * destroyed. */
#include "streams.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "ask.h"
#include "capture.h"
#include "context.h"
#include "driver.h"
#include "lock.h"
#include "stream_table.h"

enum { BUCKETS = 1024 };

struct spw_stream *spw_stream_table[SPW_MAX_STREAMS];
uint32_t spw_stream_table_used = 1;
static uint32_t bucket_next[SPW_MAX_STREAMS], bucket_first[BUCKETS];

_Thread_local struct spw_stream_answer spw_last_stream;
uint64_t spw_streams_generation = 1;
unsigned spw_streams_blocking;

static _Thread_local uint64_t thread_number; /* from 1; 0: the thread has not used its own default stream */
static uint64_t threads_numbered;
static pthread_key_t thread_end; /* its destructor runs when a thread has ended */
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

/* `context` is NULL if the handle alone identifies the stream. */
static struct spw_stream *bucket_find(CUstream handle, CUcontext context, uint64_t owner)
{
    for (uint32_t i = bucket_first[bucket_of(handle, owner)]; i; i = bucket_next[i])
        if (spw_stream_table[i]->handle == handle && spw_stream_table[i]->owner == owner &&
            (!context || spw_stream_table[i]->context == context))
            return spw_stream_table[i];
    return NULL;
}

/* Finds a record whose stream is destroyed and whose work is complete, and destroys its events. */
static struct spw_stream *reusable_record(void)
{
    for (uint32_t i = 1; i < spw_stream_table_used; i++) {
        struct spw_stream *s = spw_stream_table[i];
        if (!s->gone)
            continue;
        spw_marks_retire_locked(s);
        if (s->done < s->begun || s->waiters)
            continue;
        spw_marks_drop_locked(s, true);
        return s;
    }
    return NULL;
}

static int find_failure; /* why the last search found no stream; engine lock */

int spw_stream_find_failure_locked(void)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    return find_failure;
}

/* Returns the device of the context; -1: the driver does not say. */
static int device_of(CUcontext context)
{
    struct spw_context_guard guard;
    CUdevice device = -1;
    for (uint32_t i = 1; i < spw_stream_table_used; i++)
        if (spw_stream_table[i]->context == context && spw_stream_table[i]->device >= 0)
            return spw_stream_table[i]->device;
    if (spw_context_enter(&guard, context) < 0)
        return -1;
    if (SPW_ASK_QUIETLY(cuCtxGetDevice, &device) != CUDA_SUCCESS)
        device = -1;
    spw_context_leave(&guard);
    return device;
}

static struct spw_stream *new_record(CUstream handle, CUcontext context, uint64_t owner)
{
    if (spw_stream_table_used == SPW_MAX_STREAMS)
        spw_streams_await_ended_threads_locked();
    struct spw_stream *s = reusable_record();
    const int device = device_of(context);
    if (!s) {
        s = spw_stream_table_used < SPW_MAX_STREAMS ? calloc(1, sizeof(*s)) : NULL;
        if (!s) {
            find_failure = -ENOMEM;
            return NULL;
        }
        s->id = spw_stream_table_used;
        spw_stream_table[spw_stream_table_used++] = s;
    }
    s->handle = handle;
    s->context = context;
    s->device = device;
    s->place = NULL;
    s->calm = false;
    s->owner = owner;
    s->gone = s->ours = s->blocking = false;
    s->per_thread = handle == CU_STREAM_PER_THREAD;
    bucket_insert(s);
    return s;
}

/* A thread has ended, so nothing more is submitted to its default streams. Their incomplete work is waited for through the
 * context. */
static void thread_ended(void *number)
{
    spw_lock();
    for (uint32_t i = 1; i < spw_stream_table_used; i++) {
        struct spw_stream *s = spw_stream_table[i];
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

/* Per-thread default streams are blocking, too. */
static bool is_blocking(CUstream handle)
{
    unsigned flags = 0;
    return handle_is_shared(handle) || !spw_driver.cuStreamGetFlags ||
           SPW_ASK_QUIETLY(cuStreamGetFlags, handle, &flags) != CUDA_SUCCESS || !(flags & CU_STREAM_NON_BLOCKING);
}

static struct spw_stream *find_or_make(CUstream handle, CUcontext context, uint64_t owner)
{
    struct spw_stream *s = bucket_find(handle, context, owner);
    if (s)
        return s;
    if (!context && spw_driver.cuStreamGetCtx(handle, &context) != CUDA_SUCCESS)
        return NULL;
    s = new_record(handle, context, owner);
    if (s)
        s->blocking = is_blocking(handle);
    spw_streams_blocking += s && s->blocking;
    return s;
}

/* A default stream is another one in each context, so the driver is asked which context is current. */
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
    SPW_ASSERT_LOCKED(&spw_engine_lock);
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
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    struct spw_stream *s = new_record(handle, context, 0);
    if (s)
        s->ours = true;
    return s;
}

struct spw_stream *spw_stream_by_id_locked(uint32_t id)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    return id && id < spw_stream_table_used ? spw_stream_table[id] : NULL;
}

void spw_stream_gone_locked(CUstream handle)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    struct spw_stream *s = bucket_find(handle, NULL, 0);
    if (!s)
        return;
    /* If the stream is part of a capture, waiting for it would end the capture. It got its mark when it joined. */
    if (spw_stream_may_be_captured_locked(s) < 0 && !spw_is_capturing(handle)) {
        struct spw_context_guard guard;
        if (spw_context_enter(&guard, s->context) == 0) {
            if (SPW_ASK(cuStreamSynchronize, handle) == CUDA_SUCCESS)
                s->done = s->begun;
            spw_context_leave(&guard);
        }
    }
    bucket_remove(s);
    s->gone = true;
    spw_streams_generation++;
}

void spw_streams_context_gone_locked(CUcontext context)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    for (uint32_t i = 1; i < spw_stream_table_used; i++) {
        struct spw_stream *s = spw_stream_table[i];
        if (s->context != context)
            continue;
        spw_marks_drop_locked(s, true);
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
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    unsigned n = 0;
    for (uint32_t i = 1; i < spw_stream_table_used && n < room; i++) {
        struct spw_stream *s = spw_stream_table[i];
        if (s->context != context || s->done >= s->begun || atomic_load_explicit(&s->in_call, memory_order_acquire))
            continue;
        ret_streams[n] = s;
        ret_begun[n++] = s->begun;
    }
    return n;
}

bool spw_stream_may_record_locked(const struct spw_stream *s)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    return !s->per_thread || s->owner == thread_number;
}

bool spw_stream_is_reachable_locked(const struct spw_stream *s)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    return !s->gone && spw_stream_may_record_locked(s);
}

uint64_t spw_streams_count_locked(void)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    return spw_stream_table_used - 1;
}

void spw_streams_reset(void)
{
    for (uint32_t i = 1; i < spw_stream_table_used; i++) {
        spw_marks_drop_locked(spw_stream_table[i], false);
        free(spw_stream_table[i]);
    }
    memset(spw_stream_table, 0, sizeof(spw_stream_table));
    memset(bucket_first, 0, sizeof(bucket_first));
    spw_stream_table_used = 1;
    spw_streams_blocking = 0;
    spw_gated_streams = 0;
    spw_streams_generation++;
}
