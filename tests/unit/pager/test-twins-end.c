/* test-twins-end.c - twins that the driver refuses, and twins whose module goes. */
#include "modules.h"
#include "recorded_op.h"

/* ---- what fails ---- */

static void what_the_driver_refuses_leaves_no_twin(void **state)
{
    static const char *const module_calls[] = {"cuModuleLoadData", "cuFuncGetName", "cuModuleGetFunction",
                                               "cuFuncSetAttribute"};
    static const char *const library_calls[] = {"cuLibraryLoadData", "cuKernelGetName", "cuLibraryGetKernel",
                                                "cuCtxGetDevice", "cuKernelSetAttribute"};
    for (unsigned i = 0; i < 9; i++) {
        const bool library = i >= 4;
        void *owner = program_loads(library ? SPW_IMAGE_LIBRARY_DATA : SPW_IMAGE_MODULE_DATA);
        CUfunction f = library ? kernel_of(owner) : function_of(owner);
        *value_of(f, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH) = 2;
        driver.fails = library ? library_calls[i - 4] : module_calls[i];
        assert_true(may_have_twin(f));
        assert_int_equal(make(f), -ENOTSUP);
        driver.fails = NULL;
        assert_false(may_have_twin(f));
        assert_int_equal(make(f), -ENOTSUP); /* it is not asked again and again */
        assert_null(use_on(f, s));
        driver.told_count = 0;
    }
    CUfunction kernel = kernel_of(program_loads(SPW_IMAGE_LIBRARY_DATA)), f = handle_in(kernel, FUNCTION_OF_KERNEL);
    spw_layout_note_function(f, kernel);
    driver.fails = "cuKernelGetFunction";
    assert_int_equal(make(f), -ENOTSUP);
    assert_int_equal(make(kernel), -ENOTSUP);
    driver.fails = "cuCtxPushCurrent_v2";
    assert_int_equal(spw_twin_make_locked(kernel, OTHER), -ENOTSUP);
}

static void without_memory_there_is_none_and_nothing_is_lost(void **state)
{
    bool made = false;
    for (long calls = 0; !made; calls++) {
        driver.image = with_variable;
        struct spw_image *described = spw_twins_loading(&(struct spw_image_told){SPW_IMAGE_MODULE_DATA, with_variable});
        void *handle = NULL;
        assert_int_equal(module_load((CUmodule *)&handle, with_variable), CUDA_SUCCESS);
        CUfunction f = function_of(handle);
        memory_fails_after(calls);
        spw_twins_loaded(handle, described);
        spw_twins_variable(handle, "v", address_of(handle), LENGTH);
        made = make(f) == 0;
        assert_int_equal(memory_is_back(), !made);
        assert_int_equal(use_on(f, s) != NULL, made);
        spw_twins_unload(handle);
        assert_false(may_have_twin(f));
        unload(handle);
        for (unsigned i = 0; i < driver.loads; i++)
            assert_false(driver.loaded[i]);
    }
}

/* ---- the end ---- */

static void a_twin_goes_before_its_module_when_nothing_runs_in_it_any_more(void **state)
{
    CUmodule module = program_loads(SPW_IMAGE_MODULE_DATA);
    CUfunction f = function_of(module);
    const CUdeviceptr a = allocate(BYTES);
    assert_int_equal(make(f), 0);
    assert_non_null(use_on(f, s));
    fake_fill(s, a, BYTES, 7); /* what was launched */
    spw_twins_unload(module);
    assert_int_equal(driver.unloads, 1);
    assert_int_equal(driver.unloaded_last, 1);
    spw_lock();
    struct spw_stream *on = spw_stream_of_locked(s);
    assert_int_equal(on->done, on->begun); /* it was waited for */
    spw_unlock();
    assert_null(use_on(f, s));
    assert_false(may_have_twin(f));
    spw_twins_unload(module);
    assert_int_equal(driver.unloads, 1);
}

static void uses_of_one_twin_on_several_streams_are_ordered(void **state)
{
    CUfunction f = function_of(program_loads(SPW_IMAGE_MODULE_DATA));
    const CUdeviceptr a = allocate(BYTES);
    assert_int_equal(make(f), 0);
    (void)use_on(f, s);
    fake_fill(s, a, BYTES, 7);
    spw_lock();
    assert_int_equal(spw_twin_order_locked(f, context, spw_stream_of_locked(t)), 0);
    spw_unlock();
    fake_expect(t, a, BYTES, 7);
    fake_run_all();
    assert_int_equal(spw_twin_order_locked((CUfunction)0x99999910, context, spw_stream_of_locked(t)), 0);
}

/* On a stream that the twin's has nothing to do with. */
static void variables_are_copied_behind_what_writes_them(void **state)
{
    CUmodule module = program_loads(SPW_IMAGE_MODULE_DATA);
    CUfunction f = function_of(module);
    const CUdeviceptr a = allocate(BYTES);
    spw_twins_variable(module, "v", address_of(module), LENGTH);
    assert_int_equal(make(f), 0);
    (void)use_on(f, t);
    assert_true(spw_twins_write(address_of(module), 1));
    fake_fill(s, a, BYTES, 7);
    spw_twins_written(s);
    (void)use_on(f, t);
    assert_int_equal(driver.copy_count, 1);
    fake_expect(t, a, BYTES, 7);
    fake_run_all();
}

/* What is launched of it now is kept, and can be run again. */
static bool is_kept(CUfunction f)
{
    static const struct spw_layout layout = {.known = true};
    struct spw_call_args submission = {.kind = SPW_SUBMIT_LAUNCH, .launch = {.function = f, .layout = &layout}};
    struct spw_op op = {.handle = s, .function = f, .name = "a kernel", .submission = &submission};
    enum spw_replay_verdict why;
    assert_int_equal(spw_op_begin(&op), 0);
    spw_lock();
    op.wish = 1;
    struct spw_recorded_op *recorded_op = spw_recorded_op_make_locked(&op, &why);
    assert_non_null(recorded_op);
    const bool is_good = spw_recorded_op_is_good(recorded_op);
    spw_recorded_op_let_go(recorded_op);
    spw_unlock();
    spw_op_end(&op);
    return is_good;
}

/* Another thread launches between the new epoch and the driver's call: it may read what the variable held before. */
static void what_is_launched_while_a_variable_is_written_is_not_run_again(void **state)
{
    CUmodule module = program_loads(SPW_IMAGE_MODULE_DATA);
    CUfunction f = function_of(module), other = function_of(program_loads(SPW_IMAGE_MODULE_DATA));
    spw_twins_variable(module, "v", address_of(module), LENGTH);
    assert_true(is_kept(f));
    assert_true(spw_twins_write(address_of(module), 1));
    assert_true(spw_twins_write(address_of(module) + 8, 1)); /* by a third */
    assert_false(is_kept(f));
    assert_true(is_kept(other));
    spw_twins_written(s);
    assert_false(is_kept(f));
    spw_twins_written(s);
    assert_true(is_kept(f));
}

static void a_handle_that_comes_again_is_another_module(void **state)
{
    CUmodule module = program_loads(SPW_IMAGE_MODULE_DATA);
    CUfunction f = function_of(module);
    spw_twins_variable(module, "v", address_of(module), LENGTH);
    assert_int_equal(make(f), 0);
    spw_twins_loaded(module, NULL); /* its end was not seen, and nothing was kept of what has its handle now */
    assert_false(may_have_twin(f));
    assert_false(spw_twins_write(address_of(module), 1));
    assert_int_equal(driver.unloads, 0); /* that went with its context */
}

static void modules_go_with_their_context(void **state)
{
    CUmodule module = program_loads(SPW_IMAGE_MODULE_DATA);
    CUfunction f = function_of(module), kernel = kernel_of(program_loads(SPW_IMAGE_LIBRARY_DATA));
    assert_int_equal(make(f), 0);
    assert_int_equal(make(kernel), 0);
    spw_twins_context_gone(context);
    assert_int_equal(driver.unloads, 2);
    assert_false(may_have_twin(f));
    assert_true(may_have_twin(kernel)); /* the library is there yet, for other contexts */
}

static void nothing_is_kept_where_nothing_is_recomputed(void **state)
{
    recompute(false);
    CUmodule module = program_loads(SPW_IMAGE_MODULE_DATA);
    CUfunction f = function_of(module);
    const size_t blocks = (size_t)memory_blocks();
    spw_twins_variable(module, "v", address_of(module), LENGTH);
    assert_int_equal(memory_blocks(), blocks);
    assert_int_equal(spw_twins_high, 0);
    assert_false(may_have_twin(f));
    assert_int_equal(make(f), -ENOTSUP);
    assert_int_equal(driver.loads, 1);
    spw_twins_unload(module);
    assert_int_equal(driver.unloads, 0);
}

static void what_the_driver_did_not_load_is_forgotten(void **state)
{
    const long blocks = memory_blocks();
    spw_twins_not_loaded(spw_twins_loading(&(struct spw_image_told){SPW_IMAGE_MODULE_DATA, image}));
    assert_int_equal(memory_blocks(), blocks);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(what_the_driver_refuses_leaves_no_twin),
        TEST(without_memory_there_is_none_and_nothing_is_lost),
        TEST(a_twin_goes_before_its_module_when_nothing_runs_in_it_any_more),
        TEST(uses_of_one_twin_on_several_streams_are_ordered),
        TEST(variables_are_copied_behind_what_writes_them),
        TEST(what_is_launched_while_a_variable_is_written_is_not_run_again),
        TEST(a_handle_that_comes_again_is_another_module),
        TEST(modules_go_with_their_context),
        TEST(nothing_is_kept_where_nothing_is_recomputed),
        TEST(what_the_driver_did_not_load_is_forgotten),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
