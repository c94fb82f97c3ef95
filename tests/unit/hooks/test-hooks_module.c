/* test-hooks_module.c - handles are noted and forgotten with the calls that give and take them; tensor maps are noted too.
 */
#include "hooks.h"

#include <stdarg.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "fake-engine.h"
#include "layout.h"
#include "tensormap.h"
#include "launch_class.h"
#include "unlocked.h"

/* ---- the driver: one module with one function, one library with two kernels ---- */

#define MODULE   ((CUmodule)0x10)
#define LIBRARY  ((CUlibrary)0x20)
#define FUNCTION ((CUfunction)0x100)
#define KERNEL   ((CUkernel)0x200)
#define VARIABLE UINT64_C(0x90000000)

static size_t words; /* pointer parameters of everything */
static unsigned function_questions, kernel_questions;
static CUresult answer;
static unsigned refusals; /* how many calls are refused before the answer counts */
static bool unloaded_while_known;
static unsigned unloads, breaks_at_unload;

static CUresult param_info(size_t i, size_t *offset, size_t *size)
{
    *offset = 8 * i;
    *size = 8;
    return i < words ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

static CUresult func_param_info(CUfunction f, size_t i, size_t *offset, size_t *size)
{
    function_questions++;
    return param_info(i, offset, size);
}

static CUresult kernel_param_info(CUkernel k, size_t i, size_t *offset, size_t *size)
{
    kernel_questions++;
    return param_info(i, offset, size);
}

static CUresult module_load(CUmodule *module, const void *image)
{
    *module = MODULE;
    return answer;
}

static CUresult module_unload(CUmodule module)
{
    unsigned before = function_questions;
    (void)spw_layout_of(FUNCTION);
    unloaded_while_known = function_questions == before;
    unloads++;
    breaks_at_unload = breaks;
    return answer;
}

static CUresult get_function(CUfunction *f, CUmodule module, const char *name)
{
    *f = FUNCTION;
    return answer;
}

static CUresult enumerate_kernels(CUkernel *kernels, unsigned count, CUlibrary library)
{
    kernels[0] = KERNEL;
    if (count > 1)
        kernels[1] = (CUkernel)0x240;
    return answer;
}

static CUresult kernel_count(unsigned *count, CUlibrary library)
{
    *count = 2;
    return CUDA_SUCCESS;
}

static CUresult get_global(CUdeviceptr *address, size_t *bytes, CUmodule module, const char *name)
{
    if (address)
        *address = VARIABLE;
    *bytes = 16;
    return answer;
}

static CUresult get_managed(CUdeviceptr *address, size_t *bytes, CUlibrary library, const char *name)
{
    return get_global(address, bytes, NULL, name);
}

static CUresult get_texture(CUtexref *texture, CUmodule module, const char *name)
{
    return answer;
}

static CUresult replace_address(CUtensorMap *map, void *address)
{
    if (refusals && refusals--)
        return CUDA_ERROR_INVALID_VALUE;
    memset(map, 0x33, sizeof *map);
    memcpy((char *)map + 100, &address, 4); /* half of it: not readable as a word */
    return answer;
}

static int setup(void **state)
{
    spw_layout_forget_all();
    spw_driver.cuFuncGetParamInfo = func_param_info;
    spw_driver.cuKernelGetParamInfo = kernel_param_info;
    spw_driver.cuModuleLoadData = module_load;
    spw_driver.cuModuleUnload = module_unload;
    spw_driver.cuModuleGetFunction = get_function;
    spw_driver.cuLibraryEnumerateKernels = enumerate_kernels;
    spw_driver.cuLibraryGetKernelCount = kernel_count;
    spw_driver.cuTensorMapReplaceAddress = replace_address;
    answer = CUDA_SUCCESS;
    function_questions = kernel_questions = refusals = 0;
    words = 2;
    unloaded_while_known = false;
    unloads = breaks = breaks_at_unload = 0;
    break_failure = 0;
    (void)pinned_nothing();
    return 0;
}

/* ---- handles ---- */

static void a_function_is_asked_about_as_what_it_was_handed_out_as(void **state)
{
    CUfunction f;
    CUkernel kernels[9];
    spw_on_cuModuleGetFunction(&f, MODULE, "f");
    assert_int_equal(spw_layout_of(f)->word_count, 2);
    assert_int_equal(kernel_questions, 0);
    function_questions = 0;
    kernels[2] = (CUkernel)0x340; /* left over from before; the library has two */
    spw_on_cuLibraryEnumerateKernels(kernels, 9, LIBRARY);
    assert_int_equal(spw_layout_of((CUfunction)kernels[0])->word_count, 2);
    assert_int_equal(spw_layout_of((CUfunction)kernels[1])->word_count, 2);
    assert_int_equal(function_questions, 0);
    (void)spw_layout_of((CUfunction)0x340);
    assert_int_not_equal(function_questions, 0);
}

static void a_failed_call_notes_nothing(void **state)
{
    CUfunction f = FUNCTION;
    answer = CUDA_ERROR_NOT_FOUND;
    assert_int_equal(spw_on_cuModuleGetFunction(&f, MODULE, "f"), CUDA_ERROR_NOT_FOUND);
    spw_driver.cuModuleGetFunction = NULL;
    assert_int_equal(spw_on_cuModuleGetFunction(&f, MODULE, "f"), CUDA_ERROR_NOT_FOUND);
}

/* Forgetting after the driver has unloaded would hit a function that another thread was just handed. */
static void functions_are_forgotten_before_the_driver_unloads(void **state)
{
    CUfunction f;
    spw_on_cuModuleGetFunction(&f, MODULE, "f");
    (void)spw_layout_of(f);
    spw_on_cuModuleUnload(MODULE);
    assert_false(unloaded_while_known);
}

static void what_depends_on_a_module_is_made_before_it_is_unloaded_or_it_stays(void **state)
{
    CUfunction f;
    spw_on_cuModuleGetFunction(&f, MODULE, "f");
    (void)spw_layout_of(f);
    break_failure = -ENOMEM;
    assert_int_equal(spw_on_cuModuleUnload(MODULE), CUDA_ERROR_OUT_OF_MEMORY);
    assert_int_equal(spw_on_cuLibraryUnload(LIBRARY), CUDA_ERROR_OUT_OF_MEMORY);
    assert_int_equal(unloads, 0);
    assert_true(spw_layout_remembers(f));
    break_failure = 0;
    breaks = 0;
    assert_int_equal(spw_on_cuModuleUnload(MODULE), CUDA_SUCCESS);
    assert_int_equal(unloads, 1);
    assert_int_equal(breaks_at_unload, 1);
}

static void what_a_function_was_learned_to_write_goes_with_its_module(void **state)
{
    CUfunction f;
    spw_on_cuModuleGetFunction(&f, MODULE, "f");
    (void)spw_layout_of(f);
    struct spw_launch_class *set = spw_launch_class_of_locked(f, 1, 2);
    for (unsigned i = 0; i < SPW_CLASS_SURE; i++)
        (void)spw_launch_class_observed_locked(set, 2, UINT64_MAX);
    assert_false(spw_launch_class_writes(spw_launch_class_of_locked(f, 1, 2), 0));
    spw_on_cuModuleUnload(MODULE);
    assert_true(spw_launch_class_writes(spw_launch_class_of_locked(f, 1, 2), 0));
}

/* A context that went took its modules along without a call. */
static void a_handle_that_comes_again_is_a_new_module(void **state)
{
    CUmodule module;
    CUfunction f;
    spw_on_cuModuleLoadData(&module, "image");
    spw_on_cuModuleGetFunction(&f, module, "f");
    assert_int_equal(spw_layout_of(f)->word_count, 2);
    words = 5;
    assert_int_equal(spw_layout_of(f)->word_count, 2);
    spw_on_cuModuleLoadData(&module, "another image");
    spw_on_cuModuleGetFunction(&f, module, "f");
    assert_int_equal(spw_layout_of(f)->word_count, 5);
}

/* ---- variables ---- */

static void a_variable_is_asked_for_as_the_program_asks(void **state)
{
    CUdeviceptr address = 0;
    size_t bytes = 0;
    spw_driver.cuModuleGetGlobal_v2 = get_global;
    assert_int_equal(spw_on_cuModuleGetGlobal_v2(&address, &bytes, MODULE, "v"), CUDA_SUCCESS);
    assert_int_equal(address, VARIABLE);
    assert_int_equal(bytes, 16);
    assert_int_equal(spw_on_cuModuleGetGlobal_v2(&address, NULL, MODULE, "v"), CUDA_SUCCESS);
    assert_int_equal(spw_on_cuModuleGetGlobal_v2(NULL, &bytes, MODULE, "v"), CUDA_SUCCESS);
    answer = CUDA_ERROR_NOT_FOUND;
    assert_int_equal(spw_on_cuModuleGetGlobal_v2(&address, &bytes, MODULE, "v"), CUDA_ERROR_NOT_FOUND);
    assert_int_equal(breaks, 0); /* to know where it is changes nothing */
    assert_int_equal(spw_on_cuLibraryGetGlobal(&address, &bytes, LIBRARY, "v"), CUDA_ERROR_NOT_FOUND); /* an old driver */
}

/* Who has these may change what kernels make without a call that we see. */
static void what_depends_on_a_module_is_made_before_others_can_reach_into_it(void **state)
{
    CUdeviceptr address = 0;
    CUtexref texture;
    size_t bytes;
    spw_driver.cuLibraryGetManaged = get_managed;
    spw_driver.cuModuleGetTexRef = get_texture;
    break_failure = -ENOMEM;
    assert_int_equal(spw_on_cuLibraryGetManaged(&address, &bytes, LIBRARY, "v"), CUDA_ERROR_OUT_OF_MEMORY);
    assert_int_equal(address, 0);
    break_failure = 0;
    breaks = 0;
    assert_int_equal(spw_on_cuLibraryGetManaged(&address, &bytes, LIBRARY, "v"), CUDA_SUCCESS);
    assert_int_equal(address, VARIABLE);
    assert_int_equal(spw_on_cuModuleGetTexRef(&texture, MODULE, "t"), CUDA_SUCCESS);
    assert_int_equal(breaks, 2);
}

/* ---- tensor maps ---- */

static void a_map_that_hides_its_address_is_noted_when_made(void **state)
{
    CUtensorMap map;
    assert_int_equal(spw_on_cuTensorMapReplaceAddress(&map, (void *)(uintptr_t)(LOW + 4096)), CUDA_SUCCESS);
    assert_int_equal(spw_tensormap_base(&map), LOW + 4096);
    unsigned before = spw_tensormap_count;
    spw_on_cuTensorMapReplaceAddress(&map, (void *)(uintptr_t)(HIGH + 8192));
    assert_int_equal(spw_tensormap_count, before);
    assert_true(pinned_nothing());
}

/* The program's memory is away, which is our doing; the driver may look at the address. */
static void a_refused_map_is_made_again_with_its_memory_in_place(void **state)
{
    CUtensorMap map;
    refusals = 1;
    assert_int_equal(spw_on_cuTensorMapReplaceAddress(&map, (void *)(uintptr_t)(LOW + 64)), CUDA_SUCCESS);
    assert_true(pinned_only(LOW + 64));
    refusals = 2;
    assert_int_equal(spw_on_cuTensorMapReplaceAddress(&map, (void *)(uintptr_t)(LOW + 64)), CUDA_ERROR_INVALID_VALUE);
    (void)pinned_nothing();
    refusals = 1;
    assert_int_equal(spw_on_cuTensorMapReplaceAddress(&map, (void *)(uintptr_t)HIGH), CUDA_ERROR_INVALID_VALUE);
    assert_true(pinned_nothing());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_function_is_asked_about_as_what_it_was_handed_out_as, setup),
        cmocka_unit_test_setup(a_failed_call_notes_nothing, setup),
        cmocka_unit_test_setup(functions_are_forgotten_before_the_driver_unloads, setup),
        cmocka_unit_test_setup(what_depends_on_a_module_is_made_before_it_is_unloaded_or_it_stays, setup),
        cmocka_unit_test_setup(what_a_function_was_learned_to_write_goes_with_its_module, setup),
        cmocka_unit_test_setup(a_variable_is_asked_for_as_the_program_asks, setup),
        cmocka_unit_test_setup(what_depends_on_a_module_is_made_before_others_can_reach_into_it, setup),
        cmocka_unit_test_setup(a_handle_that_comes_again_is_a_new_module, setup),
        cmocka_unit_test_setup(a_map_that_hides_its_address_is_noted_when_made, setup),
        cmocka_unit_test_setup(a_refused_map_is_made_again_with_its_memory_in_place, setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
