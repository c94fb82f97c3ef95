/* opaque.c - digests what a launch reads, and fills what it writes. */
#include "opaque.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exec.h"
#include "notes.h"
#include "settings.h"
#include "tensors.h"

enum { PAGE = 4096, SAMPLE = 16 };

#define FAT_MAGIC UINT32_C(0xba55ed50) /* as nvcc packs machine code; what comes behind is not looked at */

const struct simgpu_image opaque_image = {.header = SIMGPU_IMAGE_HEADER};

/* A copy, since the program may let go of its own, and load the same from elsewhere. */
static bool add_table(const char *image)
{
    static struct table {
        struct table *next;
        char text[];
    } * tables;
    const struct table *known = tables;
    while (known && strcmp(known->text, image) != 0)
        known = known->next;
    if (known)
        return true;
    struct table *made = malloc(sizeof *made + strlen(image) + 1);
    if (!made)
        return false;
    strcpy(made->text, image);
    made->next = tables;
    tables = made;
    return layouts_add(made->text + strlen(LAYOUTS_IMAGE) - strlen(LAYOUTS_HEADING));
}

bool opaque_takes(const void *candidate)
{
    char start[sizeof LAYOUTS_IMAGE] = {0};
    uint32_t magic;
    if (!exec_read(start, (uint64_t)(uintptr_t)candidate, sizeof start - 1))
        return false;
    if (strcmp(start, LAYOUTS_IMAGE) == 0)
        return add_table(candidate);
    if (strncmp(start, LAYOUTS_HEADING, strlen(LAYOUTS_HEADING)) == 0)
        return layouts_add(candidate);
    memcpy(&magic, start, sizeof magic);
    return settings.layouts_path && magic == FAT_MAGIC;
}

/* ---- what a launch makes of what it reads ---- */

/* What is at `address`; bytes that nobody has written are 0, whatever lies there. */
static void look(const struct touched *t, uint64_t address, unsigned char *to, uint64_t bytes)
{
    const struct ranges *defined = &t->defined;
    if (defined->count == 0) {
        memcpy(to, (const void *)(uintptr_t)address, bytes);
        return;
    }
    memset(to, 0, bytes);
    for (size_t i = ranges_from(defined, address); i < defined->count && defined->at[i].start < address + bytes; i++) {
        const uint64_t start = defined->at[i].start > address ? defined->at[i].start : address,
                       end = defined->at[i].end < address + bytes ? defined->at[i].end : address + bytes;
        memcpy(to + (start - address), (const void *)(uintptr_t)start, end - start);
    }
}

/* From the byte of that number on, as if row lay behind row. */
static void look_from(const struct touched *t, uint64_t number, unsigned char *to, uint64_t bytes)
{
    for (uint64_t done = 0, count; done < bytes; done += count) {
        const uint64_t row = (number + done) / t->where.row_bytes, column = (number + done) % t->where.row_bytes;
        count = t->where.row_bytes - column < bytes - done ? t->where.row_bytes - column : bytes - done;
        look(t, region_row(&t->where, row) + column, to + done, count);
    }
}

static uint64_t mix_sample(uint64_t digest, const struct touched *t, uint64_t number)
{
    uint64_t words[SAMPLE / 8];
    look_from(t, number, (unsigned char *)words, sizeof words);
    return note_mix(note_mix(digest, words[0]), words[1]);
}

/* All of what is short; else its ends, and one piece of each page, another one for each kernel. */
static uint64_t mix_touched(uint64_t digest, uint64_t name_hash, const struct touched *t)
{
    const uint64_t bytes = region_bytes(&t->where);
    if (bytes < 2 * SAMPLE) {
        unsigned char all[2 * SAMPLE];
        look_from(t, 0, all, bytes);
        for (uint64_t i = 0; i < bytes; i++)
            digest = note_mix(digest, all[i]);
        return digest;
    }
    digest = mix_sample(mix_sample(digest, t, 0), t, bytes - SAMPLE);
    for (uint64_t page = 0; page < bytes; page += PAGE) {
        uint64_t at = page + (note_mix(name_hash, page) >> 56) * SAMPLE;
        digest = mix_sample(digest, t, at < bytes - SAMPLE ? at : bytes - SAMPLE);
    }
    return digest;
}

/* Every byte. Two bytes are a small number that is neither infinite nor none in any of the floating formats of 16 bits, and
 * so are longer ones made of them: programs may look at what they compute. */
static void fill_row(uint64_t address, uint64_t count, uint64_t seed)
{
    const uint64_t step = note_mix(seed, 1) | 1, kept = 0x01ff01ff01ff01ffu, format = 0x3c003c003c003c00u;
    char *bytes = (char *)(uintptr_t)address;
    uint64_t state = note_mix(seed, 2), i = 0, word;
    for (; i + sizeof word <= count; i += sizeof word) {
        word = ((state += step) & kept) | format;
        memcpy(bytes + i, &word, sizeof word);
    }
    word = (state & kept) | format;
    memcpy(bytes + i, &word, count - i);
}

static void fill(const struct region *where, uint64_t seed)
{
    for (uint64_t row = 0; row < region_row_count(where); row++)
        fill_row(region_row(where, row), where->row_bytes, row ? note_mix(seed, row) : seed);
}

/* A line for each launch: with two runs of a program, the first that differs is where they part. */
static void write_down(const struct layout *l, const struct note *n, uint64_t digest)
{
    static FILE *file;
    if (!file && !(file = fopen(settings.digests_path, "we")))
        return;
    fprintf(file, "%s given %016llx read %016llx", l->kernel.name, (unsigned long long)n->seed, (unsigned long long)digest);
    for (uint32_t i = 0; i < n->count; i++)
        fprintf(file, " %s%s%llu", n->touched[i].reads ? "r" : "", n->touched[i].writes ? "w" : "",
                (unsigned long long)region_bytes(&n->touched[i].where));
    fputc('\n', file);
    fflush(file); /* a forked child must find nothing to write */
}

static void run(const struct simgpu_launch *launch, const void *image)
{
    const struct layout *l = (const struct layout *)launch->kernel;
    const struct note *n = (const struct note *)(uintptr_t)launch->token;
    uint64_t digest = n->seed;
    for (uint32_t i = 0; i < n->count; i++)
        if (n->touched[i].reads)
            digest = mix_touched(note_mix(digest, i), l->name_hash, &n->touched[i]);
    if (settings.digests_path)
        write_down(l, n, digest);
    for (uint32_t i = 0; i < n->count; i++)
        if (n->touched[i].writes)
            fill(&n->touched[i].where, note_mix(digest, i));
}

/* ---- what a launch touches ---- */

/* Its name, once, for whoever wants to know which kernels a program launches. */
static void list(struct layout *l)
{
    FILE *file = l->is_listed || !settings.launched_path ? NULL : fopen(settings.launched_path, "ae");
    if (file) {
        fprintf(file, "%s\n", l->kernel.name);
        fclose(file);
    }
    l->is_listed = true;
}

/* Neither what nobody has written nor what lies between rows is read. */
static unsigned how(const struct touched *t, bool apart)
{
    const bool all = t->defined.count == 0 && (apart || region_row_count(&t->where) == 1);
    return (t->writes ? SIMGPU_WRITES : 0) | (!t->reads ? 0 : all ? SIMGPU_READS : SIMGPU_READS_SOME);
}

/* Row by row where all of the launch's fit, else from the first byte to the last of each. */
static void declare(const struct note *n, struct simgpu_footprint *footprint)
{
    uint64_t rows = 0;
    footprint->range_count = 0;
    for (uint32_t i = 0; i < n->count && rows <= SIMGPU_MAX_RANGES; i++)
        rows += region_row_count(&n->touched[i].where);
    for (uint32_t i = 0; i < n->count; i++) {
        const struct touched *t = &n->touched[i];
        const bool apart = rows <= SIMGPU_MAX_RANGES;
        const uint64_t count = apart ? region_row_count(&t->where) : 1,
                       bytes = apart ? t->where.row_bytes : region_end(&t->where) - t->where.address;
        for (uint64_t row = 0; row < count && footprint->range_count < SIMGPU_MAX_RANGES; row++)
            footprint->ranges[footprint->range_count++] =
                (struct simgpu_range){region_row(&t->where, row), bytes, how(t, apart)};
    }
}

static void describe(const struct simgpu_launch *launch, const void *image, struct simgpu_footprint *ret_footprint)
{
    const struct layout *l = (const struct layout *)launch->kernel;
    const struct note *n = note_find(l, launch->grid, launch->block, image);
    if (!n)
        n = note_make(l, launch->grid, launch->block, image, false);
    ret_footprint->refused = !n;
    if (!n)
        return;
    ret_footprint->token = (uint64_t)(uintptr_t)n;
    ret_footprint->flops = n->flops;
    ret_footprint->bytes = n->bytes;
    declare(n, ret_footprint);
    list((struct layout *)l);
}

void opaque_prepare(struct layout *layout)
{
    layout->kernel.run = run;
    layout->kernel.describe = describe;
}

CUresult opaque_announce(const struct simgpu_kernel *kernel, const unsigned grid[3], const unsigned block[3], void **params)
{
    if (kernel->run != run || (kernel->param_count > 0 && !params))
        return CUDA_SUCCESS;
    unsigned char image[32768] = {0};
    for (uint32_t i = 0; i < kernel->param_count; i++)
        if (params[i])
            memcpy(image + kernel->params[i].offset_bytes, params[i], kernel->params[i].size_bytes);
    const struct note *n = note_make((const struct layout *)kernel, grid, block, image, true);
    return n ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}
