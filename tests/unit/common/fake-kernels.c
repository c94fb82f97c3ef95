/* fake-kernels.c - the kernels of ours, as work of the fake device. */
#include "fake-device-parts.h"

#define HASH_FUNCTION   ((CUfunction)(uintptr_t)0x48)
#define TELL_FUNCTION   ((CUfunction)(uintptr_t)0x50)
#define SAMPLE_FUNCTION ((CUfunction)(uintptr_t)0x58)
#define FILL_FUNCTION   ((CUfunction)(uintptr_t)0x60)
#define FIND_FUNCTION   ((CUfunction)(uintptr_t)0x68)
#define SEEK_FUNCTION   ((CUfunction)(uintptr_t)0x70)

static CUresult on_cuModuleLoadData(CUmodule *module, const void *image)
{
    CALLED();
    *module = (CUmodule)(uintptr_t)0x40;
    return CUDA_SUCCESS;
}

static CUresult on_cuModuleUnload(CUmodule module)
{
    CALLED();
    return CUDA_SUCCESS;
}

static CUresult on_cuModuleGetFunction(CUfunction *function, CUmodule module, const char *name)
{
    CALLED();
    static const struct {
        const char *name;
        CUfunction function;
    } known[] = {{"spillway_hash", HASH_FUNCTION}, {"spillway_tell", TELL_FUNCTION}, {"spillway_sample", SAMPLE_FUNCTION},
                 {"spillway_fill", FILL_FUNCTION}, {"spillway_find", FIND_FUNCTION}, {"spillway_seek", SEEK_FUNCTION}};
    for (unsigned i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(name, known[i].name) == 0) {
            *function = known[i].function;
            return CUDA_SUCCESS;
        }
    fail_msg("no kernel is called %s", name);
    return CUDA_ERROR_NOT_FOUND;
}

static CUresult on_cuMemsetD8Async(CUdeviceptr a, unsigned char value, size_t n, CUstream s)
{
    CALLED();
    return fake_fill(s, a, n, value);
}

static CUresult on_cuMemsetD32Async(CUdeviceptr a, unsigned int value, size_t n, CUstream s)
{
    CALLED();
    assert_int_equal(value, 0);
    return fake_fill(s, a, n * sizeof(value), 0);
}

static CUresult submit_seek(CUstream s, void **params)
{
    struct work seek = {.kind = SEEK,
                        .a = *(CUdeviceptr *)params[0],
                        .bytes = *(uint64_t *)params[1],
                        .pattern = *(uint64_t *)params[6],
                        .host = *(void **)params[7]};
    for (unsigned i = 0; i < 2; i++)
        seek.ranges[i] = (struct fake_range){*(CUdeviceptr *)params[2 + 2 * i], *(uint64_t *)params[3 + 2 * i]};
    fake_submit(s, seek);
    return CUDA_SUCCESS;
}

static CUresult on_cuLaunchKernel(CUfunction function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                                  unsigned bz, unsigned shared, CUstream s, void **params, void **extra)
{
    CALLED();
    if (function == TELL_FUNCTION) {
        const uint64_t bytes = 8 * *(uint64_t *)params[2];
        fake_submit(s,
                    (struct work){.kind = OUT, .a = *(CUdeviceptr *)params[0], .bytes = bytes, .host = *(void **)params[1]});
        return fake_fill(s, *(CUdeviceptr *)params[0], bytes, 0);
    }
    if (function == FILL_FUNCTION) {
        for (uint64_t page = 0; page < *(uint64_t *)params[1]; page++)
            (void)fake_fill(s, *(CUdeviceptr *)params[0] + page * *(uint64_t *)params[2], SAMPLED_PAGE,
                            *(unsigned char *)params[3]);
        return CUDA_SUCCESS;
    }
    if (function == SAMPLE_FUNCTION) {
        fake_submit(s, (struct work){.kind = SAMPLE,
                                     .a = *(CUdeviceptr *)params[0],
                                     .bytes = *(uint64_t *)params[1] * SAMPLED_PAGE,
                                     .pitch = *(uint64_t *)params[2],
                                     .pattern = *(uint64_t *)params[3],
                                     .sign = *(uint64_t *)params[4],
                                     .to = *(CUdeviceptr *)params[5]});
        fake_state.counts.samples++;
        return CUDA_SUCCESS;
    }
    if (function == FIND_FUNCTION) {
        struct work find = {.kind = FIND,
                            .a = *(CUdeviceptr *)params[0],
                            .bytes = 8 * *(uint64_t *)params[1],
                            .to = *(CUdeviceptr *)params[6]};
        for (unsigned i = 0; i < 2; i++)
            find.ranges[i] = (struct fake_range){*(CUdeviceptr *)params[2 + 2 * i], *(uint64_t *)params[3 + 2 * i]};
        fake_submit(s, find);
        return CUDA_SUCCESS;
    }
    if (function == SEEK_FUNCTION)
        return submit_seek(s, params);
    assert_ptr_equal(function, HASH_FUNCTION);
    fake_submit(s, (struct work){.kind = HASH,
                                 .a = *(CUdeviceptr *)params[0],
                                 .bytes = *(uint64_t *)params[1],
                                 .to = *(CUdeviceptr *)params[2]});
    fake_state.counts.hashes++;
    return CUDA_SUCCESS;
}

void fake_use_kernels(void)
{
#define USE(name) spw_driver.name = on_##name
    USE(cuModuleLoadData);
    USE(cuModuleUnload);
    USE(cuModuleGetFunction);
    USE(cuMemsetD8Async);
    USE(cuMemsetD32Async);
    USE(cuLaunchKernel);
#undef USE
}
