/* follow.c - converts records for the iteration detector, and the detector's numbers to the trace's. */
#include "follow.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "grow.h"

enum { SHIFTS = 64 };

struct spw_trace_follow {
    struct spw_iteration *detector;
    enum spw_follow_by by;
    const char *hint;
    struct {
        uint64_t hash;
        bool hint;
    } * functions; /* by id */
    uint32_t function_room;
    /* From the detector's operation `from` on, the trace's number is the detector's + by. */
    struct shift {
        uint64_t from, by;
    } now, before[SHIFTS]; /* newest last; the oldest are dropped */
    unsigned shift_count;
    uint64_t told;
};

int spw_follow_create(enum spw_follow_by by, size_t max_operations, struct spw_trace_follow **ret_follow)
{
    struct spw_trace_follow *f = calloc(1, sizeof(*f));
    int r = f ? spw_iteration_create(max_operations, &f->detector) : -ENOMEM;
    if (r < 0) {
        free(f);
        return r;
    }
    f->by = by;
    *ret_follow = f;
    return 0;
}

void spw_follow_destroy(struct spw_trace_follow *f)
{
    if (!f)
        return;
    spw_iteration_destroy(f->detector);
    free(f->functions);
    free(f);
}

static bool counts(enum spw_alloc_kind kind)
{
    return kind == SPW_ALLOC_PLAIN || kind == SPW_ALLOC_ASYNC || kind == SPW_ALLOC_MANAGED || kind == SPW_ALLOC_VMM;
}

int spw_follow_alloc(struct spw_trace_follow *f, const struct spw_record_alloc *a)
{
    const uint64_t bytes = f->by == SPW_FOLLOW_BY_ALL ? a->bytes : 1;
    return counts(a->kind) && spw_iteration_alloc(f->detector, a->id, bytes, a->kind) == -ENOMEM ? -ENOMEM : 0;
}

int spw_follow_free(struct spw_trace_follow *f, uint64_t id)
{
    /* One that did not count is not known. */
    return spw_iteration_free(f->detector, id) == -ENOMEM ? -ENOMEM : 0;
}

static uint64_t mix(uint64_t h, uint64_t value)
{
    h = (h ^ value) * UINT64_C(0x9e3779b97f4a7c15);
    return h ^ h >> 29;
}

int spw_follow_function(struct spw_trace_follow *f, uint32_t id, const char *name)
{
    if (SPW_GROW(f->functions, f->function_room, (size_t)id + 1) < 0)
        return -ENOMEM;
    uint64_t hash = 0;
    for (const char *at = name; *at; at++)
        hash = mix(hash, (unsigned char)*at);
    f->functions[id].hash = hash | 1;
    f->functions[id].hint = f->hint && strstr(name, f->hint);
    return 0;
}

void spw_follow_hint(struct spw_trace_follow *f, const char *part_of_name)
{
    f->hint = part_of_name;
}

bool spw_follow_is_hint(const struct spw_trace_follow *f, const struct spw_record_op *op)
{
    return op->kind == SPW_OP_LAUNCH && !op->captured && op->function < f->function_room && f->functions[op->function].hint;
}

void spw_follow_mark(struct spw_trace_follow *f, const struct spw_record_mark *mark)
{
    if (mark->kind == SPW_MARK_HINT)
        spw_iteration_hint(f->detector);
}

static const enum spw_iteration_kind kinds[SPW_OP_KINDS] = {
    [SPW_OP_LAUNCH] = SPW_ITERATION_LAUNCH,     [SPW_OP_GRAPH] = SPW_ITERATION_GRAPH,
    [SPW_OP_COPY_H2D] = SPW_ITERATION_COPY_H2D, [SPW_OP_COPY_D2H] = SPW_ITERATION_COPY_D2H,
    [SPW_OP_COPY_D2D] = SPW_ITERATION_COPY_D2D, [SPW_OP_COPY_H2H] = SPW_ITERATION_OTHER,
    [SPW_OP_SET] = SPW_ITERATION_SET,           [SPW_OP_HOST_FUNCTION] = SPW_ITERATION_OTHER,
    [SPW_OP_VALUE] = SPW_ITERATION_OTHER};

_Static_assert(offsetof(struct spw_record_op, block) == offsetof(struct spw_record_op, grid) + 12,
               "grid and block are three words of 8 bytes");

static uint64_t geometry_of(const struct spw_record_op *op)
{
    uint64_t words[3];
    if (op->kind != SPW_OP_LAUNCH)
        return op->bytes;
    memcpy(words, op->grid, sizeof(words));
    return mix(mix(mix(op->shared_bytes, words[0]), words[1]), words[2]);
}

/* ---- numbers ---- */

static __attribute__((noinline)) void begin_shift(struct spw_trace_follow *f, uint64_t by)
{
    if (f->shift_count == SHIFTS)
        memmove(f->before, f->before + 1, --f->shift_count * sizeof(f->before[0]));
    f->before[f->shift_count++] = f->now;
    f->now = (struct shift){.from = f->told, .by = by};
}

static inline void note_number(struct spw_trace_follow *f, uint64_t number)
{
    if (number - f->told != f->now.by)
        begin_shift(f, number - f->told);
    f->told++;
}

static __attribute__((noinline)) uint64_t old_number_of(const struct spw_trace_follow *f, uint64_t detectors)
{
    for (unsigned i = f->shift_count; i-- > 0;)
        if (f->before[i].from <= detectors)
            return detectors + f->before[i].by;
    return detectors;
}

static inline uint64_t number_of(const struct spw_trace_follow *f, uint64_t detectors)
{
    return detectors >= f->now.from ? detectors + f->now.by : old_number_of(f, detectors);
}

/* Returns true if any touch is loose. Touches that the recorder marked as loose are not part of an operation's identity,
 * nor are those at an offset that no 4-byte number has: few addresses are like that, and most words that only look like
 * addresses are. */
static bool is_any_loose(const struct spw_record_op *op, uint64_t offsets, unsigned access)
{
    return access & SPW_ACCESS_LOOSE || (op->kind == SPW_OP_LAUNCH && offsets % sizeof(uint32_t));
}

static bool is_loose(const struct spw_record_op *op, uint32_t touch)
{
    return is_any_loose(op, op->touches[touch].offset, op->touches[touch].access);
}

static bool any_loose(const struct spw_record_op *op, uint32_t count)
{
    unsigned access = 0;
    uint64_t offsets = 0;
    for (uint32_t i = 0; i < count; i++) {
        access |= op->touches[i].access;
        offsets |= op->touches[i].offset;
    }
    return is_any_loose(op, offsets, access);
}

/* Moves the loose touches to the end. */
static __attribute__((noinline)) void part(struct spw_iteration_op *o, const struct spw_record_op *op,
                                           struct spw_iteration_touch parted[static SPW_FOLLOW_TOUCHES])
{
    uint32_t count = 0;
    for (int loose = 0; loose < 2; loose++)
        for (uint32_t i = 0; i < o->touch_count; i++)
            if (is_loose(op, i) == loose) {
                parted[count++] = o->touches[i];
                o->loose_count += (uint32_t)loose;
            }
    o->touches = parted;
}

int spw_follow_op(struct spw_trace_follow *f, uint64_t number, const struct spw_record_op *op,
                  const struct spw_iteration_touch *touches, struct spw_iteration_place *ret_place)
{
    const bool many = op->touch_count > SPW_FOLLOW_TOUCHES;
    *ret_place = (struct spw_iteration_place){.sure = SPW_ITERATION_NO};
    if (op->captured)
        return 0;
    struct spw_iteration_op o = {.kind = kinds[op->kind],
                                 .stream = op->stream,
                                 .function = op->function < f->function_room ? f->functions[op->function].hash : 0,
                                 .geometry = geometry_of(op),
                                 .everything = op->everything || many,
                                 .touch_count = many ? SPW_FOLLOW_TOUCHES : op->touch_count,
                                 .touches = touches};
    struct spw_iteration_touch list[SPW_FOLLOW_TOUCHES];
    if (f->by == SPW_FOLLOW_BY_KERNELS)
        o = spw_iteration_op_of_any_size(&o, list, SPW_FOLLOW_TOUCHES);
    else if (__builtin_expect(any_loose(op, o.touch_count), 0))
        part(&o, op, list);
    note_number(f, number);
    int r = spw_iteration_add(f->detector, &o, ret_place);
    ret_place->began = number_of(f, ret_place->began);
    return r;
}

bool spw_follow_shape(const struct spw_trace_follow *f, uint32_t id, struct spw_iteration_shape *ret)
{
    for (size_t i = 0; i < spw_iteration_shape_count(f->detector); i++)
        if (spw_iteration_shape_at(f->detector, i, ret) && ret->id == id)
            return true;
    return false;
}

bool spw_follow_explains_more(uint64_t operations_by_kernels, uint64_t operations_by_all)
{
    return operations_by_kernels / 3 > operations_by_all / 2;
}

uint64_t spw_follow_seen(const struct spw_trace_follow *f, uint64_t *ret_operations)
{
    struct spw_iteration_shape it;
    uint64_t most = 0;
    *ret_operations = 0;
    for (size_t i = 0; spw_iteration_shape_at(f->detector, i, &it); i++) {
        if (f->by == SPW_FOLLOW_BY_KERNELS && it.backbone < SPW_FOLLOW_LEAST)
            continue;
        most = it.seen > most ? it.seen : most;
        *ret_operations += it.seen * it.length;
    }
    return most;
}

const struct spw_iteration *spw_follow_detector(const struct spw_trace_follow *f)
{
    return f->detector;
}
