/* test-inputs.c - what a launch uses of what PyTorch concatenates, compared with how many inputs its grid tells of. */
#include "filled.h"
#include "structs.h"

#include <stdarg.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#define LOW   UINT64_C(0x700000000000)
#define HIGH  UINT64_C(0x700100000000)
#define STALE (LOW + 0x40000000) /* addresses from here on are of no input */

/* A complete name, but for the kernel with the length of its name, and the numbers of dimensions, inputs and shapes. */
#define NAMED(kernel, element, rest) \
    "_ZN2at6native40_GLOBAL__N__f1f992fe_8_Shape_cu_49f7391c" kernel "INS1_10OpaqueTypeILj" element "EEEj" rest \
    "EEvPT_NS1_25CatArrInputTensorMetadataIS5_T0_XT2_EXT3_EEENS1_16TensorSizeStrideIS8_Lj4EEEiS8_"
#define STRIDED    NAMED("19CatArrayBatchedCopy", "4", "Li2ELi64ELi64E")
#define CONTIGUOUS NAMED("35CatArrayBatchedCopy_alignedK_contig", "4", "Li1ELi128ELi1ELi16E")

/* The struct as PyTorch declares it. */
struct shape {
    uint32_t length[4], stride[4];
};
#define STRUCT(name, inputs, shapes) \
    struct name { \
        uint64_t input[inputs]; \
        uint32_t offset[inputs], length[inputs], elements[inputs]; \
        bool is_contiguous[inputs]; \
        struct shape shape[shapes]; \
    }
STRUCT(contiguous, 128, 1);
STRUCT(strided, 64, 64);

/* ---- names and sizes ---- */

static void every_kernel_for_concatenation_is_known_by_its_name_and_its_exact_size(void **state)
{
    static const struct {
        const char *name;
        size_t bytes;
        unsigned inputs, shapes, dimensions;
    } known[] = {
        {STRIDED, sizeof(struct strided), 64, 64, 2},
        {CONTIGUOUS, sizeof(struct contiguous), 128, 1, 1},
        {NAMED("26CatArrayBatchedCopy_contig", "16", "Li4ELi128ELi1E"), 2720, 128, 1, 4},
        {NAMED("30CatArrayBatchedCopy_vectorized", "2", "Li3ELi128ELi1ELi16ELi8E"), 2720, 128, 1, 3},
        {NAMED("36CatArrayBatchedCopy_aligned16_contig", "4", "Li1ELi128ELi1E"), 2720, 128, 1, 1},
        {NAMED("19CatArrayBatchedCopy", "1", "Li1ELi64ELi64E"), 3392, 64, 64, 1},
    };
    struct spw_inputs s;
    for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
        for (size_t bytes = 0; bytes < SPW_PARAMS_MAX_BYTES; bytes++) {
            if (spw_inputs_recognise(known[i].name, bytes, &s) != (bytes == known[i].bytes))
                fail_msg("%s of %zu bytes", known[i].name, bytes);
            if (bytes != known[i].bytes)
                continue;
            assert_int_equal(s.inputs, known[i].inputs);
            assert_int_equal(s.shapes, known[i].shapes);
            assert_int_equal(s.dimensions, known[i].dimensions);
        }
}

static void other_names_are_not_known(void **state)
{
    static const char *const names[] = {
        "",
        "_ZN2at6native",
        "_Z19CatArrayBatchedCopyINS1_10OpaqueTypeILj4EEEjLi1ELi64ELi64EEEvPT_NS1_25CatArrInputTensorMetadataIS5_EE",
        NAMED("20CatArrayBatchedCopyX", "4", "Li2ELi64ELi64E"),
        NAMED("19CatArrayBatchedCopy", "", "Li2ELi64ELi64E"),
        NAMED("19CatArrayBatchedCopy", "4", "Li0ELi64ELi64E"),
        NAMED("19CatArrayBatchedCopy", "4", "Li5ELi64ELi64E"),
        NAMED("19CatArrayBatchedCopy", "4", "Li2ELi64ELi32E"),
        NAMED("19CatArrayBatchedCopy", "4", "Li2ELi1ELi1E"),
        NAMED("19CatArrayBatchedCopy", "4", "Li2ELi64E"),
        NAMED("19CatArrayBatchedCopy", "4", "Li2Ej64ELi64E"),
        NAMED("19CatArrayBatchedCopy", "4", "Li2ELi64FLi64E"),
        NAMED("19CatArrayBatchedCopy", "4", "Li2ELi99999999999999999999ELi1E"),
        ("_ZN2at6native12_GLOBAL__N_119CatArrayBatchedCopyINS1_10OpaqueTypeILj4EEEmLi1ELi64ELi64EEEv"
         "25CatArrInputTensorMetadataI"),
        "_ZN2at6native12_GLOBAL__N_119CatArrayBatchedCopyIfjLi1ELi64ELi64EEEvPT_NS1_25CatArrInputTensorMetadataIS5_EEE",
        "_ZN2at6native12_GLOBAL__N_119CatArrayBatchedCopyINS1_10OpaqueTypeILj4EEEjLi1ELi64ELi64EEEvPT_NS1_5OtherIS5_EEE"};
    struct spw_inputs s;
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        for (size_t bytes = 0; bytes < SPW_PARAMS_MAX_BYTES; bytes++)
            if (spw_inputs_recognise(names[i], bytes, &s))
                fail_msg("'%s' is recognised, of %zu bytes", names[i], bytes);
}

/* ---- launches ---- */

static struct {
    struct spw_layout layout;
    struct spw_struct known;
    struct spw_param params[5];
    uint16_t words[1], spans[2];
    void *pointers[5];
    CUdeviceptr output;
    struct shape output_shape;
    uint32_t numbers[2];
    unsigned grid[3];
} m;

static void make(const char *name, void *image, size_t bytes)
{
    const uint16_t end = (uint16_t)(8 + bytes);
    memset(&m, 0, sizeof(m));
    memcpy(m.params,
           ((struct spw_param[]){
               {0, 8}, {8, (uint16_t)bytes}, {end, 32}, {(uint16_t)(end + 32), 4}, {(uint16_t)(end + 36), 4}}),
           sizeof(m.params));
    assert_true(spw_struct_recognise(name, m.params, 5, 1, &m.known));
    assert_int_equal(m.known.param, 1);
    m.output = LOW + 8;
    memcpy(m.pointers, ((void *[]){&m.output, image, &m.output_shape, &m.numbers[0], &m.numbers[1]}), sizeof(m.pointers));
    m.spans[0] = 1;
    m.spans[1] = 2;
    memcpy(m.grid, ((unsigned[]){216, 1, 1}), sizeof(m.grid));
    m.layout = (struct spw_layout){.known = true,
                                   .param_count = 5,
                                   .word_count = 1,
                                   .span_count = 2,
                                   .image_bytes = (uint16_t)(end + 40),
                                   .words = m.words,
                                   .spans = m.spans,
                                   .params = m.params,
                                   .struct_count = 1,
                                   .structs = &m.known};
}

static CUdeviceptr address_of(unsigned input)
{
    return LOW + 0x1000 + input * 16;
}

static void all_stale(void *image, size_t bytes)
{
    for (size_t at = 0; at + 8 <= bytes; at += 8)
        memcpy((char *)image + at, &(uint64_t){STALE + at}, 8);
}

static struct contiguous one;
static struct strided two;

/* Inputs of 1, 2, ... rows of three elements; they begin behind `before` rows of launches before. */
static void fill_in_one(unsigned inputs, uint32_t before)
{
    all_stale(&one, sizeof(one));
    for (unsigned i = 0; i < inputs; before += ++i) {
        one.input[i] = address_of(i);
        one.offset[i] = before;
        one.length[i] = i + 1;
        one.elements[i] = 3 * (i + 1);
        one.is_contiguous[i] = true;
    }
    m.grid[1] = inputs;
}

static void fill_in_two(unsigned inputs)
{
    all_stale(&two, sizeof(two));
    for (unsigned i = 0; i < inputs; i++) {
        two.input[i] = address_of(i);
        two.offset[i] = 5 * i;
        two.length[i] = 5;
        two.elements[i] = 35;
        two.is_contiguous[i] = false;
        memcpy(two.shape[i].length, ((uint32_t[]){5, 7}), 8);
        memcpy(two.shape[i].stride, ((uint32_t[]){1, 5}), 8);
    }
    m.grid[1] = inputs;
}

static struct spw_filled *filled(void)
{
    return spw_structs_filled(&m.layout, m.grid, m.pointers, NULL);
}

static void finds_just(unsigned inputs)
{
    static CUdeviceptr hits[SPW_SCAN_ROOM];
    struct spw_filled *f = filled();
    assert_non_null(f);
    const int n = spw_scan_launch(&m.layout, f->params, f->extra, LOW, HIGH, hits, SPW_SCAN_ROOM, NULL);
    assert_int_equal(n, inputs + 1);
    assert_int_equal(hits[0], m.output);
    for (unsigned i = 0; i < inputs; i++)
        assert_int_equal(hits[1 + i], address_of(i));
    assert_ptr_equal(f->params[0], &m.output);
    assert_ptr_equal(f->params[2], &m.output_shape);
    free(f);
}

static void inputs_that_no_block_is_for_are_left_out(void **state)
{
    make(CONTIGUOUS, &one, sizeof(one));
    for (unsigned inputs = 2; inputs <= 128; inputs++) {
        fill_in_one(inputs, inputs % 3 ? 0 : 1000);
        finds_just(inputs);
    }
    make(STRIDED, &two, sizeof(two));
    for (unsigned inputs = 2; inputs <= 64; inputs++) {
        fill_in_two(inputs);
        finds_just(inputs);
    }
}

static void what_blocks_look_at_is_all_there(void **state)
{
    make(STRIDED, &two, sizeof(two));
    fill_in_two(9);
    struct spw_filled *f = filled();
    const struct strided *s = f->params[1];
    for (unsigned i = 0; i < 9; i++) {
        assert_int_equal(s->offset[i], two.offset[i]);
        assert_int_equal(s->length[i], two.length[i]);
        assert_int_equal(s->elements[i], two.elements[i]);
        assert_memory_equal(s->shape[i].length, two.shape[i].length, 8);
        assert_memory_equal(s->shape[i].stride, two.shape[i].stride, 8);
    }
    free(f);
    make(CONTIGUOUS, &one, sizeof(one));
    fill_in_one(128, 7);
    f = filled();
    assert_memory_equal(f->params[1], &one, offsetof(struct contiguous, shape));
    free(f);
}

/* PyTorch passes an empty tensor on with the others. */
static void inputs_may_be_empty(void **state)
{
    make(CONTIGUOUS, &one, sizeof(one));
    fill_in_one(4, 0);
    one.length[2] = one.elements[2] = 0;
    one.offset[3] = one.offset[2];
    finds_just(4);
    one.input[2] = 0;
    struct spw_filled *f = filled();
    assert_non_null(f);
    free(f);
}

static void is_doubtful(void)
{
    assert_null(filled());
    fill_in_one(5, 0);
    finds_just(5);
}

static void whatever_pytorch_would_not_fill_in_is_scanned_whole(void **state)
{
    make(CONTIGUOUS, &one, sizeof(one));
    fill_in_one(5, 0);
    one.offset[1]++;
    is_doubtful();
    one.offset[4]--;
    is_doubtful();
    one.length[2]++;
    is_doubtful();
    one.length[4]++;
    is_doubtful();
    one.length[4] = 0;
    is_doubtful();
    one.elements[4] = 0;
    is_doubtful();
    one.elements[0] = 0;
    is_doubtful();
    one.elements[4]++;
    is_doubtful();
    one.elements[4] += one.length[4]; /* another shape than the others' */
    is_doubtful();
    one.is_contiguous[3] = false;
    is_doubtful();
    one.input[4] = 0;
    is_doubtful();
    for (unsigned i = 0; i < 5; i++)
        one.offset[i] = one.length[i] = one.elements[i] = 0;
    is_doubtful();
}

/* What lies behind the arrays looks like one more input. */
static void more_inputs_than_there_is_room_for_are_none(void **state)
{
    const uint32_t ones = 0x01010101;
    make(CONTIGUOUS, &one, sizeof(one));
    fill_in_one(128, 0);
    for (unsigned i = 0; i < 128; i++) {
        one.offset[i] = i ? ones : 0;
        one.length[i] = one.elements[i] = i ? 0 : ones;
    }
    one.shape[0].length[0] = 1;
    struct spw_filled *f = filled();
    assert_non_null(f);
    free(f);
    m.grid[1] = 129;
    is_doubtful();
}

static void other_grids_are_scanned_whole(void **state)
{
    make(CONTIGUOUS, &one, sizeof(one));
    fill_in_one(128, 0);
    m.grid[1] = 129;
    is_doubtful();
    m.grid[1] = 6; /* one more than were filled in */
    is_doubtful();
    m.grid[1] = 0;
    is_doubtful();
    m.grid[1] = 1; /* it might be anything */
    is_doubtful();
    m.grid[2] = 2;
    assert_null(filled());
}

static void other_parameters_of_the_kernel_are_none(void **state)
{
    struct spw_struct s;
    make(CONTIGUOUS, &one, sizeof(one));
    m.params[0].size_bytes = m.params[1].size_bytes;
    assert_false(spw_struct_recognise(CONTIGUOUS, m.params, 5, 0, &s));
    assert_false(spw_struct_recognise(CONTIGUOUS, m.params, 1, 1, &s));
}

/* ---- what they are concatenated to ---- */

static void the_shape_of_the_result_is_known_by_its_place_and_its_size(void **state)
{
    struct spw_inputs s;
    struct spw_struct found;
    struct spw_param params[] = {{0, 8}, {8, 32}, {40, 32}, {72, 32}};
    for (size_t bytes = 0; bytes < 64; bytes++)
        assert_int_equal(spw_result_recognise(STRIDED, bytes, &s), bytes == sizeof(struct shape));
    assert_int_equal(s.dimensions, 2);
    assert_false(spw_result_recognise("_ZN2at6native13reduce_kernelILi128ELi4E", 32, &s));
    assert_false(spw_result_recognise(&STRIDED[1], 32, &s));
    for (unsigned param = 0; param < 4; param++)
        assert_int_equal(spw_struct_recognise(STRIDED, params, 4, param, &found), param == 2);
}

static void dimensions_that_the_result_does_not_have_are_left_out(void **state)
{
    const struct shape from = {{5, 6, 7, 8}, {1, 0, 30, 210}};
    for (uint16_t dimensions = 1; dimensions <= 4; dimensions++) {
        const struct spw_inputs s = {.inputs = 128, .shapes = 1, .dimensions = dimensions};
        struct shape to = {{0}, {0}}, empty = from;
        assert_true(spw_result_copy_used(&s, (const unsigned char *)&from, (unsigned char *)&to));
        for (unsigned i = 0; i < 4; i++) {
            assert_int_equal(to.length[i], i < dimensions ? from.length[i] : 0);
            assert_int_equal(to.stride[i], i < dimensions ? from.stride[i] : 0);
        }
        memset(&to, 0, sizeof(to));
        empty.length[dimensions - 1] = 0;
        assert_false(spw_result_copy_used(&s, (const unsigned char *)&empty, (unsigned char *)&to));
        assert_int_equal(to.length[0], 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kernel_for_concatenation_is_known_by_its_name_and_its_exact_size),
        cmocka_unit_test(other_names_are_not_known),
        cmocka_unit_test(inputs_that_no_block_is_for_are_left_out),
        cmocka_unit_test(what_blocks_look_at_is_all_there),
        cmocka_unit_test(inputs_may_be_empty),
        cmocka_unit_test(whatever_pytorch_would_not_fill_in_is_scanned_whole),
        cmocka_unit_test(more_inputs_than_there_is_room_for_are_none),
        cmocka_unit_test(other_grids_are_scanned_whole),
        cmocka_unit_test(other_parameters_of_the_kernel_are_none),
        cmocka_unit_test(the_shape_of_the_result_is_known_by_its_place_and_its_size),
        cmocka_unit_test(dimensions_that_the_result_does_not_have_are_left_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
