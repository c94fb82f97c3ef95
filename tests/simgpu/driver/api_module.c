/* api_module.c - modules, libraries, and what can be asked about their kernels. */
#include <stdio.h>
#include <string.h>

#include "driver.h"
#include "module.h"
#include "stats.h"

SIMGPU_EXPORT CUresult cuModuleLoadData(CUmodule *module, const void *image)
{
    struct call call;
    struct module *m = NULL;
    CUresult r = driver_enter(&call, "cuModuleLoadData", NEEDS_CONTEXT);
    if (r == CUDA_SUCCESS && !module)
        r = CUDA_ERROR_INVALID_VALUE;
    if (r == CUDA_SUCCESS)
        r = module_create(call.context, image, NULL, &m);
    if (r == CUDA_SUCCESS)
        *module = (CUmodule)m;
    return driver_leave(&call, r);
}

SIMGPU_EXPORT CUresult cuModuleLoad(CUmodule *module, const char *path)
{
    struct call call;
    struct module *m = NULL;
    CUresult r = driver_enter(&call, "cuModuleLoad", NEEDS_CONTEXT);
    if (r == CUDA_SUCCESS && (!module || !path))
        r = CUDA_ERROR_INVALID_VALUE;
    if (r == CUDA_SUCCESS)
        r = module_create_from_file(call.context, path, &m);
    if (r == CUDA_SUCCESS)
        *module = (CUmodule)m;
    return driver_leave(&call, r);
}

SIMGPU_EXPORT CUresult cuModuleLoadDataEx(CUmodule *module, const void *image, unsigned int count, CUjit_option *options,
                                          void **values)
{
    return cuModuleLoadData(module, image);
}

SIMGPU_EXPORT CUresult cuModuleLoadFatBinary(CUmodule *module, const void *image)
{
    return cuModuleLoadData(module, image);
}

/* Enters a call about a handle of that kind. */
static CUresult enter_handle(struct call *call, const char *name, enum handle kind, const void *handle, const void *out)
{
    CUresult r = driver_enter(call, name, NEEDS_CONTEXT);
    if (r == CUDA_SUCCESS && !handle_is(kind, handle))
        r = CUDA_ERROR_INVALID_HANDLE;
    if (r == CUDA_SUCCESS && !out)
        r = CUDA_ERROR_INVALID_VALUE;
    return r;
}

SIMGPU_EXPORT CUresult cuModuleUnload(CUmodule module)
{
    struct call call;
    CUresult r = enter_handle(&call, "cuModuleUnload", HANDLE_MODULE, module, module);
    if (r == CUDA_SUCCESS && ((struct module *)module)->library)
        r = CUDA_ERROR_NOT_PERMITTED;
    if (r == CUDA_SUCCESS)
        module_destroy((struct module *)module);
    return driver_leave(&call, r);
}

SIMGPU_EXPORT CUresult cuModuleGetLoadingMode(CUmoduleLoadingMode *mode)
{
    struct call call;
    CUresult r = driver_enter(&call, "cuModuleGetLoadingMode", NEEDS_INIT);
    if (r == CUDA_SUCCESS && !mode)
        r = CUDA_ERROR_INVALID_VALUE;
    if (r == CUDA_SUCCESS)
        *mode = CU_MODULE_LAZY_LOADING;
    return driver_leave(&call, r);
}

SIMGPU_EXPORT CUresult cuModuleGetFunction(CUfunction *function, CUmodule module, const char *name)
{
    struct call call;
    CUresult r = enter_handle(&call, "cuModuleGetFunction", HANDLE_MODULE, module, function);
    struct function *f = r == CUDA_SUCCESS && name ? module_function((struct module *)module, name) : NULL;
    if (r == CUDA_SUCCESS && !f)
        r = name ? CUDA_ERROR_NOT_FOUND : CUDA_ERROR_INVALID_VALUE;
    if (r == CUDA_SUCCESS)
        *function = (CUfunction)f;
    return driver_leave(&call, r);
}

SIMGPU_EXPORT CUresult cuModuleGetFunctionCount(unsigned int *count, CUmodule module)
{
    struct call call;
    CUresult r = enter_handle(&call, "cuModuleGetFunctionCount", HANDLE_MODULE, module, count);
    if (r == CUDA_SUCCESS)
        *count = ((struct module *)module)->image->kernel_count;
    return driver_leave(&call, r);
}

SIMGPU_EXPORT CUresult cuModuleEnumerateFunctions(CUfunction *functions, unsigned int count, CUmodule module)
{
    struct call call;
    CUresult r = enter_handle(&call, "cuModuleEnumerateFunctions", HANDLE_MODULE, module, functions);
    struct module *m = (struct module *)module;
    for (unsigned i = 0; r == CUDA_SUCCESS && i < count && i < m->image->kernel_count; i++)
        if (!(functions[i] = (CUfunction)module_function_at(m, i)))
            r = CUDA_ERROR_OUT_OF_MEMORY;
    return driver_leave(&call, r);
}

static CUresult global_of(const struct module *m, const char *name, CUdeviceptr *address, size_t *bytes)
{
    uint64_t at;
    const struct simgpu_global *g = name ? module_global(m, name, &at) : NULL;
    if (!g)
        return name ? CUDA_ERROR_NOT_FOUND : CUDA_ERROR_INVALID_VALUE;
    if (address)
        *address = at;
    if (bytes)
        *bytes = g->bytes;
    return CUDA_SUCCESS;
}

SIMGPU_EXPORT CUresult cuModuleGetGlobal_v2(CUdeviceptr *address, size_t *bytes, CUmodule module, const char *name)
{
    struct call call;
    CUresult r = enter_handle(&call, "cuModuleGetGlobal", HANDLE_MODULE, module, module);
    if (r == CUDA_SUCCESS)
        r = global_of((struct module *)module, name, address, bytes);
    return driver_leave(&call, r);
}

/* ---- libraries ---- */

SIMGPU_EXPORT CUresult cuLibraryLoadData(CUlibrary *library, const void *code, CUjit_option *options, void **values,
                                         unsigned int count, CUlibraryOption *library_options, void **library_values,
                                         unsigned int library_count)
{
    struct call call;
    struct library *l = NULL;
    CUresult r = driver_enter(&call, "cuLibraryLoadData", NEEDS_INIT);
    if (r == CUDA_SUCCESS && !library)
        r = CUDA_ERROR_INVALID_VALUE;
    if (r == CUDA_SUCCESS)
        r = library_create(code, &l);
    if (r == CUDA_SUCCESS)
        *library = (CUlibrary)l;
    return driver_leave(&call, r);
}

static CUresult enter_library(struct call *call, const char *name, CUlibrary library, const void *out)
{
    CUresult r = driver_enter(call, name, NEEDS_INIT);
    if (r == CUDA_SUCCESS && !handle_is(HANDLE_LIBRARY, library))
        r = CUDA_ERROR_INVALID_HANDLE;
    if (r == CUDA_SUCCESS && !out)
        r = CUDA_ERROR_INVALID_VALUE;
    return r;
}

SIMGPU_EXPORT CUresult cuLibraryUnload(CUlibrary library)
{
    struct call call;
    CUresult r = enter_library(&call, "cuLibraryUnload", library, library);
    if (r == CUDA_SUCCESS)
        library_destroy((struct library *)library);
    return driver_leave(&call, r);
}

SIMGPU_EXPORT CUresult cuLibraryGetKernel(CUkernel *kernel, CUlibrary library, const char *name)
{
    struct call call;
    CUresult r = enter_library(&call, "cuLibraryGetKernel", library, kernel);
    struct function *f = r == CUDA_SUCCESS && name ? library_kernel((struct library *)library, name) : NULL;
    if (r == CUDA_SUCCESS && !f)
        r = name ? CUDA_ERROR_NOT_FOUND : CUDA_ERROR_INVALID_VALUE;
    if (r == CUDA_SUCCESS)
        *kernel = (CUkernel)f;
    return driver_leave(&call, r);
}

SIMGPU_EXPORT CUresult cuLibraryGetKernelCount(unsigned int *count, CUlibrary library)
{
    struct call call;
    CUresult r = enter_library(&call, "cuLibraryGetKernelCount", library, count);
    if (r == CUDA_SUCCESS)
        *count = ((struct library *)library)->image->kernel_count;
    return driver_leave(&call, r);
}

SIMGPU_EXPORT CUresult cuLibraryEnumerateKernels(CUkernel *kernels, unsigned int count, CUlibrary library)
{
    struct call call;
    CUresult r = enter_library(&call, "cuLibraryEnumerateKernels", library, kernels);
    struct library *l = (struct library *)library;
    for (unsigned i = 0; r == CUDA_SUCCESS && i < count && i < l->image->kernel_count; i++)
        if (!(kernels[i] = (CUkernel)library_kernel_at(l, i)))
            r = CUDA_ERROR_OUT_OF_MEMORY;
    return driver_leave(&call, r);
}

SIMGPU_EXPORT CUresult cuLibraryGetModule(CUmodule *module, CUlibrary library)
{
    struct call call;
    struct module *m = NULL;
    CUresult r = enter_handle(&call, "cuLibraryGetModule", HANDLE_LIBRARY, library, module);
    if (r == CUDA_SUCCESS)
        r = library_module((struct library *)library, call.context, &m);
    if (r == CUDA_SUCCESS)
        *module = (CUmodule)m;
    return driver_leave(&call, r);
}

SIMGPU_EXPORT CUresult cuLibraryGetGlobal(CUdeviceptr *address, size_t *bytes, CUlibrary library, const char *name)
{
    struct call call;
    struct module *m = NULL;
    CUresult r = enter_handle(&call, "cuLibraryGetGlobal", HANDLE_LIBRARY, library, library);
    if (r == CUDA_SUCCESS)
        r = library_module((struct library *)library, call.context, &m); /* the variables are the device's from here on */
    if (r == CUDA_SUCCESS)
        r = global_of(m, name, address, bytes);
    return driver_leave(&call, r);
}

SIMGPU_EXPORT CUresult cuLibraryGetManaged(CUdeviceptr *address, size_t *bytes, CUlibrary library, const char *name)
{
    struct call call;
    CUresult r = enter_library(&call, "cuLibraryGetManaged", library, library);
    if (r == CUDA_SUCCESS)
        r = name ? CUDA_ERROR_NOT_FOUND : CUDA_ERROR_INVALID_VALUE; /* device programs have no managed variables */
    return driver_leave(&call, r);
}

SIMGPU_EXPORT CUresult cuKernelGetFunction(CUfunction *function, CUkernel kernel)
{
    struct call call;
    struct module *m = NULL;
    CUresult r = enter_handle(&call, "cuKernelGetFunction", HANDLE_KERNEL, kernel, function);
    struct function *k = (struct function *)kernel, *f = NULL;
    if (r == CUDA_SUCCESS)
        r = library_module(k->library, call.context, &m);
    if (r == CUDA_SUCCESS && !(f = module_function(m, k->kernel->name)))
        r = CUDA_ERROR_OUT_OF_MEMORY;
    if (r == CUDA_SUCCESS)
        *function = (CUfunction)f;
    return driver_leave(&call, r);
}

SIMGPU_EXPORT CUresult cuKernelGetLibrary(CUlibrary *library, CUkernel kernel)
{
    struct call call;
    CUresult r = driver_enter(&call, "cuKernelGetLibrary", NEEDS_INIT);
    if (r == CUDA_SUCCESS && (!library || !handle_is(HANDLE_KERNEL, kernel)))
        r = library ? CUDA_ERROR_INVALID_HANDLE : CUDA_ERROR_INVALID_VALUE;
    if (r == CUDA_SUCCESS)
        *library = (CUlibrary)((struct function *)kernel)->library;
    return driver_leave(&call, r);
}

SIMGPU_EXPORT CUresult cuFuncGetModule(CUmodule *module, CUfunction function)
{
    struct call call;
    CUresult r = enter_handle(&call, "cuFuncGetModule", HANDLE_FUNCTION, function, module);
    if (r == CUDA_SUCCESS)
        *module = (CUmodule)((struct function *)function)->module;
    return driver_leave(&call, r);
}

/* ---- what is known about a kernel ---- */

/* A driver may follow what it is given as a handle: what never was one of either kind is a fault of the caller's, although
 * it gets an answer here. */
static void look_for_strays(const char *call_name, const void *handle)
{
    if (!handle || handle_is(HANDLE_FUNCTION, handle) || handle_is(HANDLE_KERNEL, handle))
        return;
    fprintf(stderr, "simgpu: %s of %p, which is no function\n", call_name, handle);
    stats.faults++;
}

static CUresult name_of(const char *call_name, const char **name, enum handle kind, const void *handle)
{
    struct call call;
    CUresult r = driver_enter(&call, call_name, NEEDS_INIT);
    if (r == CUDA_SUCCESS && !name)
        r = CUDA_ERROR_INVALID_VALUE;
    if (r == CUDA_SUCCESS)
        look_for_strays(call_name, handle);
    if (r == CUDA_SUCCESS && !handle_is(kind, handle))
        r = CUDA_ERROR_INVALID_HANDLE;
    if (r == CUDA_SUCCESS)
        *name = ((const struct function *)handle)->kernel->name;
    return driver_leave(&call, r);
}

SIMGPU_EXPORT CUresult cuFuncGetName(const char **name, CUfunction function)
{
    return name_of("cuFuncGetName", name, HANDLE_FUNCTION, function);
}

SIMGPU_EXPORT CUresult cuKernelGetName(const char **name, CUkernel kernel)
{
    return name_of("cuKernelGetName", name, HANDLE_KERNEL, kernel);
}

static CUresult param_of(const char *name, enum handle kind, const void *handle, size_t index, size_t *offset, size_t *size)
{
    struct call call;
    CUresult r = driver_enter(&call, name, NEEDS_INIT);
    const struct simgpu_kernel *k = NULL;
    if (r == CUDA_SUCCESS && !handle_is(kind, handle))
        r = CUDA_ERROR_INVALID_HANDLE;
    if (r == CUDA_SUCCESS) {
        k = ((const struct function *)handle)->kernel;
        if (index >= k->param_count || !offset)
            r = CUDA_ERROR_INVALID_VALUE;
    }
    if (r == CUDA_SUCCESS) {
        *offset = k->params[index].offset_bytes;
        if (size)
            *size = k->params[index].size_bytes;
    }
    return driver_leave(&call, r);
}

SIMGPU_EXPORT CUresult cuFuncGetParamInfo(CUfunction function, size_t index, size_t *offset, size_t *size)
{
    return param_of("cuFuncGetParamInfo", HANDLE_FUNCTION, function, index, offset, size);
}

SIMGPU_EXPORT CUresult cuKernelGetParamInfo(CUkernel kernel, size_t index, size_t *offset, size_t *size)
{
    return param_of("cuKernelGetParamInfo", HANDLE_KERNEL, kernel, index, offset, size);
}

static CUresult attribute_get(const struct function *f, CUfunction_attribute attribute, int *value)
{
    switch (attribute) {
    case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
        *value = 1024;
        break;
    case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES:
        *value = (int)f->kernel->static_shared_bytes;
        break;
    case CU_FUNC_ATTRIBUTE_NUM_REGS:
        *value = 32;
        break;
    case CU_FUNC_ATTRIBUTE_PTX_VERSION:
    case CU_FUNC_ATTRIBUTE_BINARY_VERSION:
        *value = 10 * settings.profile.compute_major + settings.profile.compute_minor;
        break;
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
        *value = f->max_dynamic_shared ? f->max_dynamic_shared : 49152 - (int)f->kernel->static_shared_bytes;
        break;
    case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
        *value = f->carveout;
        break;
    case CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED:
        *value = f->nonportable_cluster;
        break;
    default:
        if (attribute < 0 || attribute >= CU_FUNC_ATTRIBUTE_MAX)
            return CUDA_ERROR_INVALID_VALUE;
        *value = 0;
    }
    return CUDA_SUCCESS;
}

static CUresult attribute_set(struct function *f, CUfunction_attribute attribute, int value)
{
    switch (attribute) {
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
        if (value < 0 || value + (int)f->kernel->static_shared_bytes > settings.profile.shared_per_block_optin_bytes)
            return CUDA_ERROR_INVALID_VALUE;
        f->max_dynamic_shared = value;
        return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
        if (value < -1 || value > 100)
            return CUDA_ERROR_INVALID_VALUE;
        f->carveout = value;
        return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED:
        f->nonportable_cluster = value != 0;
        return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH:
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT:
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH:
        f->cluster[attribute - CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH] = value;
        return CUDA_SUCCESS;
    default:
        return CUDA_ERROR_INVALID_VALUE;
    }
}

SIMGPU_EXPORT CUresult cuFuncGetAttribute(int *value, CUfunction_attribute attribute, CUfunction function)
{
    struct call call;
    CUresult r = driver_enter(&call, "cuFuncGetAttribute", NEEDS_CONTEXT);
    if (r == CUDA_SUCCESS && (!function_resolve(function) || !value))
        r = value ? CUDA_ERROR_INVALID_HANDLE : CUDA_ERROR_INVALID_VALUE;
    if (r == CUDA_SUCCESS)
        r = attribute_get(function_resolve(function), attribute, value);
    return driver_leave(&call, r);
}

SIMGPU_EXPORT CUresult cuFuncSetAttribute(CUfunction function, CUfunction_attribute attribute, int value)
{
    struct call call;
    CUresult r = driver_enter(&call, "cuFuncSetAttribute", NEEDS_CONTEXT);
    if (r == CUDA_SUCCESS && !function_resolve(function))
        r = CUDA_ERROR_INVALID_HANDLE;
    if (r == CUDA_SUCCESS)
        r = attribute_set(function_resolve(function), attribute, value);
    return driver_leave(&call, r);
}

SIMGPU_EXPORT CUresult cuKernelGetAttribute(int *value, CUfunction_attribute attribute, CUkernel kernel, CUdevice device)
{
    return cuFuncGetAttribute(value, attribute, (CUfunction)kernel);
}

SIMGPU_EXPORT CUresult cuKernelSetAttribute(CUfunction_attribute attribute, int value, CUkernel kernel, CUdevice device)
{
    return cuFuncSetAttribute((CUfunction)kernel, attribute, value);
}

SIMGPU_EXPORT CUresult cuFuncSetCacheConfig(CUfunction function, CUfunc_cache config)
{
    struct call call;
    CUresult r = driver_enter(&call, "cuFuncSetCacheConfig", NEEDS_CONTEXT);
    if (r == CUDA_SUCCESS && !function_resolve(function))
        r = CUDA_ERROR_INVALID_HANDLE;
    if (r == CUDA_SUCCESS)
        function_resolve(function)->cache_config = config;
    return driver_leave(&call, r);
}

SIMGPU_EXPORT CUresult cuKernelSetCacheConfig(CUkernel kernel, CUfunc_cache config, CUdevice device)
{
    return cuFuncSetCacheConfig((CUfunction)kernel, config);
}

SIMGPU_EXPORT CUresult cuFuncLoad(CUfunction function)
{
    struct call call;
    return driver_leave(&call, enter_handle(&call, "cuFuncLoad", HANDLE_FUNCTION, function, function));
}

SIMGPU_EXPORT CUresult cuFuncIsLoaded(CUfunctionLoadingState *state, CUfunction function)
{
    struct call call;
    CUresult r = enter_handle(&call, "cuFuncIsLoaded", HANDLE_FUNCTION, function, state);
    if (r == CUDA_SUCCESS)
        *state = CU_FUNCTION_LOADING_STATE_LOADED;
    return driver_leave(&call, r);
}

/* ---- occupancy: threads and shared memory are what limits it here ---- */

static int active_blocks(const struct function *f, int block, size_t dynamic)
{
    size_t shared = f->kernel->static_shared_bytes + dynamic;
    int by_threads = block > 0 ? settings.profile.threads_per_sm / block : 0;
    int by_shared = shared ? (int)((size_t)settings.profile.shared_per_sm_bytes / shared) : 32;
    int blocks = by_threads < by_shared ? by_threads : by_shared;
    return block > 1024 ? 0 : blocks < 32 ? blocks : 32;
}

SIMGPU_EXPORT CUresult cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, CUfunction function, int block,
                                                                            size_t dynamic, unsigned int flags)
{
    struct call call;
    CUresult r = driver_enter(&call, "cuOccupancyMaxActiveBlocksPerMultiprocessor", NEEDS_CONTEXT);
    if (r == CUDA_SUCCESS && (!blocks || block <= 0))
        r = CUDA_ERROR_INVALID_VALUE;
    if (r == CUDA_SUCCESS && !function_resolve(function))
        r = CUDA_ERROR_INVALID_HANDLE;
    if (r == CUDA_SUCCESS)
        *blocks = active_blocks(function_resolve(function), block, dynamic);
    return driver_leave(&call, r);
}

SIMGPU_EXPORT CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, CUfunction function, int block,
                                                                   size_t dynamic)
{
    return cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, function, block, dynamic, 0);
}

SIMGPU_EXPORT CUresult cuOccupancyMaxPotentialBlockSizeWithFlags(int *grid, int *block, CUfunction function,
                                                                 CUoccupancyB2DSize shared_of, size_t dynamic, int limit,
                                                                 unsigned int flags)
{
    int best = 0, best_threads = -1;
    struct call call;
    CUresult r = driver_enter(&call, "cuOccupancyMaxPotentialBlockSize", NEEDS_CONTEXT);
    if (r == CUDA_SUCCESS && (!grid || !block))
        r = CUDA_ERROR_INVALID_VALUE;
    if (r == CUDA_SUCCESS && !function_resolve(function))
        r = CUDA_ERROR_INVALID_HANDLE;
    for (int size = limit > 0 && limit < 1024 ? limit : 1024; r == CUDA_SUCCESS && size >= 32; size -= 32) {
        int blocks = active_blocks(function_resolve(function), size, shared_of ? shared_of(size) : dynamic);
        if (blocks * size > best_threads) {
            best_threads = blocks * size;
            best = size;
            *grid = blocks * settings.profile.multiprocessors;
        }
    }
    if (r == CUDA_SUCCESS)
        *block = best;
    return driver_leave(&call, r);
}

SIMGPU_EXPORT CUresult cuOccupancyMaxPotentialBlockSize(int *grid, int *block, CUfunction function,
                                                        CUoccupancyB2DSize shared_of, size_t dynamic, int limit)
{
    return cuOccupancyMaxPotentialBlockSizeWithFlags(grid, block, function, shared_of, dynamic, limit, 0);
}

SIMGPU_EXPORT CUresult cuOccupancyAvailableDynamicSMemPerBlock(size_t *bytes, CUfunction function, int blocks, int block)
{
    struct call call;
    CUresult r = driver_enter(&call, "cuOccupancyAvailableDynamicSMemPerBlock", NEEDS_CONTEXT);
    const struct function *f = function_resolve(function);
    if (r == CUDA_SUCCESS && (!bytes || blocks <= 0 || block <= 0))
        r = CUDA_ERROR_INVALID_VALUE;
    if (r == CUDA_SUCCESS && !f)
        r = CUDA_ERROR_INVALID_HANDLE;
    if (r == CUDA_SUCCESS) {
        size_t each = (size_t)settings.profile.shared_per_sm_bytes / (size_t)blocks;
        *bytes = each > f->kernel->static_shared_bytes ? each - f->kernel->static_shared_bytes : 0;
    }
    return driver_leave(&call, r);
}
