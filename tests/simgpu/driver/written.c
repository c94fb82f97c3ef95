/* written.c - remembers at which of its addresses each byte of mapped memory was written last, mapped there still or not. */
#include "written.h"

#include <stdlib.h>

#include "memory.h"
#include "span.h"

struct written { /* bytes that were written last at one address; the span is one of keys of memory_key() */
    struct span span;
    uint64_t shift; /* from a key to that address */
};

static struct span_map all;

static struct written *first_from(uint64_t key)
{
    return (struct written *)span_from(&all, key);
}

/* Without memory nothing is known of the bytes. */
static void add(uint64_t start, uint64_t end, uint64_t shift)
{
    struct written *w = malloc(sizeof *w);
    if (!w)
        return;
    w->span.start = start;
    w->span.end = end;
    w->shift = shift;
    span_insert(&all, &w->span);
}

static void drop(struct written *w)
{
    span_remove(&all, &w->span);
    free(w);
}

/* Forgets [start, end) and keeps what sticks out of it. */
static void cut(uint64_t start, uint64_t end)
{
    struct written *w;
    while ((w = first_from(start)) && w->span.start < end) {
        const uint64_t w_end = w->span.end, shift = w->shift;
        if (w->span.start < start)
            w->span.end = start;
        else
            drop(w);
        if (w_end > end)
            add(end, w_end, shift);
    }
}

/* Where the neighbours were written at the same address, they become one with it. */
static void set(uint64_t start, uint64_t end, uint64_t shift)
{
    struct written *w = first_from(start);
    if (w && w->span.start <= start && w->span.end >= end && w->shift == shift)
        return;
    cut(start, end);
    w = first_from(start - 1);
    if (w && w->span.end == start && w->shift == shift) {
        start = w->span.start;
        drop(w);
    }
    w = first_from(end);
    if (w && w->span.start == end && w->shift == shift) {
        end = w->span.end;
        drop(w);
    }
    add(start, end, shift);
}

/* Forgets those of [start, end) that were written last at another address. */
static void doubt(uint64_t start, uint64_t end, uint64_t shift)
{
    uint64_t next;
    for (struct written *w = first_from(start); w && w->span.start < end; w = first_from(next)) {
        const uint64_t from = w->span.start > start ? w->span.start : start;
        next = w->span.end < end ? w->span.end : end;
        if (w->shift != shift)
            cut(from, next);
    }
}

static bool is_mapped(uint64_t address)
{
    const struct block *b = memory_find(address);
    return b && b->kind == BLOCK_MAPPING;
}

void written_note(uint64_t address, uint64_t bytes, bool certain)
{
    uint64_t part;
    for (uint64_t done = 0; done < bytes; done += part) {
        const uint64_t at = address + done, key = memory_key(at, bytes - done, &part);
        if (is_mapped(at))
            (certain ? set : doubt)(key, key + part, at - key);
    }
}

uint64_t written_elsewhere(uint64_t address, uint64_t bytes, uint64_t *ret_where)
{
    uint64_t part, count = 0;
    for (uint64_t done = 0; done < bytes; done += part) {
        const uint64_t at = address + done, key = memory_key(at, bytes - done, &part);
        const struct written *w = is_mapped(at) ? first_from(key) : NULL;
        for (; w && w->span.start < key + part; w = first_from(w->span.end)) {
            const uint64_t from = w->span.start > key ? w->span.start : key,
                           to = w->span.end < key + part ? w->span.end : key + part;
            if (w->shift == at - key)
                continue;
            if (count == 0)
                *ret_where = from + w->shift;
            count += to - from;
        }
    }
    return count;
}

void written_forget(uint64_t key, uint64_t bytes)
{
    cut(key, key + bytes);
}
