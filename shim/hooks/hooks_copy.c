/* hooks_copy.c - copies and sets of all forms: makes both ends resident, and remembers addresses that are copied. */
#include <stdlib.h>

#include "boxes.h"
#include "capture.h"
#include "counters.h"
#include "engine.h"
#include "graph_memory.h"
#include "graph_writes.h"
#include "hooks_wait.h"
#include "hooks.h"
#include "lock.h"
#include "mover.h"
#include "pin.h"
#include "result.h"
#include "seek.h"
#include "spot_checks.h"
#include "call_args.h"
#include "pinning.h"
#include "pointer_tables.h"
#include "recorded_op.h"
#include "twins.h"
#include "versions.h"

enum { ENDS = 64 };

struct copy { /* one driver call that copies or sets */
    struct spw_op op;
    bool begun;
    bool unsettled; /* what it copies within the device was not known for certain when it was noted in the pointer tables
                       (seek.h) */
    unsigned writes, reads, room;
    bool sets;
    bool reads_early;   /* the program allows it to read memory of ours before its stream has come that far */
    bool is_blind;      /* nobody can see yet which addresses it brings, and something in the same call may follow them */
    bool cuts_words;    /* it sets a part of a word of 8 bytes, which may be an address together with what is beside it */
    unsigned variables; /* writes to variables of modules */
    uint64_t bytes;     /* copied or set, in our arenas */
    CUdeviceptr *written, *read; /* addresses at either end, in our arena or not; at first the arrays below */
    CUdeviceptr written_few[ENDS], read_few[ENDS], hits[2 * ENDS];
    CUdeviceptr *many;
    CUstream stream;
    CUgraphExec graph; /* the graph that is launched; NULL: it is a copy or set */
    struct spw_call_args submission;
    int failure; /* of handling what depends on memory outside of our arenas that it writes */
};

static void copy_init(struct copy *c)
{
    c->begun = false;
    c->unsettled = !spw_seeking || spw_seek_pending();
    atomic_fetch_add_explicit(&spw_pointer_tables_being_told, 1, memory_order_relaxed);
    c->writes = c->reads = 0;
    c->sets = c->reads_early = c->is_blind = c->cuts_words = false;
    c->variables = 0;
    c->bytes = 0;
    c->stream = NULL;
    c->graph = NULL;
    c->written = c->written_few;
    c->read = c->read_few;
    c->many = NULL;
    c->room = ENDS;
    c->submission.kind = SPW_SUBMIT_OTHER;
    c->failure = 0;
    spw_pin_failure = 0; /* learning an address may have to pin what lies there */
}

/* Makes room for `ends` addresses at each end. Returns false without memory. */
static bool copy_reserve(struct copy *c, size_t ends)
{
    if (ends <= c->room)
        return true;
    if (ends > UINT32_MAX / 4)
        return false;
    c->many = malloc(4 * ends * sizeof(*c->many));
    if (!c->many)
        return false;
    c->written = c->many;
    c->read = c->many + ends;
    c->room = (unsigned)ends;
    return true;
}

/* Notes a write to memory outside of our arenas, such as a module's variables, to which no parameter of a launch leads. */
static __attribute__((noinline)) void write_outside(struct copy *c, CUdeviceptr a, size_t bytes)
{
    c->variables += spw_twins_write(a, bytes);
    if (spw_versions_kept && c->failure == 0)
        c->failure = spw_versions_break_for(a);
}

/* Notes a stretch of memory at one end; its first byte stands for it. */
static void write_to(struct copy *c, CUdeviceptr a, size_t bytes)
{
    if (bytes && spw_in_arena(a))
        c->written[c->writes++] = a;
    else if (bytes && (spw_versions_kept || a < spw_twins_high))
        write_outside(c, a, bytes);
    c->bytes += bytes;
}

static void read_from(struct copy *c, CUdeviceptr a, size_t bytes)
{
    if (bytes && spw_in_arena(a))
        c->read[c->reads++] = a;
    c->bytes += bytes;
}

/* Notes whether a copy may read the memory at `a` at any time from now on, as far as `order` says. */
static void read_in_order(struct copy *c, CUdeviceptr a, CUmemcpySrcAccessOrder order)
{
    c->reads_early |= order != CU_MEMCPY_SRC_ACCESS_ORDER_STREAM && spw_in_arena(a);
}

static CUresult pin_ends(const struct copy *c)
{
    if (!c->graph && (c->sets ? c->variables : c->writes != 1 || c->reads != 1))
        spw_graph_writes_meet(NULL);
    spw_pin_of_node(c->written, c->writes, "a graph copies to it");
    spw_pin_of_node(c->read, c->reads, "a graph copies from it");
    return spw_cuda(spw_pin_failure);
}

/* Classifies the call by its ends: what lies outside of our arenas counts as host memory. */
static struct spw_signature signature_of(const struct copy *c)
{
    if (c->graph)
        return (struct spw_signature){SPW_ITERATION_GRAPH, (uint64_t)(uintptr_t)c->graph, 0};
    const enum spw_iteration_kind kind = c->sets      ? SPW_ITERATION_SET
                                         : !c->writes ? SPW_ITERATION_COPY_D2H
                                         : c->reads   ? SPW_ITERATION_COPY_D2D
                                                      : SPW_ITERATION_COPY_H2D;
    return (struct spw_signature){(uint8_t)kind, 0, c->bytes};
}

/* CUDA_SUCCESS: make the driver call, then copy_end(). Anything else is the answer to the program. */
static CUresult copy_begin(struct copy *c, const char *name, CUstream stream)
{
    c->stream = stream;
    if (spw_pin_failure < 0)
        return spw_cuda(spw_pin_failure);
    if (c->failure < 0)
        return spw_cuda(c->failure);
    if (spw_is_capturing(stream))
        return pin_ends(c);
    if (c->writes + c->reads == 0 && !c->graph)
        return CUDA_SUCCESS;
    CUdeviceptr *hits = c->many ? c->many + 2 * (size_t)c->room : c->hits;
    for (unsigned i = 0; i < c->writes; i++)
        hits[i] = c->written[i];
    for (unsigned i = 0; i < c->reads; i++)
        hits[c->writes + i] = c->read[i];
    c->op = (struct spw_op){.handle = stream,
                            .hits = hits,
                            .count = c->writes + c->reads,
                            .room = 2 * c->room,
                            .read_only = c->reads,
                            .everything = c->is_blind,
                            .name = name,
                            .signature = signature_of(c),
                            .submission = &c->submission};
    /* A copy moves bytes and follows no address: tables at its ends lead nowhere. */
    c->op.follows_no_tables = true;
    int r = c->reads_early ? spw_op_begin_early(&c->op) : spw_op_begin(&c->op);
    c->begun = r == 0;
    if (c->begun)
        spw_duration_before(c->op.timed);
    return r == -ENODEV ? CUDA_SUCCESS : spw_cuda(r);
}

static CUresult copy_end(struct copy *c, CUresult result)
{
    if (c->begun) {
        spw_duration_after(c->op.timed, result == CUDA_SUCCESS);
        if (__builtin_expect(spw_seeking, 0) && c->writes && (!c->sets || c->cuts_words) && result == CUDA_SUCCESS)
            spw_seek_copied(&c->op, c->bytes, c->unsettled);
        spw_op_answered(&c->op, result == CUDA_SUCCESS);
    }
    for (unsigned i = 0; i < c->variables; i++)
        spw_twins_written(c->stream);
    atomic_fetch_sub_explicit(&spw_pointer_tables_being_told, 1, memory_order_relaxed);
    free(c->many);
    return spw_spot_check_after_wait(result);
}

/* ---- what is at the ends ---- */

/* True for host memory that can be read now: not ours, and the driver does not know it as a device's. */
static bool is_host(CUdeviceptr a)
{
    CUmemorytype type = 0;
    if (spw_in_arena(a))
        return false;
    return spw_driver.cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, a) != CUDA_SUCCESS ||
           type == CU_MEMORYTYPE_HOST;
}

/* Searches a copy from readable host memory for addresses, if it has at most `most` bytes. */
static void learn_upload(CUdeviceptr dst, const void *src, size_t bytes, size_t most)
{
    const bool has_words = bytes >= sizeof(CUdeviceptr) && spw_arena_high;
    if (has_words && bytes <= most) {
        spw_twins_look(dst, src, bytes);
        spw_pointer_tables_learn(dst, src, bytes, &spw_pinning);
        return;
    }
    if (spw_pointer_tables_or_outside())
        spw_pointer_tables_forget(dst, dst + bytes);
    if (has_words && bytes <= SPW_POINTER_TABLES_MAX_COPY && spw_in_arena(dst))
        spw_outside_learn(dst, src, bytes); /* no look at memory finds these later */
}

/* For a copy to a variable of a module, or to memory that the program maps itself: first searches for addresses that
 * kernels have stored. */
static void copied_outside(CUdeviceptr dst, CUdeviceptr src, size_t bytes)
{
    const bool looks = bytes >= sizeof(CUdeviceptr) && bytes <= SPW_POINTER_TABLES_MAX_COPY && spw_seek_allowed &&
                       (!spw_seeking || spw_seek_pending());
    if ((!looks && !spw_pointer_tables_or_outside()) || is_host(dst)) /* is_host() asks the driver, so it comes last */
        return;
    if (looks) {
        const int r = spw_seek_before_it_leaves(src);
        spw_pin_failure = r < 0 ? r : spw_pin_failure;
    }
    if (spw_pointer_tables_or_outside())
        spw_pointer_tables_copied(dst, src, bytes, &spw_pinning);
}

/* True for memory of a device which the host cannot read. */
static bool is_of_device(CUdeviceptr a)
{
    unsigned is_managed = 0;
    return !is_host(a) &&
           (spw_in_arena(a) ||
            spw_driver.cuPointerGetAttribute(&is_managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, a) != CUDA_SUCCESS ||
            !is_managed);
}

static void learn_addresses(CUdeviceptr dst, CUdeviceptr src, size_t bytes)
{
    if (bytes == 0)
        return;
    if (__builtin_expect(dst < spw_twins_high, 0) && !is_host(src))
        spw_twins_copied(dst, bytes);
    if (spw_in_arena(src)) {
        if (!spw_in_arena(dst))
            copied_outside(dst, src, bytes);
        else if (spw_pointer_tables_or_outside())
            spw_pointer_tables_copied(dst, src, bytes, &spw_pinning);
    } else if (bytes <= SPW_POINTER_TABLES_MAX_COPY && spw_arena_high && !is_host(dst) && is_host(src)) {
        learn_upload(dst, (const void *)(uintptr_t)src, bytes, spw_seek_reads(dst));
    } else if (spw_pointer_tables_or_outside() && spw_in_arena(dst)) {
        spw_pointer_tables_forget(dst, dst + bytes);
    }
}

/* Makes both ends accessible to the device that copies. */
static void connect_devices(CUdeviceptr dst, CUdeviceptr src)
{
    const struct spw_device *a = spw_device_of_address(dst), *b = spw_device_of_address(src);
    if (!a || !b || a == b)
        return;
    spw_lock();
    spw_mover_connect_locked(a->ordinal, b->ordinal);
    spw_unlock();
}

/* Notes the addresses and sizes of a copy between linear memories. */
static void linear(struct copy *c, CUdeviceptr dst, CUdeviceptr src, size_t bytes)
{
    copy_init(c);
    connect_devices(dst, src);
    write_to(c, dst, bytes);
    read_from(c, src, bytes);
    learn_addresses(dst, src, bytes);
    c->submission.kind = SPW_SUBMIT_COPY;
    c->submission.copy.to = dst;
    c->submission.copy.from = src;
    c->submission.copy.bytes = bytes;
}

static void linear_with(struct copy *c, CUdeviceptr dst, CUdeviceptr src, size_t bytes, const CUmemcpyAttributes *attributes)
{
    linear(c, dst, src, bytes);
    if (attributes)
        read_in_order(c, src, attributes->srcAccessOrder);
}

static void host_to_device(struct copy *c, CUdeviceptr dst, const void *src, size_t bytes)
{
    if (src &&
        is_of_device(
            (CUdeviceptr)(uintptr_t)src)) { /* the call is of the wrong kind; the driver sees by the address what it is */
        linear(c, dst, (CUdeviceptr)(uintptr_t)src, bytes);
        return;
    }
    copy_init(c);
    write_to(c, dst, bytes);
    if (src)
        learn_upload(dst, src, bytes, spw_seek_reads(dst));
}

static void to_array(struct copy *c, CUdeviceptr src, size_t bytes)
{
    copy_init(c);
    read_from(c, src, bytes);
}

static void device_to_host(struct copy *c, const void *dst, CUdeviceptr src, size_t bytes)
{
    if (is_host((CUdeviceptr)(uintptr_t)dst))
        to_array(c, src, bytes);
    else
        linear(c, (CUdeviceptr)(uintptr_t)dst, src, bytes);
}

/* Goes row by row, so that addresses in the rows are seen and the gaps between them are left out. Long copies from the host
 * are taken for data. What is known of device memory goes along with a copy. */
static void box_ends(struct copy *c, const struct spw_box *b)
{
    const size_t bytes = spw_box_bytes(b);
    connect_devices(b->to.at, b->from.at);
    write_to(c, b->to.at, bytes);
    read_from(c, b->from.at, bytes);
    const bool takes_along = spw_in_arena(b->from.at) && spw_pointer_tables_or_outside();
    if (spw_box_is_row(b) || (bytes && (takes_along || bytes <= spw_seek_reads(b->to.at))))
        spw_box_rows(b, learn_addresses);
}

static void box(struct copy *c, struct spw_box b)
{
    copy_init(c);
    box_ends(c, &b);
}

static void plane(struct copy *c, const CUDA_MEMCPY2D *p)
{
    box(c, spw_box_2d(p));
    c->submission.kind = SPW_SUBMIT_PLANE;
    c->submission.plane = p;
}

static void volume(struct copy *c, const CUDA_MEMCPY3D *p)
{
    box(c, spw_box_3d(p));
    c->submission.kind = SPW_SUBMIT_VOLUME;
    c->submission.volume = p;
}

static void volume_peer(struct copy *c, const CUDA_MEMCPY3D_PEER *p)
{
    box(c, spw_box_peer(p));
}

/* Each attribute holds from its first copy up to that of the next attribute. */
static CUresult batch(struct copy *c, const CUdeviceptr *dsts, const CUdeviceptr *srcs, const size_t *sizes, size_t count,
                      const CUmemcpyAttributes *attributes, const size_t *firsts, size_t kinds)
{
    size_t kind = 0;
    copy_init(c);
    if (!dsts || !srcs || !sizes)
        return CUDA_SUCCESS; /* the driver says what is wrong */
    if (!copy_reserve(c, count))
        return CUDA_ERROR_OUT_OF_MEMORY;
    for (size_t i = 0; i < count; i++) {
        connect_devices(dsts[i], srcs[i]);
        write_to(c, dsts[i], sizes[i]);
        read_from(c, srcs[i], sizes[i]);
        learn_addresses(dsts[i], srcs[i], sizes[i]);
        while (firsts && kind + 1 < kinds && firsts[kind + 1] <= i)
            kind++;
        if (attributes && kinds)
            read_in_order(c, srcs[i], attributes[kind].srcAccessOrder);
    }
    return CUDA_SUCCESS;
}

static CUresult batch_3d(struct copy *c, const CUDA_MEMCPY3D_BATCH_OP *list, size_t count)
{
    copy_init(c);
    if (!list)
        return CUDA_SUCCESS;
    if (!copy_reserve(c, count))
        return CUDA_ERROR_OUT_OF_MEMORY;
    for (size_t i = 0; i < count; i++) {
        const struct spw_box b = spw_box_batched(&list[i]);
        box_ends(c, &b);
        read_in_order(c, b.from.at, list[i].srcAccessOrder);
    }
    return CUDA_SUCCESS;
}

static CUresult decompress(struct copy *c, const CUmemDecompressParams *list, size_t count)
{
    copy_init(c);
    if (!list)
        return CUDA_SUCCESS;
    if (count > SIZE_MAX / 2 || !copy_reserve(c, 2 * count))
        return CUDA_ERROR_OUT_OF_MEMORY;
    for (size_t i = 0; i < count; i++) {
        CUdeviceptr dst = (CUdeviceptr)(uintptr_t)list[i].dst;
        write_to(c, dst, list[i].dstNumBytes);
        write_to(c, (CUdeviceptr)(uintptr_t)list[i].dstActBytes, sizeof(*list[i].dstActBytes));
        read_from(c, (CUdeviceptr)(uintptr_t)list[i].src, list[i].srcNumBytes);
        if (spw_pointer_tables_or_outside() && spw_in_arena(dst))
            spw_pointer_tables_forget(dst, dst + list[i].dstNumBytes);
    }
    return CUDA_SUCCESS;
}

static void from_array(struct copy *c, CUdeviceptr dst, size_t bytes)
{
    copy_init(c);
    write_to(c, dst, bytes);
    if (spw_pointer_tables_or_outside() && spw_in_arena(dst))
        spw_pointer_tables_forget(dst, dst + bytes);
}

/* A set with a pitch leaves the gaps between rows alone. */
static void set_rows(struct copy *c, CUdeviceptr dst, size_t pitch, size_t width, size_t rows, uint32_t value,
                     unsigned element_bytes)
{
    const size_t bytes = width * element_bytes;
    copy_init(c);
    c->sets = true;
    c->cuts_words = (dst | bytes | (rows > 1 ? pitch : 0)) % sizeof(CUdeviceptr) != 0;
    write_to(c, dst, bytes * rows);
    for (size_t y = 0; spw_pointer_tables_or_outside() && spw_in_arena(dst) && y < rows; y++)
        spw_pointer_tables_forget(dst + y * pitch, dst + y * pitch + bytes);
    c->submission.kind = SPW_SUBMIT_SET;
    c->submission.set.to = dst;
    c->submission.set.pitch = pitch;
    c->submission.set.width = width;
    c->submission.set.rows = rows;
    c->submission.set.value = value;
    c->submission.set.element_bytes = element_bytes;
}

static void set(struct copy *c, CUdeviceptr dst, size_t count, uint32_t value, unsigned element_bytes)
{
    set_rows(c, dst, 0, count, 1, value, element_bytes);
}

/* ---- launches of graphs ---- */

/* A kernel in the graph may follow the addresses, so all of them have to be known before the graph runs; not so as long as
 * nothing has been evicted, since all memory will be searched before. */
static void learn_row(CUdeviceptr dst, CUdeviceptr src, size_t bytes)
{
    if (bytes)
        learn_upload(dst, (const void *)(uintptr_t)src, bytes, spw_seeking ? SIZE_MAX : spw_seek_reads(dst));
}

/* True if host memory that is read now may be something else by the time at which the graph copies it. Without host
 * functions and waits for values in memory, the host cannot know a moment between the two. */
static bool may_change_before_it_runs(const struct spw_graph_writes *w)
{
    return w->calls_host || spw_recorded_op_order_unseen || spw_calls_count(SPW_CALL_cuLaunchHostFunc) ||
           spw_calls_count(SPW_CALL_cuLaunchHostFunc_ptsz) || spw_calls_count(SPW_CALL_cuLaunchHostFunc_v2) ||
           spw_calls_count(SPW_CALL_cuLaunchHostFunc_v2_ptsz) || spw_calls_count(SPW_CALL_cuStreamAddCallback) ||
           spw_calls_count(SPW_CALL_cuStreamAddCallback_ptsz);
}

/* Treats a node like a copy or set that the program makes now. */
static void node(struct copy *c, const struct spw_graph_writes *w, const struct spw_box *b)
{
    const bool is_upload = b->from.at && !spw_in_arena(b->from.at) && is_host(b->from.at);
    if (spw_in_arena(b->from.at) && is_host(b->to.at))
        return;
    write_to(c, b->to.at, spw_box_span(b, &b->to));
    if (b->from.at)
        spw_box_rows(b, is_upload ? learn_row : learn_addresses);
    c->is_blind |= is_upload && may_change_before_it_runs(w);
}

/* What a graph touches is pinned. It is listed here only for writes that nobody has seen yet. */
static CUresult graph(struct copy *c, CUgraphExec exec)
{
    struct spw_graph_writes w = spw_graph_writes_of(exec);
    copy_init(c);
    spw_pin_before_graph();
    c->graph = exec;
    const bool has_room = copy_reserve(c, w.count);
    for (size_t i = 0; i < w.count && has_room; i++)
        if (!w.list[i].is_off)
            node(c, &w, &w.list[i].box);
    if (w.is_unknown)
        write_outside(c, 0, SIZE_MAX);
    c->is_blind |= w.is_unknown;
    free(w.list);
    return has_room ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

static CUresult launched(CUgraphExec exec, CUstream stream, CUresult result)
{
    if (result == CUDA_SUCCESS)
        spw_graph_memory_launched(exec);
    return spw_graph_waits_for_the_program(stream, result);
}

#define LAUNCH_GRAPH(symbol, stream) \
    CUresult spw_on_##symbol(CUgraphExec exec, CUstream t) \
    { \
        struct copy c; \
        CUresult r = graph(&c, exec); \
        if (r == CUDA_SUCCESS) \
            r = copy_begin(&c, "a graph", stream); \
        return copy_end(&c, r == CUDA_SUCCESS ? launched(exec, stream, spw_driver.symbol(exec, t)) : r); \
    }
LAUNCH_GRAPH(cuGraphLaunch, t)
LAUNCH_GRAPH(cuGraphLaunch_ptsz, spw_per_thread(t))

/* ---- one line per driver call: what it touches, on which stream ---- */

/* clang-format off */
#define COPY(symbol, params, args, stream, describe) \
    CUresult spw_on_##symbol params \
    { \
        struct copy c; \
        describe; \
        CUresult r = copy_begin(&c, #symbol, stream); \
        return copy_end(&c, r == CUDA_SUCCESS ? spw_driver.symbol args : r); \
    }

/* Like COPY, for calls for which finding out what they touch needs memory. */
#define COPY_MANY(symbol, params, args, stream, describe) \
    CUresult spw_on_##symbol params \
    { \
        struct copy c; \
        CUresult r = describe; \
        if (r == CUDA_SUCCESS) \
            r = copy_begin(&c, #symbol, stream); \
        return copy_end(&c, r == CUDA_SUCCESS ? spw_driver.symbol args : r); \
    }

#define LEGACY NULL
#define OWN CU_STREAM_PER_THREAD

#include "copies.h"
