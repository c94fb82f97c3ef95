/* bounds.c - closes what a kernel does not declare, and looks at the rest of the pages on which it may write. */
#include "bounds.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "closing.h"
#include "driver.h"
#include "memory.h"
#include "physical.h"
#include "ranges.h"

enum { PAGE = 4096 };

/* What lies beside the declared bytes on pages that can be written, and what was there before the kernel. */
static struct ranges beside;
static unsigned char *before;

bool bounds_apply(const struct op *op)
{
    return settings.bounds && op->kind == OP_KERNEL && op->declared;
}

static void *must(void *memory)
{
    if (memory)
        return memory;
    fprintf(stderr, "simgpu: SIMGPU_BOUNDS: the host has no memory\n");
    abort();
}

static void must_be(bool good)
{
    (void)must(good ? &beside : NULL);
}

/* The pages of an access, block by block, as far as they were closed. */
static void open_pages(const struct access *a)
{
    const uint64_t end = a->address + a->bytes;
    for (const struct block *b = block_from(a->address); b && b->span.start < end; b = block_from(b->span.end)) {
        const uint64_t first = (a->address > b->span.start ? a->address : b->span.start) / PAGE * PAGE,
                       last = ((end < b->span.end ? end : b->span.end) + PAGE - 1) / PAGE * PAGE;
        const int allowed = closing_protection(b);
        if (allowed == PROT_NONE)
            continue;
        closing_protect(first, last - first, a->how & SIMGPU_WRITES ? allowed : allowed & PROT_READ);
        if (a->how & SIMGPU_WRITES)
            must_be(ranges_add(&beside, first, last));
    }
}

/* What is written is opened last, because it may lie on a page with what is only read. */
static void open_declared(const struct op *op)
{
    for (int writes = 0; writes < 2; writes++)
        for (unsigned i = 0; i < op->access_count; i++)
            if (((op->accesses[i].how & SIMGPU_WRITES) != 0) == writes && op->accesses[i].bytes > 0)
                open_pages(&op->accesses[i]);
    for (unsigned i = 0; i < op->access_count; i++)
        if (op->accesses[i].how & SIMGPU_WRITES)
            must_be(ranges_remove(&beside, op->accesses[i].address, op->accesses[i].address + op->accesses[i].bytes));
}

void bounds_begin(const struct op *op)
{
    size_t bytes = 0;
    closing_close_all();
    open_declared(op);
    for (size_t i = 0; i < beside.count; i++)
        bytes += beside.at[i].end - beside.at[i].start;
    unsigned char *to = before = must(malloc(bytes + 1));
    for (size_t i = 0; i < beside.count; to += beside.at[i].end - beside.at[i].start, i++)
        memcpy(to, (const void *)(uintptr_t)beside.at[i].start, beside.at[i].end - beside.at[i].start);
}

bool bounds_end(uint64_t *ret_stray)
{
    const unsigned char *was = before;
    bool found = false;
    closing_open_all();
    for (size_t i = 0; i < beside.count; i++)
        for (uint64_t at = beside.at[i].start; at < beside.at[i].end; at++, was++)
            if (!found && *(const volatile unsigned char *)(uintptr_t)at != *was) {
                *ret_stray = at;
                found = true;
            }
    ranges_finish(&beside);
    free(before);
    before = NULL;
    return found;
}
