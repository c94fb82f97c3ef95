/* order.c - remembers who touched which bytes last, and finds pairs of operations that nothing orders. */
#include "order.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "driver.h"
#include "memory.h"
#include "span.h"
#include "stats.h"
#include "twins.h"
#include "written.h"

enum touch_kind {
    TOUCH_MOVE,
    TOUCH_DECLARED,
    TOUCH_GUESSED,
    TOUCH_LOOK /* for addresses: it reads words that may be written meanwhile, one or the other of which is all the same to
                  it */
};             /* copies and sets; kernels with and without declared ranges */

struct past { /* the newest operation of its timeline, kind and block on these bytes; newer ones stand for older ones */
    uint64_t position, serial;
    uint64_t block; /* through whose addresses: the same bytes may lie behind several */
    unsigned slot;
    unsigned char kind;
    bool writes;
    unsigned stream_id;
    const char *name;
};

struct region { /* bytes with the same past; the addresses are keys of memory_key() */
    struct span span;
    unsigned count, room;
    struct past *past;
    struct past past_inline[3];
};

static struct span_map regions;
static size_t next_sweep = 1024;

static enum touch_kind kind_of(const struct op *op)
{
    if (op->kind != OP_KERNEL)
        return TOUCH_MOVE;
    if (twin_looks(op->u.run.kernel))
        return TOUCH_LOOK;
    return op->declared ? TOUCH_DECLARED : TOUCH_GUESSED;
}

static struct region *region_add(uint64_t start, uint64_t end)
{
    struct region *r = malloc(sizeof *r);
    if (!r)
        return NULL;
    r->span.start = start;
    r->span.end = end;
    r->count = 0;
    r->room = sizeof r->past_inline / sizeof r->past_inline[0];
    r->past = r->past_inline;
    span_insert(&regions, &r->span);
    return r;
}

static void region_remove(struct region *r)
{
    span_remove(&regions, &r->span);
    if (r->past != r->past_inline)
        free(r->past);
    free(r);
}

static void region_remember(struct region *r, const struct past *p)
{
    if (r->count == r->room) {
        struct past *more = malloc(4 * r->room * sizeof *more);
        if (!more)
            return;
        memcpy(more, r->past, r->count * sizeof *more);
        if (r->past != r->past_inline)
            free(r->past);
        r->past = more;
        r->room *= 4;
    }
    r->past[r->count++] = *p;
}

/* Splits a region so that one begins at `at`; the second half. */
static struct region *region_split(struct region *r, uint64_t at)
{
    struct region *upper;
    uint64_t end = r->span.end;
    r->span.end = at;
    upper = region_add(at, end);
    for (unsigned i = 0; upper && i < r->count; i++)
        region_remember(upper, &r->past[i]);
    return upper;
}

/* Drops what the host has seen complete: whatever comes later comes after it. */
static void region_prune(struct region *r)
{
    unsigned kept = 0;
    for (unsigned i = 0; i < r->count; i++)
        if (!host_knows(r->past[i].slot, r->past[i].position))
            r->past[kept++] = r->past[i];
    r->count = kept;
}

static void sweep(void)
{
    struct span *next;
    if (regions.count < next_sweep)
        return;
    for (struct span *s = span_from(&regions, 0); s; s = next) {
        next = span_next(&regions, s);
        region_prune((struct region *)s);
        if (((struct region *)s)->count == 0)
            region_remove((struct region *)s);
    }
    next_sweep = 2 * regions.count + 1024;
}

static void verdict(struct context *context)
{
    stats.ordering_errors++;
    if (settings.order == ORDER_STRICT && !context->error)
        context->error = CUDA_ERROR_LAUNCH_FAILED;
}

void order_overlap(const struct op *op, const struct op *ahead)
{
    if (ahead->kind != OP_KERNEL)
        return;
    stats.overlapping_launches++;
    if (!twin_is(ahead->u.run.kernel))
        return;
    fprintf(stderr, "simgpu: ordering error: %s may begin before %s has ended, which the program knows nothing of\n",
            op->name, ahead->u.run.kernel->name);
    verdict(op->context);
}

static bool conflict(const struct past *a, const struct past *b)
{
    if ((!a->writes && !b->writes) || a->kind == TOUCH_LOOK || b->kind == TOUCH_LOOK)
        return false;
    return a->kind == TOUCH_MOVE || b->kind == TOUCH_MOVE || (a->kind == TOUCH_DECLARED && b->kind == TOUCH_DECLARED);
}

static void report(const struct op *op, const struct past *new, const struct past *old, const struct access *at)
{
    fprintf(stderr,
            "simgpu: ordering error: %s (operation %llu, stream %u) %s 0x%llx+%llu, and nothing puts it after %s "
            "(operation %llu, stream %u), which %s there\n",
            new->name, (unsigned long long)new->serial, new->stream_id, new->writes ? "writes" : "reads",
            (unsigned long long)at->address, (unsigned long long)at->bytes, old->name, (unsigned long long)old->serial,
            old->stream_id, old->writes ? "writes" : "reads");
    verdict(op->context);
}

/* Compares and then takes its place among those who touched the region. True: an error was reported. */
static bool region_check(struct region *r, const struct op *op, const struct past *new, const struct access *at, bool told)
{
    struct past *same = NULL;
    region_prune(r);
    for (unsigned i = 0; i < r->count; i++) {
        struct past *old = &r->past[i];
        if (!told && old->serial != new->serial &&conflict(old, new)) {
            struct when earlier = {NULL, old->slot, old->position};
            if (!when_ordered(&earlier, &op->when)) {
                report(op, new, old, at);
                told = true;
            }
        }
        if (old->slot == new->slot && old->kind == new->kind && old->writes == new->writes && old->block == new->block)
            same = old;
    }
    if (same)
        *same = *new;
    else
        region_remember(r, new);
    return told;
}

/* Goes over [start, end), making regions where there are none. */
static bool check_range(const struct op *op, const struct past *new, const struct access *at, uint64_t start, uint64_t end,
                        bool told)
{
    struct region *r = (struct region *)span_from(&regions, start);
    while (start < end) {
        if (!r || r->span.start >= end) {
            r = region_add(start, end);
        } else if (r->span.start > start) {
            r = region_add(start, r->span.start);
        } else {
            if (r->span.start < start)
                r = region_split(r, start);
            if (r && r->span.end > end)
                (void)region_split(r, end);
        }
        if (!r)
            return told; /* no memory: unchecked */
        told = region_check(r, op, new, at, told);
        start = r->span.end;
        r = (struct region *)span_from(&regions, start);
    }
    return told;
}

/* A program that maps memory anew has no more business with it at the address where it lay before, if it says so itself. */
static bool check_alias(const struct op *op, const struct block *b, const struct access *at, bool told)
{
    if (told || settings.aliases != ALIASES_NEWEST || !b || b->kind != BLOCK_MAPPING || b->physical->newest == b->id)
        return told;
    fprintf(stderr,
            "simgpu: ordering error: %s (operation %llu, stream %u) %s 0x%llx+%llu, whose memory has been mapped elsewhere "
            "since\n",
            op->name, (unsigned long long)op->serial, (unsigned)op->stream_id, at->how & SIMGPU_WRITES ? "writes" : "reads",
            (unsigned long long)at->address, (unsigned long long)at->bytes);
    verdict(op->context);
    return true;
}

static void report_written(const struct op *op, const struct access *at, uint64_t where)
{
    fprintf(stderr,
            "simgpu: ordering error: %s (operation %llu, stream %u) reads 0x%llx+%llu, which was written last at another "
            "address of the same memory (0x%llx)\n",
            op->name, (unsigned long long)op->serial, (unsigned)op->stream_id, (unsigned long long)at->address,
            (unsigned long long)at->bytes, (unsigned long long)where);
    verdict(op->context);
}

/* Where memory changes hands between addresses, what was written last at another one is not for this one to read. Whoever
 * reads some of the bytes only - copies do, for all that is known - may come upon them beside its own. */
static void check_written(const struct op *op)
{
    const struct access *first = NULL;
    uint64_t some = 0, elsewhere = 0, where = 0, first_where = 0;
    if (op->kind == OP_KERNEL && twin_is(op->u.run.kernel))
        return; /* of tensors that the program may have written in part */
    for (unsigned i = 0; i < op->access_count; i++) {
        const struct access *a = &op->accesses[i];
        const uint64_t others =
            a->how & (SIMGPU_READS | SIMGPU_READS_SOME) ? written_elsewhere(a->address, a->bytes, &where) : 0;
        if (others > 0 && a->how & SIMGPU_READS) {
            report_written(op, a, where);
            return;
        }
        if (!(a->how & SIMGPU_READS_SOME))
            continue;
        some += a->bytes;
        elsewhere += others;
        if (!first) {
            first = a;
            first_where = where;
        }
    }
    if (some > 0 && elsewhere == some)
        report_written(op, first, first_where);
}

/* What only may be written, by guess or where a look finds something, is nobody's for certain afterwards. */
static void note_written(const struct op *op, enum touch_kind kind)
{
    for (unsigned i = 0; i < op->access_count; i++)
        if (op->accesses[i].how & SIMGPU_WRITES)
            written_note(op->accesses[i].address, op->accesses[i].bytes, kind != TOUCH_GUESSED && kind != TOUCH_LOOK);
}

void order_check(struct op *op)
{
    struct past new = {.position = op->when.position,
                       .serial = op->serial,
                       .slot = op->when.slot,
                       .kind = kind_of(op),
                       .stream_id = (unsigned)op->stream_id,
                       .name = op->name};
    bool told = false;
    for (unsigned i = 0; i < op->access_count; i++) {
        const struct access *a = &op->accesses[i];
        uint64_t done = 0, bytes = 0;
        new.writes = (a->how & SIMGPU_WRITES) != 0;
        for (; done < a->bytes; done += bytes) {
            const struct block *b = memory_find(a->address + done);
            uint64_t key = memory_key(a->address + done, a->bytes - done, &bytes);
            new.block = b ? b->id : 0;
            told = check_alias(op, b, a, told);
            told = check_range(op, &new, a, key, key + bytes, told);
        }
    }
    if (settings.aliases == ALIASES_WRITTEN) {
        if (!told)
            check_written(op);
        note_written(op, new.kind);
    }
    sweep();
}

/* One of those that touched the region through the addresses of a block, 0: of any; NULL: there is none. */
static const struct past *first_through(const struct region *r, uint64_t block)
{
    for (unsigned i = 0; i < r->count; i++)
        if (block == 0 || r->past[i].block == block)
            return &r->past[i];
    return NULL;
}

static bool complain_once(struct context *context, struct region *r, uint64_t block, const char *what, uint64_t address,
                          uint64_t bytes)
{
    region_prune(r);
    const struct past *old = first_through(r, block);
    if (!old || settings.order == ORDER_OFF)
        return false;
    fprintf(stderr,
            "simgpu: ordering error: %s of 0x%llx+%llu while %s (operation %llu, stream %u) %s there, and the host has not "
            "learned that it is complete\n",
            what, (unsigned long long)address, (unsigned long long)bytes, old->name, (unsigned long long)old->serial,
            old->stream_id, old->writes ? "writes" : "reads");
    verdict(context);
    return true;
}

static void region_forget(struct region *r, uint64_t block)
{
    unsigned kept = 0;
    for (unsigned i = 0; i < r->count; i++)
        if (r->past[i].block != block)
            r->past[kept++] = r->past[i];
    r->count = kept;
}

/* The block at the address if its memory lies behind others as well, where it goes on being used; else 0. */
static uint64_t alias_at(uint64_t address)
{
    const struct block *b = memory_find(address);
    return b && b->kind == BLOCK_MAPPING && b->physical->mappings > 1 ? b->id : 0;
}

/* Removes what is known of the bytes; `what`: complains about anything that may still be going on in them. */
static void clear(struct context *context, uint64_t address, uint64_t bytes, const char *what)
{
    uint64_t part = 0;
    bool told = !what;
    for (uint64_t done = 0; done < bytes; done += part) {
        const uint64_t alias = alias_at(address + done);
        uint64_t key = memory_key(address + done, bytes - done, &part);
        struct region *r = (struct region *)span_from(&regions, key);
        while (r && r->span.start < key + part) {
            uint64_t next = r->span.end;
            if (!told)
                told = complain_once(context, r, alias, what, address, bytes);
            if (r->span.start < key)
                r = region_split(r, key);
            if (r && r->span.end > key + part)
                (void)region_split(r, key + part);
            if (r && alias)
                region_forget(r, alias);
            else if (r)
                region_remove(r);
            r = (struct region *)span_from(&regions, next);
        }
    }
}

void order_end(struct context *context, uint64_t address, uint64_t bytes, const char *what)
{
    clear(context, address, bytes, what);
}

void order_forget(uint64_t address, uint64_t bytes)
{
    clear(NULL, address, bytes, NULL);
}
