/* copy-speed.c - question 9: how fast are copies from and to the host, one way and both ways at once, from memory of
 * cuMemHostAlloc() and from registered mmap() memory, in pieces of 1 to 64 MiB; and how long do the program's own small
 * copies wait behind such pieces? */
#include "probe.h"
#include <sys/mman.h>

static const size_t total = 512 * MIB;
static CUstream in_stream, out_stream, small_stream;
static CUdeviceptr in_device, out_device, small_device;
static void *small_host;

struct host_memory {
    const char *kind;
    char *in, *out;
};

static void *registered(size_t bytes)
{
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED)
        return NULL;
    (void)madvise(p, bytes, MADV_HUGEPAGE);
    memset(p, 1, bytes);
    if (cuMemHostRegister(p, bytes, CU_MEMHOSTREGISTER_PORTABLE) == CUDA_SUCCESS)
        return p;
    munmap(p, bytes);
    return NULL;
}

static void *allocated(size_t bytes)
{
    void *p;
    if (cuMemHostAlloc(&p, bytes, CU_MEMHOSTALLOC_PORTABLE) != CUDA_SUCCESS)
        return NULL;
    memset(p, 1, bytes);
    return p;
}

/* Queues copies of `bytes` in pieces, in, out, or both in turn. */
static void queue(const struct host_memory *host, size_t bytes, size_t piece, int in, int out)
{
    for (size_t at = 0; at < bytes; at += piece) {
        if (in)
            CHECK(cuMemcpyHtoDAsync(in_device + at % total, host->in + at % total, piece, in_stream));
        if (out)
            CHECK(cuMemcpyDtoHAsync(host->out + at % total, out_device + at % total, piece, out_stream));
    }
}

/* Each way's speed in GB/s, the better of two. */
static double speed(const struct host_memory *host, size_t piece, int in, int out)
{
    double best_us = 0;
    for (int i = 0; i < 2; i++) {
        double before_us = probe_now_us();
        queue(host, total, piece, in, out);
        CHECK(cuStreamSynchronize(in_stream));
        CHECK(cuStreamSynchronize(out_stream));
        double us = probe_now_us() - before_us;
        best_us = i == 0 || us < best_us ? us : best_us;
    }
    return (double)total / best_us * 1e-3;
}

static void measure_speeds(const struct host_memory *host, double ret_best[3])
{
    static const char *const ways[] = {"h2d", "d2h", "both"};
    for (size_t piece = 1 * MIB; piece <= 64 * MIB; piece *= 2) {
        for (int way = 0; way < 3; way++) {
            double gb_per_s = speed(host, piece, way != 1, way != 0);
            probe_figure_at(gb_per_s, "%s/%s/%s_gb_per_s%s", host->kind, probe_size(piece), ways[way],
                            way == 2 ? "_each_way" : "");
            if (gb_per_s > ret_best[way])
                ret_best[way] = gb_per_s;
        }
    }
}

#define MAX_SAMPLES 4096

/* How long a copy of 64 KiB takes, completion included, while pieces are queued the same way; 0: nothing is queued. */
static double small_copy_us(const struct host_memory *host, size_t piece, int in, double *ret_p99_us)
{
    static double samples[MAX_SAMPLES];
    size_t count = 0;
    const size_t bytes = 64 * KIB;
    if (piece)
        queue(host, 4 * total, piece, in, !in);
    do {
        double before_us = probe_now_us();
        if (in)
            CHECK(cuMemcpyHtoDAsync(small_device, small_host, bytes, small_stream));
        else
            CHECK(cuMemcpyDtoHAsync(small_host, small_device, bytes, small_stream));
        CHECK(cuStreamSynchronize(small_stream));
        samples[count++] = probe_now_us() - before_us;
    } while (count < MAX_SAMPLES &&
             (piece ? cuStreamQuery(in ? in_stream : out_stream) == CUDA_ERROR_NOT_READY : count < 500));
    CHECK(cuCtxSynchronize());
    *ret_p99_us = probe_percentile(samples, count, 0.99);
    return probe_percentile(samples, count, 0.5);
}

static void measure_disturbance(const struct host_memory *host, double *ret_alone_us, double *ret_beside_us)
{
    static const size_t pieces[] = {0, 1 * MIB, 4 * MIB, 8 * MIB, 16 * MIB, 32 * MIB, 64 * MIB};
    for (size_t i = 0; i < sizeof(pieces) / sizeof(*pieces); i++) {
        for (int in = 0; in < 2; in++) {
            double p99_us, median_us = small_copy_us(host, pieces[i], in, &p99_us);
            const char *beside = pieces[i] ? probe_size(pieces[i]) : "nothing";
            probe_figure_at(median_us, "small_%s_beside/%s/median_us", in ? "h2d" : "d2h", beside);
            probe_figure_at(p99_us, "small_%s_beside/%s/p99_us", in ? "h2d" : "d2h", beside);
            if (in && !pieces[i])
                *ret_alone_us = median_us;
            if (in && pieces[i] == 16 * MIB)
                *ret_beside_us = median_us;
        }
    }
}

int main(void)
{
    double best[2][3] = {{0}}, alone_us = 0, beside_us = 0;
    probe_start("copy-speed", 9);
    CHECK(cuStreamCreate(&in_stream, CU_STREAM_NON_BLOCKING));
    CHECK(cuStreamCreate(&out_stream, CU_STREAM_NON_BLOCKING));
    CHECK(cuStreamCreate(&small_stream, CU_STREAM_NON_BLOCKING));
    CHECK(cuMemAlloc(&in_device, total));
    CHECK(cuMemAlloc(&out_device, total));
    CHECK(cuMemAlloc(&small_device, 1 * MIB));
    CHECK(cuMemHostAlloc(&small_host, 1 * MIB, 0));

    struct host_memory from_driver = {"host_alloc", allocated(total), allocated(total)};
    struct host_memory from_mmap = {"registered", registered(total), registered(total)};
    if (from_driver.in && from_driver.out)
        measure_speeds(&from_driver, best[0]);
    if (from_mmap.in && from_mmap.out)
        measure_speeds(&from_mmap, best[1]);
    int usable = from_driver.in && from_driver.out ? 0 : from_mmap.in && from_mmap.out ? 1 : -1;
    if (usable < 0)
        probe_give_up("no pinned host memory could be had");
    measure_disturbance(usable == 0 ? &from_driver : &from_mmap, &alone_us, &beside_us);
    probe_answer("host to device %.1f GB/s, back %.1f, both at once %.1f each way (cuMemHostAlloc); %.1f, %.1f, %.1f "
                 "(registered mmap; 0: refused); a copy of 64 KiB takes %.0f us, %.0f us beside pieces of 16 MiB",
                 best[0][0], best[0][1], best[0][2], best[1][0], best[1][1], best[1][2], alone_us, beside_us);
}
