/* spy-replay.c - puts every kernel of a program to the two-pattern test: may it be run again to recompute what it wrote?
 * Preloaded by the harness into the training programs (question 10); spy.h tells how it gets between.
 *
 * What a launch may touch is found as spillway finds it: every 8-byte word of its parameters that points into an
 * allocation. What it writes is what differs afterwards. Then its outputs are filled with one pattern and it is launched
 * again, and with another pattern again; equal bytes both times prove that it overwrites its outputs, all of them, reads
 * nothing of them, and is deterministic. Each kernel is tested at its first launches, with the device idle around each step,
 * and the outputs put back as they were. A kernel that finds indices in a buffer which it writes itself could fault on a
 * pattern.
 *
 * SPY_REPORT names the file that gets the line of answer when the program ends. */
#define __CUDA_API_VERSION_INTERNAL
#include <stdint.h>
#include <string.h>

#define LISTEN(X) \
    SPY_KIND_CALLS(X) \
    X(cuMemAlloc_v2) \
    X(cuMemAllocAsync) \
    X(cuMemAllocAsync_ptsz) \
    X(cuMemFree_v2) \
    X(cuMemFreeAsync) \
    X(cuMemFreeAsync_ptsz) \
    X(cuLaunchKernel) \
    X(cuLaunchKernel_ptsz) \
    X(cuLaunchKernelEx) \
    X(cuLaunchKernelEx_ptsz)
#include "spy-kinds.h"

#define TESTS_PER_KERNEL 3
#define MAX_KERNELS      1024
#define MAX_ALLOCATIONS  65536
#define MAX_TOUCHED      64
#define MAX_TESTED_BYTES (1ul << 30)

/* ---- allocations ---- */

static struct allocation {
    CUdeviceptr address;
    size_t bytes;
} allocations[MAX_ALLOCATIONS]; /* in no order; address 0: free */
static size_t allocation_end;

static void born(CUdeviceptr address, size_t bytes)
{
    size_t i = 0;
    while (i < allocation_end && allocations[i].address)
        i++;
    if (i == MAX_ALLOCATIONS)
        return;
    allocations[i] = (struct allocation){address, bytes};
    if (i == allocation_end)
        allocation_end++;
}

static void died(CUdeviceptr address)
{
    for (size_t i = 0; i < allocation_end; i++)
        if (allocations[i].address == address)
            allocations[i].address = 0;
}

static struct allocation *holder(uint64_t word)
{
    for (size_t i = 0; i < allocation_end; i++)
        if (allocations[i].address && word - allocations[i].address < allocations[i].bytes)
            return &allocations[i];
    return NULL;
}

/* ---- kernels ---- */

enum verdict { UNTESTED, REPLAYABLE, NOT_REPLAYABLE, WRITES_NOTHING, NOT_UNDERSTOOD };

static struct kernel {
    void *handle;
    char name[96];
    unsigned launches, tests;
    enum verdict verdict; /* replayable only as long as every test said so */
} kernels[MAX_KERNELS];
static size_t kernel_count;

static struct kernel *kernel_of(void *handle)
{
    for (size_t i = 0; i < kernel_count; i++)
        if (kernels[i].handle == handle)
            return &kernels[i];
    if (kernel_count == MAX_KERNELS)
        return NULL;
    struct kernel *k = &kernels[kernel_count++];
    const char *name = NULL;
    CUresult (*kernel_name)(const char **, CUkernel) = dlsym(spy_driver, "cuKernelGetName");
    CUresult (*function_name)(const char **, CUfunction) = dlsym(spy_driver, "cuFuncGetName");
    if (spy_kind_of(handle) == 1 && kernel_name)
        (void)kernel_name(&name, handle);
    else if (function_name)
        (void)function_name(&name, handle);
    k->handle = handle;
    snprintf(k->name, sizeof(k->name), "%s", name ? name : "unnamed");
    return k;
}

/* The allocations that the parameters point into, each once; -1 when the parameters can't be parsed. */
static int touched_by(void *handle, void **params, struct allocation *ret[MAX_TOUCHED])
{
    CUresult (*kernel_param)(CUkernel, size_t, size_t *, size_t *) = dlsym(spy_driver, "cuKernelGetParamInfo");
    CUresult (*function_param)(CUfunction, size_t, size_t *, size_t *) = dlsym(spy_driver, "cuFuncGetParamInfo");
    int count = 0, is_kernel = spy_kind_of(handle) == 1;
    if (!params || !kernel_param || !function_param)
        return -1;
    for (size_t i = 0;; i++) {
        size_t offset, size;
        CUresult r = is_kernel ? kernel_param(handle, i, &offset, &size) : function_param(handle, i, &offset, &size);
        if (r != CUDA_SUCCESS)
            return r == CUDA_ERROR_INVALID_VALUE ? count : -1;
        for (size_t at = 0; at + 8 <= size; at += 8) {
            uint64_t word;
            memcpy(&word, (const char *)params[i] + at, sizeof(word));
            struct allocation *a = holder(word);
            for (int known = 0; a && known < count; known++)
                if (ret[known] == a)
                    a = NULL;
            if (a && count == MAX_TOUCHED)
                return -1;
            if (a)
                ret[count++] = a;
        }
    }
}

/* ---- the test ---- */

struct launch { /* one of the two forms */
    const CUlaunchConfig *config;
    void **params;
    CUfunction function;
    CUresult (*extended)(const CUlaunchConfig *, CUfunction, void **, void **);
};

static CUresult go(const struct launch *launch)
{
    return launch->extended(launch->config, launch->function, launch->params, NULL);
}

/* Set by us alone, and only while the device is idle. */
static struct {
    CUresult (*synchronize)(void);
    CUresult (*copy_out)(void *, CUdeviceptr, size_t);
    CUresult (*copy_in)(CUdeviceptr, const void *, size_t);
    CUresult (*set)(CUdeviceptr, unsigned char, size_t);
} driver;

static int copy_all_out(struct allocation **touched, int count, char **copies)
{
    int failed = driver.synchronize() != CUDA_SUCCESS;
    for (int i = 0; i < count; i++)
        failed |= driver.copy_out(copies[i], touched[i]->address, touched[i]->bytes) != CUDA_SUCCESS;
    return failed;
}

/* Launches it, as the program asked for, and then tests it. `before`, `after` and `now` hold a copy of each. */
static CUresult launch_and_test(const struct launch *launch, struct kernel *k, struct allocation **touched, int count,
                                char **before, char **after, char **now)
{
    int written = 0, same = 1;
    int failed = copy_all_out(touched, count, before);
    CUresult r = go(launch);
    if (r != CUDA_SUCCESS || failed || copy_all_out(touched, count, after))
        return r;
    for (unsigned char pattern = 0;; pattern = 0xff) {
        for (int i = 0; i < count; i++)
            if (memcmp(before[i], after[i], touched[i]->bytes) != 0)
                written += driver.set(touched[i]->address, pattern, touched[i]->bytes) == CUDA_SUCCESS;
        (void)driver.synchronize(); /* the launch's stream doesn't wait for the set's */
        if (go(launch) != CUDA_SUCCESS || copy_all_out(touched, count, now))
            same = 0;
        for (int i = 0; i < count; i++)
            same = same && memcmp(now[i], after[i], touched[i]->bytes) == 0;
        if (pattern)
            break;
    }
    for (int i = 0; i < count; i++)
        (void)driver.copy_in(touched[i]->address, after[i], touched[i]->bytes);
    (void)driver.synchronize();
    enum verdict verdict = !written ? WRITES_NOTHING : same ? REPLAYABLE : NOT_REPLAYABLE;
    if (k->verdict != NOT_REPLAYABLE)
        k->verdict = verdict;
    k->tests++;
    return CUDA_SUCCESS;
}

static int is_capturing(CUstream stream)
{
    CUresult (*ask)(CUstream, CUstreamCaptureStatus *) = dlsym(spy_driver, "cuStreamIsCapturing");
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    return ask && ask(stream, &status) == CUDA_SUCCESS && status != CU_STREAM_CAPTURE_STATUS_NONE;
}

static CUresult launched(const struct launch *launch, void **extra)
{
    struct allocation *touched[MAX_TOUCHED];
    struct kernel *k = kernel_of(launch->function);
    size_t bytes = 0, used = 0;
    if (k)
        k->launches++;
    if (!k || k->tests >= TESTS_PER_KERNEL || extra || is_capturing(launch->config->hStream))
        return launch->extended(launch->config, launch->function, launch->params, extra);
    int count = touched_by(launch->function, launch->params, touched);
    for (int i = 0; i < count; i++)
        bytes += touched[i]->bytes;
    char *room = count > 0 && bytes <= MAX_TESTED_BYTES ? malloc(3 * bytes) : NULL;
    if (!room) {
        if (k->verdict == UNTESTED)
            k->verdict = NOT_UNDERSTOOD;
        return go(launch);
    }
    char *before[MAX_TOUCHED], *after[MAX_TOUCHED], *now[MAX_TOUCHED];
    for (int i = 0; i < count; i++) {
        before[i] = room + used;
        after[i] = before[i] + bytes;
        now[i] = after[i] + bytes;
        used += touched[i]->bytes;
    }
    CUresult r = launch_and_test(launch, k, touched, count, before, after, now);
    free(room);
    return r;
}

/* ---- the calls ---- */

#define ON_LAUNCH(name, ex) \
    static CUresult on_##name(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, \
                              unsigned shared, CUstream stream, void **params, void **extra) \
    { \
        CUlaunchConfig config = {.gridDimX = gx, \
                                 .gridDimY = gy, \
                                 .gridDimZ = gz, \
                                 .blockDimX = bx, \
                                 .blockDimY = by, \
                                 .blockDimZ = bz, \
                                 .sharedMemBytes = shared, \
                                 .hStream = stream}; \
        return launched(&(struct launch){&config, params, f, real.ex}, extra); \
    }
ON_LAUNCH(cuLaunchKernel, cuLaunchKernelEx)
ON_LAUNCH(cuLaunchKernel_ptsz, cuLaunchKernelEx_ptsz)

static CUresult on_cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction f, void **params, void **extra)
{
    return launched(&(struct launch){config, params, f, real.cuLaunchKernelEx}, extra);
}

static CUresult on_cuLaunchKernelEx_ptsz(const CUlaunchConfig *config, CUfunction f, void **params, void **extra)
{
    return launched(&(struct launch){config, params, f, real.cuLaunchKernelEx_ptsz}, extra);
}

static CUresult on_cuMemAlloc_v2(CUdeviceptr *ret, size_t bytes)
{
    CUresult r = real.cuMemAlloc_v2(ret, bytes);
    if (r == CUDA_SUCCESS)
        born(*ret, bytes);
    return r;
}

static CUresult on_cuMemFree_v2(CUdeviceptr address)
{
    died(address);
    return real.cuMemFree_v2(address);
}

#define ON_ASYNC(allocate, release) \
    static CUresult on_##allocate(CUdeviceptr *ret, size_t bytes, CUstream stream) \
    { \
        CUresult r = real.allocate(ret, bytes, stream); \
        if (r == CUDA_SUCCESS) \
            born(*ret, bytes); \
        return r; \
    } \
    static CUresult on_##release(CUdeviceptr address, CUstream stream) \
    { \
        died(address); \
        return real.release(address, stream); \
    }
ON_ASYNC(cuMemAllocAsync, cuMemFreeAsync)
ON_ASYNC(cuMemAllocAsync_ptsz, cuMemFreeAsync_ptsz)

/* ---- start and end ---- */

__attribute__((constructor)) static void find_calls(void)
{
    driver.synchronize = (CUresult(*)(void))dlsym(spy_driver, "cuCtxSynchronize");
    driver.copy_out = (CUresult(*)(void *, CUdeviceptr, size_t))dlsym(spy_driver, "cuMemcpyDtoH_v2");
    driver.copy_in = (CUresult(*)(CUdeviceptr, const void *, size_t))dlsym(spy_driver, "cuMemcpyHtoD_v2");
    driver.set = (CUresult(*)(CUdeviceptr, unsigned char, size_t))dlsym(spy_driver, "cuMemsetD8_v2");
}

__attribute__((destructor)) static void report(void)
{
    static const char *const words[] = {"not tested", "replayable", "not replayable", "writes nothing", "not understood"};
    unsigned of[5] = {0}, launches[5] = {0}, all = 0;
    const char *path = getenv("SPY_REPORT");
    if (!kernel_count || !path)
        return;
    FILE *f = fopen(path, "w");
    if (!f)
        return;
    for (size_t i = 0; i < kernel_count; i++) {
        of[kernels[i].verdict]++;
        launches[kernels[i].verdict] += kernels[i].launches;
        all += kernels[i].launches;
    }
    fprintf(f,
            "{\"probe\": \"replay\", \"question\": 10, \"answered\": true, \"answer\": \"%u of %zu kernels, %u of %u "
            "launches, are "
            "replayable by the two-pattern test; %u kernels are not, %u were not understood\", \"figures\": {",
            of[REPLAYABLE], kernel_count, launches[REPLAYABLE], all, of[NOT_REPLAYABLE], of[NOT_UNDERSTOOD]);
    for (size_t i = 0; i < kernel_count; i++)
        fprintf(f, "\"%zu/%s\": \"%s, %u launches\", ", i, kernels[i].name, words[kernels[i].verdict], kernels[i].launches);
    fprintf(f, "\"launches\": %u, \"replayable_launches\": %u}}\n", all, launches[REPLAYABLE]);
    fclose(f);
}
