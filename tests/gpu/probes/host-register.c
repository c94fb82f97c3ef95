/* host-register.c - question 12: can memory from mmap() be registered here, how much of it at once and how fast, and
 * how does cuMemHostAlloc() compare? */
#include "probe.h"
#include <sys/mman.h>

/* Half of what this process may still take: of the machine, and of the control group where there is one. */
static size_t memory_to_use(void)
{
    size_t available = 0, limit = 0, current = 0;
    char line[256];
    FILE *f = fopen("/proc/meminfo", "r");
    while (f && fgets(line, sizeof(line), f))
        if (sscanf(line, "MemAvailable: %zu", &available) == 1)
            available *= KIB;
    if (f)
        fclose(f);
    if ((f = fopen("/sys/fs/cgroup/memory.max", "r")) != NULL) {
        if (fscanf(f, "%zu", &limit) != 1)
            limit = 0; /* "max" */
        fclose(f);
    }
    if ((f = fopen("/sys/fs/cgroup/memory.current", "r")) != NULL) {
        if (fscanf(f, "%zu", &current) != 1)
            current = 0;
        fclose(f);
    }
    if (limit > current && limit - current < available)
        available = limit - current;
    return available / 2;
}

/* Maps, touches and registers that many bytes; each part's time in figures. 1 when it could be registered. */
static int register_once(size_t bytes, int huge, const char *kind)
{
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED)
        return 0;
    if (huge)
        (void)madvise(p, bytes, MADV_HUGEPAGE);
    double start_us = probe_now_us();
    memset(p, 1, bytes);
    double touched_us = probe_now_us();
    CUresult r = cuMemHostRegister(p, bytes, CU_MEMHOSTREGISTER_PORTABLE);
    double registered_us = probe_now_us();
    if (r == CUDA_SUCCESS) {
        CUdeviceptr device = 0;
        CUresult mapped = cuMemHostGetDevicePointer(&device, p, 0);
        probe_figure_at((touched_us - start_us) * 1e-3, "%s/%s/touch_ms", kind, probe_size(bytes));
        probe_figure_at((registered_us - touched_us) * 1e-3, "%s/%s/register_ms", kind, probe_size(bytes));
        probe_figure_at(mapped == CUDA_SUCCESS && device == ADDRESS(p), "%s/%s/same_address_on_device", kind,
                        probe_size(bytes));
        double before_us = probe_now_us();
        CHECK(cuMemHostUnregister(p));
        probe_figure_at((probe_now_us() - before_us) * 1e-3, "%s/%s/unregister_ms", kind, probe_size(bytes));
    } else {
        char name[96];
        snprintf(name, sizeof(name), "%s/%s/error", kind, probe_size(bytes));
        probe_figure_text(name, probe_error_name(r));
    }
    munmap(p, bytes);
    return r == CUDA_SUCCESS;
}

static int allocate_once(size_t bytes)
{
    void *p;
    double before_us = probe_now_us();
    if (cuMemHostAlloc(&p, bytes, CU_MEMHOSTALLOC_PORTABLE) != CUDA_SUCCESS)
        return 0;
    probe_figure_at((probe_now_us() - before_us) * 1e-3, "host_alloc/%s/allocate_ms", probe_size(bytes));
    before_us = probe_now_us();
    CHECK(cuMemFreeHost(p));
    probe_figure_at((probe_now_us() - before_us) * 1e-3, "host_alloc/%s/free_ms", probe_size(bytes));
    return 1;
}

int main(void)
{
    size_t largest = 0, largest_huge = 0, largest_allocated = 0;
    probe_start("host-register", 12);
    size_t most = memory_to_use();
    if (most > 16 * GIB)
        most = 16 * GIB; /* enough to know; more only takes longer */
    probe_figure("largest_tried_bytes", (double)most);

    double end_us = probe_now_us() + 25e6;
    for (size_t bytes = 2 * MIB; bytes <= most && probe_now_us() < end_us; bytes *= bytes < 64 * MIB ? 32 : 4) {
        if (register_once(bytes, 0, "mmap"))
            largest = bytes;
        if (register_once(bytes, 1, "mmap_huge"))
            largest_huge = bytes;
        if (allocate_once(bytes))
            largest_allocated = bytes;
    }
    probe_figure("mmap/largest_bytes", (double)largest);
    probe_figure("mmap_huge/largest_bytes", (double)largest_huge);
    probe_figure("host_alloc/largest_bytes", (double)largest_allocated);
    probe_answer("largest single chunk registered: %s from mmap, %s with huge pages; largest from cuMemHostAlloc: %s "
                 "(0KiB: refused; no more than %.1f GiB was tried)",
                 probe_size(largest), probe_size(largest_huge), probe_size(largest_allocated), (double)most / (double)GIB);
}
