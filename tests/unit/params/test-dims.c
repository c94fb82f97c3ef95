/* test-dims.c - what a launch uses of shapes that PyTorch passes, compared with how many dimensions they have. */
#include "filled.h"
#include "structs.h"

#include <stdarg.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#define LOW   UINT64_C(0x700000000000)
#define HIGH  UINT64_C(0x700100000000)
#define STALE (LOW + 0x40000000) /* addresses from here on lie where nothing was filled in */

#define CELL \
    "_ZN2at6native38_GLOBAL__N__a6fdd1da_6_RNN_cu_eca79a6d6kernel17lstm_cell_forwardIffiLi1EEEvNS_4cuda6detail" \
    "10TensorInfoIT_T1_EES9_S9_S9_S9_S9_S9_S9_S8_S8_"
#define ADD \
    "_ZN2at6native18elementwise_kernelILi128ELi2EZNS0_22gpu_kernel_impl_nocastINS0_15CUDAFunctor_addIfEEEEvRNS_" \
    "18TensorIteratorBaseERKT_EUliE_EEviT1_"
#define ADD_AND_CONVERT \
    "_ZN2at6native18elementwise_kernelILi128ELi4EZNS0_15gpu_kernel_implINS0_15CUDAFunctor_addIfEEEEvRNS_" \
    "18TensorIteratorBaseERKT_EUliE_EEviT1_"

/* The structs as PyTorch declares them. */
#define INFO(name, number) \
    struct name { \
        uint64_t data; \
        number length[25], stride[25]; \
        int dimensions; \
    }
INFO(narrow, uint32_t);
INFO(wide, uint64_t);

struct adding { /* of three tensors */
    int dimensions;
    struct {
        uint32_t divisor, magic, shift;
    } lengths[25];
    uint32_t stride[25][3];
    uint64_t data[3];
    float alpha;
};

#define SUM \
    "_ZN2at6native13reduce_kernelILi128ELi4ENS0_8ReduceOpIfNS0_14func_wrapper_tIfZNS0_11sum_functorIfffEclERNS_" \
    "14TensorIteratorEEUlffE_EEjfLi4ELi4EEEEEvT1_"

/* ---- a launch ---- */

static struct {
    struct spw_layout layout;
    struct spw_struct known[2];
    struct spw_param params[2];
    uint16_t spans[2];
    void *pointers[2];
    uint32_t elements;
} m;

static const unsigned grid[3] = {7, 1, 1};

static void all_stale(void *image, size_t bytes)
{
    for (size_t at = 0; at + 8 <= bytes; at += 8)
        memcpy((char *)image + at, &(uint64_t){STALE + at}, 8);
}

static void make(const struct spw_param params[2], void *first, void *second)
{
    memset(&m, 0, sizeof(m));
    memcpy(m.params, params, sizeof(m.params));
    memcpy(m.pointers, ((void *[]){first, second}), sizeof(m.pointers));
    m.layout = (struct spw_layout){
        .known = true, .param_count = 2, .spans = m.spans, .params = m.params, .structs = m.known, .image_bytes = 2048};
    for (uint16_t i = 0; i < 2; i++)
        if (params[i].size_bytes > 8)
            m.spans[m.layout.span_count++] = i;
}

static void know(const char *name)
{
    for (unsigned i = 0; i < 2; i++)
        m.layout.struct_count += spw_struct_recognise(name, m.params, 2, i, &m.known[m.layout.struct_count]);
}

static unsigned scan(void *const *params, CUdeviceptr *hits)
{
    const int n = spw_scan_launch(&m.layout, params, NULL, LOW, HIGH, hits, SPW_SCAN_ROOM, NULL);
    assert_true(n >= 0);
    return (unsigned)n;
}

/* What is left of the launch leads to these addresses only. */
static void finds_just(const CUdeviceptr *addresses, unsigned count)
{
    static CUdeviceptr hits[SPW_SCAN_ROOM];
    struct spw_filled *f = spw_structs_filled(&m.layout, grid, m.pointers, NULL);
    assert_non_null(f);
    assert_int_equal(scan(f->params, hits), count);
    assert_memory_equal(hits, addresses, count * sizeof(*hits));
    free(f);
}

static void is_scanned_whole(void)
{
    assert_null(spw_structs_filled(&m.layout, grid, m.pointers, NULL));
}

/* ---- shapes of tensors ---- */

static void shapes_are_known_by_the_name_and_their_exact_size(void **state)
{
    struct spw_info s;
    for (size_t bytes = 0; bytes < 2000; bytes++) {
        assert_int_equal(spw_info_recognise(CELL, bytes, &s),
                         bytes == sizeof(struct narrow) || bytes == sizeof(struct wide));
        assert_false(spw_info_recognise(ADD, bytes, &s));
        assert_false(spw_info_recognise("_Z4mineN2at4cuda6detail10TensorInfoIfjEE", bytes, &s));
        assert_false(spw_info_recognise("_ZN2at6detail10TensorInfoIfjEE", bytes, &s));
    }
}

static struct narrow narrow[2];
static struct wide wide[2];

#define FILL_IN(info, address, count) \
    do { \
        all_stale(&(info), sizeof(info)); \
        (info).data = (address); \
        (info).dimensions = (count); \
        for (int i = 0; i < (count); i++) { \
            (info).length[i] = (unsigned)i + 1; \
            (info).stride[i] = (unsigned)i % 3; \
        } \
    } while (0)

static void make_narrow(void)
{
    make((struct spw_param[]){{0, sizeof(*narrow)}, {sizeof(*narrow), sizeof(*narrow)}}, &narrow[0], &narrow[1]);
    know(CELL);
    assert_int_equal(m.layout.struct_count, 2);
}

static void make_wide(void)
{
    make((struct spw_param[]){{0, sizeof(*wide)}, {sizeof(*wide), sizeof(*wide)}}, &wide[0], &wide[1]);
    know(CELL);
    assert_int_equal(m.layout.struct_count, 2);
}

static void dimensions_that_a_tensor_does_not_have_are_left_out(void **state)
{
    make_narrow();
    for (int dimensions = 1; dimensions <= 25; dimensions++) {
        FILL_IN(narrow[0], LOW + 16, dimensions);
        FILL_IN(narrow[1], LOW + 32, 26 - dimensions);
        finds_just((CUdeviceptr[]){LOW + 16, LOW + 32}, 2);
    }
    make_wide();
    for (int dimensions = 1; dimensions <= 25; dimensions++) {
        FILL_IN(wide[0], LOW + 16, dimensions);
        FILL_IN(wide[1], LOW + 32, 26 - dimensions);
        finds_just((CUdeviceptr[]){LOW + 16, LOW + 32}, 2);
    }
}

static void dimensions_that_a_tensor_has_are_all_there(void **state)
{
    make_wide();
    FILL_IN(wide[0], LOW + 16, 25);
    FILL_IN(wide[1], LOW + 16, 2);
    struct spw_filled *f = spw_structs_filled(&m.layout, grid, m.pointers, NULL);
    assert_memory_equal(f->params[0], &wide[0], offsetof(struct wide, dimensions) + sizeof(int));
    const struct wide *second = f->params[1];
    assert_memory_equal(second->length, wide[1].length, 16);
    assert_memory_equal(second->stride, wide[1].stride, 16);
    assert_int_equal(second->dimensions, 2);
    free(f);
}

/* What is not as it should be is left as it is, beside others that are. */
static void shapes_that_no_tensor_has_are_scanned_whole(void **state)
{
    static CUdeviceptr hits[SPW_SCAN_ROOM];
    const struct {
        int dimensions;
        int32_t length, stride;
    } wrong[] = {{0, 1, 1}, {-1, 1, 1}, {26, 1, 1}, {3, 0, 1}, {3, -4, 1}, {3, 4, -1}};
    make_narrow();
    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
        FILL_IN(narrow[0], LOW + 16, 3);
        FILL_IN(narrow[1], LOW + 32, 3);
        narrow[1].dimensions = wrong[i].dimensions;
        narrow[1].length[2] = (uint32_t)wrong[i].length;
        narrow[1].stride[2] = (uint32_t)wrong[i].stride;
        struct spw_filled *f = spw_structs_filled(&m.layout, grid, m.pointers, NULL);
        assert_non_null(f);
        assert_ptr_equal(f->params[1], &narrow[1]);
        assert_true(scan(f->params, hits) > 10);
        free(f);
        narrow[0].dimensions = 0;
        is_scanned_whole();
    }
    FILL_IN(narrow[0], LOW + 16, 25);
    FILL_IN(narrow[1], LOW + 16, 25);
    narrow[0].dimensions = narrow[1].dimensions = 26; /* the next length is the first stride */
    narrow[0].stride[0] = narrow[1].stride[0] = 1;
    is_scanned_whole();
    make_wide();
    FILL_IN(wide[0], LOW + 16, 3);
    FILL_IN(wide[1], LOW + 16, 3);
    wide[0].length[0] = UINT64_MAX;
    wide[1].length[2] = 0;
    is_scanned_whole();
}

static void packed_shapes_are_left_out_one_by_one(void **state)
{
    static CUdeviceptr hits[SPW_SCAN_ROOM];
    size_t bytes = sizeof(narrow);
    void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, narrow, CU_LAUNCH_PARAM_BUFFER_SIZE, &bytes, CU_LAUNCH_PARAM_END};
    make_narrow();
    m.layout.image_bytes = sizeof(narrow);
    FILL_IN(narrow[0], LOW + 16, 3);
    FILL_IN(narrow[1], LOW + 32, 3);
    struct spw_filled *f = spw_structs_filled(&m.layout, grid, NULL, extra);
    assert_non_null(f);
    assert_int_equal(spw_scan_launch(&m.layout, NULL, f->extra, LOW, HIGH, hits, SPW_SCAN_ROOM, NULL), 2);
    free(f);
    narrow[0].dimensions = 0;
    f = spw_structs_filled(&m.layout, grid, NULL, extra);
    assert_non_null(f);
    assert_true(spw_scan_launch(&m.layout, NULL, f->extra, LOW, HIGH, hits, SPW_SCAN_ROOM, NULL) > 10);
    free(f);
    narrow[1].dimensions = 0;
    assert_null(spw_structs_filled(&m.layout, grid, NULL, extra));
}

/* ---- elements ---- */

static struct adding adding;

static void put_divider(unsigned dimension, uint32_t divisor)
{
    uint32_t shift = 0;
    while (shift < 32 && (UINT64_C(1) << shift) < divisor)
        shift++;
    adding.lengths[dimension].divisor = divisor;
    adding.lengths[dimension].magic = (uint32_t)((UINT64_C(1) << 32) * ((UINT64_C(1) << shift) - divisor) / divisor + 1);
    adding.lengths[dimension].shift = shift;
}

/* Dimensions of so many elements. */
static void fill_in(unsigned dimensions, const uint32_t *lengths)
{
    all_stale(&adding, sizeof(adding));
    adding.dimensions = (int)dimensions;
    m.elements = 1;
    for (unsigned i = 0; i < dimensions; i++) {
        put_divider(i, lengths[i]);
        m.elements *= lengths[i];
        for (unsigned tensor = 0; tensor < 3; tensor++)
            adding.stride[i][tensor] = 4 * i + tensor;
    }
    for (unsigned tensor = 0; tensor < 3; tensor++)
        adding.data[tensor] = LOW + 16 * (tensor + 1);
    adding.alpha = 1;
}

static void make_adding(const char *name)
{
    make((struct spw_param[]){{0, 4}, {8, sizeof(adding)}}, &m.elements, &adding);
    m.pointers[0] = &m.elements;
    know(name);
    assert_int_equal(m.layout.struct_count, 1);
}

static const uint32_t lengths[] = {5, 64, 3, 1, 1000003};

static void what_elements_are_computed_from_is_known_by_the_name(void **state)
{
    struct spw_calculator s;
    struct spw_struct found;
    assert_true(spw_calculator_recognise(ADD, sizeof(adding), &s));
    assert_true(spw_calculator_recognise(ADD_AND_CONVERT, 412, &s));
    assert_false(spw_calculator_recognise(ADD, 411, &s));
    assert_false(spw_calculator_recognise(CELL, sizeof(adding), &s));
    assert_false(spw_calculator_recognise(&ADD[1], sizeof(adding), &s));
    assert_false(spw_calculator_recognise("_ZN2at6native18elementwise_kernelILi128ELi2EZNS0_4mineINS0_1fE", 640, &s));
    assert_false(
        spw_calculator_recognise("_ZN2at6native29vectorized_elementwise_kernelILi128ELi2EZNS0_15gpu_kernel_implI", 640, &s));
    make_adding(ADD_AND_CONVERT);
    assert_false(spw_struct_recognise(ADD, (struct spw_param[]){{0, 640}, {640, 640}}, 2, 0, &found));
    assert_false(spw_struct_recognise(ADD, (struct spw_param[]){{0, 8}, {8, 640}}, 2, 1, &found));
}

/* How many tensors there are is not known, so of strides what could be the first tensor's of all dimensions is left out. */
static void dimensions_that_elements_do_not_have_are_left_out(void **state)
{
    static CUdeviceptr hits[SPW_SCAN_ROOM];
    make_adding(ADD);
    for (unsigned dimensions = 1; dimensions <= 5; dimensions++) {
        fill_in(dimensions, lengths);
        struct spw_filled *f = spw_structs_filled(&m.layout, grid, m.pointers, NULL);
        assert_non_null(f);
        const struct adding *left = f->params[1];
        assert_memory_equal(left, &adding, 4 + 12 * dimensions);
        assert_memory_equal(left->stride, adding.stride, 12 * dimensions);
        assert_memory_equal((const char *)left + 404, (const char *)&adding + 404, sizeof(adding) - 404);
        for (unsigned at = 4 + 12 * dimensions; at < 304; at++)
            assert_int_equal(((const unsigned char *)left)[at], 0);
        for (unsigned at = 304 + 12 * dimensions; at < 404; at++)
            assert_int_equal(((const unsigned char *)left)[at], 0);
        assert_true(scan(f->params, hits) + 30 < scan(m.pointers, hits));
        free(f);
    }
}

static void many_dimensions_are_all_there(void **state)
{
    static const uint32_t many[25] = {2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 3};
    make_adding(ADD);
    fill_in(25, many);
    struct spw_filled *f = spw_structs_filled(&m.layout, grid, m.pointers, NULL);
    assert_non_null(f);
    assert_memory_equal(f->params[1], &adding, sizeof(adding));
    free(f);
}

static void dividers_that_are_none_have_everything_scanned(void **state)
{
    make_adding(ADD);
    for (unsigned i = 0; i < 8; i++) {
        fill_in(3, lengths);
        adding.dimensions += i == 0 ? 1 : i == 1 ? -1 : 0;
        adding.dimensions = i == 2 ? 0 : i == 3 ? 26 : adding.dimensions;
        adding.lengths[2].divisor += i == 4;
        adding.lengths[1].magic += i == 5;
        adding.lengths[0].shift += i == 6;
        m.elements += i == 7;
        is_scanned_whole();
    }
    fill_in(0, lengths);
    is_scanned_whole();
    fill_in(3, lengths);
    adding.lengths[1].divisor = 0;
    is_scanned_whole();
    m.elements = 0;
    is_scanned_whole();
    fill_in(3, (uint32_t[]){0x80000000, 0x80000000, 4}); /* 2^64 elements, if one does not look */
    m.elements = 0;
    is_scanned_whole();
    fill_in(1, (uint32_t[]){0xfffffffe});
    struct spw_filled *f = spw_structs_filled(&m.layout, grid, m.pointers, NULL);
    assert_non_null(f);
    free(f);
}

/* ---- reductions ---- */

enum { SUM_BYTES = 1048, SUM_TAIL = 984, CALCULATOR_1 = 404, CALCULATOR_2 = 504 };
static unsigned char summing[SUM_BYTES];

/* A calculator for so many tensors, the rest of which is stale. */
static void put_calculator(size_t at, unsigned dimensions, unsigned tensors)
{
    fill_in(dimensions, lengths);
    memcpy(summing + at, &adding, 4 + 12 * dimensions);
    for (unsigned i = 0; i < dimensions * tensors; i++)
        memcpy(summing + at + 304 + 4 * i, &(uint32_t){4 * i}, 4);
}

/* With so many bytes between what it computes from and its addresses. */
static void make_summing(unsigned gap, unsigned of_input, unsigned of_output)
{
    const size_t output = SUM_TAIL - gap - CALCULATOR_2, input = output - CALCULATOR_1;
    all_stale(summing, sizeof(summing));
    memset(summing, 1, input);
    put_calculator(input, of_input, 1);
    put_calculator(output, of_output, 2);
    for (unsigned i = 0; i < 8; i++)
        memcpy(summing + SUM_TAIL + (size_t)8 * i, &(uint64_t){LOW + 16 * i}, 8);
    make((struct spw_param[]){{0, SUM_BYTES}, {SUM_BYTES, 8}}, summing, &m.elements);
    m.layout.param_count = m.layout.span_count = 1;
    know(SUM);
    assert_int_equal(m.layout.struct_count, 1);
}

static void reductions_are_known_by_the_name(void **state)
{
    struct spw_reduction s;
    struct spw_struct found;
    assert_true(spw_reduction_recognise(SUM, SUM_BYTES, &s));
    assert_true(spw_reduction_recognise(SUM, 976, &s));
    assert_false(spw_reduction_recognise(SUM, 968, &s));
    assert_false(spw_reduction_recognise(SUM, SUM_BYTES + 4, &s));
    assert_false(spw_reduction_recognise(ADD, SUM_BYTES, &s));
    assert_false(spw_reduction_recognise("_ZN2at6native13reduce_kernelILi128ELi4ENS0_4MineIfE", SUM_BYTES, &s));
    assert_false(spw_struct_recognise(SUM, (struct spw_param[]){{0, 8}, {8, SUM_BYTES}}, 2, 1, &found));
}

static void dimensions_that_reductions_do_not_have_are_left_out(void **state)
{
    for (unsigned gap = 0; gap <= 4; gap += 4)
        for (unsigned of_input = 1; of_input <= 4; of_input++)
            for (unsigned of_output = 1; of_output <= 4; of_output++) {
                const size_t output = SUM_TAIL - gap - CALCULATOR_2, input = output - CALCULATOR_1;
                make_summing(gap, of_input, of_output);
                struct spw_filled *f = spw_structs_filled(&m.layout, grid, m.pointers, NULL);
                assert_non_null(f);
                const unsigned char *left = f->params[0];
                for (size_t at = 0; at < SUM_BYTES; at++) {
                    const size_t calculator = at < output ? input : output, of = at < output ? of_input : of_output;
                    const size_t strides = (at < output ? 4 : 8) * of, place = at - calculator;
                    const bool is_used =
                        at < input || at >= SUM_TAIL - gap || place < 4 + 12 * of || (place >= 304 && place < 304 + strides);
                    assert_int_equal(left[at], is_used ? summing[at] : 0);
                }
                free(f);
            }
}

static void reductions_without_proper_calculators_are_scanned_whole(void **state)
{
    const size_t output = SUM_TAIL - CALCULATOR_2, input = output - CALCULATOR_1;
    static const unsigned wrong_dimensions[] = {0, 26, 3};
    for (unsigned second = 0; second < 2; second++) {
        const size_t at = second ? output : input;
        for (unsigned i = 0; i < 3; i++) {
            make_summing(0, 2, 2);
            memcpy(summing + at, &wrong_dimensions[i], 4);
            assert_null(spw_structs_filled(&m.layout, grid, m.pointers, NULL));
        }
        for (unsigned word = 0; word < 6; word++) {
            make_summing(0, 2, 2);
            summing[at + 4 + (size_t)4 * word]++;
            assert_null(spw_structs_filled(&m.layout, grid, m.pointers, NULL));
        }
    }
    make_summing(0, 2, 2);
    memcpy(summing + input, &(uint32_t){26}, 4); /* the last divider lies where strides begin */
    for (size_t i = 0; i < 26; i++)
        memcpy(summing + input + 4 + 12 * i, ((uint32_t[]){1, 1, 0}), 12);
    assert_null(spw_structs_filled(&m.layout, grid, m.pointers, NULL));
    make_summing(0, 2, 2);
    memmove(summing + input - 8, summing + input, CALCULATOR_1 + CALCULATOR_2); /* elsewhere than it should be */
    assert_null(spw_structs_filled(&m.layout, grid, m.pointers, NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shapes_are_known_by_the_name_and_their_exact_size),
        cmocka_unit_test(dimensions_that_a_tensor_does_not_have_are_left_out),
        cmocka_unit_test(dimensions_that_a_tensor_has_are_all_there),
        cmocka_unit_test(shapes_that_no_tensor_has_are_scanned_whole),
        cmocka_unit_test(packed_shapes_are_left_out_one_by_one),
        cmocka_unit_test(what_elements_are_computed_from_is_known_by_the_name),
        cmocka_unit_test(dimensions_that_elements_do_not_have_are_left_out),
        cmocka_unit_test(many_dimensions_are_all_there),
        cmocka_unit_test(dividers_that_are_none_have_everything_scanned),
        cmocka_unit_test(reductions_are_known_by_the_name),
        cmocka_unit_test(dimensions_that_reductions_do_not_have_are_left_out),
        cmocka_unit_test(reductions_without_proper_calculators_are_scanned_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
