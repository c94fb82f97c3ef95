/* hash_kernel.c - loads and launches hash.ptx. */
#include "hash_kernel.h"

#include "ask.h"
#include "driver.h"
#include "hash-ptx.h"
#include "hash.h"
#include "log.h"
#include "result.h"

enum {
    THREADS = 256,       /* per block, as in hash.ptx */
    BLOCKS_EACH = 4,     /* per multiprocessor: as many as it can hold at once */
    WORDS_EACH = 16,     /* per thread, at least, so that small ranges need few blocks */
    MULTIPROCESSORS = 16 /* if the driver does not say: slow on a large device, but correct */
};

static void say_refused(const char *what, CUresult r)
{
    static int warned;
    spw_warn_once(&warned,
                  "the driver does not load the kernel that compares memory (%s returned %d): nothing is recomputed" SPW_SEE(
                      "driver-refused"),
                  what, (int)r);
}

static CUresult get_functions(struct spw_hash_kernel *kernel)
{
    const struct {
        const char *name;
        CUfunction *function;
    } all[] = {{"spillway_hash", &kernel->hash},
               {"spillway_sample", &kernel->sample},
               {"spillway_fill", &kernel->fill},
               {"spillway_find", &kernel->find},
               {"spillway_tell", &kernel->tell}};
    CUresult r = CUDA_SUCCESS;
    for (unsigned i = 0; i < sizeof(all) / sizeof(*all) && r == CUDA_SUCCESS; i++)
        r = SPW_ASK_QUIETLY(cuModuleGetFunction, all[i].function, kernel->module, all[i].name);
    return r;
}

int spw_hash_kernel_load(int device, struct spw_hash_kernel *ret_kernel)
{
    struct spw_hash_kernel kernel;
    int multiprocessors = 0;
    CUresult r = SPW_ASK_QUIETLY(cuModuleLoadData, &kernel.module, spw_hash_ptx);
    if (r != CUDA_SUCCESS) {
        say_refused("cuModuleLoadData", r);
        return -ENOTSUP;
    }
    r = get_functions(&kernel);
    if (r != CUDA_SUCCESS) {
        (void)SPW_ASK_QUIETLY(cuModuleUnload, kernel.module);
        say_refused("cuModuleGetFunction", r);
        return -ENOTSUP;
    }
    r = SPW_ASK_QUIETLY(cuDeviceGetAttribute, &multiprocessors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device);
    if (r != CUDA_SUCCESS || multiprocessors < 1)
        multiprocessors = MULTIPROCESSORS;
    kernel.most_blocks = (unsigned)multiprocessors * BLOCKS_EACH;
    *ret_kernel = kernel;
    return 0;
}

void spw_hash_kernel_unload(const struct spw_hash_kernel *kernel)
{
    (void)SPW_ASK_QUIETLY(cuModuleUnload, kernel->module);
}

int spw_hash_kernel_clear(CUstream stream, CUdeviceptr result)
{
    return spw_result(SPW_ASK_QUIETLY(cuMemsetD32Async, result, 0, sizeof(struct spw_hash) / 4, stream));
}

static int launch(const struct spw_hash_kernel *kernel, CUfunction function, CUstream stream, uint64_t blocks, void **params)
{
    if (blocks > kernel->most_blocks)
        blocks = kernel->most_blocks;
    CUresult launched =
        SPW_ASK_QUIETLY(cuLaunchKernel, function, (unsigned)blocks, 1, 1, THREADS, 1, 1, 0, stream, params, NULL);
    if (launched == CUDA_SUCCESS)
        return 0;
    say_refused("cuLaunchKernel", launched);
    return -ENOTSUP;
}

int spw_hash_kernel_submit(const struct spw_hash_kernel *kernel, CUstream stream, CUdeviceptr address, uint64_t bytes,
                           CUdeviceptr result)
{
    void *params[] = {&address, &bytes, &result};
    return launch(kernel, kernel->hash, stream, bytes / (THREADS * WORDS_EACH * 8) + 1, params);
}

int spw_hash_kernel_sample(const struct spw_hash_kernel *kernel, CUstream stream, const struct spw_sample *sample,
                           bool again, CUdeviceptr result)
{
    struct spw_sample s = *sample;
    uint64_t sign = again ? UINT64_MAX : 1;
    void *params[] = {&s.address, &s.pages, &s.pitch, &s.pattern, &sign, &result};
    return launch(kernel, kernel->sample, stream, s.pages ? s.pages : 1, params);
}

int spw_hash_kernel_fill(const struct spw_hash_kernel *kernel, CUstream stream, const struct spw_sample *sample)
{
    struct spw_sample s = *sample;
    void *params[] = {&s.address, &s.pages, &s.pitch, &s.pattern};
    return launch(kernel, kernel->fill, stream, s.pages ? s.pages : 1, params);
}

int spw_hash_kernel_find(const struct spw_hash_kernel *kernel, CUstream stream, const struct spw_word_search *search,
                         CUdeviceptr result)
{
    struct spw_word_search s = *search;
    struct spw_address_range *in = s.ranges.in;
    void *params[] = {&s.address, &s.words, &in[0].low, &in[0].extent, &in[1].low, &in[1].extent, &result};
    return launch(kernel, kernel->find, stream, s.words / THREADS + 1, params);
}

int spw_hash_kernel_tell(const struct spw_hash_kernel *kernel, CUstream stream, CUdeviceptr results, struct spw_hash *host,
                         unsigned count)
{
    uint64_t words = (uint64_t)count * sizeof(*host) / 8;
    CUdeviceptr to = (CUdeviceptr)(uintptr_t)host; /* page-locked memory has the same address everywhere */
    void *params[] = {&results, &to, &words};
    return spw_result(SPW_ASK_QUIETLY(cuLaunchKernel, kernel->tell, (unsigned)((words + THREADS - 1) / THREADS), 1, 1,
                                      THREADS, 1, 1, 0, stream, params, NULL));
}
