/* test-casts.c - types that PyTorch's kernels convert from and to are numbers, by the kernel's name and their sizes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "driver.h"
#include "layout.h"
#include "scan.h"

/* PyTorch 2.11's names of kernels that convert, and 2.0's, of which the number of elements was no argument. */
#define COPY(loaded, stored) \
    "_ZN2at6native27unrolled_elementwise_kernelIZZZNS0_23direct_copy_kernel_cudaERNS_18TensorIteratorBaseEENKUlvE1_" \
    "clEvENKUl" \
    "vE5_clEvEUlfE_St5arrayIPcLm2EELi4E23TrivialOffsetCalculatorILi1EjESB_NS0_6memory12LoadWithCastILi" loaded \
    "EEENSC_13StoreWithCastILi" stored "EEEEEviT_T0_T2_T3_T4_T5_"
#define OLD_FILL \
    "_ZN2at6native27unrolled_elementwise_kernelINS0_11FillFunctorIfEENS_6detail5ArrayIPcLi1EEE23TrivialOffsetCalculatorI" \
    "Li1EjES8_NS0_6memory12LoadWithCastILi1EEENS9_13StoreWithCastILi1EEEEEviT_T0_T1_T2_T3_T4_"

/* A handle is the address of one of these. */
struct kernel {
    const char *name;
    unsigned count;
    struct spw_param params[8];
};

static const struct kernel converting[] = {
    {COPY("1", "1"), 7, {{0, 4}, {4, 1}, {8, 16}, {24, 1}, {25, 1}, {28, 8}, {36, 8}}},
    {COPY("2", "1"), 7, {{0, 4}, {4, 1}, {8, 24}, {32, 1}, {33, 1}, {36, 12}, {48, 8}}},
    {COPY("5", "1"), 7, {{0, 4}, {4, 1}, {8, 48}, {56, 1}, {57, 1}, {60, 28}, {88, 8}}},
};
static const struct kernel filling = {OLD_FILL, 7, {{0, 4}, {4, 1}, {8, 8}, {16, 1}, {17, 1}, {20, 8}, {28, 8}}};
static const struct kernel like_filling = {"three_words", 7, {{0, 4}, {4, 1}, {8, 8}, {16, 1}, {17, 1}, {20, 8}, {28, 8}}};

/* Other sizes, another number of parameters, another type of the last ones, another function. */
static const struct kernel others[] = {
    {COPY("2", "1"), 7, {{0, 4}, {4, 1}, {8, 16}, {24, 1}, {25, 1}, {28, 8}, {36, 8}}},
    {COPY("1", "1"), 8, {{0, 4}, {4, 1}, {8, 16}, {24, 1}, {25, 1}, {28, 8}, {36, 8}, {44, 8}}},
    {COPY("1", "1") "PKf", 8, {{0, 4}, {4, 1}, {8, 16}, {24, 1}, {25, 1}, {28, 8}, {36, 8}, {44, 8}}},
    {"my_" COPY("1", "1"), 7, {{0, 4}, {4, 1}, {8, 16}, {24, 1}, {25, 1}, {28, 8}, {36, 8}}},
    {NULL, 7, {{0, 4}, {4, 1}, {8, 16}, {24, 1}, {25, 1}, {28, 8}, {36, 8}}},
};
enum { OTHERS = sizeof(others) / sizeof(*others) };

static CUresult CUDAAPI param_of(CUfunction f, size_t index, size_t *offset, size_t *size)
{
    const struct kernel *k = (const void *)f;
    if (index >= k->count)
        return CUDA_ERROR_INVALID_VALUE;
    *offset = k->params[index].offset_bytes;
    *size = k->params[index].size_bytes;
    return CUDA_SUCCESS;
}

static CUresult CUDAAPI name_of(const char **name, CUfunction f)
{
    *name = ((const struct kernel *)(const void *)f)->name;
    return *name ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

static int setup(void **state)
{
    spw_driver.cuFuncGetParamInfo = param_of;
    spw_driver.cuFuncGetName = name_of;
    return 0;
}

static const struct spw_layout *layout_of(const struct kernel *k)
{
    return spw_layout_of((CUfunction)(uintptr_t)k);
}

static void assert_addresses_are_in(const struct spw_layout *l, unsigned words, unsigned spans)
{
    assert_true(l->known);
    assert_int_equal(l->word_count, words);
    assert_int_equal(l->span_count, spans);
    assert_int_equal(l->plain, spans == 0);
}

static void types_that_are_converted_are_numbers_of_any_size(void **state)
{
    for (unsigned k = 0; k < 3; k++) {
        const struct spw_layout *l = layout_of(&converting[k]);
        assert_addresses_are_in(l, 0, 1);
        assert_false(l->loose);
        for (unsigned i = 0; i < l->param_count; i++)
            assert_int_equal(spw_layout_is_number(l, i), i >= 5);
        assert_int_equal(l->image_bytes, l->params[6].offset_bytes + 8);
    }
}

/* With one tensor, which is a word, nothing but the name tells the kernel from others. */
static void a_layout_is_shared_with_those_alone_whose_name_says_the_same(void **state)
{
    assert_addresses_are_in(layout_of(&filling), 1, 0);
    assert_addresses_are_in(layout_of(&like_filling), 3, 0);
}

static void other_parameters_may_be_addresses(void **state)
{
    for (unsigned k = 0; k < OTHERS; k++) {
        const struct spw_layout *l = layout_of(&others[k]);
        assert_int_equal(l->numbers, 0);
        assert_addresses_are_in(l, others[k].count == 8 ? 3 : 2, 1);
    }
}

/* A type of 6, three bytes that nobody wrote, and a size of 4. */
static void a_type_that_looks_like_an_address_is_no_hit(void **state)
{
    uint64_t looks_like = UINT64_C(0x0000000453b63006), tensors[2] = {UINT64_C(0x400000000), UINT64_C(0x500000000)};
    uint32_t count = 1, nothing = 0;
    void *params[] = {&count, &nothing, tensors, &nothing, &nothing, &looks_like, &looks_like};
    CUdeviceptr hits[SPW_SCAN_ROOM];
    assert_int_equal(spw_scan_launch(layout_of(&converting[0]), params, NULL, UINT64_C(0x300000000), UINT64_C(0x600000000),
                                     hits, SPW_SCAN_ROOM, NULL),
                     2);
    assert_int_equal(hits[0], tensors[0]);
    assert_int_equal(hits[1], tensors[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(types_that_are_converted_are_numbers_of_any_size),
        cmocka_unit_test(a_layout_is_shared_with_those_alone_whose_name_says_the_same),
        cmocka_unit_test(other_parameters_may_be_addresses),
        cmocka_unit_test(a_type_that_looks_like_an_address_is_no_hit),
    };
    return cmocka_run_group_tests_name("casts", tests, setup, NULL);
}
