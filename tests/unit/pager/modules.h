/* modules.h - what the tests of twins share: a driver with modules and their variables, and a program that loads them. */
#ifndef SPILLWAY_TESTS_MODULES_H
#define SPILLWAY_TESTS_MODULES_H
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

static inline CUresult result_of(const char *call)
{
    return driver.fails && !strcmp(driver.fails, call) ? CUDA_ERROR_UNKNOWN : CUDA_SUCCESS;
}

static inline unsigned number_of(const void *handle)
{
    return (unsigned)(((uintptr_t)handle - FIRST) / STEP);
}

static inline void *handle_in(const void *handle, unsigned offset)
{
    return (void *)((uintptr_t)handle + offset);
}

static inline CUresult load(void *ret_handle, const char *call)
{
    if (result_of(call) != CUDA_SUCCESS)
        return result_of(call);
    assert_true(driver.loads < HANDLES);
    driver.loaded[driver.loads] = true;
    *(uintptr_t *)ret_handle = FIRST + STEP * driver.loads++;
    return CUDA_SUCCESS;
}

static inline CUresult module_load(CUmodule *module, const void *from)
{
    assert_ptr_equal(from, driver.image);
    return load(module, "cuModuleLoadData");
}

static inline CUresult library_load(CUlibrary *library, const void *from, CUjit_option *options, void **values,
                                    unsigned count, CUlibraryOption *library_options, void **library_values,
                                    unsigned library_count)
{
    assert_ptr_equal(from, driver.image);
    return load(library, "cuLibraryLoadData");
}

static inline CUresult unload(const void *handle)
{
    assert_true(driver.loaded[number_of(handle)]);
    driver.loaded[number_of(handle)] = false;
    driver.unloads++;
    driver.unloaded_last = number_of(handle);
    return CUDA_SUCCESS;
}

static inline CUresult module_unload(CUmodule module)
{
    return unload(module);
}

static inline CUresult library_unload(CUlibrary library)
{
    return unload(library);
}

static inline CUresult get_function(CUfunction *f, CUmodule module, const char *name)
{
    assert_string_equal(name, "f");
    *f = handle_in(module, FUNCTION_IN);
    return result_of("cuModuleGetFunction");
}

static inline CUresult get_kernel(CUkernel *kernel, CUlibrary library, const char *name)
{
    assert_string_equal(name, "f");
    *kernel = handle_in(library, KERNEL_IN);
    return result_of("cuLibraryGetKernel");
}

static inline CUresult get_function_of_kernel(CUfunction *f, CUkernel kernel)
{
    *f = handle_in(kernel, FUNCTION_OF_KERNEL);
    return result_of("cuKernelGetFunction");
}

static inline CUresult function_name(const char **name, CUfunction f)
{
    *name = "f";
    return (uintptr_t)f & KERNEL_IN && !((uintptr_t)f & FUNCTION_OF_KERNEL) ? CUDA_ERROR_INVALID_HANDLE
                                                                            : result_of("cuFuncGetName");
}

static inline CUresult kernel_name(const char **name, CUkernel kernel)
{
    *name = "f";
    return result_of("cuKernelGetName");
}

static inline CUresult module_of(CUmodule *module, CUfunction f)
{
    *module = (CUmodule)((uintptr_t)f & ~(uintptr_t)(STEP - 1));
    return (uintptr_t)f & FUNCTION_IN ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

static inline CUresult library_of(CUlibrary *library, CUkernel kernel)
{
    *library = (CUlibrary)((uintptr_t)kernel & ~(uintptr_t)(STEP - 1));
    return CUDA_SUCCESS;
}

/* Where the context has it: at another address in each. */
static inline CUdeviceptr address_of(const void *handle)
{
    return VARIABLE + 0x1000 * number_of(handle) + (driver.current == OTHER ? 0x800 : 0);
}

static inline CUresult module_global(CUdeviceptr *address, size_t *bytes, CUmodule module, const char *name)
{
    if (strcmp(name, "v") != 0)
        return CUDA_ERROR_NOT_FOUND;
    *address = address_of(module);
    *bytes = number_of(module) ? driver.twin_bytes : driver.variable_bytes;
    return result_of("cuModuleGetGlobal_v2");
}

static inline CUresult library_global(CUdeviceptr *address, size_t *bytes, CUlibrary library, const char *name)
{
    if (strcmp(name, "v") != 0)
        return CUDA_ERROR_NOT_FOUND;
    *address = address_of(library);
    *bytes = LENGTH;
    return result_of("cuLibraryGetGlobal");
}

static inline CUresult copy_within(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream)
{
    assert_true(driver.copy_count < COPIES);
    driver.copies[driver.copy_count].to = to;
    driver.copies[driver.copy_count].from = from;
    driver.copies[driver.copy_count].bytes = bytes;
    driver.copies[driver.copy_count++].stream = stream;
    return result_of("cuMemcpyDtoDAsync_v2");
}

static inline int *value_of(const void *function, CUfunction_attribute attribute)
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

static inline CUresult get_attribute(int *value, CUfunction_attribute attribute, CUfunction f)
{
    if (attribute == CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE)
        return CUDA_ERROR_INVALID_VALUE; /* an old driver */
    *value = *value_of(f, attribute);
    return CUDA_SUCCESS;
}

static inline CUresult set_attribute(CUfunction f, CUfunction_attribute attribute, int value)
{
    driver.sets++;
    *value_of(f, attribute) = value;
    return result_of("cuFuncSetAttribute");
}

static inline CUresult get_kernel_attribute(int *value, CUfunction_attribute attribute, CUkernel kernel, CUdevice of)
{
    assert_int_equal(of, 0);
    return get_attribute(value, attribute, (CUfunction)kernel);
}

static inline CUresult set_kernel_attribute(CUfunction_attribute attribute, int value, CUkernel kernel, CUdevice of)
{
    driver.sets++;
    *value_of(kernel, attribute) = value;
    return result_of("cuKernelSetAttribute");
}

static inline CUresult get_device(CUdevice *ret_device)
{
    *ret_device = 0;
    return result_of("cuCtxGetDevice");
}

static inline CUresult count_devices(int *ret_count)
{
    *ret_count = 0;
    return CUDA_SUCCESS;
}

static inline CUresult get_current(CUcontext *ret_context)
{
    *ret_context = driver.current;
    return CUDA_SUCCESS;
}

static inline CUresult push_current(CUcontext pushed)
{
    driver.current = pushed;
    return result_of("cuCtxPushCurrent_v2");
}

static inline CUresult pop_current(CUcontext *ret_context)
{
    *ret_context = driver.current;
    driver.current = context;
    return CUDA_SUCCESS;
}

static inline CUresult pointer_attribute(void *data, CUpointer_attribute attribute, CUdeviceptr address)
{
    if (attribute != CU_POINTER_ATTRIBUTE_IS_MANAGED)
        return CUDA_ERROR_INVALID_VALUE;
    *(unsigned *)data = driver.is_managed;
    return CUDA_SUCCESS;
}

static inline void recompute(bool on)
{
    static struct spw_settings settings;
    settings = *spw_settings_get();
    settings.recompute = on;
    spw_settings_use(&settings);
}

static inline int start(void **state)
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

static inline int finish(void **state)
{
    spw_twins_reset();
    recompute(false);
    return 0;
}

/* ---- the program: what its hooks tell ---- */

static inline void *program_loads(enum spw_image_call call)
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

static inline CUfunction function_of(CUmodule module)
{
    CUfunction f = handle_in(module, FUNCTION_IN);
    spw_layout_note_function(f, module);
    return f;
}

static inline CUfunction kernel_of(CUlibrary library)
{
    CUkernel kernel = handle_in(library, KERNEL_IN);
    spw_layout_note_kernel(kernel, library);
    return (CUfunction)kernel;
}

static inline bool may_have_twin(CUfunction f)
{
    return spw_twin_verdict_locked(f, context) == SPW_REPLAYABLE;
}

static inline int make(CUfunction f)
{
    spw_lock();
    const int r = spw_twin_make_locked(f, context);
    spw_unlock();
    return r;
}

/* The twin, as it is used by the next operation of the stream. NULL: it is refused. */
static inline CUfunction use_on(CUfunction f, CUstream stream)
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

/* ---- the end ---- */

#define TEST(name) cmocka_unit_test_setup_teardown(name, start, finish)
#endif
