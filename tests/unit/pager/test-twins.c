/* test-twins.c - what runs again runs in another instance of its module, which is as the program's one where it has to be;
 * where there can be none, nothing runs again. */
#include "carried.h"
#include "failing-memory.h"
#include "layout.h"
#include "log.h"
#include "settings.h"
#include "streams.h"
#include "twins.h"
#include "variables.h"
#include "unlocked.h"

/* ---- the driver: whatever is loaded has a handle, a function or kernel `f` and a variable `v` ---- */

enum { HANDLES = 64, STEP = 0x100, FUNCTION_IN = 0x10, KERNEL_IN = 0x20, FUNCTION_OF_KERNEL = 4, COPIES = 16, TOLD = 512 };

#define FIRST    UINT64_C(0x4000)
#define VARIABLE UINT64_C(0x90000000)
#define LENGTH   ((size_t)24)
#define OTHER    ((CUcontext)0xee0)

static const char image[] = ".version 8.0 // a module";
static const char with_variable[] = ".version 8.0\n.global .align 4 .u32 v, eliminated; .const .u32 c;";
static const char allocating[] = ".version 8.0\n.extern .func (.param .b64 to) malloc (.param .b64 bytes);";
static const char unknown[] = "of no form that is known, and somewhat longer than any magic";

static struct {
    unsigned loads, unloads, unloaded_last;
    bool loaded[HANDLES];
    struct {
        CUdeviceptr to, from;
        size_t bytes;
        CUstream stream;
    } copies[COPIES];
    unsigned copy_count;
    struct {
        const void *function;
        CUfunction_attribute attribute;
        int value;
    } told[TOLD];
    unsigned told_count, sets;
    const char *fails; /* a call */
    const char *image; /* what is loaded */
    size_t variable_bytes, twin_bytes;
    CUcontext current;
    bool is_managed;
} driver;

static CUresult result_of(const char *call)
{
    return driver.fails && !strcmp(driver.fails, call) ? CUDA_ERROR_UNKNOWN : CUDA_SUCCESS;
}

static unsigned number_of(const void *handle)
{
    return (unsigned)(((uintptr_t)handle - FIRST) / STEP);
}

static void *handle_in(const void *handle, unsigned offset)
{
    return (void *)((uintptr_t)handle + offset);
}

static CUresult load(void *ret_handle, const char *call)
{
    if (result_of(call) != CUDA_SUCCESS)
        return result_of(call);
    assert_true(driver.loads < HANDLES);
    driver.loaded[driver.loads] = true;
    *(uintptr_t *)ret_handle = FIRST + STEP * driver.loads++;
    return CUDA_SUCCESS;
}

static CUresult module_load(CUmodule *module, const void *from)
{
    assert_ptr_equal(from, driver.image);
    return load(module, "cuModuleLoadData");
}

static CUresult library_load(CUlibrary *library, const void *from, CUjit_option *options, void **values, unsigned count,
                             CUlibraryOption *library_options, void **library_values, unsigned library_count)
{
    assert_ptr_equal(from, driver.image);
    return load(library, "cuLibraryLoadData");
}

static CUresult unload(const void *handle)
{
    assert_true(driver.loaded[number_of(handle)]);
    driver.loaded[number_of(handle)] = false;
    driver.unloads++;
    driver.unloaded_last = number_of(handle);
    return CUDA_SUCCESS;
}

static CUresult module_unload(CUmodule module)
{
    return unload(module);
}

static CUresult library_unload(CUlibrary library)
{
    return unload(library);
}

static CUresult get_function(CUfunction *f, CUmodule module, const char *name)
{
    assert_string_equal(name, "f");
    *f = handle_in(module, FUNCTION_IN);
    return result_of("cuModuleGetFunction");
}

static CUresult get_kernel(CUkernel *kernel, CUlibrary library, const char *name)
{
    assert_string_equal(name, "f");
    *kernel = handle_in(library, KERNEL_IN);
    return result_of("cuLibraryGetKernel");
}

static CUresult get_function_of_kernel(CUfunction *f, CUkernel kernel)
{
    *f = handle_in(kernel, FUNCTION_OF_KERNEL);
    return result_of("cuKernelGetFunction");
}

static CUresult function_name(const char **name, CUfunction f)
{
    *name = "f";
    return (uintptr_t)f & KERNEL_IN && !((uintptr_t)f & FUNCTION_OF_KERNEL) ? CUDA_ERROR_INVALID_HANDLE
                                                                            : result_of("cuFuncGetName");
}

static CUresult kernel_name(const char **name, CUkernel kernel)
{
    *name = "f";
    return result_of("cuKernelGetName");
}

static CUresult module_of(CUmodule *module, CUfunction f)
{
    *module = (CUmodule)((uintptr_t)f & ~(uintptr_t)(STEP - 1));
    return (uintptr_t)f & FUNCTION_IN ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

static CUresult library_of(CUlibrary *library, CUkernel kernel)
{
    *library = (CUlibrary)((uintptr_t)kernel & ~(uintptr_t)(STEP - 1));
    return CUDA_SUCCESS;
}

/* Where the context has it: at another address in each. */
static CUdeviceptr address_of(const void *handle)
{
    return VARIABLE + 0x1000 * number_of(handle) + (driver.current == OTHER ? 0x800 : 0);
}

static CUresult module_global(CUdeviceptr *address, size_t *bytes, CUmodule module, const char *name)
{
    if (strcmp(name, "v") != 0)
        return CUDA_ERROR_NOT_FOUND;
    *address = address_of(module);
    *bytes = number_of(module) ? driver.twin_bytes : driver.variable_bytes;
    return result_of("cuModuleGetGlobal_v2");
}

static CUresult library_global(CUdeviceptr *address, size_t *bytes, CUlibrary library, const char *name)
{
    if (strcmp(name, "v") != 0)
        return CUDA_ERROR_NOT_FOUND;
    *address = address_of(library);
    *bytes = LENGTH;
    return result_of("cuLibraryGetGlobal");
}

static CUresult copy_within(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream)
{
    assert_true(driver.copy_count < COPIES);
    driver.copies[driver.copy_count].to = to;
    driver.copies[driver.copy_count].from = from;
    driver.copies[driver.copy_count].bytes = bytes;
    driver.copies[driver.copy_count++].stream = stream;
    return result_of("cuMemcpyDtoDAsync_v2");
}

static int *value_of(const void *function, CUfunction_attribute attribute)
{
    unsigned i = 0;
    while (i < driver.told_count && (driver.told[i].function != function || driver.told[i].attribute != attribute))
        i++;
    assert_true(i < TOLD);
    if (i == driver.told_count) {
        driver.told[i].function = function;
        driver.told[i].attribute = attribute;
        driver.told[i].value = 0;
        driver.told_count++;
    }
    return &driver.told[i].value;
}

static CUresult get_attribute(int *value, CUfunction_attribute attribute, CUfunction f)
{
    if (attribute == CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE)
        return CUDA_ERROR_INVALID_VALUE; /* an old driver */
    *value = *value_of(f, attribute);
    return CUDA_SUCCESS;
}

static CUresult set_attribute(CUfunction f, CUfunction_attribute attribute, int value)
{
    driver.sets++;
    *value_of(f, attribute) = value;
    return result_of("cuFuncSetAttribute");
}

static CUresult get_kernel_attribute(int *value, CUfunction_attribute attribute, CUkernel kernel, CUdevice of)
{
    assert_int_equal(of, 0);
    return get_attribute(value, attribute, (CUfunction)kernel);
}

static CUresult set_kernel_attribute(CUfunction_attribute attribute, int value, CUkernel kernel, CUdevice of)
{
    driver.sets++;
    *value_of(kernel, attribute) = value;
    return result_of("cuKernelSetAttribute");
}

static CUresult get_device(CUdevice *ret_device)
{
    *ret_device = 0;
    return result_of("cuCtxGetDevice");
}

static CUresult count_devices(int *ret_count)
{
    *ret_count = 0;
    return CUDA_SUCCESS;
}

static CUresult get_current(CUcontext *ret_context)
{
    *ret_context = driver.current;
    return CUDA_SUCCESS;
}

static CUresult push_current(CUcontext pushed)
{
    driver.current = pushed;
    return result_of("cuCtxPushCurrent_v2");
}

static CUresult pop_current(CUcontext *ret_context)
{
    *ret_context = driver.current;
    driver.current = context;
    return CUDA_SUCCESS;
}

static CUresult pointer_attribute(void *data, CUpointer_attribute attribute, CUdeviceptr address)
{
    if (attribute != CU_POINTER_ATTRIBUTE_IS_MANAGED)
        return CUDA_ERROR_INVALID_VALUE;
    *(unsigned *)data = driver.is_managed;
    return CUDA_SUCCESS;
}

static void recompute(bool on)
{
    static struct spw_settings settings;
    settings = *spw_settings_get();
    settings.recompute = on;
    spw_settings_use(&settings);
}

static int start(void **state)
{
    begin(64 * BYTES, 16 << 20);
    recompute(true);
    spw_log_setup(SPW_LOG_QUIET, NULL);
    spw_layout_forget_all();
    memset(&driver, 0, sizeof(driver));
    driver.current = context;
    driver.image = image;
    driver.variable_bytes = driver.twin_bytes = LENGTH;
    spw_driver.cuModuleLoadData = module_load;
    spw_driver.cuLibraryLoadData = library_load;
    spw_driver.cuModuleUnload = module_unload;
    spw_driver.cuLibraryUnload = library_unload;
    spw_driver.cuModuleGetFunction = get_function;
    spw_driver.cuLibraryGetKernel = get_kernel;
    spw_driver.cuKernelGetFunction = get_function_of_kernel;
    spw_driver.cuFuncGetName = function_name;
    spw_driver.cuKernelGetName = kernel_name;
    spw_driver.cuFuncGetModule = module_of;
    spw_driver.cuKernelGetLibrary = library_of;
    spw_driver.cuModuleGetGlobal_v2 = module_global;
    spw_driver.cuLibraryGetGlobal = library_global;
    spw_driver.cuMemcpyDtoDAsync_v2 = copy_within;
    spw_driver.cuFuncGetAttribute = get_attribute;
    spw_driver.cuFuncSetAttribute = set_attribute;
    spw_driver.cuKernelGetAttribute = get_kernel_attribute;
    spw_driver.cuKernelSetAttribute = set_kernel_attribute;
    spw_driver.cuCtxGetDevice = get_device;
    spw_driver.cuDeviceGetCount = count_devices;
    spw_driver.cuCtxGetCurrent = get_current;
    spw_driver.cuCtxPushCurrent_v2 = push_current;
    spw_driver.cuCtxPopCurrent_v2 = pop_current;
    spw_driver.cuPointerGetAttribute = pointer_attribute;
    return 0;
}

static int finish(void **state)
{
    spw_twins_reset();
    recompute(false);
    return 0;
}

/* ---- the program: what its hooks tell ---- */

static void *program_loads(enum spw_image_call call)
{
    void *handle = NULL;
    struct spw_image *described = spw_twins_loading(&(struct spw_image_told){.call = call, .what = driver.image});
    CUresult r = call == SPW_IMAGE_MODULE_DATA
                     ? module_load((CUmodule *)&handle, driver.image)
                     : library_load((CUlibrary *)&handle, driver.image, NULL, NULL, 0, NULL, NULL, 0);
    assert_int_equal(r, CUDA_SUCCESS);
    spw_layout_forget(handle);
    spw_twins_loaded(handle, described);
    return handle;
}

static CUfunction function_of(CUmodule module)
{
    CUfunction f = handle_in(module, FUNCTION_IN);
    spw_layout_note_function(f, module);
    return f;
}

static CUfunction kernel_of(CUlibrary library)
{
    CUkernel kernel = handle_in(library, KERNEL_IN);
    spw_layout_note_kernel(kernel, library);
    return (CUfunction)kernel;
}

static bool may_have_twin(CUfunction f)
{
    return spw_twin_verdict_locked(f, context) == SPW_REPLAYABLE;
}

static int make(CUfunction f)
{
    spw_lock();
    const int r = spw_twin_make_locked(f, context);
    spw_unlock();
    return r;
}

/* The twin, as it is used by the next operation of the stream. NULL: it is refused. */
static CUfunction use_on(CUfunction f, CUstream stream)
{
    CUfunction twin = NULL;
    spw_lock();
    struct spw_stream *on = spw_stream_of_locked(stream);
    (void)spw_stream_next_locked(on);
    const int r = spw_twin_use_locked(f, context, on, &twin);
    spw_unlock();
    assert_int_equal(r == 0, twin != NULL);
    return twin;
}

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
    spw_twins_changed();
    (void)use_on(f, t);
    assert_int_equal(driver.copy_count, 1);
    assert_int_equal(driver.copies[0].from, variable);
    assert_int_equal(driver.copies[0].to, variable + 0x1000);
    assert_int_equal(driver.copies[0].bytes, LENGTH);
    assert_ptr_equal(driver.copies[0].stream, t);
    (void)use_on(f, s);
    assert_int_equal(driver.copy_count, 1);
    assert_true(spw_twins_write(variable - 1, 2));
    (void)use_on(f, s);  /* who runs before the copy was submitted */
    spw_twins_changed(); /* has to copy again behind it */
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

#define TEST(name) cmocka_unit_test_setup_teardown(name, start, finish)

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
        TEST(a_module_whose_variables_cannot_be_saved_has_no_twin),
        TEST(a_module_whose_variables_hold_addresses_of_tensors_is_refused),
        TEST(what_the_driver_refuses_leaves_no_twin),
        TEST(without_memory_there_is_none_and_nothing_is_lost),
        TEST(a_twin_goes_before_its_module_when_nothing_runs_in_it_any_more),
        TEST(uses_of_one_twin_on_several_streams_are_ordered),
        TEST(a_handle_that_comes_again_is_another_module),
        TEST(modules_go_with_their_context),
        TEST(nothing_is_kept_where_nothing_is_recomputed),
        TEST(what_the_driver_did_not_load_is_forgotten),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
