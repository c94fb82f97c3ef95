/* test-layout.c - parameter layouts against a driver that is two small lists: functions and kernels. */
#include "layout.h"

#include <stdarg.h>
#include <setjmp.h>
#include <stdio.h>
#include <cmocka.h>
#include <malloc.h>
#include <pthread.h>

#include "driver.h"
#include "failing-memory.h"
#include "structs.h"

/* ---- the driver ---- */

struct fake {
    const char *name;
    unsigned count;
    struct {
        size_t offset, size;
    } params[8];
};

#define LISTS(n) \
    "_ZN2at6native12_GLOBAL__N_125multi_tensor_apply_kernelINS1_18TensorListMetadataILi" n "EEENS1_3AddEJEEEvT_T0_DpT1_"

/* Handles are addresses of these; a fake is a function when it is in `functions`, a kernel when in `kernels`. */
static struct fake functions[] = {
    {"plain", 3, {{0, 8}, {8, 4}, {16, 8}}},
    {"structs", 5, {{0, 8}, {8, 1}, {16, 600}, {616, 12}, {628, 8}}},
    {"nothing", 0},
    {"like_plain", 3, {{0, 8}, {8, 4}, {16, 8}}},
    {"structs", 5, {{0, 8}, {8, 1}, {16, 600}, {616, 12}, {628, 8}}}, /* of another module */
    {"structs_too", 5, {{0, 8}, {8, 1}, {16, 600}, {616, 12}, {628, 8}}},
    {"structs", 5, {{0, 8}, {8, 1}, {16, 600}, {616, 12}, {632, 8}}},
    {NULL, 1, {{0, 16}}},
    {NULL, 1, {{0, 16}}},
    {LISTS("2"), 2, {{0, 24200}, {24200, 1}}},
    {LISTS("3"), 2, {{0, 24200}, {24200, 1}}}, /* more lists, of fewer tensors */
    {"other", 2, {{0, 24200}, {24200, 1}}},
    {"_ZN2at6native4cellIfEEvNS_4cuda6detail10TensorInfoIfjEE", 4, {{0, 216}, {216, 32}, {248, 416}, {664, 8}}},
};
enum { FUNCTIONS = sizeof(functions) / sizeof(*functions) };
static struct fake kernels[] = {
    {"map", 2, {{0x70, 128}, {0xf0, 8}}},
    {"empty_kernel", 0},
    {"map", 2, {{0x70, 128}, {0xf0, 8}}},
    {"map_too", 2, {{0x70, 128}, {0xf0, 8}}},
    {"structs", 5, {{0, 8}, {8, 1}, {16, 600}, {616, 12}, {628, 8}}},
    {LISTS("2"), 2, {{0, 24200}, {24200, 1}}},
};
enum { KERNELS = sizeof(kernels) / sizeof(*kernels) };
static unsigned asked;
static CUresult broken; /* what every question is answered with, when it is not CUDA_SUCCESS */

static CUresult param_info(const struct fake *list, size_t length, const void *handle, size_t i, size_t *offset,
                           size_t *size)
{
    const struct fake *f = handle;
    asked++;
    if (broken)
        return broken;
    if (f < list || f >= list + length)
        return CUDA_ERROR_INVALID_VALUE; /* as misleading as a driver may be */
    if (i >= f->count)
        return CUDA_ERROR_INVALID_VALUE;
    *offset = f->params[i].offset;
    *size = f->params[i].size;
    return CUDA_SUCCESS;
}

static CUresult func_param_info(CUfunction f, size_t i, size_t *offset, size_t *size)
{
    return param_info(functions, FUNCTIONS, f, i, offset, size);
}

static CUresult kernel_param_info(CUkernel k, size_t i, size_t *offset, size_t *size)
{
    return param_info(kernels, KERNELS, k, i, offset, size);
}

static CUresult func_name(const char **name, CUfunction f)
{
    const struct fake *fake = (const void *)f;
    if (fake < functions || fake >= functions + FUNCTIONS || !fake->name)
        return CUDA_ERROR_INVALID_HANDLE;
    *name = fake->name;
    return CUDA_SUCCESS;
}

static CUresult kernel_name(const char **name, CUkernel k)
{
    const struct fake *fake = (const void *)k;
    if (fake < kernels || fake >= kernels + KERNELS)
        return CUDA_ERROR_INVALID_HANDLE;
    *name = fake->name;
    return CUDA_SUCCESS;
}

static int setup(void **state)
{
    spw_layout_forget_all();
    broken = CUDA_SUCCESS;
    asked = 0;
    spw_driver.cuFuncGetParamInfo = func_param_info;
    spw_driver.cuKernelGetParamInfo = kernel_param_info;
    spw_driver.cuFuncGetName = func_name;
    spw_driver.cuKernelGetName = kernel_name;
    return 0;
}

static CUfunction function(unsigned i)
{
    return (CUfunction)&functions[i];
}

static CUfunction kernel(unsigned i)
{
    return (CUfunction)&kernels[i];
}

/* ---- what is known ---- */

static void pointers_are_words_and_short_parameters_are_skipped(void **state)
{
    const struct spw_layout *l = spw_layout_of(function(0));
    assert_true(l->known);
    assert_int_equal(l->param_count, 3);
    assert_int_equal(l->word_count, 2);
    assert_int_equal(l->words[0], 0);
    assert_int_equal(l->words[1], 2);
    assert_int_equal(l->span_count, 0);
    assert_int_equal(l->image_bytes, 24);
    assert_false(l->loose);
    assert_int_equal(l->params[1].offset_bytes, 8);
    assert_int_equal(l->params[1].size_bytes, 4);
}

static void each_structure_that_is_known_is_found(void **state)
{
    const struct spw_layout *l = spw_layout_of(function(12));
    assert_int_equal(l->span_count, 3);
    assert_int_equal(l->struct_count, 2);
    assert_int_equal(l->structs[0].param, 0);
    assert_int_equal(l->structs[0].info.number_bytes, 4);
    assert_int_equal(l->structs[1].param, 2);
    assert_int_equal(l->structs[1].info.number_bytes, 8);
}

static void lists_of_tensors_are_known_by_the_name_and_shared_by_those_alike_only(void **state)
{
    const struct spw_layout *two = spw_layout_of(function(9)), *three = spw_layout_of(function(10));
    assert_int_equal(two->structs[0].lists.lists, 2);
    assert_int_equal(two->structs[0].lists.tensors, 448);
    assert_int_equal(three->structs[0].lists.lists, 3);
    assert_int_equal(three->structs[0].lists.tensors, 336);
    assert_int_equal(two->struct_count, 1);
    assert_int_equal(spw_layout_of(function(11))->struct_count, 0);
    assert_int_equal(spw_layout_of(function(0))->struct_count, 0);
    assert_ptr_equal(spw_layout_of(kernel(5)), two);
    assert_int_equal(two->param_count, 2);
    assert_int_equal(two->span_count, 1);
}

/* A size that is no multiple of 8 shows that the struct is aligned to less. */
static void structs_are_spans_and_their_alignment_shows(void **state)
{
    const struct spw_layout *l = spw_layout_of(function(1));
    assert_int_equal(l->word_count, 2);
    assert_int_equal(l->words[1], 4);
    assert_int_equal(l->span_count, 2);
    assert_int_equal(l->spans[0], 2);
    assert_int_equal(l->spans[1], 3);
    assert_true(l->loose);
    assert_int_equal(l->image_bytes, 636);
}

static void a_function_without_parameters_is_known(void **state)
{
    const struct spw_layout *l = spw_layout_of(function(2));
    assert_true(l->known);
    assert_int_equal(l->param_count, 0);
}

static void a_layout_is_asked_for_once(void **state)
{
    const struct spw_layout *l = spw_layout_of(function(0));
    unsigned before = asked;
    for (int i = 0; i < 100; i++)
        assert_ptr_equal(spw_layout_of(function(0)), l);
    assert_int_equal(asked, before);
}

static void equal_layouts_are_one_object(void **state)
{
    assert_ptr_equal(spw_layout_of(function(0)), spw_layout_of(function(3)));
}

/* ---- what is noted of structs ---- */

/* What is noted of one function is nothing of another's, whose parameters only look alike; instances of the same function,
 * which each module has its own of, share it. */
static void functions_with_structs_share_a_layout_with_their_namesakes_alone(void **state)
{
    const struct spw_layout *structs = spw_layout_of(function(1));
    assert_ptr_equal(spw_layout_of(function(4)), structs);
    assert_ptr_not_equal(spw_layout_of(function(5)), structs);
    assert_int_equal(spw_layout_of(function(5))->image_bytes, structs->image_bytes);
    assert_ptr_not_equal(spw_layout_of(function(6)), structs); /* the same name, but other parameters */
    assert_int_equal(spw_layout_of(function(6))->image_bytes, structs->image_bytes + 4);
    assert_true(spw_layout_of(function(7))->known); /* nobody knows what they are called */
    assert_ptr_equal(spw_layout_of(function(7)), spw_layout_of(function(8)));
}

static void kernels_with_structs_are_told_apart_by_name_whoever_knows_that_they_are_kernels(void **state)
{
    const struct spw_layout *map = spw_layout_of(kernel(0));
    assert_ptr_equal(spw_layout_of(kernel(2)), map);
    assert_ptr_not_equal(spw_layout_of(kernel(3)), map);
    assert_ptr_equal(spw_layout_of(kernel(4)), spw_layout_of(function(1)));
    spw_layout_forget_all();
    for (int k = 0; k < KERNELS; k++)
        spw_layout_note_kernel((CUkernel)&kernels[k], "library");
    assert_ptr_equal(spw_layout_of(kernel(0)), map);
    assert_ptr_equal(spw_layout_of(kernel(2)), map);
    assert_ptr_not_equal(spw_layout_of(kernel(3)), map);
}

/* Names and parameters lie behind one another: whatever the length of a name, all of the layout is where it belongs. */
static void a_name_of_any_length_leaves_the_layout_as_it_is(void **state)
{
    struct fake saved = functions[1];
    char name[] = "0123456789";
    functions[1].name = name;
    for (int length = 10; length >= 0; length--) {
        name[length] = 0;
        spw_layout_forget_all();
        const struct spw_layout *l = spw_layout_of(function(1));
        structs_are_spans_and_their_alignment_shows(state);
        assert_int_equal((uintptr_t)l->words % sizeof *l->words, 0);
        assert_int_equal(l->words[0], 0);
        assert_int_equal(l->params[2].size_bytes, 600);
        assert_int_equal(l->params[4].offset_bytes, 628);
    }
    functions[1] = saved;
}

static void places_are_noted_where_there_are_structs(void **state)
{
    assert_null(spw_layout_of(function(0))->places);
    assert_null(spw_layout_of(function(2))->places);
    assert_non_null(spw_layout_of(function(1))->places);
    assert_ptr_not_equal(spw_layout_of(function(1))->places, spw_layout_of(function(5))->places);
}

/* None is noted at first. */
static void notes_reach_to_the_last_word(void **state)
{
    struct fake saved = functions[1];
    functions[1].count = 1;
    for (size_t bytes = 16; bytes <= SPW_PARAMS_MAX_BYTES; bytes += bytes < 2048 ? 8 : 4) {
        functions[1].params[0].offset = bytes > 4096 ? bytes - 4096 : 0;
        functions[1].params[0].size = bytes - functions[1].params[0].offset;
        spw_layout_forget_all();
        const struct spw_layout *l = spw_layout_of(function(1));
        assert_int_equal(l->image_bytes, bytes);
        const size_t last = bytes / 8 - 1;
        assert_true(malloc_usable_size((void *)l->places) >= (last + 1) * sizeof *l->places);
        for (size_t i = 0; i <= last; i++)
            assert_int_equal(l->places[i], 0);
        l->places[last] = 1;
    }
    functions[1] = saved;
}

/* ---- without memory ---- */

/* Whatever fails, the answer is right or none, nothing is lost, and the next question is answered in full. Comes before all
 * other tests, since the table of layouts, once made, stays. */
static void without_memory_a_layout_is_unknown_for_now(void **state)
{
    const struct fake saved = functions[1], saved_too = functions[4];
    bool unknown = false, without_notes = false;
    const long at_first = memory_blocks();
    memory_fails_once_after(4); /* there is a list, a key, a layout and its notes, but no table to add it to */
    assert_false(spw_layout_of(function(1))->known);
    assert_true(memory_is_back() && memory_blocks() == at_first);
    for (int step = 0, failed = true; failed; step++) {
        functions[1].params[2].size = 16 + 8 * (size_t)step; /* none that is known */
        functions[4] = functions[1];
        const long blocks = memory_blocks();
        memory_fails_once_after(step);
        const struct spw_layout *l = spw_layout_of(function(1));
        failed = memory_is_back();
        assert_true(!l->known || (l->span_count == 2 && l->params[2].size_bytes == functions[1].params[2].size));
        unknown |= !l->known;
        without_notes |= l->known && !l->places;
        if (!l->known)
            assert_int_equal(memory_blocks(), blocks);
        assert_true(spw_layout_of(function(1))->known);
        assert_ptr_equal(spw_layout_of(function(1)), spw_layout_of(function(4)));
        spw_layout_forget_all();
    }
    assert_true(unknown && without_notes);
    functions[1] = saved;
    functions[4] = saved_too;
}

/* ---- functions and kernels ---- */

/* A launch takes a CUkernel cast to CUfunction, and the function query may answer for it what it answers past the last
 * parameter. Believing that would mean launching on missing memory. */
static void a_kernel_is_not_taken_for_a_function_without_parameters(void **state)
{
    const struct spw_layout *l = spw_layout_of(kernel(0));
    assert_true(l->known);
    assert_int_equal(l->param_count, 2);
    assert_int_equal(l->params[0].offset_bytes, 0x70);
    assert_int_equal(l->span_count, 1);
}

static void a_kernel_without_parameters_is_known_by_its_name(void **state)
{
    assert_true(spw_layout_of(kernel(1))->known);
}

static void a_handle_that_is_neither_is_unknown(void **state)
{
    static struct fake stranger;
    assert_false(spw_layout_of((CUfunction)&stranger)->known);
    assert_false(spw_layout_of(NULL)->known);
}

static void a_noted_kernel_is_asked_as_a_kernel_only(void **state)
{
    spw_layout_note_kernel((CUkernel)&kernels[0], "library");
    assert_true(spw_layout_of(kernel(0))->known);
    assert_int_equal(asked, 3);
}

/* ---- what cannot be known ---- */

static void an_old_driver_knows_no_layout(void **state)
{
    spw_driver.cuFuncGetParamInfo = NULL;
    spw_driver.cuKernelGetParamInfo = NULL;
    assert_false(spw_layout_supported());
    assert_false(spw_layout_of(function(0))->known);
    assert_int_equal(asked, 0);
}

/* Otherwise one refused question would keep everything resident at every later launch of that function. */
static void an_error_is_not_remembered(void **state)
{
    spw_layout_note_function(function(0), "module");
    broken = CUDA_ERROR_OUT_OF_MEMORY;
    assert_false(spw_layout_of(function(0))->known);
    broken = CUDA_SUCCESS;
    assert_true(spw_layout_of(function(0))->known);
}

static void an_impossible_layout_is_not_believed(void **state)
{
    struct fake saved = functions[3];
    functions[3].params[2].size = SPW_PARAMS_MAX_BYTES;
    assert_false(spw_layout_of(function(3))->known);
    functions[3] = saved;
}

/* ---- unloading ---- */

/* Triton unloads modules, and the next one may get the same handles for other functions. */
static void an_unloaded_module_takes_its_layouts_along(void **state)
{
    struct fake saved = functions[0];
    spw_layout_note_function(function(0), "module");
    spw_layout_note_function(function(1), "other");
    const struct spw_layout *before = spw_layout_of(function(0)), *other = spw_layout_of(function(1));
    spw_layout_forget("module");
    functions[0] = functions[1];
    assert_int_equal(spw_layout_of(function(0))->param_count, 5);
    assert_int_equal(before->param_count, 3); /* the old object stays good */
    functions[0] = saved;

    unsigned asked_before = asked;
    assert_ptr_equal(spw_layout_of(function(1)), other);
    assert_int_equal(asked, asked_before);
}

static void an_unloaded_library_takes_its_parts_along(void **state)
{
    int library = 0, module = 0;
    spw_layout_note_kernel((CUkernel)&kernels[0], &library);
    spw_layout_note_function(function(0), &kernels[0]); /* the function of that kernel */
    spw_layout_note_part((CUmodule)&module, (CUlibrary)&library);
    spw_layout_note_function(function(1), &module);
    spw_layout_of(kernel(0)), spw_layout_of(function(0)), spw_layout_of(function(1));
    spw_layout_forget(&library);
    unsigned before = asked;
    spw_layout_of(kernel(0)), spw_layout_of(function(0)), spw_layout_of(function(1));
    assert_true(asked >= before + 3 + 4 + 6);
}

/* Modules go with their context too, and then nobody says so. */
static void a_handle_that_another_module_hands_out_is_asked_about_again(void **state)
{
    spw_layout_note_function(function(0), "module");
    spw_layout_of(function(0));
    spw_layout_note_function(function(0), "module");
    unsigned before = asked;
    spw_layout_of(function(0));
    assert_int_equal(asked, before);
    spw_layout_note_function(function(0), "other");
    spw_layout_of(function(0));
    assert_true(asked > before);
}

/* Nobody said where it came from, so any module that goes may be its own. */
static void a_function_of_unknown_origin_goes_with_any_module(void **state)
{
    spw_layout_of(function(0));
    spw_layout_forget("some module");
    unsigned before = asked;
    spw_layout_of(function(0));
    assert_true(asked > before);
}

/* ---- many, and at once ---- */

static CUresult any_func_param_info(CUfunction f, size_t i, size_t *offset, size_t *size)
{
    size_t count = (uintptr_t)f / 64 % 13;
    *offset = 8 * i;
    *size = 8;
    return i < count ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

static CUresult any_func_name(const char **name, CUfunction f)
{
    *name = "any";
    return CUDA_SUCCESS;
}

enum { MANY = 20000 };

static void many_functions_are_told_apart(void **state)
{
    spw_driver.cuFuncGetParamInfo = any_func_param_info;
    spw_driver.cuFuncGetName = any_func_name;
    for (int round = 0; round < 2; round++)
        for (uintptr_t f = 1; f <= MANY; f++)
            assert_int_equal(spw_layout_of((CUfunction)(64 * f))->param_count, f % 13);
    spw_layout_forget_all();
    for (uintptr_t f = 1; f <= MANY; f++)
        assert_int_equal(spw_layout_of((CUfunction)(64 * f))->param_count, f % 13);
}

static void *look_up(void *ret_wrong)
{
    for (int round = 0; round < 20; round++)
        for (uintptr_t f = 1; f <= 3000; f++)
            if (spw_layout_of((CUfunction)(64 * f))->param_count != f % 13)
                ++*(int *)ret_wrong;
    return NULL;
}

static void threads_may_look_up_while_modules_come_and_go(void **state)
{
    pthread_t threads[3];
    int wrong[3] = {0};
    spw_driver.cuFuncGetParamInfo = any_func_param_info;
    spw_driver.cuFuncGetName = any_func_name;
    for (int i = 0; i < 3; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, look_up, &wrong[i]), 0);
    for (uintptr_t i = 0; i < 50; i++) {
        spw_layout_note_function((CUfunction)(64 * (100000 + i)), "module");
        spw_layout_forget("module");
    }
    for (int i = 0; i < 3; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(wrong[i], 0);
    }
}

/* ---- names ---- */

static void a_function_is_called_by_its_name(void **state)
{
    char name[32], small[4];
    assert_string_equal(spw_function_name(function(0), name, sizeof name), "plain");
    assert_string_equal(spw_function_name(kernel(0), name, sizeof name), "map");
    assert_string_equal(spw_function_name(function(0), small, sizeof small), "pla");
    spw_driver.cuFuncGetName = NULL;
    spw_driver.cuKernelGetName = NULL;
    assert_string_equal(spw_function_name((CUfunction)0x1230, name, sizeof name), "function 0x1230");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(without_memory_a_layout_is_unknown_for_now, setup),
        cmocka_unit_test_setup(pointers_are_words_and_short_parameters_are_skipped, setup),
        cmocka_unit_test_setup(lists_of_tensors_are_known_by_the_name_and_shared_by_those_alike_only, setup),
        cmocka_unit_test_setup(each_structure_that_is_known_is_found, setup),
        cmocka_unit_test_setup(structs_are_spans_and_their_alignment_shows, setup),
        cmocka_unit_test_setup(a_function_without_parameters_is_known, setup),
        cmocka_unit_test_setup(a_layout_is_asked_for_once, setup),
        cmocka_unit_test_setup(equal_layouts_are_one_object, setup),
        cmocka_unit_test_setup(functions_with_structs_share_a_layout_with_their_namesakes_alone, setup),
        cmocka_unit_test_setup(kernels_with_structs_are_told_apart_by_name_whoever_knows_that_they_are_kernels, setup),
        cmocka_unit_test_setup(a_name_of_any_length_leaves_the_layout_as_it_is, setup),
        cmocka_unit_test_setup(places_are_noted_where_there_are_structs, setup),
        cmocka_unit_test_setup(notes_reach_to_the_last_word, setup),
        cmocka_unit_test_setup(a_kernel_is_not_taken_for_a_function_without_parameters, setup),
        cmocka_unit_test_setup(a_kernel_without_parameters_is_known_by_its_name, setup),
        cmocka_unit_test_setup(a_handle_that_is_neither_is_unknown, setup),
        cmocka_unit_test_setup(a_noted_kernel_is_asked_as_a_kernel_only, setup),
        cmocka_unit_test_setup(an_old_driver_knows_no_layout, setup),
        cmocka_unit_test_setup(an_error_is_not_remembered, setup),
        cmocka_unit_test_setup(an_impossible_layout_is_not_believed, setup),
        cmocka_unit_test_setup(an_unloaded_module_takes_its_layouts_along, setup),
        cmocka_unit_test_setup(an_unloaded_library_takes_its_parts_along, setup),
        cmocka_unit_test_setup(a_handle_that_another_module_hands_out_is_asked_about_again, setup),
        cmocka_unit_test_setup(a_function_of_unknown_origin_goes_with_any_module, setup),
        cmocka_unit_test_setup(many_functions_are_told_apart, setup),
        cmocka_unit_test_setup(threads_may_look_up_while_modules_come_and_go, setup),
        cmocka_unit_test_setup(a_function_is_called_by_its_name, setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
