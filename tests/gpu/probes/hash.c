/* hash.c - does the driver compile the hash's kernel, does it come to what the host comes to, and how fast does it read? */
#include "probe.h"

#include "../../../shim/base/hash.c"
#include "hash-ptx.h"

static CUfunction kernel, tell;
static CUstream stream;
static CUdeviceptr slot;
static struct spw_hash *told; /* page-locked */
static unsigned multiprocessors;

static size_t most = 256 * MIB; /* more than any cache holds */

static void submit(CUdeviceptr address, uint64_t bytes)
{
    unsigned blocks =
        bytes / (256 * 128) + 1 < multiprocessors * 4 ? (unsigned)(bytes / (256 * 128) + 1) : multiprocessors * 4;
    void *params[] = {&address, &bytes, &slot};
    CHECK(cuMemsetD32Async(slot, 0, 4, stream));
    CHECK(cuLaunchKernel(kernel, blocks, 1, 1, 256, 1, 1, 0, stream, params, NULL));
}

static struct spw_hash on_device(CUdeviceptr address, size_t size)
{
    uint64_t words = 2;
    void *params[] = {&slot, &told, &words};
    *told = (struct spw_hash){{0, 0}};
    submit(address, size);
    CHECK(cuLaunchKernel(tell, 1, 1, 1, 256, 1, 1, 0, stream, params, NULL));
    CHECK(cuStreamSynchronize(stream));
    return *told;
}

static int agrees(CUdeviceptr address, const unsigned char *bytes, size_t size)
{
    struct spw_hash host;
    spw_hash_host(bytes, size, &host);
    return spw_hash_equal(on_device(address, size), host);
}

/* The number of ranges whose hashes differ. */
static unsigned compare(CUdeviceptr p, const unsigned char *bytes)
{
    static const size_t sizes[] = {0, 1, 7, 8, 9, 63, 4096, 16383, 16384, 16385, 100003, 5 * MIB + 3};
    unsigned wrong = 0;
    for (size_t shift = 0; shift <= 16; shift++)
        for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++)
            wrong += !agrees(p + shift, bytes + shift, sizes[i]);
    wrong += !agrees(p, bytes, most) + !agrees(p + 8, bytes + 8, most - 8);
    return wrong;
}

/* How many of some bits can be changed without another hash. */
static unsigned overlooked(CUdeviceptr p, const unsigned char *bytes)
{
    struct spw_hash hash = on_device(p, most);
    unsigned wrong = 0;
    for (size_t at = 0; at < most; at = at * 60 + 1) {
        CHECK(cuMemsetD8Async(p + at, bytes[at] ^ 0x10, 1, stream));
        wrong += spw_hash_equal(on_device(p, most), hash);
        CHECK(cuMemsetD8Async(p + at, bytes[at], 1, stream));
    }
    return wrong;
}

static double gb_per_s(CUdeviceptr p, size_t bytes)
{
    enum { TIMES = 10 };
    CUevent begin, end;
    float ms;
    CHECK(cuEventCreate(&begin, CU_EVENT_DEFAULT));
    CHECK(cuEventCreate(&end, CU_EVENT_DEFAULT));
    submit(p, bytes); /* warm */
    CHECK(cuEventRecord(begin, stream));
    for (int i = 0; i < TIMES; i++)
        submit(p, bytes);
    CHECK(cuEventRecord(end, stream));
    CHECK(cuStreamSynchronize(stream));
    CHECK(cuEventElapsedTime(&ms, begin, end));
    return ms > 0 ? (double)bytes * TIMES / ms * 1e-6 : 0;
}

/* By the host's clock: the simulated device computes on the host, and has no caches. */
static int is_slow(CUdeviceptr p)
{
    double before_us = probe_now_us();
    submit(p, 16 * MIB);
    CHECK(cuStreamSynchronize(stream));
    return probe_now_us() - before_us > 4000;
}

static double host_gb_per_s(const unsigned char *bytes)
{
    struct spw_hash hash;
    double before_us = probe_now_us();
    spw_hash_host(bytes, 16 * MIB, &hash);
    return (double)(16 * MIB) / (probe_now_us() - before_us) * 1e-3;
}

static unsigned char *random_bytes(void)
{
    uint64_t *words = malloc(most), state = 1;
    if (!words)
        probe_give_up("no host memory");
    for (size_t i = 0; i < most / 8; i++) {
        state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        words[i] = state ^ state >> 29;
    }
    return (unsigned char *)words;
}

int main(void)
{
    static const size_t sizes[] = {64 * KIB, 1 * MIB, 16 * MIB, 64 * MIB, 256 * MIB};
    CUmodule module;
    int count;
    probe_start("hash", 13);
    double before_us = probe_now_us();
    CUresult r = cuModuleLoadData(&module, spw_hash_ptx);
    if (r != CUDA_SUCCESS)
        probe_answer("the driver does not load the kernel: %s", probe_error_name(r));
    probe_figure("load_us", probe_now_us() - before_us);
    CHECK(cuModuleGetFunction(&kernel, module, "spillway_hash"));
    CHECK(cuModuleGetFunction(&tell, module, "spillway_tell"));
    CHECK(cuDeviceGetAttribute(&count, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, probe.device));
    multiprocessors = (unsigned)count;
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CUdeviceptr p;
    CHECK(cuMemAlloc(&p, most));
    CHECK(cuMemAlloc(&slot, 16));
    CHECK(cuMemHostAlloc((void **)&told, sizeof(*told), CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP));
    submit(p, 0); /* loads what is loaded late */
    if (is_slow(p))
        most = 16 * MIB;
    unsigned char *bytes = random_bytes();
    CHECK(cuMemcpyHtoD(p, bytes, most));
    unsigned wrong = compare(p, bytes), missed = overlooked(p, bytes);
    for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes) && sizes[i] <= most; i++)
        probe_figure_at(gb_per_s(p, sizes[i]), "%s/gb_per_s", probe_size(sizes[i]));
    double best = gb_per_s(p, most), by_8 = gb_per_s(p + 8, most - 8), by_1 = gb_per_s(p + 1, most - 1);
    probe_figure("aligned_to_8/gb_per_s", by_8);
    probe_figure("unaligned/gb_per_s", by_1);
    probe_figure("on_the_host/gb_per_s", host_gb_per_s(bytes));
    probe_figure("ranges_that_differ", wrong);
    probe_figure("changed_bits_overlooked", missed);
    if (wrong || missed)
        probe_answer("WRONG: %u ranges have another hash than on the host, %u changed bits are overlooked", wrong, missed);
    probe_answer(
        "as on the host, for every size and alignment; %.0f GB/s, %.0f from addresses aligned to 8, %.0f from others", best,
        by_8, by_1);
}
