/* recorder.c - handles noted calls: gives their handles numbers, puts records into the file, and informs the other
 * parts. */
#include "recorder.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "../../trace/writer.h"
#include "definitions.h"
#include "pointer_map.h"
#include "live.h"
#include "iteration_finder.h"
#include "log.h"
#include "now.h"
#include "recorder_parts.h"
#include "refusals.h"
#include "settings.h"
#include "sites.h"
#include "status.h"
#include "timing.h"

enum { FLUSH_NS = 500000000, FLUSH_BEFORE_WAIT_NS = 50000000 };

int spw_recording;
_Thread_local struct spw_note spw_note_now __attribute__((tls_model("initial-exec")));

/* Guarded by the recorder lock. */
static struct spw_trace_writer *writer;
static uint64_t next_op, flushed_ns, origin_ns;

static bool hint_before_start, tells_status;

/* ---- time, and the way into the file ---- */

static uint64_t trace_ns(void) /* since the recorder started */
{
    return spw_now_ns() - origin_ns;
}

static void stop_noting(void)
{
    spw_recording = 0;
    __atomic_fetch_and(&spw_live, ~SPW_NOTES, __ATOMIC_RELAXED);
}

/* Ends recording, with the file in the best state that is possible. */
static void give_up_locked(int r)
{
    spw_warn("the trace ends here: %s; the program goes on" SPW_SEE("trace-not-written"), strerror(-r));
    stop_noting();
    spw_timing_set(false);
}

/* A record that is too long for a trace is left out, and the trace says so. */
static __attribute__((noinline, cold)) void put_failed_locked(int r)
{
    const struct spw_record lost = {.kind = SPW_RECORD_LOST, .lost = {.records = 1}};
    if (r == -EINVAL)
        r = spw_trace_put(writer, &lost);
    if (r < 0)
        give_up_locked(r);
}

static inline __attribute__((always_inline)) void put_locked(const struct spw_record *record)
{
    const int r = writer && spw_recording ? spw_trace_put(writer, record) : 0;
    if (__builtin_expect(r < 0, 0))
        put_failed_locked(r);
}

void spw_record_put_locked(const struct spw_record *record)
{
    SPW_ASSERT_LOCKED(&spw_recorder_lock);
    put_locked(record);
}

static void flush_locked(uint64_t older_than_ns)
{
    uint64_t now = trace_ns();
    if (!writer || !spw_recording || now - flushed_ns < older_than_ns)
        return;
    flushed_ns = now;
    int r = spw_trace_flush(writer);
    if (r < 0)
        give_up_locked(r);
}

static void put_durations_locked(void)
{
    uint64_t op, start, duration;
    while (spw_timing_next(&op, &start, &duration)) {
        struct spw_record r = {.kind = SPW_RECORD_DURATION,
                               .duration = {.op = op, .start_ns = start, .duration_ns = duration}};
        spw_record_put_locked(&r);
    }
}

static void flush_if_older(uint64_t now, uint64_t limit_ns)
{
    if (now - __atomic_load_n(&flushed_ns, __ATOMIC_RELAXED) < limit_ns)
        return;
    spw_word_lock(&spw_recorder_lock, SPW_LOCK_RECORDER);
    flush_locked(limit_ns);
    spw_word_unlock(&spw_recorder_lock);
}

void spw_note_begin(CUstream stream, const void *caller, bool waits)
{
    spw_note_now = (struct spw_note){.began_ns = trace_ns(), .stream = stream, .caller = caller, .op = SPW_NO_OP};
    flush_if_older(spw_note_now.began_ns, waits ? FLUSH_BEFORE_WAIT_NS : FLUSH_NS);
    if (__builtin_expect(spw_timing_is_on(), 0))
        spw_note_now.timed = spw_timing_begin(stream);
}

void spw_note_end(void)
{
    if (!spw_note_now.timed)
        return;
    if (spw_note_now.op == SPW_NO_OP)
        spw_timing_cancel(spw_note_now.timed);
    else
        spw_timing_end(spw_note_now.timed, spw_note_now.stream, spw_note_now.op);
}

/* ---- operations, waits and events ---- */

void spw_record_op_locked(const struct spw_record *r, const struct spw_iteration_touch *touches)
{
    SPW_ASSERT_LOCKED(&spw_recorder_lock);
    spw_iteration_finder_before(next_op, &r->op);
    put_locked(r);
    const uint64_t number = spw_note_now.op = next_op++;
    spw_iteration_finder_op(number, &r->op, touches);
    if (number % 64 != 0 && !spw_timing_is_on())
        return;
    put_durations_locked();
    if (number % 64 == 0 && tells_status)
        spw_status_publish_locked(false);
}

void spw_recorder_wait(enum spw_wait_kind kind, CUevent event)
{
    struct spw_stream_facts *stream = NULL;
    if (kind == SPW_WAIT_STREAM)
        stream = spw_stream_facts_of(spw_note_now.stream);
    uint64_t now = trace_ns();
    spw_word_lock(&spw_recorder_lock, SPW_LOCK_RECORDER);
    struct spw_record r = {
        .kind = SPW_RECORD_WAIT,
        .wait = {.kind = kind, .time_ns = spw_note_now.began_ns, .duration_ns = now - spw_note_now.began_ns}};
    if (kind == SPW_WAIT_STREAM)
        r.wait.what = spw_stream_number_locked(stream);
    else if (kind == SPW_WAIT_EVENT)
        r.wait.what = spw_event_number_locked(event);
    spw_record_put_locked(&r);
    put_durations_locked();
    if (tells_status)
        spw_status_publish_locked(true);
    spw_word_unlock(&spw_recorder_lock);
}

void spw_recorder_event(CUevent event, bool wait)
{
    struct spw_stream_facts *stream = spw_stream_facts_of(spw_note_now.stream);
    spw_word_lock(&spw_recorder_lock, SPW_LOCK_RECORDER);
    struct spw_record r = {
        .kind = SPW_RECORD_EVENT,
        .event = {.event = spw_event_number_locked(event), .stream = spw_stream_number_locked(stream), .wait = wait}};
    spw_record_put_locked(&r);
    spw_word_unlock(&spw_recorder_lock);
}

/* ---- hints ---- */

void spw_record_hint(void)
{
    if (!__atomic_load_n(&spw_recording, __ATOMIC_RELAXED)) {
        __atomic_store_n(&hint_before_start, true, __ATOMIC_RELAXED);
        return;
    }
    spw_word_lock(&spw_recorder_lock, SPW_LOCK_RECORDER);
    spw_iteration_finder_hint(next_op);
    spw_word_unlock(&spw_recorder_lock);
}

/* ---- what the engine has found out ---- */

static void record_refusals(uint32_t device, const struct spw_refusals *refusals)
{
    if (!__atomic_load_n(&spw_recording, __ATOMIC_RELAXED))
        return;
    spw_word_lock(&spw_recorder_lock, SPW_LOCK_RECORDER);
    for (uint32_t i = 0; i < refusals->count; i++) {
        const struct spw_refusal *it = &refusals->list[i];
        const struct spw_record r = {.kind = SPW_RECORD_REFUSAL,
                                     .refusal = {.device = device,
                                                 .index = i,
                                                 .operations = it->operations,
                                                 .bytes = it->bytes,
                                                 .kernel = it->kernel,
                                                 .reason = spw_replay_verdict_name(it->verdict),
                                                 .text = spw_replay_verdict_text(it->verdict)}};
        spw_record_put_locked(&r);
    }
    spw_iteration_finder_learned();
    spw_word_unlock(&spw_recorder_lock);
}

/* ---- graphs, and handles that are no more ---- */

#define LOCKED(name, parameters, what) \
    void name parameters \
    { \
        spw_word_lock(&spw_recorder_lock, SPW_LOCK_RECORDER); \
        what; \
        spw_word_unlock(&spw_recorder_lock); \
    }

LOCKED(spw_record_captured, (CUgraph graph), spw_graphs_end_locked(graph))
LOCKED(spw_record_instantiated, (CUgraph graph, CUgraphExec exec), spw_graphs_exec_locked(graph, exec))
LOCKED(spw_record_graph_gone, (const void *graph_or_exec), spw_graphs_gone_locked(graph_or_exec))
LOCKED(spw_record_stream_gone, (CUstream stream), spw_stream_number_gone_locked(stream))
LOCKED(spw_record_event_gone, (CUevent event), spw_event_number_gone_locked(event))
LOCKED(spw_record_functions_gone, (void), spw_function_numbers_gone_locked())

void spw_record_context_changed(void)
{
    spw_stream_facts_changed();
}

/* ---- the status page ---- */

struct spw_traced_iteration spw_recorder_learned(void)
{
    if (!__atomic_load_n(&spw_recording, __ATOMIC_RELAXED))
        return (struct spw_traced_iteration){0};
    spw_word_lock(&spw_recorder_lock, SPW_LOCK_RECORDER);
    struct spw_traced_iteration learned = spw_traced;
    spw_word_unlock(&spw_recorder_lock);
    return learned;
}

void spw_recorder_fill_status(struct spw_status_page *p, const struct spw_traced_iteration *learned)
{
    p->iterations = learned->iterations;
    p->iteration_shape = learned->shape;
    p->iteration_length = learned->length;
    p->step_ns = learned->step_ns;
}

static void fill_status(struct spw_status_page *p)
{
    p->operations = next_op;
    p->allocations = spw_recorder_allocs_locked();
    spw_recorder_fill_status(p, &spw_traced);
    spw_recorder_fill_live_bytes(p);
}

/* ---- from the first record to the last ---- */

int spw_recorder_start(void)
{
    const char *path = spw_settings_get()->trace_file;
    struct spw_trace_writer *made;
    int r = spw_trace_writer_create(path, &made);
    if (r < 0) {
        spw_warn("cannot write the trace %s: %s" SPW_SEE("trace-not-written"), path, strerror(-r));
        return r;
    }
    spw_word_lock(&spw_recorder_lock, SPW_LOCK_RECORDER);
    writer = made;
    origin_ns = spw_now_ns();
    spw_recording = 1;
    __atomic_fetch_or(&spw_live, SPW_NOTES, __ATOMIC_RELAXED);
    spw_refusals_listener = record_refusals;
    spw_define_process_locked();
    flush_locked(0);
    r = spw_iteration_finder_start();
    if (__atomic_exchange_n(&hint_before_start, false, __ATOMIC_RELAXED))
        spw_iteration_finder_hint(0);
    spw_word_unlock(&spw_recorder_lock);
    if (spw_settings_get()->mode == SPW_MODE_TRACE) { /* else the engine tells */
        tells_status = true;
        spw_status_start(SPW_MODE_TRACE, fill_status);
    }
    if (r < 0)
        spw_warn("no memory to look for the iteration: operations are not timed" SPW_SEE("not-timed"));
    return 0;
}

void spw_recorder_stop(void)
{
    spw_word_lock(&spw_recorder_lock, SPW_LOCK_RECORDER);
    if (writer && spw_recording) {
        put_durations_locked();
        struct spw_record r = {.kind = SPW_RECORD_END,
                               .end = {.time_ns = trace_ns(), .ops = next_op, .allocs = spw_recorder_allocs_locked()}};
        spw_record_put_locked(&r);
        spw_iteration_finder_tell();
    }
    int failed = writer ? spw_trace_writer_destroy(writer) : 0;
    if (writer && spw_recording && failed == 0)
        spw_warn("traced %llu operations and %llu allocations; to see them: spillway report %s", (unsigned long long)next_op,
                 (unsigned long long)spw_recorder_allocs_locked(), spw_settings_get()->trace_file);
    else if (writer && spw_recording)
        spw_warn("the end of the trace %s could not be written: %s" SPW_SEE("trace-not-written"),
                 spw_settings_get()->trace_file, strerror(-failed));
    writer = NULL;
    spw_iteration_finder_stop();
    stop_noting();
    spw_word_unlock(&spw_recorder_lock);
}

void spw_recorder_in_child(void)
{
    atomic_store(&spw_recorder_lock, 0);
    spw_recording = 0;
    spw_iteration_finder_stop();
    spw_timing_reset();
    if (writer)
        spw_trace_writer_abandon(writer);
    writer = NULL;
}

void spw_recorder_reset(void)
{
    spw_word_lock(&spw_recorder_lock, SPW_LOCK_RECORDER);
    spw_recorder_memory_reset();
    spw_sites_reset();
    spw_definitions_reset();
    spw_timing_reset();
    spw_word_unlock(&spw_recorder_lock);
    next_op = flushed_ns = 0;
}

/* A thread that was ended in the middle of a record holds the lock for ever: then the file stays as it is. */
__attribute__((destructor)) static void at_end(void)
{
    if (!spw_recording || !spw_word_try_lock(&spw_recorder_lock, SPW_LOCK_RECORDER))
        return;
    spw_word_unlock(&spw_recorder_lock);
    spw_recorder_stop();
}
