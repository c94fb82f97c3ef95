/* seek_kernel.c - loads and launches seek.ptx. */
#include "seek_kernel.h"

#include <errno.h>

#include "ask.h"
#include "driver.h"
#include "log.h"
#include "result.h"
#include "seek-ptx.h"

enum {
    THREADS = 256,        /* per block, as in seek.ptx */
    BLOCKS_EACH = 4,      /* per multiprocessor: as many as it can hold at once */
    LEAST_SHIFT = 14,     /* so that each chunk of seek.ptx lies in one part */
    MULTIPROCESSORS = 16, /* if the driver does not say: slow on a large device, but correct */
};

unsigned spw_seek_shift(uint64_t bytes)
{
    unsigned shift = LEAST_SHIFT;
    while (bytes > (uint64_t)SPW_SEEK_PARTS << shift)
        shift++;
    return shift;
}

int spw_seek_kernel_load(int device, struct spw_seek_kernel *ret_kernel)
{
    static int warned;
    struct spw_seek_kernel kernel = {0};
    int multiprocessors = 0;
    CUresult r = SPW_ASK_QUIETLY(cuModuleLoadData, &kernel.module, spw_seek_ptx);
    if (r == CUDA_SUCCESS &&
        (r = SPW_ASK_QUIETLY(cuModuleGetFunction, &kernel.seek, kernel.module, "spillway_seek")) != CUDA_SUCCESS)
        (void)SPW_ASK_QUIETLY(cuModuleUnload, kernel.module);
    if (r != CUDA_SUCCESS) {
        spw_warn_once(&warned,
                      "the driver does not load the kernel that looks for addresses in device memory (error %d): memory "
                      "is read by the host instead, which is slow" SPW_SEE("driver-refused"),
                      (int)r);
        return -ENOTSUP;
    }
    r = SPW_ASK_QUIETLY(cuDeviceGetAttribute, &multiprocessors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device);
    if (r != CUDA_SUCCESS || multiprocessors < 1)
        multiprocessors = MULTIPROCESSORS;
    kernel.most_blocks = (unsigned)multiprocessors * BLOCKS_EACH;
    *ret_kernel = kernel;
    return 0;
}

void spw_seek_kernel_unload(const struct spw_seek_kernel *kernel)
{
    (void)SPW_ASK_QUIETLY(cuModuleUnload, kernel->module);
}

int spw_seek_kernel_submit(const struct spw_seek_kernel *kernel, CUstream stream, CUdeviceptr address, uint64_t bytes,
                           const struct spw_address_ranges *ranges, struct spw_seek_answer *answer)
{
    CUdeviceptr to = (CUdeviceptr)(uintptr_t)answer; /* page-locked memory has the same address everywhere */
    uint64_t shift = spw_seek_shift(bytes), blocks = (bytes >> LEAST_SHIFT) + 1;
    static struct spw_log_threshold told;
    struct spw_address_ranges all = *ranges;
    struct spw_address_range *in = all.in;
    void *params[] = {&address, &bytes, &in[0].low, &in[0].extent, &in[1].low, &in[1].extent, &shift, &to};
    if (blocks > kernel->most_blocks)
        blocks = kernel->most_blocks;
    const CUresult r =
        SPW_ASK_QUIETLY(cuLaunchKernel, kernel->seek, (unsigned)blocks, 1, 1, THREADS, 1, 1, 0, stream, params, NULL);
    if (r != CUDA_SUCCESS)
        spw_warn_of(
            &told, (uint64_t)r,
            "cuLaunchKernel returned %d for the kernel that looks for addresses in device memory: %llu bytes are read by "
            "the host instead" SPW_SEE("driver-refused"),
            (int)r, (unsigned long long)bytes);
    return spw_result(r);
}
