/* touched.c - closes the devices' memory before a kernel, and notes page by page what the kernel's faults open again. */
#include "touched.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "closing.h"
#include "driver.h"
#include "memory.h"
#include "physical.h"

enum { PAGE = 4096, READ = 1, WRITE = 2, MOST_NOTES = 1 << 22 };

static FILE *file;
static bool watching;

/* Addresses of pages, with READ or WRITE added; in a mapping of its own, because it is written by the handler. */
static uint64_t *notes;
static size_t note_count;

CUresult touched_init(void)
{
    if (!settings.touched_path)
        return CUDA_SUCCESS;
    int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    void *room = mmap(NULL, MOST_NOTES * sizeof *notes, PROT_READ | PROT_WRITE, flags, -1, 0);
    if (room == MAP_FAILED)
        return CUDA_ERROR_OUT_OF_MEMORY;
    notes = room;
    if (!(file = fopen(settings.touched_path, "we"))) {
        fprintf(stderr, "simgpu: SIMGPU_TOUCHED=%s can't be written\n", settings.touched_path);
        return CUDA_ERROR_INVALID_VALUE;
    }
    return CUDA_SUCCESS;
}

bool touched_wanted(void)
{
    return file != NULL;
}

void touched_begin(void)
{
    closing_close_all();
    note_count = 0;
    watching = true;
}

/* Where the platform does not tell what was tried, it counts as both. */
static int tried(const void *context)
{
#if defined __x86_64__
    const ucontext_t *c = context;
    return c->uc_mcontext.gregs[REG_ERR] & 2 ? WRITE : READ;
#else
    (void)context;
    return READ | WRITE;
#endif
}

/* The block whose pages hold the address: behind its last byte, too. */
static const struct block *block_at(uint64_t page)
{
    const struct block *b = block_from(page);
    return b && b->span.start < page + PAGE ? b : NULL;
}

bool touched_open(uint64_t address, const void *context)
{
    uint64_t page = address & ~(uint64_t)(PAGE - 1);
    const struct block *b = watching ? block_at(page) : NULL;
    int allowed = b ? closing_protection(b) : PROT_NONE, access = tried(context);
    if (access & WRITE && !(allowed & PROT_WRITE))
        access &= ~WRITE;
    if (!access || !(allowed & PROT_READ))
        return false;
    if (note_count == MOST_NOTES) {
        fprintf(stderr, "simgpu: SIMGPU_TOUCHED: a kernel touched more pages than can be noted\n");
        abort();
    }
    notes[note_count++] = page | (uint64_t)access;
    closing_protect(page, PAGE, access & WRITE ? PROT_READ | PROT_WRITE : PROT_READ);
    return true;
}

static int by_address(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static void write_range(uint64_t start, uint64_t end, const char **comma)
{
    if (start == end)
        return;
    fprintf(file, "%s[%llu, %llu]", *comma, (unsigned long long)start, (unsigned long long)(end - start));
    *comma = ", ";
}

static void write_ranges(const char *key, uint64_t access)
{
    uint64_t start = 0, end = 0;
    const char *comma = "";
    fprintf(file, ", \"%s\": [", key);
    for (size_t i = 0; i < note_count; i++) {
        uint64_t page = notes[i] & ~(uint64_t)(PAGE - 1);
        if (!(notes[i] & access))
            continue;
        if (page != end) {
            write_range(start, end, &comma);
            start = page;
        }
        end = page + PAGE;
    }
    write_range(start, end, &comma);
    fprintf(file, "]");
}

void touched_end(const struct op *op)
{
    watching = false;
    closing_open_all();
    qsort(notes, note_count, sizeof *notes, by_address);
    fprintf(file, "{\"launch\": %llu, \"operation\": %llu, \"graph_launch\": %llu, \"device\": %d, \"kernel\": \"%s\"",
            (unsigned long long)op->u.run.launch.serial, (unsigned long long)op->serial,
            (unsigned long long)op->graph_launch, op->context->device->ordinal, op->name);
    write_ranges("reads", READ);
    write_ranges("writes", WRITE);
    fprintf(file, "}\n");
    fflush(file); /* a forked child must find nothing to write */
}
