/* escapes.c - question 1: under the preload, does device memory go to anyone without spillway's knowledge? Uses the
 * shared CUDA runtime, cuBLAS and NCCL as a framework does, and after each step compares what the driver says is in use
 * with what spillway's cuMemGetInfo() says. Each step is done twice: the first time code is loaded and libraries set
 * themselves up, which is the driver's own memory; the second time every byte must be in the ledger. */
#include "blas.h"
#include <cuda_runtime_api.h>

static CUresult (*real_mem_get_info)(size_t *free_bytes, size_t *total_bytes);

/* The driver's own cuMemGetInfo(): from the file mapped into this process that isn't spillway. */
static int find_real_driver(void)
{
    char line[4200], path[4097];
    FILE *maps = fopen("/proc/self/maps", "r");
    int found = 0;
    while (maps && !found && fgets(line, sizeof(line), maps)) {
        if (sscanf(line, "%*s %*s %*s %*s %*s %4096[^\n]", path) != 1 || !strstr(path, "/libcuda.so"))
            continue;
        void *driver = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        if (driver)
            *(void **)&real_mem_get_info = dlsym(driver, "cuMemGetInfo_v2");
        found = real_mem_get_info != NULL;
    }
    if (maps)
        fclose(maps);
    return found;
}

struct use {
    double driver_bytes, ledger_bytes;
};

static struct use in_use(void)
{
    size_t free_bytes, total_bytes;
    struct use use;
    CHECK(cuCtxSynchronize());
    CHECK(real_mem_get_info(&free_bytes, &total_bytes));
    use.driver_bytes = (double)(total_bytes - free_bytes);
    CHECK(cuMemGetInfo(&free_bytes, &total_bytes));
    use.ledger_bytes = (double)(total_bytes - free_bytes);
    return use;
}

/* ---- the steps; each leaves its memory allocated ---- */

static CUdeviceptr a, b, c;

static const char *allocate(void)
{
    void *p;
    for (int i = 0; i < 8; i++)
        if (cudaMalloc(&p, 40 << 20) != cudaSuccess || cudaMemset(p, 0, 40 << 20) != cudaSuccess)
            return "cudaMalloc failed";
    c = b = a = ADDRESS(p);
    return NULL;
}

static const char *allocate_in_stream_order(void)
{
    void *p;
    cudaStream_t stream;
    if (cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) != cudaSuccess)
        return "no stream";
    for (int i = 0; i < 4; i++)
        if (cudaMallocAsync(&p, 40 << 20, stream) != cudaSuccess)
            return "cudaMallocAsync failed";
    return cudaStreamSynchronize(stream) == cudaSuccess ? NULL : "the stream failed";
}

static const char *multiply(void)
{
    blas_handle handle;
    if (!blas.create && !blas_open())
        return "cuBLAS is not installed";
    if (blas.create(&handle) != 0)
        return "cublasCreate failed";
    if (blas_float_product(handle, 1024, a, b, c + (16 << 20)) != 0 ||
        blas_bf16_product(handle, 1024, 4096, a, b, c + (16 << 20)) != 0)
        return "a product failed";
    return NULL;
}

static const char *reduce(void)
{
    static int (*init_all)(void **, int, const int *);
    static int (*all_reduce)(const void *, void *, size_t, int, int, void *, cudaStream_t);
    void *library = dlopen("libnccl.so.2", RTLD_NOW), *communicator;
    if (!library)
        return "NCCL is not installed";
    *(void **)&init_all = dlsym(library, "ncclCommInitAll");
    *(void **)&all_reduce = dlsym(library, "ncclAllReduce");
    if (!init_all || !all_reduce || init_all(&communicator, 1, NULL) != 0)
        return "no communicator could be made";
    const int float32 = 7, sum = 0;
    if (all_reduce((void *)(uintptr_t)a, (void *)(uintptr_t)(a + (16 << 20)), 1 << 20, float32, sum, communicator, NULL) !=
        0)
        return "ncclAllReduce failed";
    return NULL;
}

static const struct step {
    const char *name;
    const char *(*act)(void); /* what went wrong, or NULL */
} steps[] = {
    {"cudaMalloc", allocate},
    {"cudaMallocAsync", allocate_in_stream_order},
    {"cuBLAS", multiply},
    {"NCCL", reduce},
};

int main(void)
{
    Dl_info info;
    char escaped[256] = "", left_out[256] = "";
    int audited = 0;
    probe_start("escapes", 1);
    void *library = dlopen("libcuda.so.1", RTLD_NOW);
    void *start = library ? dlsym(library, "cuInit") : NULL;
    if (!start || !dladdr(start, &info) || !strstr(info.dli_fname, "libspillway"))
        probe_give_up("spillway is not preloaded");
    if (!find_real_driver())
        probe_give_up("the real driver was not found among the mapped files");
    (void)cudaFree(NULL);

    for (size_t i = 0; i < sizeof(steps) / sizeof(*steps); i++) {
        for (int again = 0; again < 2; again++) {
            struct use before = in_use();
            const char *wrong = steps[i].act();
            struct use after = in_use();
            double driver = after.driver_bytes - before.driver_bytes, ledger = after.ledger_bytes - before.ledger_bytes;
            const char *when = again ? "again" : "first";
            if (wrong) {
                char name[64];
                snprintf(name, sizeof(name), "%s/%s/error", steps[i].name, when);
                probe_figure_text(name, wrong);
                snprintf(left_out + strlen(left_out), sizeof(left_out) - strlen(left_out), " %s (%s)", steps[i].name, wrong);
                break;
            }
            audited += again;
            probe_figure_at(driver, "%s/%s/driver_bytes", steps[i].name, when);
            probe_figure_at(ledger, "%s/%s/ledger_bytes", steps[i].name, when);
            if (again && driver - ledger > (double)probe.granularity_bytes)
                snprintf(escaped + strlen(escaped), sizeof(escaped) - strlen(escaped), " %s %.1f MiB", steps[i].name,
                         (driver - ledger) / (double)MIB);
        }
    }
    if (!audited)
        probe_give_up("nothing could be done twice:%s", left_out);
    probe_answer("%s%s%s%s", escaped[0] ? "memory beside the ledger:" : "every byte of the second round is in the ledger",
                 escaped, left_out[0] ? "; left out:" : "", left_out);
}
