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

const struct simgpu_image opaque_image = {.magic = SIMGPU_IMAGE_MAGIC};

bool opaque_takes(const void *candidate)
{
    char start[sizeof LAYOUTS_HEADING] = {0};
    uint32_t magic;
    if (!exec_read(start, (uint64_t)(uintptr_t)candidate, sizeof start - 1))
        return false;
    if (strcmp(start, LAYOUTS_HEADING) == 0)
        return layouts_add(candidate);
    memcpy(&magic, start, sizeof magic);
    return settings.layouts_path && magic == FAT_MAGIC;
}

/* ---- what a launch makes of what it reads ---- */

static uint64_t mix_sample(uint64_t digest, const char *from)
{
    uint64_t words[SAMPLE / 8];
    memcpy(words, from, sizeof words);
    return note_mix(note_mix(digest, words[0]), words[1]);
}

/* All of what is short; else its ends, and one piece of each page, another one for each kernel. */
static uint64_t mix_tensor(uint64_t digest, uint64_t name_hash, const struct touched_tensor *t)
{
    const char *bytes = (const char *)(uintptr_t)t->address;
    if (t->bytes < 2 * SAMPLE) {
        for (uint64_t i = 0; i < t->bytes; i++)
            digest = note_mix(digest, (unsigned char)bytes[i]);
        return digest;
    }
    digest = mix_sample(mix_sample(digest, bytes), bytes + t->bytes - SAMPLE);
    for (uint64_t page = 0; page < t->bytes; page += PAGE) {
        uint64_t at = page + (note_mix(name_hash, page) >> 56) * SAMPLE;
        digest = mix_sample(digest, bytes + (at < t->bytes - SAMPLE ? at : t->bytes - SAMPLE));
    }
    return digest;
}

/* Every byte. Two bytes are a small number that is neither infinite nor none in any of the floating formats of 16 bits, and
 * so are longer ones made of them: programs may look at what they compute. */
static void fill(const struct touched_tensor *t, uint64_t seed)
{
    const uint64_t step = note_mix(seed, 1) | 1, kept = 0x01ff01ff01ff01ffu, format = 0x3c003c003c003c00u;
    char *bytes = (char *)(uintptr_t)t->address;
    uint64_t state = note_mix(seed, 2), i = 0, word;
    for (; i + sizeof word <= t->bytes; i += sizeof word) {
        word = ((state += step) & kept) | format;
        memcpy(bytes + i, &word, sizeof word);
    }
    word = (state & kept) | format;
    memcpy(bytes + i, &word, t->bytes - i);
}

/* A line for each launch: with two runs of a program, the first that differs is where they part. */
static void write_down(const struct layout *l, const struct note *n, uint64_t digest)
{
    static FILE *file;
    if (!file && !(file = fopen(settings.digests_path, "we")))
        return;
    fprintf(file, "%s given %016llx read %016llx", l->kernel.name, (unsigned long long)n->seed, (unsigned long long)digest);
    for (uint32_t i = 0; i < n->count; i++)
        fprintf(file, " %s%s%llu", n->tensors[i].reads ? "r" : "", n->tensors[i].writes ? "w" : "",
                (unsigned long long)n->tensors[i].bytes);
    fputc('\n', file);
    fflush(file); /* a forked child must find nothing to write */
}

static void run(const struct simgpu_launch *launch, const void *image)
{
    const struct layout *l = (const struct layout *)launch->kernel;
    const struct note *n = (const struct note *)(uintptr_t)launch->token;
    uint64_t digest = n->seed;
    for (uint32_t i = 0; i < n->count; i++)
        if (n->tensors[i].reads)
            digest = mix_tensor(note_mix(digest, i), l->name_hash, &n->tensors[i]);
    if (settings.digests_path)
        write_down(l, n, digest);
    for (uint32_t i = 0; i < n->count; i++)
        if (n->tensors[i].writes)
            fill(&n->tensors[i], note_mix(digest, i));
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
    for (uint32_t i = 0; i < n->count && i < SIMGPU_MAX_RANGES; i++)
        ret_footprint->ranges[i] =
            (struct simgpu_range){n->tensors[i].address, n->tensors[i].bytes, (int)n->tensors[i].writes};
    ret_footprint->range_count = n->count < SIMGPU_MAX_RANGES ? n->count : SIMGPU_MAX_RANGES;
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
