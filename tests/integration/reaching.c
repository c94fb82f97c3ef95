/* reaching.c - a small driver program that finds the driver in the way its first argument names, works, and says what it
 * did.
 *
 *     reaching linked | dlsym | resolver1 | resolver2 | per-thread [FOLDER]
 *
 * Given a folder, it goes there before its first driver call.
 * It prints how often it allocated, freed, launched, set and copied, so that the device's counts and the library's can
 * be held against the program's own. The program linked against libcuda.so.1 is the same source with REACHING_LINKED. */
#include <cuda.h>
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../simgpu/image.h"

/*      member          asked for as           minimum version, symbol for dlsym */
#define CALLS(X) \
    X(Init, "cuInit", 2000, cuInit) \
    X(DeviceGet, "cuDeviceGet", 2000, cuDeviceGet) \
    X(CtxRetain, "cuDevicePrimaryCtxRetain", 7000, cuDevicePrimaryCtxRetain) \
    X(CtxRelease, "cuDevicePrimaryCtxRelease", 11000, cuDevicePrimaryCtxRelease_v2) \
    X(CtxSetCurrent, "cuCtxSetCurrent", 4000, cuCtxSetCurrent) \
    X(ModuleLoadData, "cuModuleLoadData", 2000, cuModuleLoadData) \
    X(ModuleGet, "cuModuleGetFunction", 2000, cuModuleGetFunction) \
    X(ModuleUnload, "cuModuleUnload", 2000, cuModuleUnload) \
    X(MemAlloc, "cuMemAlloc", 3020, cuMemAlloc_v2) \
    X(MemFree, "cuMemFree", 3020, cuMemFree_v2) \
    X(MemsetD32, "cuMemsetD32", 3020, cuMemsetD32_v2) \
    X(MemcpyHtoD, "cuMemcpyHtoD", 3020, cuMemcpyHtoD_v2) \
    X(MemcpyDtoH, "cuMemcpyDtoH", 3020, cuMemcpyDtoH_v2) \
    X(MemcpyDtoD, "cuMemcpyDtoD", 3020, cuMemcpyDtoD_v2) \
    X(LaunchKernel, "cuLaunchKernel", 4000, cuLaunchKernel) \
    X(CtxSynchronize, "cuCtxSynchronize", 2000, cuCtxSynchronize)

static struct {
#define X(member, asked, version, symbol) __typeof__(&symbol) member;
    CALLS(X)
#undef X
} driver;

enum { BUFFERS = 12, LAUNCHES = 30, WORDS = 20000 };

/* ---------------------------------------------------------------------------------------------- the device program */
struct mix_image {
    CUdeviceptr out, in;
    uint64_t words;
};

static void run_mix(const struct simgpu_launch *launch, const void *image)
{
    const struct mix_image *p = image;
    uint32_t *out = (uint32_t *)(uintptr_t)p->out;
    const uint32_t *in = (const uint32_t *)(uintptr_t)p->in;
    for (uint64_t i = 0; i < p->words; i++)
        out[i] = out[i] * 1664525u + in[i] + (uint32_t)i;
}

static const struct simgpu_param mix_params[] = {
    {0, 8, SIMGPU_PARAM_POINTER}, {8, 8, SIMGPU_PARAM_POINTER | SIMGPU_PARAM_CONST}, {16, 8, 0}};
static const struct simgpu_kernel mix = {
    .name = "mix", .param_count = 3, .param_bytes = sizeof(struct mix_image), .params = mix_params, .run = run_mix};
static const struct simgpu_kernel *const kernels[] = {&mix};
static struct simgpu_image image = {.header = SIMGPU_IMAGE_HEADER, .kernel_count = 1, .kernels = kernels};

/* --------------------------------------------------------------------------------------------- finding the driver */
static void stop(const char *what, int status)
{
    fprintf(stderr, "reaching: %s\n", what);
    exit(status);
}

static void find_linked(void)
{
#ifdef REACHING_LINKED
#define X(member, asked, version, symbol) driver.member = symbol;
    CALLS(X)
#undef X
#else
    stop("this build is not linked against the driver", 2);
#endif
}

static void find_dlsym(void *library)
{
#define X(member, asked, version, symbol) \
    *(void **)&driver.member = dlsym(library, #symbol); \
    if (!driver.member) \
        stop("no " #symbol, 2);
    CALLS(X)
#undef X
}

static void find_resolver1(void *library)
{
    CUresult (*resolve)(const char *, void **, int, cuuint64_t);
    *(void **)&resolve = dlsym(library, "cuGetProcAddress");
#define X(member, asked, version, symbol) \
    if (!resolve || resolve(asked, (void **)&driver.member, version, CU_GET_PROC_ADDRESS_DEFAULT) != CUDA_SUCCESS || \
        !driver.member) \
        stop("cuGetProcAddress does not know " asked, 2);
    CALLS(X)
#undef X
}

static void find_resolver2(void *library, cuuint64_t flags)
{
    CUresult (*resolve)(const char *, void **, int, cuuint64_t, CUdriverProcAddressQueryResult *);
    CUdriverProcAddressQueryResult found;
    *(void **)&resolve = dlsym(library, "cuGetProcAddress_v2");
#define X(member, asked, version, symbol) \
    if (!resolve || resolve(asked, (void **)&driver.member, 12040, flags, &found) != CUDA_SUCCESS || !driver.member) \
        stop("cuGetProcAddress_v2 does not know " asked, 2);
    CALLS(X)
#undef X
}

static void find_driver(const char *way)
{
    if (strcmp(way, "linked") == 0) {
        find_linked();
        return;
    }
    void *library = dlopen("libcuda.so.1", RTLD_NOW);
    if (!library)
        stop(dlerror(), 2);
    if (strcmp(way, "dlsym") == 0)
        find_dlsym(library);
    else if (strcmp(way, "resolver1") == 0)
        find_resolver1(library);
    else if (strcmp(way, "resolver2") == 0)
        find_resolver2(library, CU_GET_PROC_ADDRESS_DEFAULT);
    else if (strcmp(way, "per-thread") == 0)
        find_resolver2(library, CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM);
    else
        stop("no such way", 2);
}

/* --------------------------------------------------------------------------------------------------------- the work */
static struct {
    unsigned launches, allocations, frees, h2d, d2h, d2d, sets;
} did;

static void check(CUresult result, const char *call)
{
    if (result == CUDA_SUCCESS)
        return;
    fprintf(stderr, "reaching: %s failed with %d\n", call, (int)result);
    exit(3);
}
#define CHECK(call) check(driver.call, #call)

static uint64_t work(CUfunction function)
{
    static uint32_t host[WORDS];
    const size_t bytes = sizeof(host);
    CUdeviceptr buffer[BUFFERS];
    for (unsigned b = 0; b < BUFFERS; b++, did.allocations++)
        CHECK(MemAlloc(&buffer[b], bytes));
    for (unsigned i = 0; i < WORDS; i++)
        host[i] = i * 2654435761u;
    for (unsigned b = 0; b < BUFFERS; b += 2, did.h2d++)
        CHECK(MemcpyHtoD(buffer[b], host, bytes));
    for (unsigned b = 1; b < BUFFERS; b += 2, did.sets++)
        CHECK(MemsetD32(buffer[b], b, WORDS));

    for (unsigned i = 0; i < LAUNCHES; i++, did.launches++) {
        struct mix_image values = {buffer[i % BUFFERS], buffer[(i * 5 + 1) % BUFFERS], WORDS};
        void *params[] = {&values.out, &values.in, &values.words};
        CHECK(LaunchKernel(function, 64, 1, 1, 256, 1, 1, 0, NULL, params, NULL));
    }
    for (unsigned b = 0; b + 1 < BUFFERS; b += 4, did.d2d++)
        CHECK(MemcpyDtoD(buffer[b], buffer[b + 1], bytes));
    CHECK(CtxSynchronize());

    uint64_t sum = 0;
    for (unsigned b = 0; b < BUFFERS; b++, did.d2h++) {
        CHECK(MemcpyDtoH(host, buffer[b], bytes));
        for (unsigned i = 0; i < WORDS; i++)
            sum = sum * 31 + host[i];
    }
    for (unsigned b = 0; b < BUFFERS; b++, did.frees++)
        CHECK(MemFree(buffer[b]));
    return sum;
}

int main(int argc, char **argv)
{
    if (argc != 2 && argc != 3)
        stop("usage: reaching linked | dlsym | resolver1 | resolver2 | per-thread [FOLDER]", 2);
    if (argc == 3 && chdir(argv[2]))
        stop("cannot go there", 2);
    find_driver(argv[1]);

    CUdevice device;
    CUcontext context;
    CUmodule module;
    CUfunction function;
    CHECK(Init(0));
    CHECK(DeviceGet(&device, 0));
    CHECK(CtxRetain(&context, device));
    CHECK(CtxSetCurrent(context));
    (void)simgpu_image_list(&image);
    CHECK(ModuleLoadData(&module, &image));
    CHECK(ModuleGet(&function, module, "mix"));
    printf("sum %016llx\n", (unsigned long long)work(function));
    printf("did launches=%u allocations=%u frees=%u h2d=%u d2h=%u d2d=%u sets=%u\n", did.launches, did.allocations,
           did.frees, did.h2d, did.d2h, did.d2d, did.sets);
    CHECK(ModuleUnload(module));
    CHECK(CtxRelease(device));
    return 0;
}
