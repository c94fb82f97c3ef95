/* hot.c - repeats the calls that a training program makes most; `./dev bench` counts their instructions.
 *
 *     hot launch N      N launches with ten parameters, four of them device addresses; every hundred are like those before
 *     hot pointers N    N launches with ten parameters, all of them device addresses
 *     hot scalars N     N launches with ten parameters, none of them a device address
 *     hot loop N        N launches like the first ones, in iterations of 2000; each iteration uses two more buffers once, of
 *                       which only one fits into a budget of 21 MiB
 *
 *     hot pair N        N times allocate and free, stream-ordered, always the same size
 *
 *     hot live N        N small allocations alive at once; prints the anonymous memory that each costs the process */
#include <cuda.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../tests/simgpu/image.h"

enum { PARAMS = 10, ITERATION = 100, LOOP = 2000, BUFFER_BYTES = 4 << 20, SMALL_BYTES = 4096 };

static void check(CUresult result, const char *call)
{
    if (result == CUDA_SUCCESS)
        return;
    fprintf(stderr, "hot: %s failed with %d\n", call, (int)result);
    exit(3);
}
#define CHECK(call) check((call), #call)

/* ---------------------------------------------------------------------------------------------- the device program */
static void run_nothing(const struct simgpu_launch *launch, const void *image)
{
}

static const struct simgpu_param params_ten[PARAMS] = {{0, 8, 0},  {8, 8, 0},  {16, 8, 0}, {24, 8, 0}, {32, 8, 0},
                                                       {40, 8, 0}, {48, 8, 0}, {56, 8, 0}, {64, 8, 0}, {72, 8, 0}};
static const struct simgpu_kernel ten = {
    .name = "ten", .param_count = PARAMS, .param_bytes = PARAMS * 8, .params = params_ten, .run = run_nothing};
static const struct simgpu_kernel *const kernels[] = {&ten};
static const struct simgpu_image image = {.header = SIMGPU_IMAGE_HEADER, .kernel_count = 1, .kernels = kernels};

/* --------------------------------------------------------------------------------------------------------- the calls */
static void launch(CUfunction function, unsigned addresses, unsigned long times)
{
    CUdeviceptr buffer[PARAMS];
    uint64_t value[PARAMS];
    void *params[PARAMS];
    for (unsigned p = 0; p < PARAMS; p++) {
        CHECK(cuMemAlloc(&buffer[p], BUFFER_BYTES));
        value[p] = p < addresses ? buffer[p] : p;
        params[p] = &value[p];
    }
    for (unsigned long i = 0; i < times; i++)
        CHECK(cuLaunchKernel(function, 1 + i % ITERATION, 1, 1, 32, 1, 1, 0, NULL, params, NULL));
    CHECK(cuCtxSynchronize());
    for (unsigned p = 0; p < PARAMS; p++)
        CHECK(cuMemFree(buffer[p]));
}

static void loop(CUfunction function, unsigned long times)
{
    enum { KEPT = 4, FAR = 2 };
    CUdeviceptr buffer[KEPT + FAR];
    uint64_t value[PARAMS] = {0};
    void *params[PARAMS];
    for (unsigned b = 0; b < KEPT + FAR; b++)
        CHECK(cuMemAlloc(&buffer[b], BUFFER_BYTES));
    for (unsigned p = 0; p < PARAMS; p++)
        params[p] = &value[p];
    for (unsigned long i = 0; i < times; i++) {
        const unsigned long at = i % LOOP;
        for (unsigned p = 0; p < KEPT; p++)
            value[p] = buffer[p];
        if (at % (LOOP / FAR) == LOOP / FAR / 2)
            value[0] = buffer[KEPT + at / (LOOP / FAR)];
        CHECK(cuLaunchKernel(function, 1 + (unsigned)at, 1, 1, 32, 1, 1, 0, NULL, params, NULL));
        if (at == LOOP - 1)
            CHECK(cuCtxSynchronize());
    }
    CHECK(cuCtxSynchronize());
    for (unsigned b = 0; b < KEPT + FAR; b++)
        CHECK(cuMemFree(buffer[b]));
}

static void pair(unsigned long times)
{
    CUstream stream;
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    for (unsigned long i = 0; i < times; i++) {
        CUdeviceptr buffer;
        CHECK(cuMemAllocAsync(&buffer, BUFFER_BYTES, stream));
        CHECK(cuMemFreeAsync(buffer, stream));
    }
    CHECK(cuStreamDestroy(stream));
}

static long anonymous_bytes(void)
{
    char line[256];
    long kib = 0;
    FILE *status = fopen("/proc/self/status", "r");
    while (status && fgets(line, sizeof(line), status))
        if (sscanf(line, "RssAnon: %ld kB", &kib) == 1)
            break;
    if (status)
        fclose(status);
    return kib * 1024;
}

static void live(unsigned long count)
{
    CUdeviceptr *buffer = malloc(count * sizeof(*buffer));
    if (!buffer)
        check(CUDA_ERROR_OUT_OF_MEMORY, "malloc");
    memset(buffer, 1, count * sizeof(*buffer));
    const long before = anonymous_bytes();
    for (unsigned long i = 0; i < count; i++)
        CHECK(cuMemAlloc(&buffer[i], SMALL_BYTES));
    printf("%ld\n", (anonymous_bytes() - before) / (long)count);
    for (unsigned long i = 0; i < count; i++)
        CHECK(cuMemFree(buffer[i]));
    free(buffer);
}

int main(int argc, char **argv)
{
    const char *what = argc == 3 ? argv[1] : "";
    const unsigned long times = argc == 3 ? strtoul(argv[2], NULL, 10) : 0;
    CUdevice device;
    CUcontext context;
    CUmodule module;
    CUfunction function;
    CHECK(cuInit(0));
    CHECK(cuDeviceGet(&device, 0));
    CHECK(cuDevicePrimaryCtxRetain(&context, device));
    CHECK(cuCtxSetCurrent(context));
    CHECK(cuModuleLoadData(&module, &image));
    CHECK(cuModuleGetFunction(&function, module, "ten"));

    if (strcmp(what, "launch") == 0)
        launch(function, 4, times);
    else if (strcmp(what, "pointers") == 0)
        launch(function, PARAMS, times);
    else if (strcmp(what, "scalars") == 0)
        launch(function, 0, times);
    else if (strcmp(what, "loop") == 0)
        loop(function, times);
    else if (strcmp(what, "pair") == 0)
        pair(times);
    else if (strcmp(what, "live") == 0)
        live(times);
    else
        return fprintf(stderr, "usage: hot launch | pointers | scalars | loop | pair | live COUNT\n"), 2;

    CHECK(cuModuleUnload(module));
    CHECK(cuDevicePrimaryCtxRelease(device));
    return 0;
}
