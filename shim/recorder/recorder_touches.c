/* recorder_touches.c - finds what an operation touches: the allocations at its addresses, and those that these lead to. */
#include "definitions.h"
#include "capture.h"
#include "known_reads.h"
#include "library_inputs.h"
#include "pointer_map.h"
#include "recorder.h"
#include "recorder_parts.h"
#include "scan.h"

enum { TOUCHES = 4096 };

uint32_t spw_recorder_last_function;

/* Guarded by the recorder's lock: what the present operation touches. */
static struct spw_touch touches[TOUCHES];
static struct spw_extent *touched[TOUCHES];
static struct spw_iteration_touch touches_learned[SPW_FOLLOW_TOUCHES];
static uint32_t touch_count;
static bool touches_lost;

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
    struct spw_extent *e = spw_extents_find(&spw_recorder_extents, address);
    if (e)
        touch_locked(e, address - e->start, bytes, access);
    return e;
}

/* What a launch only reads: a bit for each hit. */
struct reads {
    uint64_t told, believed;
};

static inline enum spw_access access_of(const struct reads *reads, int hit)
{
    if (hit >= 64 || !((reads->told | reads->believed) >> hit & 1))
        return SPW_ACCESS_BOTH;
    return reads->told >> hit & 1 ? SPW_ACCESS_READ : SPW_ACCESS_READ | SPW_ACCESS_BELIEVED;
}

/* Notes the addresses of a launch that is passed structures: the trace shows what it is known to touch, not what was left
 * on the stack where nobody filled the structures in. */
static void reach_known_locked(const struct spw_launch_hits *hits, const struct reads *reads)
{
    for (int i = 0; i < hits->count; i++) {
        const bool is_loose = spw_scan_comes_and_goes(hits->doubted, (unsigned)i);
        if (!spw_scan_is_doubted(hits->doubted, (unsigned)i) &&
            !reach_locked(hits->list[i], 0, access_of(reads, i) | (is_loose ? SPW_ACCESS_LOOSE : 0)))
            spw_scan_doubt(hits->doubted, (unsigned)i);
    }
}

/* Notes the addresses of a launch, the first of what it touches. No sizes are known; usually there are few addresses. */
static void reach_all_locked(const struct spw_launch_hits *hits, const struct reads *reads)
{
    const CUdeviceptr *addresses = hits->list;
    const int count = hits->count;
    const uint64_t low = spw_recorder_extents.low, span = spw_recorder_extents.high - low;
    const int few = count < SPW_FOLLOW_TOUCHES ? count : SPW_FOLLOW_TOUCHES;
    struct spw_iteration_touch *learned = touches_learned;
    struct spw_touch *t = touches;
    struct spw_extent **of = touched;
    for (int i = 0; i < few; i++) {
        struct spw_extent *e =
            addresses[i] - low < span ? spw_extents_find_between(&spw_recorder_extents, addresses[i]) : NULL;
        if (!e)
            continue;
        *of++ = e;
        *t = (struct spw_touch){e->id, addresses[i] - e->start, 0, access_of(reads, i)};
        *learned++ = (struct spw_iteration_touch){.alloc = t->alloc, .bytes = e->bytes, .offset = t->offset};
        t++;
    }
    touch_count = (uint32_t)(t - touches);
    for (int i = few; i < count; i++)
        (void)reach_locked(addresses[i], 0, access_of(reads, i));
}

static void reach_hidden(void *context, uint64_t target)
{
    (void)reach_locked(target, 0, SPW_ACCESS_BOTH);
}

/* Any kernel may find what a variable of a module holds. */
static void reach_variable(void *context, uint64_t start)
{
    struct spw_extent *e = spw_extents_find(&spw_recorder_extents, start);
    if (e && e->start == start && e->kind == SPW_ALLOC_GLOBAL && e->pointers.count)
        touch_locked(e, 0, 0, SPW_ACCESS_BOTH);
}

/* Follows the addresses that are stored in the touched allocations, and so on: each allocation is visited once. */
static void follow_locked(void)
{
    static uint64_t walk;
    walk++;
    touches_lost |= !spw_pointer_map_each_variable(reach_variable, NULL);
    for (uint32_t i = 0; i < touch_count; i++) { /* grows meanwhile */
        if (touched[i]->met == walk)
            continue;
        touched[i]->met = walk;
        spw_pointer_map_each(touched[i], reach_hidden, NULL);
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
    spw_recorder_last_function = op->function;
    op->everything |= touches_lost;
    op->touch_count = touch_count;
    op->touches = touches;
    if (op->captured)
        note_captured_locked(op->everything);
    spw_record_op_locked(r, touches_learned);
}

/* ---- operations ---- */

static enum spw_op_kind copy_kind(const struct spw_extent *to, const struct spw_extent *from)
{
    if (spw_recorder_on_device(to))
        return spw_recorder_on_device(from) ? SPW_OP_COPY_D2D : SPW_OP_COPY_H2D;
    return spw_recorder_on_device(from) ? SPW_OP_COPY_D2H : SPW_OP_COPY_H2H;
}

void spw_recorder_op(struct spw_record *r, const struct spw_reach *reach, unsigned count)
{
    struct spw_stream_facts *stream = spw_stream_facts_of(spw_note_now.stream);
    struct spw_record_op *op = &r->op;
    struct spw_extent *ends[2] = {NULL, NULL};
    op->captured = spw_is_capturing(spw_note_now.stream);
    spw_word_lock(&spw_recorder_lock, SPW_LOCK_RECORDER);
    op_begin_locked();
    for (unsigned i = 0; i < count; i++) {
        struct spw_extent *e = reach_locked(reach[i].address, reach[i].bytes, reach[i].access);
        if (i < 2)
            ends[i] = e;
    }
    if (op->kind == SPW_OP_KINDS)
        op->kind = copy_kind(ends[0], ends[1]);
    op_put_locked(r, stream);
    spw_word_unlock(&spw_recorder_lock);
}

static uint32_t number_function_unlocking(CUfunction f)
{
    struct spw_function_facts facts;
    spw_word_unlock(&spw_recorder_lock);
    spw_function_ask(f, &facts);
    spw_word_lock(&spw_recorder_lock, SPW_LOCK_RECORDER);
    (void)spw_function_number_locked(&facts);
    return spw_function_find_locked(f); /* with what its types say */
}

/* Finds what the launch only reads: as the kernel's type or the library's call says, or as was found out. */
static struct reads find_reads_locked(CUfunction f, const struct spw_launch_hits *hits)
{
    const struct spw_kernel_types *types = hits->params && hits->count > 0 ? spw_function_types_locked(f) : NULL;
    struct spw_declared declared = {0};
    if (types)
        spw_kernel_types_of_hits(types, hits->layout, hits->params, hits->low, hits->high, (struct spw_no_hits){NULL, 0},
                                 &declared);
    if (hits->count <= 0)
        return (struct reads){declared.constant, 0};
    return (struct reads){declared.constant | spw_library_inputs_among(hits->list, (unsigned)hits->count),
                          spw_known_reads_take(hits->list, (unsigned)hits->count)};
}

void spw_record_launch(struct spw_record *r, CUfunction function, const struct spw_launch_hits *hits)
{
    struct spw_stream_facts *stream = spw_stream_facts_of(spw_note_now.stream);
    struct spw_record_op *op = &r->op;
    op->kind = SPW_OP_LAUNCH;
    op->captured = spw_is_capturing(spw_note_now.stream);
    op->everything = hits->count < 0;
    spw_word_lock(&spw_recorder_lock, SPW_LOCK_RECORDER);
    op->function = spw_function_known_locked(function);
    if (!op->function)
        op->function = number_function_unlocking(function);
    op_begin_locked();
    const struct reads reads = find_reads_locked(function, hits);
    if (hits->doubted && hits->doubted->layout)
        reach_known_locked(hits, &reads);
    else
        reach_all_locked(hits, &reads);
    if (spw_pointer_map_any())
        follow_locked();
    op_put_locked(r, stream);
    spw_word_unlock(&spw_recorder_lock);
}

void spw_record_graph_launch(CUgraphExec exec)
{
    struct spw_stream_facts *stream = spw_stream_facts_of(spw_note_now.stream);
    struct spw_record r = {.op = {.kind = SPW_OP_GRAPH, .captured = spw_is_capturing(spw_note_now.stream)}};
    spw_word_lock(&spw_recorder_lock, SPW_LOCK_RECORDER);
    op_begin_locked();
    const struct spw_graph_reach *reach = spw_graphs_of_exec_locked(exec);
    r.op.everything = !reach || reach->everything;
    for (uint32_t i = 0; reach && i < reach->count; i++) {
        struct spw_extent *e = spw_extents_find(&spw_recorder_extents, reach->list[i].address);
        if (e)
            touch_locked(e, reach->list[i].address - e->start, 0, reach->list[i].access);
    }
    if (spw_pointer_map_any())
        follow_locked(); /* the tables may hold other addresses now than when the graph was captured */
    op_put_locked(&r, stream);
    spw_word_unlock(&spw_recorder_lock);
}
