/* host-backed.cu - question 8: can host memory be mapped at a device address (HOST, HOST_NUMA), so that an evicted
 * tensor stays reachable; how fast do copies and kernels work on it, and are atomics on it right? */
#include "busy.cuh"

static __global__ void write_kernel(unsigned *out, size_t words, unsigned first)
{
    size_t step = (size_t)gridDim.x * blockDim.x;
    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < words; i += step)
        out[i] = first + (unsigned)i;
}

/* Counts the words that are not what write_kernel() put there. */
static __global__ void check_kernel(const unsigned *in, size_t words, unsigned first, unsigned long long *wrong)
{
    size_t step = (size_t)gridDim.x * blockDim.x;
    unsigned long long mine = 0;
    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < words; i += step)
        mine += in[i] != first + (unsigned)i;
    if (mine)
        atomicAdd(wrong, mine);
}

static __global__ void add_kernel(unsigned *counters, float *sums, unsigned long long *wide, int rounds)
{
    for (int i = 0; i < rounds; i++) {
        atomicAdd(&counters[threadIdx.x % 32], 1u);
        atomicAdd(&sums[threadIdx.x % 32], 1.0f);
        atomicMax(wide, (unsigned long long)(blockIdx.x * blockDim.x + threadIdx.x));
    }
}

static const size_t bytes = 256 * MIB;
static cudaStream_t stream;
static unsigned long long *wrong_words; /* on the device */

static double gb_per_s(double us)
{
    return (double)bytes / us * 1e-3;
}

/* Host memory at a device address; which of the steps failed is told. 1 when it is there. */
static int map_host(const char *kind, CUmemLocationType type, int id, CUdeviceptr *ret)
{
    CUmemGenericAllocationHandle handle;
    CUmemAllocationProp prop;
    CUmemAccessDesc access[2] = {probe_device_access(), {}};
    char name[64];
    memset(&prop, 0, sizeof(prop));
    prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    prop.location.type = type;
    prop.location.id = id;
    access[1].location = prop.location;
    access[1].flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    snprintf(name, sizeof(name), "%s/error", kind);

    size_t granularity = 0;
    CUresult r = cuMemGetAllocationGranularity(&granularity, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM);
    probe_figure_at((double)granularity, "%s/granularity_bytes", kind);
    double before_us = probe_now_us();
    if (r == CUDA_SUCCESS)
        r = cuMemCreate(&handle, bytes, &prop, 0);
    probe_figure_at((probe_now_us() - before_us) * 1e-3, "%s/create_256MiB_ms", kind);
    if (r == CUDA_SUCCESS)
        r = cuMemAddressReserve(ret, bytes, 0, 0, 0);
    before_us = probe_now_us();
    if (r == CUDA_SUCCESS)
        r = cuMemMap(*ret, bytes, 0, handle, 0);
    if (r == CUDA_SUCCESS)
        r = cuMemSetAccess(*ret, bytes, access, 1);
    probe_figure_at((probe_now_us() - before_us) * 1e-3, "%s/map_256MiB_ms", kind);
    if (r == CUDA_SUCCESS)
        probe_figure_at(cuMemSetAccess(*ret, bytes, access, 2) == CUDA_SUCCESS, "%s/host_may_access_too", kind);
    if (r != CUDA_SUCCESS)
        probe_figure_text(name, probe_error_name(r));
    return r == CUDA_SUCCESS;
}

/* The time of one kernel or copy, the best of three. */
template <class Work> static double best_us(Work work)
{
    double best = 0;
    for (int i = 0; i < 3; i++) {
        CHECK(cuStreamSynchronize(stream));
        double before_us = probe_now_us();
        work();
        CHECK(cuStreamSynchronize(stream));
        double us = probe_now_us() - before_us;
        best = i == 0 || us < best ? us : best;
    }
    return best;
}

/* Copies and kernels over memory at `address`: right, and how fast. Returns the kernel's reading speed. */
static double try_memory(const char *kind, CUdeviceptr address, CUdeviceptr device_copy)
{
    unsigned *words = (unsigned *)(uintptr_t)address, *copy = (unsigned *)(uintptr_t)device_copy;
    const size_t count = bytes / sizeof(unsigned);
    double write_us = best_us([&] { write_kernel<<<1024, 256, 0, stream>>>(words, count, 5); });
    double read_us = best_us([&] { check_kernel<<<1024, 256, 0, stream>>>(words, count, 5, wrong_words); });
    double in_us = best_us([&] { CHECK(cuMemcpyAsync(device_copy, address, bytes, stream)); });
    check_kernel<<<1024, 256, 0, stream>>>(copy, count, 5, wrong_words);
    write_kernel<<<1024, 256, 0, stream>>>(copy, count, 9);
    double out_us = best_us([&] { CHECK(cuMemcpyAsync(address, device_copy, bytes, stream)); });
    check_kernel<<<1024, 256, 0, stream>>>(words, count, 9, wrong_words);
    CHECK(cuStreamSynchronize(stream));
    unsigned long long wrong = 0;
    CHECK(cuMemcpyDtoH(&wrong, ADDRESS(wrong_words), sizeof(wrong)));
    probe_figure_at(gb_per_s(write_us), "%s/kernel_write_gb_per_s", kind);
    probe_figure_at(gb_per_s(read_us), "%s/kernel_read_gb_per_s", kind);
    probe_figure_at(gb_per_s(in_us), "%s/copy_to_device_gb_per_s", kind);
    probe_figure_at(gb_per_s(out_us), "%s/copy_from_device_gb_per_s", kind);
    probe_figure_at((double)wrong, "%s/wrong_words", kind);
    return gb_per_s(read_us);
}

/* Atomics of many threads on few words; 1 when every one counted. */
static int atomics_are_right(const char *kind, CUdeviceptr address)
{
    const int blocks = 64, threads = 256, rounds = 16;
    unsigned counters[32];
    float sums[32];
    unsigned long long wide;
    CHECK(cuMemsetD8Async(address, 0, 4096, stream));
    CHECK(cuStreamSynchronize(stream));
    double before_us = probe_now_us();
    add_kernel<<<blocks, threads, 0, stream>>>((unsigned *)(uintptr_t)address, (float *)(uintptr_t)(address + 1024),
                                               (unsigned long long *)(uintptr_t)(address + 2048), rounds);
    CUresult r = cuStreamSynchronize(stream);
    double us = probe_now_us() - before_us;
    CHECK(r);
    CHECK(cuMemcpyDtoH(counters, address, sizeof(counters)));
    CHECK(cuMemcpyDtoH(sums, address + 1024, sizeof(sums)));
    CHECK(cuMemcpyDtoH(&wide, address + 2048, sizeof(wide)));
    const unsigned each = (unsigned)(blocks * threads / 32 * rounds);
    int right = wide == (unsigned long long)(blocks * threads - 1);
    for (int i = 0; i < 32; i++)
        right = right && counters[i] == each && sums[i] == (float)each;
    probe_figure_at(right, "%s/atomics_right", kind);
    probe_figure_at(us * 1e3 / (3.0 * blocks * threads * rounds), "%s/atomic_ns", kind);
    return right;
}

/* Takes device memory away from under an address and puts host memory there, as an eviction would. */
static int replaces_device_memory(void)
{
    CUmemGenericAllocationHandle handle;
    CUmemAllocationProp prop;
    CUmemAccessDesc access = probe_device_access();
    memset(&prop, 0, sizeof(prop));
    prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    prop.location.type = CU_MEM_LOCATION_TYPE_HOST_NUMA;
    struct probe_block block = probe_block_create(32 * MIB);
    unsigned *words = (unsigned *)(uintptr_t)block.address;
    write_kernel<<<64, 256, 0, stream>>>(words, block.bytes / 4, 1);
    CHECK(cuStreamSynchronize(stream));
    CHECK(cuMemUnmap(block.address, block.bytes));
    if (cuMemCreate(&handle, block.bytes, &prop, 0) != CUDA_SUCCESS ||
        cuMemMap(block.address, block.bytes, 0, handle, 0) != CUDA_SUCCESS ||
        cuMemSetAccess(block.address, block.bytes, &access, 1) != CUDA_SUCCESS)
        return 0;
    unsigned last = 0;
    write_kernel<<<64, 256, 0, stream>>>(words, block.bytes / 4, 7);
    CHECK(cuStreamSynchronize(stream));
    CHECK(cuMemcpyDtoH(&last, block.address + block.bytes - 4, sizeof(last)));
    return last == 7 + (unsigned)(block.bytes / 4 - 1);
}

int main(void)
{
    struct kind {
        const char *name;
        CUmemLocationType type;
        int works;
        double read;
    } kinds[] = {{"host_numa", CU_MEM_LOCATION_TYPE_HOST_NUMA, 0, 0}, {"host", CU_MEM_LOCATION_TYPE_HOST, 0, 0}};
    probe_start("host-backed", 8);
    busy_check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "making a stream");
    busy_check(cudaMalloc(&wrong_words, sizeof(*wrong_words)), "cudaMalloc");
    busy_check(cudaMemset(wrong_words, 0, sizeof(*wrong_words)), "cudaMemset");
    struct probe_block device = probe_block_create(bytes), other = probe_block_create(bytes);
    double on_device = try_memory("device", device.address, other.address);
    atomics_are_right("device", device.address);

    int native = 0, right = 0, replaces = 0;
    (void)cuDeviceGetAttribute(&native, CU_DEVICE_ATTRIBUTE_HOST_NATIVE_ATOMIC_SUPPORTED, probe.device);
    probe_figure("host_native_atomics", native);
    for (struct kind *k = kinds; k < kinds + 2; k++) {
        CUdeviceptr address;
        k->works = map_host(k->name, k->type, 0, &address);
        if (!k->works)
            continue;
        k->read = try_memory(k->name, address, other.address);
        right = atomics_are_right(k->name, address);
    }
    if (kinds[0].works)
        replaces = replaces_device_memory();
    probe_figure("host_numa/replaces_device_memory_at_its_address", replaces);
    if (!kinds[0].works && !kinds[1].works)
        probe_answer("no: neither HOST_NUMA nor HOST memory can be mapped at a device address here");
    probe_answer("HOST_NUMA %s, HOST %s; a kernel reads it at %.1f GB/s (device memory: %.0f); atomics on it are %s; it "
                 "%s take the place of device memory at the same address",
                 kinds[0].works ? "works" : "is refused", kinds[1].works ? "works" : "is refused",
                 kinds[0].works ? kinds[0].read : kinds[1].read, on_device, right ? "right" : "wrong",
                 replaces ? "can" : "can't");
}
