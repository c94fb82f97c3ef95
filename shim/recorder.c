/* recorder.c - turns noted calls into records: which allocation an address lies in, which number a handle has. */
#include "recorder.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "../trace/writer.h"
#include "definitions.h"
#include "driver.h"
#include "extents.h"
#include "graph.h"
#include "hidden.h"
#include "hooks.h"
#include "learn.h"
#include "lock.h"
#include "log.h"
#include "settings.h"
#include "sites.h"
#include "status.h"
#include "tables.h"
#include "timing.h"

enum { FLUSH_NS = 500000000, FLUSH_BEFORE_WAIT_NS = 50000000, TOUCHES = 4096 };

int spw_recording;
_Thread_local struct spw_note spw_note_now __attribute__((tls_model("initial-exec")));

/* Guards what follows, and what the sites, definitions and hidden pointers know. A leaf: no driver call is made with it. */
static atomic_int lock;
static struct spw_trace_writer *writer;
static struct spw_extents extents;
static uint64_t next_op, last_alloc, flushed_ns, origin_ns;

/* What the operation at hand touches. */
static struct spw_touch touches[TOUCHES];
static struct spw_extent *touched[TOUCHES];
static struct spw_iteration_touch touches_learned[SPW_FOLLOW_TOUCHES];
static uint32_t touch_count;
static bool touches_lost;
static uint32_t last_function; /* of the last operation */

static bool hint_before_start, tells_status;

/* Memory of each device that is allocated now, and the most so far; for the status page. */
static uint64_t live_bytes[SPW_STATUS_DEVICES], live_bytes_peak[SPW_STATUS_DEVICES];

/* ---- time, and the way into the file ---- */

static uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec - origin_ns;
}

static void stop_noting(void)
{
    spw_recording = 0;
    __atomic_fetch_and(&spw_live, ~SPW_NOTES, __ATOMIC_RELAXED);
}

/* The end of recording, with the file as good as it can be left. */
static void give_up_locked(int r)
{
    spw_warn("the trace ends here: %s; the program goes on", strerror(-r));
    stop_noting();
    spw_timing_set(false);
}

void spw_record_put_locked(const struct spw_record *record)
{
    int r = writer && spw_recording ? spw_trace_put(writer, record) : 0;
    if (r == -EINVAL) { /* longer than a trace can say: it is missing, and that is said */
        struct spw_record lost = {.kind = SPW_RECORD_LOST, .lost = {.records = 1}};
        r = spw_trace_put(writer, &lost);
    }
    if (r < 0)
        give_up_locked(r);
}

static void flush_locked(uint64_t older_than_ns)
{
    uint64_t now = now_ns();
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
    spw_word_lock(&lock);
    flush_locked(limit_ns);
    spw_word_unlock(&lock);
}

void spw_note_begin(CUstream stream, const void *caller, bool waits)
{
    spw_note_now = (struct spw_note){.began_ns = now_ns(), .stream = stream, .caller = caller, .op = SPW_NO_OP};
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

/* ---- allocations ---- */

static void put_free_locked(uint64_t id, uint32_t stream)
{
    struct spw_record r = {.kind = SPW_RECORD_FREE, .free = {.id = id, .stream = stream, .time_ns = spw_note_now.began_ns}};
    spw_record_put_locked(&r);
    spw_learn_free(id);
}

static bool counts(const struct spw_extent *e)
{
    return e->kind != SPW_ALLOC_HOST && e->kind != SPW_ALLOC_GLOBAL && e->device < SPW_STATUS_DEVICES;
}

static void count_live_locked(const struct spw_extent *e)
{
    if (!counts(e))
        return;
    live_bytes[e->device] += e->bytes;
    if (live_bytes_peak[e->device] < live_bytes[e->device])
        live_bytes_peak[e->device] = live_bytes[e->device];
}

static void count_gone_locked(const struct spw_extent *e)
{
    if (counts(e))
        live_bytes[e->device] -= e->bytes;
}

/* An allocation lies where this one was said to lie: its end went past us. */
static void stale(void *context, const struct spw_extent *e)
{
    count_gone_locked(e);
    put_free_locked(e->id, 0);
}

/* The site of this call, walking the stack where it has to be; lets go of the lock meanwhile. */
static uint32_t site_unlocking(uint64_t bytes)
{
    struct spw_site_key key = spw_site_key_locked(spw_note_now.caller, __builtin_frame_address(0), bytes, last_function);
    uint32_t site = spw_site_known_locked(key);
    if (site)
        return site;
    struct spw_stack stack;
    bool new_site;
    spw_word_unlock(&lock);
    spw_site_walk(&stack);
    spw_word_lock(&lock);
    site = spw_site_learn_locked(key, &stack, &new_site);
    if (new_site)
        spw_define_site_locked(site, &stack);
    return site;
}

static bool is_of_device(enum spw_alloc_kind kind)
{
    return kind != SPW_ALLOC_HOST;
}

void spw_record_alloc(enum spw_alloc_kind kind, CUdeviceptr address, uint64_t bytes)
{
    struct spw_stream_facts *stream = spw_stream_facts(spw_note_now.stream);
    spw_word_lock(&lock);
    struct spw_record r = {.kind = SPW_RECORD_ALLOC,
                           .alloc = {.device = is_of_device(kind) ? stream->device : 0,
                                     .kind = kind,
                                     .address = address,
                                     .bytes = bytes,
                                     .site = kind == SPW_ALLOC_GLOBAL ? 0 : site_unlocking(bytes),
                                     .time_ns = spw_note_now.began_ns}};
    struct spw_extent *e = spw_extents_add(&extents, address, bytes, stale, NULL);
    if (e) {
        e->id = r.alloc.id = ++last_alloc;
        e->context = kind == SPW_ALLOC_HOST || kind == SPW_ALLOC_VMM ? NULL : stream->context;
        e->kind = (uint8_t)kind;
        e->device = (uint8_t)r.alloc.device;
        count_live_locked(e);
        spw_define_device_locked(stream->device);
        if (kind == SPW_ALLOC_ASYNC)
            r.alloc.stream = spw_stream_number_locked(stream);
        spw_record_put_locked(&r);
        spw_learn_alloc(&r.alloc);
    }
    spw_word_unlock(&lock);
}

void spw_record_alloc_once(enum spw_alloc_kind kind, CUdeviceptr address, uint64_t bytes)
{
    spw_word_lock(&lock);
    struct spw_extent *e = spw_extents_find(&extents, address);
    bool known = e && e->start == address && e->bytes == bytes;
    spw_word_unlock(&lock);
    if (!known)
        spw_record_alloc(kind, address, bytes);
}

void spw_record_free(CUdeviceptr address, bool in_stream_order)
{
    struct spw_stream_facts *stream = NULL;
    if (in_stream_order)
        stream = spw_stream_facts(spw_note_now.stream);
    spw_word_lock(&lock);
    struct spw_extent *e = spw_extents_find(&extents, address);
    if (e && e->start == address && e->kind != SPW_ALLOC_GLOBAL) {
        put_free_locked(e->id, in_stream_order ? spw_stream_number_locked(stream) : 0);
        count_gone_locked(e);
        spw_hidden_forget_all(e);
        spw_extents_remove(&extents, e);
    }
    spw_word_unlock(&lock);
}

/* Unmapping may cover several neighbours. */
void spw_record_free_range(CUdeviceptr address, uint64_t bytes)
{
    for (uint64_t at = 0; at < bytes;) {
        spw_word_lock(&lock);
        struct spw_extent *e = spw_extents_find(&extents, address + at);
        uint64_t start = e ? e->start : 0, length = e ? e->bytes : 0;
        spw_word_unlock(&lock);
        if (!e)
            return;
        spw_record_free(start, false);
        at = start + length - address;
    }
}

void spw_record_context_gone(CUcontext context)
{
    spw_timing_context_gone(context);
    spw_word_lock(&lock);
    for (struct spw_extent *e = extents.all, *next; e; e = next) {
        next = e->next;
        if (e->context != context)
            continue;
        put_free_locked(e->id, 0);
        count_gone_locked(e);
        spw_hidden_forget_all(e);
        spw_extents_remove(&extents, e);
    }
    spw_context_numbers_gone_locked();
    spw_word_unlock(&lock);
}

void spw_record_bounds(CUdeviceptr *ret_low, CUdeviceptr *ret_high)
{
    *ret_low = __atomic_load_n(&extents.low, __ATOMIC_RELAXED);
    *ret_high = __atomic_load_n(&extents.high, __ATOMIC_RELAXED);
}

/* ---- what an operation touches ---- */

static inline void touch_locked(struct spw_extent *e, uint64_t offset, uint64_t bytes, enum spw_access access)
{
    const uint32_t n = touch_count;
    if (n == TOUCHES) {
        touches_lost = true;
        return;
    }
    touched[n] = e;
    if (n < SPW_FOLLOW_TOUCHES)
        touches_learned[n] = (struct spw_iteration_touch){.alloc = e->id, .bytes = e->bytes, .offset = offset};
    touches[n] = (struct spw_touch){e->id, offset, bytes, access};
    touch_count = n + 1;
}

static struct spw_extent *reach_locked(CUdeviceptr address, uint64_t bytes, enum spw_access access)
{
    struct spw_extent *e = spw_extents_find(&extents, address);
    if (e)
        touch_locked(e, address - e->start, bytes, access);
    return e;
}

/* The addresses of a launch, the first of what it touches. No sizes are known; few are the usual case. */
static void reach_all_locked(const CUdeviceptr *addresses, int count)
{
    const uint64_t low = extents.low, span = extents.high - low;
    const int few = count < SPW_FOLLOW_TOUCHES ? count : SPW_FOLLOW_TOUCHES;
    struct spw_iteration_touch *learned = touches_learned;
    struct spw_touch *t = touches;
    struct spw_extent **of = touched;
    for (int i = 0; i < few; i++) {
        struct spw_extent *e = addresses[i] - low < span ? spw_extents_find_between(&extents, addresses[i]) : NULL;
        if (!e)
            continue;
        *of++ = e;
        *t = (struct spw_touch){e->id, addresses[i] - e->start, 0, SPW_ACCESS_BOTH};
        *learned++ = (struct spw_iteration_touch){.alloc = t->alloc, .bytes = e->bytes, .offset = t->offset};
        t++;
    }
    touch_count = (uint32_t)(t - touches);
    for (int i = few; i < count; i++)
        (void)reach_locked(addresses[i], 0, SPW_ACCESS_BOTH);
}

static void reach_hidden(void *context, uint64_t target)
{
    (void)reach_locked(target, 0, SPW_ACCESS_BOTH);
}

/* Any kernel may find what a variable of a module holds. */
static void reach_variable(void *context, uint64_t start)
{
    struct spw_extent *e = spw_extents_find(&extents, start);
    if (e && e->start == start && e->kind == SPW_ALLOC_GLOBAL && e->pointer_count)
        touch_locked(e, 0, 0, SPW_ACCESS_BOTH);
}

/* What the addresses that lie in an allocation lead to, and so on: each allocation is looked into once. */
static void follow_locked(void)
{
    static uint64_t walk;
    walk++;
    touches_lost |= !spw_hidden_each_variable(reach_variable, NULL);
    for (uint32_t i = 0; i < touch_count; i++) { /* grows meanwhile */
        if (touched[i]->met == walk)
            continue;
        touched[i]->met = walk;
        spw_hidden_each(touched[i], reach_hidden, NULL);
    }
}

static void note_captured_locked(bool everything)
{
    static uint64_t addresses[TOUCHES];
    for (uint32_t i = 0; i < touch_count; i++)
        addresses[i] = touched[i]->start + touches[i].offset;
    spw_graphs_captured_locked(touches, addresses, touch_count, everything);
}

static void op_begin_locked(void)
{
    touch_count = 0;
    touches_lost = false;
}

static inline __attribute__((always_inline)) void op_put_locked(struct spw_record *r, struct spw_stream_facts *stream)
{
    struct spw_record_op *op = &r->op;
    r->kind = SPW_RECORD_OP;
    op->stream = spw_stream_number_locked(stream);
    op->time_ns = spw_note_now.began_ns;
    last_function = op->function;
    op->everything |= touches_lost;
    op->touch_count = touch_count;
    op->touches = touches;
    if (op->captured)
        note_captured_locked(op->everything);
    spw_learn_before(next_op, op);
    spw_record_put_locked(r);
    const uint64_t number = spw_note_now.op = next_op++;
    spw_learn_op(number, op, touches_learned);
    if (number % 64 != 0 && !spw_timing_is_on())
        return;
    put_durations_locked();
    if (number % 64 == 0 && tells_status)
        spw_status_tell_locked(false);
}

/* ---- operations ---- */

/* Memory of a device, as far as we know: an address that nobody allocated is the host's. */
static bool on_device(const struct spw_extent *e)
{
    return e && is_of_device((enum spw_alloc_kind)e->kind);
}

static enum spw_op_kind copy_kind(const struct spw_extent *to, const struct spw_extent *from)
{
    if (on_device(to))
        return on_device(from) ? SPW_OP_COPY_D2D : SPW_OP_COPY_H2D;
    return on_device(from) ? SPW_OP_COPY_D2H : SPW_OP_COPY_H2H;
}

void spw_record_op(struct spw_record *r, const struct spw_reach *reach, unsigned count)
{
    struct spw_stream_facts *stream = spw_stream_facts(spw_note_now.stream);
    struct spw_record_op *op = &r->op;
    struct spw_extent *ends[2] = {NULL, NULL};
    op->captured = spw_is_capturing(spw_note_now.stream);
    spw_word_lock(&lock);
    op_begin_locked();
    for (unsigned i = 0; i < count; i++) {
        struct spw_extent *e = reach_locked(reach[i].address, reach[i].bytes, reach[i].access);
        if (i < 2)
            ends[i] = e;
    }
    if (op->kind == SPW_OP_KINDS)
        op->kind = copy_kind(ends[0], ends[1]);
    op_put_locked(r, stream);
    spw_word_unlock(&lock);
}

static uint32_t number_function_unlocking(CUfunction f)
{
    struct spw_function_facts facts;
    spw_word_unlock(&lock);
    spw_function_ask(f, &facts);
    spw_word_lock(&lock);
    return spw_function_number_locked(&facts);
}

void spw_record_launch(struct spw_record *r, CUfunction function, const CUdeviceptr *hits, int count)
{
    struct spw_stream_facts *stream = spw_stream_facts(spw_note_now.stream);
    struct spw_record_op *op = &r->op;
    op->kind = SPW_OP_LAUNCH;
    op->captured = spw_is_capturing(spw_note_now.stream);
    op->everything = count < 0;
    spw_word_lock(&lock);
    op->function = spw_function_known_locked(function);
    if (!op->function)
        op->function = number_function_unlocking(function);
    op_begin_locked();
    reach_all_locked(hits, count);
    if (spw_hidden_any())
        follow_locked();
    op_put_locked(r, stream);
    spw_word_unlock(&lock);
}

void spw_record_graph_launch(CUgraphExec exec)
{
    struct spw_stream_facts *stream = spw_stream_facts(spw_note_now.stream);
    struct spw_record r = {.op = {.kind = SPW_OP_GRAPH, .captured = spw_is_capturing(spw_note_now.stream)}};
    spw_word_lock(&lock);
    op_begin_locked();
    const struct spw_graph_reach *reach = spw_graphs_of_exec_locked(exec);
    r.op.everything = !reach || reach->everything;
    for (uint32_t i = 0; reach && i < reach->count; i++) {
        struct spw_extent *e = spw_extents_find(&extents, reach->list[i].address);
        if (e)
            touch_locked(e, reach->list[i].address - e->start, 0, reach->list[i].access);
    }
    if (spw_hidden_any())
        follow_locked(); /* what the tables hold now may be other than when it was captured */
    op_put_locked(&r, stream);
    spw_word_unlock(&lock);
}

void spw_record_wait(enum spw_wait_kind kind, CUevent event)
{
    struct spw_stream_facts *stream = NULL;
    if (kind == SPW_WAIT_STREAM)
        stream = spw_stream_facts(spw_note_now.stream);
    uint64_t now = now_ns();
    spw_word_lock(&lock);
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
        spw_status_tell_locked(true);
    spw_word_unlock(&lock);
}

void spw_record_event(CUevent event, bool wait)
{
    struct spw_stream_facts *stream = spw_stream_facts(spw_note_now.stream);
    spw_word_lock(&lock);
    struct spw_record r = {
        .kind = SPW_RECORD_EVENT,
        .event = {.event = spw_event_number_locked(event), .stream = spw_stream_number_locked(stream), .wait = wait}};
    spw_record_put_locked(&r);
    spw_word_unlock(&lock);
}

/* ---- addresses in memory ---- */

static struct spw_extent *device_extent(CUdeviceptr address)
{
    struct spw_extent *e = spw_extents_find(&extents, address);
    return on_device(e) ? e : NULL;
}

static void learn_locked(struct spw_extent *to, uint64_t offset, const char *source, size_t bytes)
{
    for (size_t i = -(to->start + offset) % sizeof(CUdeviceptr); i + sizeof(CUdeviceptr) <= bytes;
         i += sizeof(CUdeviceptr)) {
        CUdeviceptr word;
        memcpy(&word, source + i, sizeof(word));
        if (word - extents.low < extents.high - extents.low && device_extent(word)) /* nearly all words are data */
            spw_hidden_add(to, offset + i, word);
    }
}

/* Host memory that can be read now. */
static bool is_host(CUdeviceptr a, const struct spw_extent *e)
{
    CUmemorytype type = 0;
    if (e)
        return e->kind == SPW_ALLOC_HOST;
    return spw_driver.cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, a) != CUDA_SUCCESS ||
           type == CU_MEMORYTYPE_HOST;
}

void spw_record_copied(CUdeviceptr destination, CUdeviceptr source, size_t bytes)
{
    spw_word_lock(&lock);
    struct spw_extent *to = device_extent(destination), *from = spw_extents_find(&extents, source);
    bool small = to && bytes >= sizeof(CUdeviceptr) && bytes <= SPW_TABLES_MAX_COPY;
    uint64_t offset = to ? destination - to->start : 0;
    spw_word_unlock(&lock);
    bool readable = small && !on_device(from) && is_host(source, from);
    spw_word_lock(&lock);
    to = to ? device_extent(destination) : NULL; /* another thread may have freed it */
    from = spw_extents_find(&extents, source);
    if (to && on_device(from)) {
        spw_hidden_copy(to, offset, from, source - from->start, bytes);
    } else if (to) {
        spw_hidden_written(to, offset, bytes);
        if (readable)
            learn_locked(to, offset, (const char *)(uintptr_t)source, bytes);
    }
    spw_word_unlock(&lock);
}

void spw_record_overwritten(CUdeviceptr destination, size_t bytes)
{
    spw_word_lock(&lock);
    struct spw_extent *to = device_extent(destination);
    if (to)
        spw_hidden_written(to, destination - to->start, bytes);
    spw_word_unlock(&lock);
}

/* ---- hints ---- */

void spw_record_hint(void)
{
    if (!__atomic_load_n(&spw_recording, __ATOMIC_RELAXED)) {
        __atomic_store_n(&hint_before_start, true, __ATOMIC_RELAXED);
        return;
    }
    spw_word_lock(&lock);
    spw_learn_hint(next_op);
    spw_word_unlock(&lock);
}

/* ---- graphs, and handles that are no more ---- */

#define LOCKED(name, parameters, what) \
    void name parameters \
    { \
        spw_word_lock(&lock); \
        what; \
        spw_word_unlock(&lock); \
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

struct spw_learned spw_recorder_learned(void)
{
    if (!__atomic_load_n(&spw_recording, __ATOMIC_RELAXED))
        return (struct spw_learned){0};
    spw_word_lock(&lock);
    struct spw_learned learned = spw_learned;
    spw_word_unlock(&lock);
    return learned;
}

static void fill_status(struct spw_status_page *p)
{
    p->operations = next_op;
    p->allocations = last_alloc;
    spw_status_fill_learned(p, &spw_learned);
    p->device_count = 0;
    for (uint32_t i = 0; i < SPW_STATUS_DEVICES; i++)
        if (live_bytes_peak[i])
            p->devices[p->device_count++] = (struct spw_status_device){.ordinal = i,
                                                                       .physical_bytes = live_bytes[i],
                                                                       .live_bytes = live_bytes[i],
                                                                       .live_bytes_peak = live_bytes_peak[i]};
}

/* ---- from the first record to the last ---- */

int spw_recorder_start(void)
{
    const char *path = spw_settings()->trace_file;
    struct spw_trace_writer *made;
    int r = spw_trace_writer_create(path, &made);
    if (r < 0) {
        spw_warn("cannot write the trace %s: %s", path, strerror(-r));
        return r;
    }
    spw_word_lock(&lock);
    writer = made;
    origin_ns = 0;
    origin_ns = now_ns();
    spw_recording = 1;
    __atomic_fetch_or(&spw_live, SPW_NOTES, __ATOMIC_RELAXED);
    spw_define_process_locked();
    flush_locked(0);
    r = spw_learn_start();
    if (__atomic_exchange_n(&hint_before_start, false, __ATOMIC_RELAXED))
        spw_learn_hint(0);
    spw_word_unlock(&lock);
    if (spw_settings()->mode == SPW_MODE_TRACE) { /* else the engine tells */
        tells_status = true;
        spw_status_start(SPW_MODE_TRACE, fill_status);
    }
    if (r < 0)
        spw_warn("no memory to look for the iteration: operations are not timed");
    return 0;
}

void spw_recorder_stop(void)
{
    spw_word_lock(&lock);
    if (writer && spw_recording) {
        put_durations_locked();
        struct spw_record r = {.kind = SPW_RECORD_END, .end = {.time_ns = now_ns(), .ops = next_op, .allocs = last_alloc}};
        spw_record_put_locked(&r);
        spw_learn_tell();
    }
    int failed = writer ? spw_trace_writer_destroy(writer) : 0;
    if (writer && spw_recording && failed == 0)
        spw_warn("traced %llu operations and %llu allocations; to see them: spillway report %s", (unsigned long long)next_op,
                 (unsigned long long)last_alloc, spw_settings()->trace_file);
    else if (writer && spw_recording)
        spw_warn("the end of the trace %s could not be written: %s", spw_settings()->trace_file, strerror(-failed));
    writer = NULL;
    spw_learn_stop();
    stop_noting();
    spw_word_unlock(&lock);
}

void spw_recorder_in_child(void)
{
    atomic_store(&lock, 0);
    spw_recording = 0;
    spw_learn_stop();
    spw_timing_reset();
    if (writer)
        spw_trace_writer_abandon(writer);
    writer = NULL;
}

void spw_recorder_reset(void)
{
    spw_extents_clear(&extents);
    spw_hidden_reset();
    spw_sites_reset();
    spw_definitions_reset();
    spw_timing_reset();
    next_op = last_alloc = flushed_ns = 0;
    memset(live_bytes, 0, sizeof(live_bytes));
    memset(live_bytes_peak, 0, sizeof(live_bytes_peak));
}

/* A thread that was ended in the middle of a record holds the lock for good: then the file stays as it is. */
__attribute__((destructor)) static void at_end(void)
{
    if (!spw_recording || !spw_word_try_lock(&lock))
        return;
    spw_word_unlock(&lock);
    spw_recorder_stop();
}
