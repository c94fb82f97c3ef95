/* test-twins.c - what runs again runs in another instance of its module, which is as the program's one where it has to be;
 * where there can be none, nothing runs again. */
#include "modules.h"
#include "outside.h"

/* ---- the driver: whatever is loaded has a handle, a function or kernel `f` and a variable `v` ---- */
static const char allocating[] = ".version 8.0\n.extern .func (.param .b64 to) malloc (.param .b64 bytes);";
static const char unknown[] = "of no form that is known, and somewhat longer than any magic";

/* ---- functions ---- */

static void a_function_has_one_of_the_same_name_in_a_module_of_the_same_image(void **state)
{
    CUmodule module = program_loads(SPW_IMAGE_MODULE_DATA);
    CUfunction f = function_of(module);
    assert_true(may_have_twin(f));
    assert_int_equal(driver.loads, 1); /* only when it is wanted */
    const struct spw_twin_counts before = spw_twin_counts;
    assert_int_equal(make(f), 0);
    assert_int_equal(driver.loads, 2);
    assert_ptr_equal(use_on(f, s), (void *)(FIRST + STEP + FUNCTION_IN));
    assert_int_equal(make(f), 0);
    assert_int_equal(driver.loads, 2);
    assert_int_equal(driver.copy_count, 0);
    assert_int_equal(spw_twin_counts.count - before.count, 1);
    assert_int_equal(spw_twin_counts.image_bytes - before.image_bytes, sizeof(image));
}

static void handles_of_a_library_keep_their_kind(void **state)
{
    CUlibrary library = program_loads(SPW_IMAGE_LIBRARY_DATA);
    CUfunction kernel = kernel_of(library), function = handle_in(kernel, FUNCTION_OF_KERNEL);
    CUfunction of_module = (CUfunction)0x7710;
    spw_layout_note_function(function, kernel);
    spw_layout_note_part((CUmodule)0x7000, library);
    spw_layout_note_function(of_module, (CUmodule)0x7000);
    assert_int_equal(make(kernel), 0);
    assert_int_equal(make(function), 0);
    assert_int_equal(make(of_module), 0);
    assert_int_equal(driver.loads, 2);
    assert_ptr_equal(use_on(kernel, s), (void *)(FIRST + STEP + KERNEL_IN));
    assert_ptr_equal(use_on(function, s), (void *)(FIRST + STEP + KERNEL_IN + FUNCTION_OF_KERNEL));
    assert_ptr_equal(use_on(of_module, s), (void *)(FIRST + STEP + KERNEL_IN + FUNCTION_OF_KERNEL));
}

static void each_context_has_its_own(void **state)
{
    CUfunction kernel = kernel_of(program_loads(SPW_IMAGE_LIBRARY_DATA));
    assert_int_equal(make(kernel), 0);
    assert_int_equal(spw_twin_make_locked(kernel, OTHER), 0);
    assert_int_equal(driver.loads, 3);
    assert_ptr_equal(driver.current, context);
    driver.current = OTHER;
    spw_twins_context_gone(OTHER);
    driver.current = context;
    assert_int_equal(driver.unloads, 1);
    assert_int_equal(driver.unloaded_last, 2);
    assert_non_null(use_on(kernel, s));
    assert_int_equal(spw_twin_use_locked(kernel, OTHER, spw_stream_of_locked(s), &kernel), -ENOENT);
}

static void the_driver_knows_where_a_function_comes_from_that_nobody_told_of(void **state)
{
    CUfunction f = handle_in(program_loads(SPW_IMAGE_MODULE_DATA), FUNCTION_IN);
    CUfunction kernel = handle_in(program_loads(SPW_IMAGE_LIBRARY_DATA), KERNEL_IN);
    assert_true(may_have_twin(f));
    assert_int_equal(make(f), 0);
    assert_int_equal(make(kernel), 0);
    assert_ptr_equal(use_on(kernel, s), (void *)(FIRST + 3 * STEP + KERNEL_IN));
    assert_false(may_have_twin((CUfunction)0x99999910)); /* of a module that nobody saw */
    spw_driver.cuFuncGetModule = NULL;
    spw_driver.cuKernelGetLibrary = NULL;
    assert_false(may_have_twin((CUfunction)0x99999910));
    assert_int_equal(make((CUfunction)0x99999910), -ENOTSUP);
}

static void what_a_function_was_told_its_twin_is_told(void **state)
{
    CUfunction f = function_of(program_loads(SPW_IMAGE_MODULE_DATA));
    CUfunction kernel = kernel_of(program_loads(SPW_IMAGE_LIBRARY_DATA));
    *value_of(f, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES) = 65536;
    *value_of(kernel, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED) = 1;
    *value_of(handle_in(kernel, FUNCTION_OF_KERNEL), CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH) = 4; /* as a function */
    assert_int_equal(make(f), 0);
    assert_int_equal(make(kernel), 0);
    const CUfunction twin = use_on(f, s), kernel_twin = use_on(kernel, s);
    assert_int_equal(driver.sets, 3);
    assert_int_equal(*value_of(twin, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES), 65536);
    assert_int_equal(*value_of(kernel_twin, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED), 1);
    assert_int_equal(*value_of(handle_in(kernel_twin, FUNCTION_OF_KERNEL), CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH), 4);
    *value_of(f, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT) = 50;
    spw_twins_changed();
    (void)use_on(f, s);
    (void)use_on(f, s);
    assert_int_equal(driver.sets, 4);
    assert_int_equal(*value_of(twin, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT), 50);
    *value_of(f, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT) = 60;
    spw_twins_changed();
    driver.fails = "cuFuncSetAttribute";
    assert_null(use_on(f, s));
}

/* ---- variables ---- */

static void variables_that_the_program_writes_are_copied_before_the_next_use(void **state)
{
    CUmodule module = program_loads(SPW_IMAGE_MODULE_DATA);
    CUfunction f = function_of(module);
    const CUdeviceptr variable = address_of(module);
    assert_false(spw_twins_write(variable, 4));
    spw_twins_variable(module, "v", variable, LENGTH);
    spw_twins_variable(module, "v", variable, LENGTH);
    assert_int_equal(make(f), 0);
    (void)use_on(f, s);
    assert_int_equal(driver.copy_count, 0); /* nobody wrote it */
    assert_false(spw_twins_write(variable + LENGTH, 64));
    assert_false(spw_twins_write(variable - 64, 64));
    assert_true(spw_twins_write(variable + LENGTH - 1, 64));
    spw_twins_written(s);
    (void)use_on(f, t);
    assert_int_equal(driver.copy_count, 1);
    assert_int_equal(driver.copies[0].from, variable);
    assert_int_equal(driver.copies[0].to, variable + 0x1000);
    assert_int_equal(driver.copies[0].bytes, LENGTH);
    assert_ptr_equal(driver.copies[0].stream, t);
    (void)use_on(f, s);
    assert_int_equal(driver.copy_count, 1);
    assert_true(spw_twins_write(variable - 1, 2));
    (void)use_on(f, s);   /* who runs before the copy was submitted */
    spw_twins_written(s); /* has to copy again behind it */
    (void)use_on(f, s);
    assert_int_equal(driver.copy_count, 3);
}

static void variables_of_a_library_are_copied_in_their_context(void **state)
{
    CUlibrary library = program_loads(SPW_IMAGE_LIBRARY_DATA);
    CUfunction kernel = kernel_of(library), twin;
    spw_twins_variable(library, "v", address_of(library), LENGTH);
    driver.current = OTHER;
    spw_twins_variable(library, "v", address_of(library), LENGTH);
    assert_true(spw_twins_write(address_of(library), 1));
    driver.current = context;
    assert_int_equal(make(kernel), 0);
    assert_non_null(use_on(kernel, s));
    assert_int_equal(driver.copy_count, 0);
    assert_int_equal(spw_twin_make_locked(kernel, OTHER), 0);
    driver.current = OTHER;
    assert_int_equal(spw_twin_use_locked(kernel, OTHER, spw_stream_of_locked(s), &twin), 0);
    assert_int_equal(driver.copy_count, 1);
    assert_int_equal(driver.copies[0].from, address_of(library));
    assert_int_equal(driver.copies[0].to, address_of(library) + 0x2000);
}

static void a_copy_that_is_refused_is_made_the_next_time(void **state)
{
    static const char *const calls[] = {"cuModuleGetGlobal_v2", "cuMemcpyDtoDAsync_v2"};
    CUmodule module = program_loads(SPW_IMAGE_MODULE_DATA);
    CUfunction f = function_of(module);
    spw_twins_variable(module, "v", address_of(module), LENGTH);
    assert_int_equal(make(f), 0);
    for (unsigned i = 0; i < 2; i++) {
        assert_true(spw_twins_write(address_of(module), 1));
        driver.fails = calls[i];
        assert_null(use_on(f, s));
        driver.fails = NULL;
        driver.copy_count = 0;
        assert_non_null(use_on(f, s));
        assert_int_equal(driver.copy_count, 1);
    }
}

static void where_somebody_else_may_write_there_is_no_twin(void **state)
{
    CUmodule module = program_loads(SPW_IMAGE_MODULE_DATA);
    CUfunction f = function_of(module), kernel = kernel_of(program_loads(SPW_IMAGE_LIBRARY_DATA));
    assert_int_equal(make(f), 0);
    driver.is_managed = true;
    spw_twins_variable(module, "v", address_of(module), LENGTH);
    assert_false(may_have_twin(f));
    assert_int_equal(make(f), -ENOTSUP);
    assert_non_null(use_on(f, s)); /* what was kept before may be made yet */
    assert_true(may_have_twin(kernel));
    spw_twins_refuse((void *)(FIRST + 2 * STEP), "of a twin");
    assert_true(may_have_twin(kernel));
    spw_twins_refuse((void *)(FIRST), "of a test");
    spw_twins_refuse(handle_in(kernel, 0), "no module");
    spw_twins_refuse((void *)((uintptr_t)kernel - KERNEL_IN), "of a test");
    assert_false(may_have_twin(kernel));
}

static CUfunction function_in_module_of(const char *text)
{
    driver.image = text;
    return function_of(program_loads(SPW_IMAGE_MODULE_DATA));
}

static void variables_that_the_image_lists_are_found_in_both(void **state)
{
    CUfunction f = function_in_module_of(with_variable), kernel;
    assert_false(spw_twins_have_variables);
    assert_true(may_have_twin(f));
    assert_true(spw_twins_have_variables);
    assert_null(spw_twin_variables_locked(f, context));
    assert_int_equal(make(f), 0);
    const struct spw_variables *v = spw_twin_variables_locked(f, context);
    assert_non_null(v);
    assert_int_equal(v->count, 1); /* the driver knows of no other */
    assert_int_equal(v->pieces[0].original, VARIABLE);
    assert_int_equal(v->pieces[0].twin, VARIABLE + 0x1000);
    assert_int_equal(v->pieces[0].bytes, LENGTH);
    assert_int_equal((v->pieces[0].original - v->pieces[0].offset) % 16, 0); /* as aligned as it was */
    assert_int_equal(v->bytes % 16, 0);
    assert_true(v->bytes >= v->pieces[0].offset + LENGTH);
    kernel = kernel_of(program_loads(SPW_IMAGE_LIBRARY_DATA));
    assert_int_equal(spw_twin_make_locked(kernel, OTHER), 0);
    v = spw_twin_variables_locked(kernel, OTHER);
    assert_int_equal(v->pieces[0].original, VARIABLE + 0x2800);
    assert_int_equal(v->pieces[0].twin, VARIABLE + 0x3800);
    f = function_in_module_of(image);
    assert_int_equal(make(f), 0);
    assert_null(spw_twin_variables_locked(f, context));
}

static void assert_refused_for_its_state(CUfunction f, unsigned loads)
{
    assert_int_equal(make(f), -ENOTSUP);
    assert_int_equal(spw_twin_verdict_locked(f, context), SPW_REPLAY_MODULE_STATE);
    assert_int_equal(make(f), -ENOTSUP);
    assert_int_equal(driver.loads, loads);
}

static void a_module_whose_state_cannot_be_listed_is_loaded_once(void **state)
{
    assert_refused_for_its_state(function_in_module_of(allocating), 1);
    assert_refused_for_its_state(function_in_module_of(unknown), 2);
}

/* Some of them may lie in variables: in the twin they would lead to the program's own module. */
static void a_module_with_variables_that_calls_through_pointers_is_refused(void **state)
{
    static const char calls[] = ".version 8.0\n.entry f() { to: .callprototype _; call %rd1, to; ret; }",
                      both[] = ".version 8.0\n.global .align 4 .u32 v;\n.entry f() { to: .callprototype _; call %rd1, to; }";
    assert_int_equal(make(function_in_module_of(calls)), 0);
    assert_refused_for_its_state(function_in_module_of(both), 4);
}

/* Where the program is told of a variable's address, or one is saved, an address of it is looked for from then on. */
static void variables_are_memory_outside(void **state)
{
    CUdeviceptr low, bytes;
    CUmodule module = program_loads(SPW_IMAGE_MODULE_DATA);
    spw_outside_reset();
    assert_false(spw_outside_extent(&low, &bytes));
    spw_twins_variable(module, "v", address_of(module), LENGTH);
    assert_true(spw_outside_extent(&low, &bytes));
    assert_int_equal(low, address_of(module));
    assert_int_equal(bytes, LENGTH);
    spw_outside_reset();
    assert_int_equal(make(function_in_module_of(with_variable)), 0);
    assert_true(spw_outside_extent(&low, &bytes));
    assert_int_equal(bytes, LENGTH);
}

/* Both kernels are called f; what else their modules hold is nothing to them. */
static void only_kernels_that_may_print_are_refused_for_it(void **state)
{
    static const char prints[] = ".version 8.0 .extern .func vprintf(.param .b64 n); .entry f() { call vprintf, (n); } "
                                 ".entry ff() { ret; }",
                      calm[] = ".version 8.0 .extern .func vprintf(.param .b64 n); .entry f() { ret; } "
                               ".entry ff() { call vprintf, (n); }";
    CUfunction f = function_in_module_of(prints);
    assert_int_equal(spw_twin_verdict_locked(f, context), SPW_REPLAY_PRINTS);
    assert_int_equal(make(f), -ENOTSUP);
    f = function_in_module_of(calm);
    assert_true(may_have_twin(f));
    driver.fails = "cuFuncGetName"; /* any of them, then */
    assert_int_equal(spw_twin_verdict_locked(f, context), SPW_REPLAY_PRINTS);
    spw_driver.cuFuncGetName = NULL;
    assert_int_equal(spw_twin_verdict_locked(f, context), SPW_REPLAY_PRINTS);
    (void)start(NULL);
    driver.image = calm;
    assert_int_equal(make(function_of(program_loads(SPW_IMAGE_MODULE_DATA))), 0);
    driver.image = prints;
    f = kernel_of(program_loads(SPW_IMAGE_LIBRARY_DATA));
    assert_int_equal(spw_twin_verdict_locked(f, context), SPW_REPLAY_PRINTS);
    driver.image = calm;
    assert_true(may_have_twin(kernel_of(program_loads(SPW_IMAGE_LIBRARY_DATA))));
    spw_driver.cuKernelGetName = NULL;
    assert_false(may_have_twin(kernel_of(program_loads(SPW_IMAGE_LIBRARY_DATA))));
}

static void a_module_whose_variables_cannot_be_saved_has_no_twin(void **state)
{
    driver.is_managed = true;
    assert_refused_for_its_state(function_in_module_of(with_variable), 2);
    driver.is_managed = false;
    for (unsigned i = 0; i < 3; i++) {
        (void)finish(NULL);
        (void)start(NULL);
        driver.variable_bytes = i == 0 ? ((size_t)64 << 10) + 1 : i == 1 ? LENGTH + 1 : LENGTH;
        driver.twin_bytes = i == 1 ? LENGTH : driver.variable_bytes;
        driver.fails = i == 2 ? "cuModuleGetGlobal_v2" : NULL;
        assert_refused_for_its_state(function_in_module_of(with_variable), 2);
    }
    (void)finish(NULL);
    (void)start(NULL);
    driver.variable_bytes = driver.twin_bytes = (size_t)64 << 10;
    assert_int_equal(make(function_in_module_of(with_variable)), 0);
}

static void a_module_whose_variables_hold_addresses_of_tensors_is_refused(void **state)
{
    CUmodule module = program_loads(SPW_IMAGE_MODULE_DATA);
    CUfunction f = function_of(module);
    const CUdeviceptr words[] = {7, allocate(BYTES)};
    spw_twins_variable(module, "v", address_of(module), LENGTH);
    assert_int_equal(make(f), 0);
    spw_twins_look(address_of(module) + LENGTH, words, sizeof(words));
    spw_twins_look(address_of(module), words, sizeof(*words));
    assert_true(may_have_twin(f));
    spw_twins_look(address_of(module) + 8, words, sizeof(words));
    assert_int_equal(spw_twin_verdict_locked(f, context), SPW_REPLAY_MODULE_STATE);
    assert_int_equal(make(f), -ENOTSUP);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_function_has_one_of_the_same_name_in_a_module_of_the_same_image),
        TEST(handles_of_a_library_keep_their_kind),
        TEST(each_context_has_its_own),
        TEST(the_driver_knows_where_a_function_comes_from_that_nobody_told_of),
        TEST(what_a_function_was_told_its_twin_is_told),
        TEST(variables_that_the_program_writes_are_copied_before_the_next_use),
        TEST(variables_of_a_library_are_copied_in_their_context),
        TEST(a_copy_that_is_refused_is_made_the_next_time),
        TEST(where_somebody_else_may_write_there_is_no_twin),
        TEST(variables_that_the_image_lists_are_found_in_both),
        TEST(a_module_whose_state_cannot_be_listed_is_loaded_once),
        TEST(a_module_with_variables_that_calls_through_pointers_is_refused),
        TEST(variables_are_memory_outside),
        TEST(only_kernels_that_may_print_are_refused_for_it),
        TEST(a_module_whose_variables_cannot_be_saved_has_no_twin),
        TEST(a_module_whose_variables_hold_addresses_of_tensors_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
