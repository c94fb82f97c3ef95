/* fake-driver.c - a libcuda.so.1 that is just enough to see what the runtime asks of a driver: everything happens at once,
 * in host memory, and each call is written to the file that FAKE_DRIVER_LOG names, one per line.
 *
 * It exports cuGetProcAddress_v2() alone, so a runtime that looks anything up by dlsym() finds nothing. A name asked for
 * with the per-thread flag is logged with "@per-thread" after it. */
#include "../../image.h"
#include <cuda.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#undef cuMemcpyHtoDAsync
#undef cuMemcpyDtoHAsync
#undef cuMemcpyHtoD
#undef cuMemcpyDtoH
#undef cuMemAlloc
#undef cuMemFree

static void note(const char *format, ...) __attribute__((format(printf, 1, 2)));

static void note(const char *format, ...)
{
    static FILE *file;
    va_list arguments;

    if (!file && getenv("FAKE_DRIVER_LOG"))
        file = fopen(getenv("FAKE_DRIVER_LOG"), "we");
    if (!file)
        return;
    va_start(arguments, format);
    vfprintf(file, format, arguments);
    va_end(arguments);
    fputc('\n', file);
    fflush(file);
}

/* The error that every later call has, as after a fault on a device; set by a launch of a kernel whose name has "fault" in
 * it. */
static CUresult sticky;
static _Thread_local CUcontext current;

static CUresult init(unsigned int flags)
{
    const char *result = getenv("FAKE_DRIVER_INIT");

    note("cuInit");
    return result ? (CUresult)atoi(result) : CUDA_SUCCESS;
}

static CUresult device_count(int *count)
{
    *count = 2;
    return sticky;
}

static CUresult retain(CUcontext *context, CUdevice device)
{
    note("cuDevicePrimaryCtxRetain %d", device);
    *context = (CUcontext)(uintptr_t)(0x1000 + device);
    return sticky;
}

static CUresult reset(CUdevice device)
{
    note("cuDevicePrimaryCtxReset %d", device);
    sticky = CUDA_SUCCESS;
    return CUDA_SUCCESS;
}

static CUresult release(CUdevice device)
{
    return CUDA_SUCCESS;
}

static CUresult get_current(CUcontext *context)
{
    *context = current;
    return CUDA_SUCCESS;
}

static CUresult set_current(CUcontext context)
{
    current = context;
    return CUDA_SUCCESS;
}

static CUresult get_device(CUdevice *device)
{
    *device = (CUdevice)((uintptr_t)current - 0x1000);
    return CUDA_SUCCESS;
}

/* The form that drivers of 13.0 answer with. */
static CUresult synchronize(CUcontext other)
{
    return other ? CUDA_ERROR_INVALID_CONTEXT : sticky;
}

/* --- images: a library is the image itself, a kernel its record --- */

static CUresult load(CUlibrary *library, const void *code, CUjit_option *a, void **b, unsigned int c, CUlibraryOption *d,
                     void **e, unsigned int f)
{
    const struct simgpu_image *image = code;

    if (!simgpu_image_is(image))
        return CUDA_ERROR_INVALID_IMAGE;
    note("cuLibraryLoadData %u kernels %u variables", image->kernel_count, image->global_count);
    *library = (CUlibrary)image;
    return CUDA_SUCCESS;
}

static CUresult unload(CUlibrary library)
{
    note("cuLibraryUnload");
    return CUDA_SUCCESS;
}

static CUresult get_kernel(CUkernel *kernel, CUlibrary library, const char *name)
{
    const struct simgpu_image *image = (const struct simgpu_image *)library;

    for (uint32_t i = 0; i < image->kernel_count; i++)
        if (!strcmp(image->kernels[i]->name, name)) {
            *kernel = (CUkernel)image->kernels[i];
            return CUDA_SUCCESS;
        }
    return CUDA_ERROR_NOT_FOUND;
}

static CUresult get_global(CUdeviceptr *address, size_t *bytes, CUlibrary library, const char *name)
{
    const struct simgpu_image *image = (const struct simgpu_image *)library;

    for (uint32_t i = 0; i < image->global_count; i++)
        if (!strcmp(image->globals[i]->name, name)) {
            *address = (CUdeviceptr)image->globals[i]->address;
            *bytes = image->globals[i]->bytes;
            return CUDA_SUCCESS;
        }
    return CUDA_ERROR_NOT_FOUND;
}

static CUresult kernel_name(const char **name, CUkernel kernel)
{
    *name = ((const struct simgpu_kernel *)kernel)->name;
    return CUDA_SUCCESS;
}

static CUresult param_info(CUkernel handle, size_t index, size_t *offset, size_t *size)
{
    const struct simgpu_kernel *kernel = (const struct simgpu_kernel *)handle;

    if (index >= kernel->param_count)
        return CUDA_ERROR_INVALID_VALUE;
    *offset = kernel->params[index].offset_bytes;
    if (size)
        *size = kernel->params[index].size_bytes;
    return CUDA_SUCCESS;
}

static sigjmp_buf after_fault;

static void on_fault(int number)
{
    siglongjmp(after_fault, 1);
}

/* Runs the kernel; 0 when it touched what is not there, and was left in the middle. */
static int run_until_fault(const struct simgpu_kernel *kernel, const struct simgpu_launch *launch, const void *image)
{
    const struct sigaction action = {.sa_handler = on_fault, .sa_flags = SA_NODEFER};
    const int faulted = sigsetjmp(after_fault, 1);

    if (!faulted) {
        sigaction(SIGSEGV, &action, NULL);
        kernel->run(launch, image);
    }
    signal(SIGSEGV, SIG_DFL);
    return !faulted;
}

static CUresult launch_as(const char *how, CUfunction function, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                          unsigned by, unsigned bz, unsigned shared_bytes, CUstream stream, void **params, void **extra)
{
    static uint64_t serial;
    const struct simgpu_kernel *kernel = (const struct simgpu_kernel *)function;
    const struct simgpu_launch launch = {{gx, gy, gz}, {bx, by, bz}, shared_bytes, ++serial};
    struct simgpu_footprint footprint = {0};
    unsigned char image[4096];

    if (sticky)
        return sticky;
    if (!gx || !gy || !gz || !bx || !by || !bz || bx * by * bz > 1024)
        return CUDA_ERROR_INVALID_VALUE;
    for (uint32_t i = 0; i < kernel->param_count; i++)
        memcpy(image + kernel->params[i].offset_bytes, params[i], kernel->params[i].size_bytes);
    if (kernel->describe) {
        kernel->describe(&launch, image, &footprint);
        note("footprint %s %g flops %g bytes %u ranges%s", kernel->name, footprint.flops, footprint.bytes,
             footprint.range_count, footprint.unknown ? " unknown" : "");
    }
    note("%s %s stream %p", how, kernel->name, (void *)stream);
    if (!run_until_fault(kernel, &launch, image))
        sticky = CUDA_ERROR_ILLEGAL_ADDRESS; /* which later calls tell */
    return CUDA_SUCCESS;
}

static CUresult launch(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                       unsigned s, CUstream stream, void **params, void **extra)
{
    return launch_as("cuLaunchKernel", f, gx, gy, gz, bx, by, bz, s, stream, params, extra);
}

static CUresult launch_per_thread(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                                  unsigned s, CUstream stream, void **params, void **extra)
{
    return launch_as("cuLaunchKernel@per-thread", f, gx, gy, gz, bx, by, bz, s, stream, params, extra);
}

/* --- memory --- */

static CUresult alloc(CUdeviceptr *address, size_t bytes)
{
    note("cuMemAlloc %zu", bytes);
    if (sticky)
        return sticky;
    if (bytes > (size_t)1 << 30)
        return CUDA_ERROR_OUT_OF_MEMORY;
    *address = (CUdeviceptr)calloc(1, bytes);
    return CUDA_SUCCESS;
}

static CUresult release_memory(CUdeviceptr address)
{
    note("cuMemFree");
    free((void *)address);
    return sticky;
}

#define COPY(name, call, to_type, from_type) \
    static CUresult name(to_type to, from_type from, size_t bytes) \
    { \
        note(call " %zu", bytes); \
        if (!sticky) \
            memcpy((void *)to, (const void *)from, bytes); \
        return sticky; \
    } \
    static CUresult name##_async(to_type to, from_type from, size_t bytes, CUstream stream) \
    { \
        return name(to, from, bytes); \
    }
COPY(copy_in, "cuMemcpyHtoD", CUdeviceptr, const void *)
COPY(copy_out, "cuMemcpyDtoH", void *, CUdeviceptr)
COPY(copy_any, "cuMemcpy", CUdeviceptr, CUdeviceptr)

static CUresult query_stream(CUstream stream)
{
    return CUDA_ERROR_NOT_READY;
}

/* --- looking up --- */

static CUresult resolve(const char *name, void **function, int version, cuuint64_t flags,
                        CUdriverProcAddressQueryResult *status);

static const struct {
    const char *name;
    void *function, *per_thread;
} functions[] = {
    {"cuGetProcAddress", (void *)resolve, NULL},
    {"cuInit", (void *)init, NULL},
    {"cuDeviceGetCount", (void *)device_count, NULL},
    {"cuDevicePrimaryCtxRetain", (void *)retain, NULL},
    {"cuDevicePrimaryCtxReset", (void *)reset, NULL},
    {"cuDevicePrimaryCtxRelease", (void *)release, NULL},
    {"cuCtxGetCurrent", (void *)get_current, NULL},
    {"cuCtxSetCurrent", (void *)set_current, NULL},
    {"cuCtxGetDevice", (void *)get_device, NULL},
    {"cuCtxSynchronize", (void *)synchronize, NULL},
    {"cuLibraryLoadData", (void *)load, NULL},
    {"cuLibraryUnload", (void *)unload, NULL},
    {"cuLibraryGetKernel", (void *)get_kernel, NULL},
    {"cuLibraryGetGlobal", (void *)get_global, NULL},
    {"cuKernelGetName", (void *)kernel_name, NULL},
    {"cuKernelGetParamInfo", (void *)param_info, NULL},
    {"cuLaunchKernel", (void *)launch, (void *)launch_per_thread},
    {"cuMemAlloc", (void *)alloc, NULL},
    {"cuMemFree", (void *)release_memory, NULL},
    {"cuMemcpyHtoD", (void *)copy_in, NULL},
    {"cuMemcpyDtoH", (void *)copy_out, NULL},
    {"cuMemcpy", (void *)copy_any, NULL},
    {"cuMemcpyHtoDAsync", (void *)copy_in_async, NULL},
    {"cuMemcpyDtoHAsync", (void *)copy_out_async, NULL},
    {"cuMemcpyAsync", (void *)copy_any_async, NULL},
    {"cuStreamQuery", (void *)query_stream, NULL},
};

static CUresult resolve(const char *name, void **function, int version, cuuint64_t flags,
                        CUdriverProcAddressQueryResult *status)
{
    *function = NULL;
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        if (!strcmp(functions[i].name, name))
            *function = (flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM) && functions[i].per_thread
                            ? functions[i].per_thread
                            : functions[i].function;
    if (status)
        *status = *function ? CU_GET_PROC_ADDRESS_SUCCESS : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
    return CUDA_SUCCESS;
}

__attribute__((visibility("default"))) CUresult cuGetProcAddress_v2(const char *name, void **function, int version,
                                                                    cuuint64_t flags, CUdriverProcAddressQueryResult *status)
{
    return resolve(name, function, version, flags, status);
}
