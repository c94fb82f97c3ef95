/* test-lists.c - what a launch uses of PyTorch's lists of tensors, compared with what its blocks name. */
#include "filled.h"
#include "structs.h"

#include <stdarg.h>
#include <setjmp.h>
#include <stdalign.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#define LOW   UINT64_C(0x700000000000)
#define HIGH  UINT64_C(0x700100000000)
#define STALE (LOW + 0x40000000) /* addresses from here on are in no entry that is in use */
#define CHUNK 65536

/* Complete names of kernels, by the type of the lists. */
#define NAME(metadata) \
    "_ZN2at6native50_GLOBAL__N__637ba612_17_ForeachUnaryOp_cu_77fe623d25multi_tensor_apply_kernelINS1_" metadata \
    "NS1_14UnaryOpFunctorIfLi1ELi1ELi0EEEJNS0_5Log1pIfEEEEEvT_T0_DpT1_"

/* The structs as PyTorch declares them, of both generations; `between` and `behind` are what some have beside the rest. */
#define STRUCT(name, lists, room, index, blocks, between, behind) \
    struct name { \
        uint64_t addresses[lists][room]; \
        int64_t numel[room]; \
        between index block_to_tensor[blocks]; \
        int block_to_chunk[blocks]; \
        behind \
    }
#define OLD(name, lists, room, between, behind) STRUCT(name, lists, room, unsigned char, 320, between, behind)
#define NEW(name, lists, room, between, behind) STRUCT(name, lists, room, uint16_t, 2240, between, behind)
#define START                                   int start;
#define STEPS(room)                             uint64_t steps[room];
#define SCALARS(type, room)                     type scalars[room];
#define COMPLEX(room)                           alignas(16) double scalars[room][2];

OLD(old_one, 1, 110, , START);
OLD(old_two, 2, 64, , START);
OLD(old_three, 3, 48, , START);
OLD(old_four, 4, 36, , START);
OLD(old_five, 5, 30, , START);
OLD(old_one_float, 1, 96, SCALARS(float, 96), );
OLD(old_two_byte, 2, 64, SCALARS(char, 64), );
OLD(old_one_complex, 1, 72, COMPLEX(72), );
OLD(old_two_complex, 2, 60, COMPLEX(60), );
OLD(old_three_complex, 3, 48, COMPLEX(48), );
OLD(old_fused, 4, 36, STEPS(36), START);
NEW(new_two, 2, 448, , START);
NEW(new_scalars, 1, 672, SCALARS(double, 672), );
NEW(new_fused, 5, 210, STEPS(210), START);

/* ---- names and sizes ---- */

struct known {
    const char *metadata;
    size_t bytes;
    unsigned lists, tensors, indexes_at, index_bytes;
};

/* All that the kernels of PyTorch 2.15 for CUDA 13 take. */
static const struct known new_generation[] = {
    {"18TensorListMetadataILi1EEE", 25768, 1, 770, 12320, 2},
    {"18TensorListMetadataILi2EEE", 24200, 2, 448, 10752, 2},
    {"18TensorListMetadataILi3EEE", 24200, 3, 336, 10752, 2},
    {"18TensorListMetadataILi4EEE", 23528, 4, 252, 10080, 2},
    {"28TensorListScalarListMetadataIN3c107complexIdEELi1EEE", 29568, 1, 504, 16128, 2},
    {"28TensorListScalarListMetadataIN3c107complexIdEELi2EEE", 30240, 2, 420, 16800, 2},
    {"28TensorListScalarListMetadataIN3c107complexIdEELi3EEE", 29568, 3, 336, 16128, 2},
    {"28TensorListScalarListMetadataIN3c107complexIdEELi4EEE", 27552, 4, 252, 14112, 2},
    {"28TensorListScalarListMetadataIN3c107complexIfEELi1EEE", 29568, 1, 672, 16128, 2},
    {"28TensorListScalarListMetadataIN3c107complexIfEELi2EEE", 27776, 2, 448, 14336, 2},
    {"28TensorListScalarListMetadataIN3c107complexIfEELi3EEE", 26880, 3, 336, 13440, 2},
    {"28TensorListScalarListMetadataIN3c107complexIfEELi4EEE", 25536, 4, 252, 12096, 2},
    {"28TensorListScalarListMetadataIaLi1EEE", 24864, 1, 672, 11424, 2},
    {"28TensorListScalarListMetadataIaLi2EEE", 24640, 2, 448, 11200, 2},
    {"28TensorListScalarListMetadataIaLi3EEE", 24528, 3, 336, 11088, 2},
    {"28TensorListScalarListMetadataIaLi4EEE", 23776, 4, 252, 10332, 2},
    {"28TensorListScalarListMetadataIbLi1EEE", 24864, 1, 672, 11424, 2},
    {"28TensorListScalarListMetadataIbLi2EEE", 24640, 2, 448, 11200, 2},
    {"28TensorListScalarListMetadataIdLi1EEE", 29568, 1, 672, 16128, 2},
    {"28TensorListScalarListMetadataIdLi2EEE", 27776, 2, 448, 14336, 2},
    {"28TensorListScalarListMetadataIdLi3EEE", 26880, 3, 336, 13440, 2},
    {"28TensorListScalarListMetadataIdLi4EEE", 25536, 4, 252, 12096, 2},
    {"28TensorListScalarListMetadataIfLi1EEE", 26880, 1, 672, 13440, 2},
    {"28TensorListScalarListMetadataIfLi2EEE", 25984, 2, 448, 12544, 2},
    {"28TensorListScalarListMetadataIfLi3EEE", 25536, 3, 336, 12096, 2},
    {"28TensorListScalarListMetadataIfLi4EEE", 24528, 4, 252, 11088, 2},
    {"28TensorListScalarListMetadataIhLi1EEE", 24864, 1, 672, 11424, 2},
    {"28TensorListScalarListMetadataIhLi2EEE", 24640, 2, 448, 11200, 2},
    {"28TensorListScalarListMetadataIhLi3EEE", 24528, 3, 336, 11088, 2},
    {"28TensorListScalarListMetadataIhLi4EEE", 23776, 4, 252, 10332, 2},
    {"28TensorListScalarListMetadataIiLi1EEE", 26880, 1, 672, 13440, 2},
    {"28TensorListScalarListMetadataIiLi2EEE", 25984, 2, 448, 12544, 2},
    {"28TensorListScalarListMetadataIiLi3EEE", 25536, 3, 336, 12096, 2},
    {"28TensorListScalarListMetadataIiLi4EEE", 24528, 4, 252, 11088, 2},
    {"28TensorListScalarListMetadataIlLi1EEE", 29568, 1, 672, 16128, 2},
    {"28TensorListScalarListMetadataIlLi2EEE", 27776, 2, 448, 14336, 2},
    {"28TensorListScalarListMetadataIlLi3EEE", 26880, 3, 336, 13440, 2},
    {"28TensorListScalarListMetadataIlLi4EEE", 25536, 4, 252, 12096, 2},
    {"28TensorListScalarListMetadataIsLi1EEE", 25536, 1, 672, 12096, 2},
    {"28TensorListScalarListMetadataIsLi2EEE", 25088, 2, 448, 11648, 2},
    {"28TensorListScalarListMetadataIsLi3EEE", 24864, 3, 336, 11424, 2},
    {"28TensorListScalarListMetadataIsLi4EEE", 24024, 4, 252, 10584, 2},
    {"32FusedOptimizerTensorListMetadataILi3EEE", 26888, 3, 336, 13440, 2},
    {"32FusedOptimizerTensorListMetadataILi4EEE", 25544, 4, 252, 12096, 2},
    {"32FusedOptimizerTensorListMetadataILi5EEE", 25208, 5, 210, 11760, 2},
};

#define KNOWN(metadata, type, lists, tensors) \
    { \
        metadata, sizeof(struct type), lists, tensors, offsetof(struct type, block_to_tensor), 1 \
    }
static const struct known old_generation[] = {
    KNOWN("18TensorListMetadataILi1EEE", old_one, 1, 110),
    KNOWN("18TensorListMetadataILi2EEE", old_two, 2, 64),
    KNOWN("18TensorListMetadataILi2ELb0EEE", old_two, 2, 64),
    KNOWN("18TensorListMetadataILi3EEE", old_three, 3, 48),
    KNOWN("18TensorListMetadataILi4EEE", old_four, 4, 36),
    KNOWN("18TensorListMetadataILi5EEE", old_five, 5, 30),
    KNOWN("28TensorListScalarListMetadataIfLi1EEE", old_one_float, 1, 96),
    KNOWN("28TensorListScalarListMetadataIfLi1ELb0EEE", old_one_float, 1, 96),
    KNOWN("28TensorListScalarListMetadataIbLi2EEE", old_two_byte, 2, 64),
    KNOWN("28TensorListScalarListMetadataIN3c107complexIdEELi1EEE", old_one_complex, 1, 72),
    KNOWN("28TensorListScalarListMetadataIN3c107complexIdEELi2EEE", old_two_complex, 2, 60),
    KNOWN("28TensorListScalarListMetadataIN3c107complexIdEELi3EEE", old_three_complex, 3, 48),
    KNOWN("32FusedOptimizerTensorListMetadataILi4EEE", old_fused, 4, 36),
};

static void is_known(const struct known *k)
{
    char name[512];
    struct spw_lists l;
    snprintf(name, sizeof(name), NAME("%s"), k->metadata);
    if (!spw_lists_recognise(name, k->bytes, &l))
        fail_msg("%s of %zu bytes is not recognised", k->metadata, k->bytes);
    assert_int_equal(l.lists, k->lists);
    assert_int_equal(l.tensors, k->tensors);
    assert_int_equal(l.index_bytes, k->index_bytes);
    assert_int_equal((l.lists + 1) * l.tensors * 8 + l.tensors * l.each_bytes, k->indexes_at);
    for (size_t bytes = 1; bytes < SPW_PARAMS_MAX_BYTES; bytes++)
        if (bytes != k->bytes && spw_lists_recognise(name, bytes, &l))
            assert_int_not_equal(l.index_bytes, k->index_bytes); /* the other generation */
}

static void every_struct_that_pytorch_has_had_is_known_by_its_name_and_its_exact_size(void **state)
{
    for (size_t i = 0; i < sizeof(new_generation) / sizeof(*new_generation); i++)
        is_known(&new_generation[i]);
    for (size_t i = 0; i < sizeof(old_generation) / sizeof(*old_generation); i++)
        is_known(&old_generation[i]);
}

static void other_names_are_not_known(void **state)
{
    struct spw_lists l;
    static const char *const names[] = {
        "",
        "_ZN2at6native",
        "_ZN2at6native9_GLOBAL__N_1",
        "_Z25multi_tensor_apply_kernelI18TensorListMetadataILi2EE10AddFunctorJEEvT_T0_DpT1_",
        "_ZN2at6native5other25multi_tensor_apply_kernelINS1_18TensorListMetadataILi2EEEEvT_",
        "_ZN2at6native999_GLOBAL__N_25multi_tensor_apply_kernelINS1_18TensorListMetadataILi2EEEEvT_",
        "_ZN4apex6native12_GLOBAL__N_125multi_tensor_apply_kernelINS1_18TensorListMetadataILi2EEEEvT_",
        NAME("18TensorListMetadataILi0EEE"),
        NAME("18TensorListMetadataILi6EEE"),
        NAME("18TensorListMetadataILi22EEE"),
        NAME("18TensorListMetadataILi2E"),
        NAME("18TensorListMetadataILi2ELb1EE"),
        NAME("18TensorListMetadataIfLi2EEE"),
        NAME("32FusedOptimizerTensorListMetadataILi1EEE"),
        NAME("28TensorListScalarListMetadataIeLi2EEE"),
        NAME("19TensorListAddressesEEE")};
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        for (size_t bytes = 0; bytes < SPW_PARAMS_MAX_BYTES; bytes++)
            if (spw_lists_recognise(names[i], bytes, &l))
                fail_msg("'%s' is recognised as a list, of %zu bytes", names[i], bytes);
}

/* ---- launches ---- */

/* A launch of a kernel with such a struct, two words and a number, and what is expected of it. */
struct made {
    struct spw_layout layout;
    struct spw_struct known;
    struct spw_param params[4];
    uint16_t words[2], spans[1];
    void *pointers[4];
    CUdeviceptr word[2];
    uint32_t number;
    unsigned char *image; /* the struct */
    unsigned grid[3];
};

static void make(struct made *m, const char *name, void *image, size_t bytes)
{
    memset(m, 0, sizeof(*m));
    const uint16_t end = (uint16_t)bytes;
    const struct spw_param params[] = {{0, end}, {end, 8}, {(uint16_t)(end + 8), 4}, {(uint16_t)(end + 16), 8}};
    memcpy(m->params, params, sizeof(params));
    assert_true(spw_struct_recognise(name, m->params, 4, 0, &m->known));
    m->word[0] = LOW + 8;
    m->word[1] = LOW + 16;
    m->number = 7;
    memcpy(m->pointers, ((void *[]){image, &m->word[0], &m->number, &m->word[1]}), sizeof(m->pointers));
    m->words[0] = 1;
    m->words[1] = 3;
    m->image = image;
    m->grid[1] = m->grid[2] = 1;
    m->layout = (struct spw_layout){.known = true,
                                    .param_count = 4,
                                    .word_count = 2,
                                    .span_count = 1,
                                    .image_bytes = (uint16_t)(end + 24),
                                    .words = m->words,
                                    .spans = m->spans,
                                    .params = m->params,
                                    .struct_count = 1,
                                    .structs = &m->known};
}

static void put(unsigned char *at, uint64_t value, size_t bytes)
{
    memcpy(at, &value, bytes);
}

static size_t indexes_at(const struct spw_lists *l)
{
    return (size_t)(l->lists + 1) * l->tensors * 8 + (size_t)l->tensors * l->each_bytes;
}

static size_t chunks_at(const struct spw_lists *l)
{
    return (indexes_at(l) + (size_t)l->blocks * l->index_bytes + 3) / 4 * 4;
}

static void put_block(struct made *m, unsigned block, unsigned tensor, int chunk)
{
    put(m->image + indexes_at(&m->known.lists) + (size_t)block * m->known.lists.index_bytes, tensor,
        m->known.lists.index_bytes);
    put(m->image + chunks_at(&m->known.lists) + (size_t)block * 4, (uint32_t)chunk, 4);
}

static CUdeviceptr address_of(unsigned list, unsigned tensor)
{
    return LOW + 0x1000 + ((CUdeviceptr)list << 20) + tensor * 16;
}

static void put_tensor(struct made *m, unsigned tensor, int64_t numel)
{
    const struct spw_lists *l = &m->known.lists;
    for (unsigned list = 0; list < l->lists; list++)
        put(m->image + ((size_t)list * l->tensors + tensor) * 8, address_of(list, tensor), 8);
    put(m->image + ((size_t)l->lists * l->tensors + tensor) * 8, (uint64_t)numel, 8);
    unsigned char *each = m->image + (size_t)(l->lists + 1) * l->tensors * 8 + (size_t)tensor * l->each_bytes;
    memset(each, 0, l->each_bytes);
    if (l->each_bytes == 8) /* the address of a step, or a scalar that looks like one */
        put(each, address_of(l->lists, tensor), 8);
}

/* The whole struct is stale addresses; then tensors are put in until `tensors` or `blocks` are. Answers how many there are:
 * the first has one chunk, the next two, and so on to three. */
static unsigned fill_in(struct made *m, unsigned tensors, unsigned blocks)
{
    unsigned tensor = 0, block = 0;
    for (size_t at = 0; at + 8 <= m->params[0].size_bytes; at += 8)
        put(m->image + at, STALE + at, 8);
    for (; tensor < tensors && block < blocks; tensor++) {
        put_tensor(m, tensor, (tensor % 3) * CHUNK + 1 + tensor % 5);
        for (unsigned chunk = 0; chunk <= tensor % 3 && block < blocks; chunk++, block++)
            put_block(m, block, tensor, (int)chunk);
    }
    m->grid[0] = block;
    return tensor;
}

static unsigned scan(const struct made *m, void *const *params, void *const *extra, CUdeviceptr *hits)
{
    int n = spw_scan_launch(&m->layout, params, extra, LOW, HIGH, hits, SPW_SCAN_ROOM, NULL);
    assert_true(n >= 0);
    return (unsigned)n;
}

static bool holds(const CUdeviceptr *hits, unsigned n, CUdeviceptr address)
{
    for (unsigned i = 0; i < n; i++)
        if (hits[i] == address)
            return true;
    return false;
}

/* The hits are each address of the first `tensors` tensors and the words behind the struct, and no others. */
static void finds_just(const struct made *m, const struct spw_filled *f, unsigned tensors)
{
    static CUdeviceptr hits[SPW_SCAN_ROOM];
    const unsigned of_each = m->known.lists.lists + (m->known.lists.each_bytes == 8), n = scan(m, f->params, f->extra, hits);
    for (unsigned list = 0; list < of_each; list++)
        for (unsigned tensor = 0; tensor < tensors; tensor++)
            assert_true(holds(hits, n, address_of(list, tensor)));
    assert_true(holds(hits, n, LOW + 8));
    assert_true(holds(hits, n, LOW + 16));
    assert_int_equal(n, of_each * tensors + 2);
}

/* What lies in the first entry that is not in use. */
static CUdeviceptr stale_behind(unsigned tensors)
{
    return STALE + (CUdeviceptr)tensors * 8;
}

static struct spw_filled *filled(const struct made *m)
{
    return spw_structs_filled(&m->layout, m->grid, m->pointers, NULL);
}

static void finds_what_blocks_name(const char *name, size_t bytes)
{
    static alignas(16) unsigned char image[SPW_PARAMS_MAX_BYTES];
    static CUdeviceptr hits[SPW_SCAN_ROOM];
    struct made m;
    make(&m, name, image, bytes);
    for (unsigned tensors = 1; tensors <= m.known.lists.tensors; tensors += tensors < 8 ? 1 : 7)
        for (unsigned blocks = 1; blocks <= m.known.lists.blocks; blocks *= 4) {
            const unsigned in = fill_in(&m, tensors, blocks);
            struct spw_filled *f = filled(&m);
            assert_non_null(f);
            finds_just(&m, f, in);
            assert_true(in == m.known.lists.tensors || holds(hits, scan(&m, m.pointers, NULL, hits), stale_behind(in)));
            free(f);
        }
}

static void only_the_first_parameter_is_a_list(void **state)
{
    static struct new_two image;
    struct spw_struct s;
    struct made m;
    make(&m, NAME("18TensorListMetadataILi2EEE"), &image, sizeof(image));
    m.params[1].size_bytes = sizeof(image);
    assert_false(spw_struct_recognise(NAME("18TensorListMetadataILi2EEE"), m.params, 4, 1, &s));
}

static void entries_that_no_block_names_are_left_out(void **state)
{
    finds_what_blocks_name(NAME("18TensorListMetadataILi1EEE"), sizeof(struct old_one));
    finds_what_blocks_name(NAME("18TensorListMetadataILi5EEE"), sizeof(struct old_five));
    finds_what_blocks_name(NAME("18TensorListMetadataILi2EEE"), sizeof(struct new_two));
}

static void addresses_of_steps_and_scalars_are_left_out_with_their_tensors_only(void **state)
{
    finds_what_blocks_name(NAME("32FusedOptimizerTensorListMetadataILi4EEE"), sizeof(struct old_fused));
    finds_what_blocks_name(NAME("32FusedOptimizerTensorListMetadataILi5EEE"), sizeof(struct new_fused));
    finds_what_blocks_name(NAME("28TensorListScalarListMetadataIdLi1EEE"), sizeof(struct new_scalars));
    finds_what_blocks_name(NAME("28TensorListScalarListMetadataIfLi1EEE"), sizeof(struct old_one_float));
}

static void a_full_struct_is_found_whole(void **state)
{
    static struct new_two image;
    struct made m;
    make(&m, NAME("18TensorListMetadataILi2EEE"), &image, sizeof(image));
    assert_int_equal(fill_in(&m, 448, 2240), 448);
    struct spw_filled *f = filled(&m);
    finds_just(&m, f, 448);
    free(f);
}

/* What a launch of a large tensor left is the first of the next one, from some chunk on. */
static void tensors_may_be_begun_and_left_by_other_launches(void **state)
{
    static struct old_two image;
    struct made m;
    make(&m, NAME("18TensorListMetadataILi2EEE"), &image, sizeof(image));
    fill_in(&m, 1, 1);
    put_tensor(&m, 0, 400 * CHUNK);
    for (unsigned block = 0; block < 80; block++)
        put_block(&m, block, 0, (int)(320 + block));
    put_tensor(&m, 1, 400 * CHUNK);
    for (unsigned block = 80; block < 320; block++)
        put_block(&m, block, 1, (int)(block - 80));
    m.grid[0] = 320;
    struct spw_filled *f = filled(&m);
    finds_just(&m, f, 2);
    free(f);
}

static void what_is_filled_in_is_the_same_whatever_lay_behind(void **state)
{
    static struct new_fused image[2];
    struct made m[2];
    struct spw_filled *f[2];
    memset(&image[1], 0x5a, sizeof(image[1]));
    for (unsigned i = 0; i < 2; i++) {
        make(&m[i], NAME("32FusedOptimizerTensorListMetadataILi5EEE"), &image[i], sizeof(image[i]));
        fill_in(&m[i], 20, 400);
        image[i].start = 3;
        if (i == 1)
            for (unsigned tensor = 20; tensor < 210; tensor++)
                image[i].addresses[2][tensor] = image[i].steps[tensor] = (uint64_t)rand();
        f[i] = filled(&m[i]);
    }
    assert_memory_not_equal(&image[0], &image[1], sizeof(image[0]));
    assert_memory_equal(f[0]->params[0], f[1]->params[0], sizeof(image[0]));
    assert_int_equal(((struct new_fused *)f[0]->params[0])->start, 3);
    assert_int_equal(((struct new_fused *)f[0]->params[0])->numel[19], image[0].numel[19]);
    for (unsigned i = 0; i < 2; i++) {
        assert_ptr_equal(f[i]->params[1], m[i].pointers[1]);
        assert_ptr_equal(f[i]->params[3], m[i].pointers[3]);
        free(f[i]);
    }
}

/* ---- packed buffers ---- */

static void packed_buffers_are_filled_in_the_same_way(void **state)
{
    static struct old_two image;
    static alignas(16) unsigned char buffer[sizeof(image) + 24];
    struct made m;
    size_t bytes = sizeof(buffer);
    void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, buffer, CU_LAUNCH_PARAM_BUFFER_SIZE, &bytes, CU_LAUNCH_PARAM_END};
    make(&m, NAME("18TensorListMetadataILi2EEE"), &image, sizeof(image));
    fill_in(&m, 9, 320);
    for (unsigned i = 0; i < 4; i++)
        memcpy(buffer + m.params[i].offset_bytes, m.pointers[i], m.params[i].size_bytes);
    struct spw_filled *f = spw_structs_filled(&m.layout, m.grid, NULL, extra);
    assert_non_null(f);
    finds_just(&m, f, 9);
    free(f);
    bytes = sizeof(image) - 1; /* the struct is not all there */
    assert_null(spw_structs_filled(&m.layout, m.grid, NULL, extra));
    assert_null(spw_structs_filled(&m.layout, m.grid, m.pointers, extra));
    assert_null(spw_structs_filled(&m.layout, m.grid, NULL, NULL));
}

/* ---- anything else is scanned as a whole ---- */

static void is_doubtful(struct made *m)
{
    assert_null(filled(m));
    fill_in(m, 9, 320);
    struct spw_filled *f = filled(m);
    assert_non_null(f);
    free(f);
}

static void whatever_pytorch_would_not_make_is_scanned_whole(void **state)
{
    static struct old_two image;
    struct made m;
    make(&m, NAME("18TensorListMetadataILi2EEE"), &image, sizeof(image));
    fill_in(&m, 9, 320);
    put_block(&m, 4, 64, 0); /* there are 64 tensors */
    is_doubtful(&m);
    put_block(&m, 4, 255, 0);
    is_doubtful(&m);
    put_block(&m, 0, 1, 0);
    is_doubtful(&m);
    put_block(&m, m.grid[0] - 1, 2, 0); /* back to one that was done */
    is_doubtful(&m);
    put_block(&m, 2, 1, -1);
    is_doubtful(&m);
    put_block(&m, 2, 1, 2); /* the second chunk of two was left out */
    is_doubtful(&m);
    put_tensor(&m, 1, 0);
    is_doubtful(&m);
    put_tensor(&m, 0, -5);
    is_doubtful(&m);
    put_tensor(&m, 1, CHUNK); /* it has two chunks */
    is_doubtful(&m);
    put_tensor(&m, 1, INT64_MAX);
    is_doubtful(&m);
}

static void other_grids_are_scanned_whole(void **state)
{
    static struct old_two image;
    struct made m;
    make(&m, NAME("18TensorListMetadataILi2EEE"), &image, sizeof(image));
    fill_in(&m, 64, 320);
    m.grid[0] = 321;
    is_doubtful(&m);
    m.grid[0] = 0;
    is_doubtful(&m);
    m.grid[0]++; /* one that no tensor was put in for */
    is_doubtful(&m);
    m.grid[1] = 2;
    assert_null(filled(&m));
    m.grid[1] = 1;
    m.grid[2] = 2;
    assert_null(filled(&m));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_struct_that_pytorch_has_had_is_known_by_its_name_and_its_exact_size),
        cmocka_unit_test(other_names_are_not_known),
        cmocka_unit_test(only_the_first_parameter_is_a_list),
        cmocka_unit_test(entries_that_no_block_names_are_left_out),
        cmocka_unit_test(addresses_of_steps_and_scalars_are_left_out_with_their_tensors_only),
        cmocka_unit_test(a_full_struct_is_found_whole),
        cmocka_unit_test(tensors_may_be_begun_and_left_by_other_launches),
        cmocka_unit_test(what_is_filled_in_is_the_same_whatever_lay_behind),
        cmocka_unit_test(packed_buffers_are_filled_in_the_same_way),
        cmocka_unit_test(whatever_pytorch_would_not_make_is_scanned_whole),
        cmocka_unit_test(other_grids_are_scanned_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
