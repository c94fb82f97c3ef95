/* twins.c - the twins of spillway's own kernels: written from what shim/base/hash.h and the
 * head of shim/operation/seek.ptx say, not from their code. */
#include "twins.h"

#include <string.h>

/* ---- spillway_hash: 128 bits over bytes, added to a slot ---- */

struct hash_params {
    uint64_t address, bytes, slot;
};

static uint32_t upper(uint64_t x)
{
    return (uint32_t)(x >> 32);
}

/* Multiplies, then takes the upper half of the product into its lower half. */
static uint64_t stir(uint64_t x, uint64_t by)
{
    uint64_t product = x * by;
    return product ^ upper(product);
}

static void hash_term(uint64_t sums[2], uint64_t index, uint64_t word)
{
    uint64_t key = 0x243F6A8885A308D3 + 0x9E3779B97F4A7C15 * index;
    uint64_t common = stir(word ^ key, 0xBF58476D1CE4E5B9);
    uint64_t exchanged = (key << 32) + upper(key);
    sums[0] += stir(stir(common, 0x94D049BB133111EB), 0xFF51AFD7ED558CCD);
    sums[1] += stir(stir(common + exchanged, 0xC4CEB9FE1A85EC53), 0xD6E8FEB86659FD93);
}

/* The words at `address`, the first of them at `index`, added to the sums. */
static void hash_words(uint64_t ret_sums[2], uint64_t address, uint64_t index, uint64_t words)
{
    uint64_t sums[2] = {0, 0}; /* in registers */
    for (uint64_t i = 0; i < words; i++) {
        uint64_t word;
        memcpy(&word, (const char *)(uintptr_t)address + i * sizeof word, sizeof word);
        hash_term(sums, index + i, word);
    }
    ret_sums[0] += sums[0];
    ret_sums[1] += sums[1];
}

static void hash_run(const struct simgpu_launch *launch, const void *image)
{
    const struct hash_params *p = image;
    uint64_t *slot = (uint64_t *)(uintptr_t)p->slot, sums[2] = {0, 0}, rest = 0;
    const uint64_t words = p->bytes / sizeof rest;
    (void)launch; /* any grid comes to the same */
    hash_words(sums, p->address, 0, words);
    if (p->bytes % sizeof rest) {
        memcpy(&rest, (const char *)(uintptr_t)p->address + words * sizeof rest, p->bytes % sizeof rest);
        hash_term(sums, words, rest);
    }
    hash_term(sums, UINT64_MAX, p->bytes);
    slot[0] += sums[0];
    slot[1] += sums[1];
}

static void hash_describe(const struct simgpu_launch *launch, const void *image, struct simgpu_footprint *ret)
{
    const struct hash_params *p = image;
    (void)launch;
    ret->bytes = (double)p->bytes + 2 * 16;
    ret->range_count = 2;
    ret->ranges[0] = (struct simgpu_range){p->slot, 16, SIMGPU_WRITES};
    ret->ranges[1] = (struct simgpu_range){p->address, p->bytes, SIMGPU_READS};
    ret->range_count -= p->bytes == 0;
}

static const struct simgpu_param hash_layout[] = {
    {0, 8, SIMGPU_PARAM_POINTER | SIMGPU_PARAM_CONST}, {8, 8, 0}, {16, 8, SIMGPU_PARAM_POINTER}};
static const struct simgpu_kernel hash_kernel = {"spillway_hash", 3, 24, hash_layout, hash_run, hash_describe, 128};

/* ---- spillway_sample: the first of these sums over pages at equal distances, and how many words are a pattern ---- */

enum { PAGE = 4096 };

struct sample_params {
    uint64_t address, pages, pitch, pattern, sign, slot;
};

static void sample_run(const struct simgpu_launch *launch, const void *image)
{
    const struct sample_params *p = image;
    uint64_t *slot = (uint64_t *)(uintptr_t)p->slot, sums[2] = {0, 0}, count = 0;
    (void)launch; /* any grid comes to the same */
    for (uint64_t page = 0; page < p->pages; page++) {
        const uint64_t words = PAGE / 8, *word = (const uint64_t *)(uintptr_t)(p->address + page * p->pitch);
        hash_words(sums, (uintptr_t)word, page * words, words);
        for (uint64_t i = 0; i < words; i++)
            count += word[i] == p->pattern;
    }
    slot[0] += p->sign * sums[0];
    slot[1] += count;
}

static void sample_describe(const struct simgpu_launch *launch, const void *image, struct simgpu_footprint *ret)
{
    const struct sample_params *p = image;
    (void)launch;
    ret->bytes = (double)p->pages * PAGE + 2 * 16;
    ret->range_count = p->pages ? 2 : 1;
    ret->ranges[0] = (struct simgpu_range){p->slot, 16, SIMGPU_WRITES};
    ret->ranges[1] = (struct simgpu_range){p->address, p->pages ? (p->pages - 1) * p->pitch + PAGE : 0, SIMGPU_READS};
}

static const struct simgpu_param sample_layout[] = {{0, 8, SIMGPU_PARAM_POINTER | SIMGPU_PARAM_CONST},
                                                    {8, 8, 0},
                                                    {16, 8, 0},
                                                    {24, 8, 0},
                                                    {32, 8, 0},
                                                    {40, 8, SIMGPU_PARAM_POINTER}};
static const struct simgpu_kernel sample_kernel = {"spillway_sample", 6, 48, sample_layout, sample_run, sample_describe, 0};

/* ---- spillway_fill: such pages, filled with the pattern ---- */

struct fill_params {
    uint64_t address, pages, pitch, pattern;
};

static void fill_run(const struct simgpu_launch *launch, const void *image)
{
    const struct fill_params *p = image;
    (void)launch;
    for (uint64_t i = 0; i < p->pages * (PAGE / 8); i++)
        memcpy((char *)(uintptr_t)p->address + i / (PAGE / 8) * p->pitch + i % (PAGE / 8) * 8, &p->pattern, 8);
}

static void fill_describe(const struct simgpu_launch *launch, const void *image, struct simgpu_footprint *ret)
{
    const struct fill_params *p = image;
    (void)launch;
    ret->bytes = (double)p->pages * PAGE;
    ret->range_count = 1;
    ret->ranges[0] = (struct simgpu_range){p->address, p->pages ? (p->pages - 1) * p->pitch + PAGE : 0, SIMGPU_WRITES};
}

static const struct simgpu_param fill_layout[] = {{0, 8, SIMGPU_PARAM_POINTER}, {8, 8, 0}, {16, 8, 0}, {24, 8, 0}};
static const struct simgpu_kernel fill_kernel = {"spillway_fill", 4, 32, fill_layout, fill_run, fill_describe, 0};

/* ---- spillway_find: how many words lie in one of two stretches of numbers ---- */

struct find_params {
    uint64_t address, words, low, extent, other_low, other_extent, slot;
};

static void find_run(const struct simgpu_launch *launch, const void *image)
{
    const struct find_params *p = image;
    const uint64_t *word = (const uint64_t *)(uintptr_t)p->address;
    (void)launch; /* any grid comes to the same */
    for (uint64_t i = 0; i < p->words; i++)
        *(uint64_t *)(uintptr_t)p->slot += (word[i] - p->low < p->extent) + (word[i] - p->other_low < p->other_extent);
}

static void find_describe(const struct simgpu_launch *launch, const void *image, struct simgpu_footprint *ret)
{
    const struct find_params *p = image;
    (void)launch;
    ret->bytes = 8.0 * (double)p->words + 16;
    ret->range_count = p->words ? 2 : 1;
    ret->ranges[0] = (struct simgpu_range){p->slot, 8, SIMGPU_WRITES};
    ret->ranges[1] = (struct simgpu_range){p->address, 8 * p->words, SIMGPU_READS};
}

static const struct simgpu_param find_layout[] = {{0, 8, SIMGPU_PARAM_POINTER | SIMGPU_PARAM_CONST},
                                                  {8, 8, 0},
                                                  {16, 8, 0},
                                                  {24, 8, 0},
                                                  {32, 8, 0},
                                                  {40, 8, 0},
                                                  {48, 8, SIMGPU_PARAM_POINTER}};
static const struct simgpu_kernel find_kernel = {"spillway_find", 7, 56, find_layout, find_run, find_describe, 0};

/* ---- spillway_tell: words, moved to where the host sees them ---- */

struct tell_params {
    uint64_t from, to, words;
};

static void tell_run(const struct simgpu_launch *launch, const void *image)
{
    const struct tell_params *p = image;
    uint64_t threads = (uint64_t)launch->grid[0] * launch->block[0];
    const uint64_t bytes = 8 * (threads < p->words ? threads : p->words);
    memcpy((void *)(uintptr_t)p->to, (const void *)(uintptr_t)p->from, bytes);
    memset((void *)(uintptr_t)p->from, 0, bytes);
}

static void tell_describe(const struct simgpu_launch *launch, const void *image, struct simgpu_footprint *ret)
{
    const struct tell_params *p = image;
    (void)launch;
    ret->bytes = 16.0 * (double)p->words;
    ret->range_count = 2;
    ret->ranges[0] = (struct simgpu_range){p->from, 8 * p->words, SIMGPU_WRITES};
    ret->ranges[1] = (struct simgpu_range){p->to, 8 * p->words, SIMGPU_WRITES};
}

static const struct simgpu_param tell_layout[] = {
    {0, 8, SIMGPU_PARAM_POINTER | SIMGPU_PARAM_CONST}, {8, 8, SIMGPU_PARAM_POINTER}, {16, 8, 0}};
static const struct simgpu_kernel tell_kernel = {"spillway_tell", 3, 24, tell_layout, tell_run, tell_describe, 0};

/* ---- spillway_seek: which parts of a range have words in them that lie in one of two stretches of numbers, and of a small
 * one what these words come to ---- */

enum { ANSWER_PARTS = 64, SUMMED_BYTES = 16 << 10 };

struct seek_params {
    uint64_t address, bytes, low, extent, other_low, other_extent, shift, answer;
};

static void seek_run(const struct simgpu_launch *launch, const void *image)
{
    const struct seek_params *p = image;
    const uint64_t *word = (const uint64_t *)(uintptr_t)p->address;
    (void)launch; /* any grid comes to the same */
    uint64_t sum = 0;
    for (uint64_t i = 0; i < p->bytes / 8; i++)
        if (word[i] - p->low < p->extent || word[i] - p->other_low < p->other_extent) {
            ((uint8_t *)(uintptr_t)p->answer)[8 * i >> p->shift] = 1;
            const uint64_t mixed = (word[i] ^ i * UINT64_C(0x9E3779B97F4A7C15)) * UINT64_C(0xBF58476D1CE4E5B9);
            sum += (mixed ^ mixed >> 32) * UINT64_C(0x94D049BB133111EB);
        }
    if (p->bytes < SUMMED_BYTES)
        memcpy((char *)(uintptr_t)p->answer + ANSWER_PARTS, &sum, sizeof sum);
}

static void seek_describe(const struct simgpu_launch *launch, const void *image, struct simgpu_footprint *ret)
{
    const struct seek_params *p = image;
    (void)launch;
    ret->bytes = (double)p->bytes;
    ret->range_count = 2;
    ret->ranges[0] = (struct simgpu_range){p->answer, ANSWER_PARTS + 8, SIMGPU_WRITES};
    ret->ranges[1] = (struct simgpu_range){p->address, p->bytes, SIMGPU_READS};
    ret->range_count -= p->bytes == 0;
}

static const struct simgpu_param seek_layout[] = {{0, 8, SIMGPU_PARAM_POINTER | SIMGPU_PARAM_CONST},
                                                  {8, 8, 0},
                                                  {16, 8, 0},
                                                  {24, 8, 0},
                                                  {32, 8, 0},
                                                  {40, 8, 0},
                                                  {48, 8, 0},
                                                  {56, 8, SIMGPU_PARAM_POINTER}};
static const struct simgpu_kernel seek_kernel = {"spillway_seek", 8, 64, seek_layout, seek_run, seek_describe, 0};

/* ---- */

static const struct simgpu_kernel *const twins[] = {&hash_kernel, &sample_kernel, &fill_kernel,
                                                    &find_kernel, &tell_kernel,   &seek_kernel};

const struct simgpu_kernel *twin_find(const char *name, size_t length)
{
    for (size_t i = 0; i < sizeof twins / sizeof *twins; i++)
        if (strlen(twins[i]->name) == length && memcmp(twins[i]->name, name, length) == 0)
            return twins[i];
    return NULL;
}

bool twin_looks(const struct simgpu_kernel *kernel)
{
    return kernel == &seek_kernel;
}

bool twin_is(const struct simgpu_kernel *kernel)
{
    for (size_t i = 0; i < sizeof twins / sizeof *twins; i++)
        if (twins[i] == kernel)
            return true;
    return false;
}
