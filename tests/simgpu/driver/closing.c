/* closing.c - takes all access to the blocks of the devices away, and gives it back. */
#include "closing.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "driver.h"
#include "memory.h"
#include "physical.h"

int closing_protection(const struct block *b)
{
    if (!b->device || b->host_access || b->hidden || !b->readable)
        return PROT_NONE;
    return b->writable ? PROT_READ | PROT_WRITE : PROT_READ;
}

void closing_protect(uint64_t address, uint64_t bytes, int protection)
{
    if (mprotect((void *)(uintptr_t)address, bytes, protection) == 0)
        return;
    fprintf(stderr, "simgpu: SIMGPU_%s: the system lets no more mappings be made (vm.max_map_count)\n",
            settings.touched_path ? "TOUCHED" : "BOUNDS");
    abort();
}

void closing_close_all(void)
{
    for (const struct block *b = block_from(0); b; b = block_from(b->span.end))
        if (closing_protection(b) != PROT_NONE)
            closing_protect(b->span.start, b->backed_bytes, PROT_NONE);
}

void closing_open_all(void)
{
    for (const struct block *b = block_from(0); b; b = block_from(b->span.end))
        if (closing_protection(b) != PROT_NONE)
            closing_protect(b->span.start, b->backed_bytes, closing_protection(b));
}
