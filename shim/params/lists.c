/* lists.c - reads PyTorch's lists of tensors: their layout from the kernel's name, and the part in use from its blocks. */
#include "lists.h"

#include <stdlib.h>
#include <string.h>

#include "mangled.h"

enum { WORD = 8, MAX_LISTS = 5, CHUNK = 65536 /* elements that a block works on */ };

/* The number of tensors that PyTorch has room for, by the number of lists: in 4 KiB of parameters, and in 32 KiB since CUDA
 * 13. */
struct generation {
    uint16_t blocks, index_bytes;
    uint16_t tensors[MAX_LISTS], with_scalars[MAX_LISTS];
    uint16_t with_complex_doubles[2]; /* complex doubles need shorter lists if there are one or two */
};

static const struct generation generations[] = {
    {320, 1, {110, 64, 48, 36, 30}, {96, 64, 48, 36, 30}, {72, 60}},
    {2240, 2, {770, 448, 336, 252, 210}, {672, 448, 336, 252, 210}, {504, 420}},
};

enum kind { PLAIN, SCALARS, FUSED };

/* ---- names ---- */

/* Skips a type in which scalars are computed. */
static bool skip_scalar(const char **at, uint16_t *ret_bytes)
{
    static const struct {
        const char *name;
        uint16_t bytes;
    } scalars[] = {{"b", 1},
                   {"h", 1},
                   {"a", 1},
                   {"s", 2},
                   {"i", 4},
                   {"f", 4},
                   {"l", 8},
                   {"d", 8},
                   {"N3c107complexIfEE", 8},
                   {"N3c107complexIdEE", 16}};
    for (size_t i = 0; i < sizeof(scalars) / sizeof(*scalars); i++)
        if (spw_mangled_skip(at, scalars[i].name)) {
            *ret_bytes = scalars[i].bytes;
            return true;
        }
    return false;
}

/* Reads at::native::(anonymous)::multi_tensor_apply_kernel<(the same)::KIND<[scalar,] LISTS[, large]>, ...> from a mangled
 * name. */
static bool read_name(const char *at, enum kind *ret_kind, struct spw_lists *l)
{
    if (!spw_mangled_skip(&at, "_ZN2at6native") || !spw_mangled_skip_anonymous(&at) ||
        !spw_mangled_skip(&at, "25multi_tensor_apply_kernelINS1_"))
        return false;
    *l = (struct spw_lists){.tail_bytes = sizeof(int32_t)};
    if (spw_mangled_skip(&at, "18TensorListMetadataI")) {
        *ret_kind = PLAIN;
    } else if (spw_mangled_skip(&at, "32FusedOptimizerTensorListMetadataI")) {
        *ret_kind = FUSED;
        l->each_bytes = WORD;
    } else if (spw_mangled_skip(&at, "28TensorListScalarListMetadataI") && skip_scalar(&at, &l->each_bytes)) {
        *ret_kind = SCALARS;
        l->tail_bytes = 0;
    } else {
        return false;
    }
    if (!spw_mangled_skip(&at, "Li") || *at < '1' || *at > '0' + MAX_LISTS)
        return false;
    l->lists = (uint16_t)(*at++ - '0');
    return spw_mangled_skip(&at, "EEE") || spw_mangled_skip(&at, "ELb0EEE") || spw_mangled_skip(&at, "ELb1EEE");
}

/* ---- sizes ---- */

static size_t each_at(const struct spw_lists *l)
{
    return (l->lists + 1u) * l->tensors * WORD;
}

static size_t indexes_at(const struct spw_lists *l)
{
    return each_at(l) + (size_t)l->tensors * l->each_bytes;
}

static size_t chunks_at(const struct spw_lists *l)
{
    return (indexes_at(l) + (size_t)l->blocks * l->index_bytes + 3) / 4 * 4;
}

static size_t tail_at(const struct spw_lists *l)
{
    return chunks_at(l) + (size_t)l->blocks * sizeof(int32_t);
}

static size_t struct_bytes(const struct spw_lists *l)
{
    const size_t alignment = l->each_bytes > WORD ? l->each_bytes : WORD;
    return (tail_at(l) + l->tail_bytes + alignment - 1) / alignment * alignment;
}

static uint16_t tensors_of(const struct generation *g, enum kind kind, const struct spw_lists *l)
{
    const unsigned i = l->lists - 1u;
    if (kind != SCALARS)
        return g->tensors[i];
    return l->each_bytes > WORD && i < 2 ? g->with_complex_doubles[i] : g->with_scalars[i];
}

bool spw_lists_recognise(const char *name, size_t bytes, struct spw_lists *ret)
{
    enum kind kind;
    struct spw_lists l;
    if (!read_name(name, &kind, &l))
        return false;
    if (kind == FUSED && l.lists == 1)
        return false; /* its two arrays of addresses have different lengths; no kernel has one list */
    for (size_t i = 0; i < sizeof(generations) / sizeof(*generations); i++) {
        l.blocks = generations[i].blocks;
        l.index_bytes = generations[i].index_bytes;
        l.tensors = tensors_of(&generations[i], kind, &l);
        if (struct_bytes(&l) == bytes) {
            *ret = l;
            return true;
        }
    }
    return false;
}

/* ---- launches ---- */

static int64_t chunks_of(const struct spw_lists *l, const unsigned char *from, unsigned tensor)
{
    int64_t numel;
    memcpy(&numel, from + ((size_t)l->lists * l->tensors + tensor) * WORD, sizeof(numel));
    return numel <= 0 ? 0 : (numel - 1) / CHUNK + 1;
}

static unsigned tensor_of(const struct spw_lists *l, const unsigned char *from, unsigned block)
{
    uint16_t wide;
    if (l->index_bytes == 1)
        return from[indexes_at(l) + block];
    memcpy(&wide, from + indexes_at(l) + (size_t)block * sizeof(wide), sizeof(wide));
    return wide;
}

static int32_t chunk_of(const struct spw_lists *l, const unsigned char *from, unsigned block)
{
    int32_t chunk;
    memcpy(&chunk, from + chunks_at(l) + (size_t)block * sizeof(chunk), sizeof(chunk));
    return chunk;
}

/* Returns how many tensors the blocks use, from the first on. 0: the blocks are not as PyTorch makes them. PyTorch's go
 * through the chunks of one tensor after the other; only the first tensor may have been begun by another launch, and only
 * the last may be continued by another. */
static unsigned tensors_named(const struct spw_lists *l, const unsigned char *from, const unsigned grid[3])
{
    if (grid[0] == 0 || grid[0] > l->blocks || grid[1] != 1 || grid[2] != 1)
        return 0;
    unsigned tensor = 0;
    int64_t chunk = chunk_of(l, from, 0), chunks = chunks_of(l, from, 0);
    for (unsigned block = 0; block < grid[0]; block++, chunk++) {
        if (block > 0 && chunk == chunks) {
            if (++tensor == l->tensors)
                return 0;
            chunk = 0;
            chunks = chunks_of(l, from, tensor);
        }
        if (chunk < 0 || chunk >= chunks || tensor_of(l, from, block) != tensor || chunk_of(l, from, block) != chunk)
            return 0;
    }
    return tensor + 1;
}

/* Copies everything that blocks of the launch may look at; the rest of `to` is left as it is. */
static void copy_named(const struct spw_lists *l, const unsigned char *from, unsigned tensors, unsigned blocks,
                       unsigned char *to)
{
    for (unsigned i = 0; i <= l->lists; i++) /* the last of these arrays holds the tensors' numbers of elements */
        memcpy(to + (size_t)i * l->tensors * WORD, from + (size_t)i * l->tensors * WORD, (size_t)tensors * WORD);
    memcpy(to + each_at(l), from + each_at(l), (size_t)tensors * l->each_bytes);
    memcpy(to + indexes_at(l), from + indexes_at(l), (size_t)blocks * l->index_bytes);
    memcpy(to + chunks_at(l), from + chunks_at(l), (size_t)blocks * sizeof(int32_t));
    memcpy(to + tail_at(l), from + tail_at(l), l->tail_bytes);
}

bool spw_lists_copy_used(const struct spw_lists *l, const unsigned grid[3], const unsigned char *from, unsigned char *to)
{
    const unsigned tensors = tensors_named(l, from, grid);
    if (tensors)
        copy_named(l, from, tensors, grid[0], to);
    return tensors > 0;
}
