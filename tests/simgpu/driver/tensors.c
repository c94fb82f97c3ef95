/* tensors.c - an ordered map of the program's tensors. */
#include "tensors.h"

#include <stdlib.h>

static struct span_map tensors;
static uint64_t made;

static void forget(struct span *span)
{
    span_remove(&tensors, span);
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

bool tensors_are_told(void)
{
    return made > 0;
}
