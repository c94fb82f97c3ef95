/* tensors.c - an ordered map of the program's tensors. */
#include "tensors.h"

#include <stdlib.h>

#include "exec.h"

static struct span_map tensors;
static uint64_t made;

static void forget(struct span *span)
{
    span_remove(&tensors, span);
    ranges_finish(&((struct tensor *)span)->written);
    free(span);
}

bool tensor_make(uint64_t address, uint64_t bytes)
{
    struct span *old;
    if (address == 0 || bytes == 0)
        return true;
    while ((old = span_from(&tensors, address)) && old->start < address + bytes)
        forget(old);
    struct tensor *t = calloc(1, sizeof *t);
    if (!t)
        return false;
    t->span.start = address;
    t->span.end = address + bytes;
    t->serial = ++made;
    span_insert(&tensors, &t->span);
    return true;
}

void tensor_end(uint64_t address)
{
    struct span *span = span_find(&tensors, address);
    if (span && span->start == address)
        forget(span);
}

struct tensor *tensor_find(uint64_t address)
{
    return (struct tensor *)span_find(&tensors, address);
}

bool tensor_write(struct tensor *tensor, uint64_t address, uint64_t bytes)
{
    tensor->copied_from = 0;
    const uint64_t end = address + bytes < tensor->span.end ? address + bytes : tensor->span.end;
    return ranges_add(&tensor->written, address, end);
}

bool tensors_copy(uint64_t address, uint64_t bytes, uint64_t source)
{
    struct tensor *to = tensor_find(address);
    const struct tensor *from = source ? tensor_find(source) : NULL;
    struct ranges moved = {0};
    if (!to)
        return true;
    if (!from) {
        const bool good = tensor_write(to, address, bytes);
        to->copied_from = address == to->span.start && address + bytes == to->span.end ? source : 0;
        return good;
    }
    to->copied_from = 0;
    if (bytes > to->span.end - address)
        bytes = to->span.end - address;
    bool good = ranges_add_part(&moved, &from->written, source, source + bytes, address - source) &&
                ranges_remove(&to->written, address, address + bytes) &&
                ranges_add_part(&to->written, &moved, address, address + bytes, 0);
    ranges_finish(&moved);
    return good;
}

bool tensors_copied(uint64_t address, uint64_t *ret_word)
{
    const struct tensor *t = tensor_find(address);
    return t && t->copied_from && address + sizeof *ret_word <= t->span.end &&
           exec_read(ret_word, t->copied_from + (address - t->span.start), sizeof *ret_word);
}

bool tensors_are_told(void)
{
    return made > 0;
}
