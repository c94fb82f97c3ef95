/* map-beside-copies.cu - question 18: how long does it take to make memory accessible while copies to or from the host are
 * under way, and which way of copying holds it up least: pieces of what size, streams in turn, a lower priority, a kernel?
 */
#include "busy.cuh"
#include <pthread.h>

enum { MOST_THREADS = 4, MOST_SAMPLES = 4096 };

static cudaStream_t out_stream[2], in_stream[2];
static cudaEvent_t turn[2];
static cudaStream_t bounce_stream;
static cudaEvent_t there, back;
static CUdeviceptr mapped_host; /* 0: the driver makes none */
static char *host_out, *host_in;
static CUdeviceptr device_out, device_in;
static const size_t total = 256 * MIB;

/* What copies: pieces of a size, by one stream or by two in turn, or a kernel of so many blocks. */
struct way {
    const char *name;
    int out, in;
    size_t piece;
    int in_turn;
    int blocks;  /* not 0: a kernel */
    int bounced; /* between two pieces the order goes by way of another stream, which has nothing
                  * to do itself (1), or a kernel (2) */
    int mapped;  /* to host memory that the driver has made and mapped, as from device to device */
};

static __global__ void copy_by_kernel(uint4 *to, const uint4 *from, size_t count)
{
    const size_t stride = (size_t)gridDim.x * blockDim.x;
    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += stride)
        to[i] = from[i];
}

/* Submits copies of `total` bytes each way that is wanted. */
static void submit(const struct way *way)
{
    if (way->blocks) {
        if (way->out)
            copy_by_kernel<<<way->blocks, 512, 0, out_stream[0]>>>((uint4 *)host_out, (const uint4 *)device_out, total / 16);
        if (way->in)
            copy_by_kernel<<<way->blocks, 512, 0, in_stream[0]>>>((uint4 *)device_in, (const uint4 *)host_in, total / 16);
        return;
    }
    int k = 0;
    for (size_t at = 0; at < total; at += way->piece, k ^= way->in_turn) {
        if (way->out && way->mapped) {
            CHECK(cuMemcpyDtoDAsync(mapped_host + at, device_out + at, way->piece, out_stream[0]));
        } else if (way->out) {
            if (way->in_turn)
                busy_check(cudaStreamWaitEvent(out_stream[k], turn[0], 0), "waiting");
            busy_check(
                cudaMemcpyAsync(host_out + at, (void *)(device_out + at), way->piece, cudaMemcpyDeviceToHost, out_stream[k]),
                "copying");
            if (way->in_turn)
                busy_check(cudaEventRecord(turn[0], out_stream[k]), "recording");
            if (way->bounced) {
                busy_check(cudaEventRecord(there, out_stream[k]), "recording");
                busy_check(cudaStreamWaitEvent(bounce_stream, there, 0), "waiting");
                if (way->bounced > 1)
                    tiny_kernel<<<1, 32, 0, bounce_stream>>>(NULL);
                busy_check(cudaEventRecord(back, bounce_stream), "recording");
                busy_check(cudaStreamWaitEvent(out_stream[k], back, 0), "waiting");
            }
        }
        if (way->in) {
            if (way->in_turn)
                busy_check(cudaStreamWaitEvent(in_stream[k], turn[1], 0), "waiting");
            busy_check(
                cudaMemcpyAsync((void *)(device_in + at), host_in + at, way->piece, cudaMemcpyHostToDevice, in_stream[k]),
                "copying");
            if (way->in_turn)
                busy_check(cudaEventRecord(turn[1], in_stream[k]), "recording");
        }
    }
}

static int copying(void)
{
    return cudaStreamQuery(out_stream[0]) == cudaErrorNotReady || cudaStreamQuery(in_stream[0]) == cudaErrorNotReady ||
           cudaStreamQuery(out_stream[1]) == cudaErrorNotReady || cudaStreamQuery(in_stream[1]) == cudaErrorNotReady;
}

/* ---- threads that map and unmap all the while ---- */

struct mapper {
    pthread_t thread;
    CUcontext context;
    volatile int *stop;
    size_t count;
    double create_us[MOST_SAMPLES], access_us[MOST_SAMPLES], unmap_us[MOST_SAMPLES], release_us[MOST_SAMPLES];
};

static struct mapper mappers[MOST_THREADS];

static void *map_on(void *argument)
{
    struct mapper *m = (struct mapper *)argument;
    CUmemAllocationProp prop = probe_device_memory();
    CUmemAccessDesc access = probe_device_access();
    const size_t bytes = probe_round_up(8 * MIB);
    CUdeviceptr at;
    CHECK(cuCtxSetCurrent(m->context));
    CHECK(cuMemAddressReserve(&at, bytes, 0, 0, 0));
    while (!*m->stop && m->count < MOST_SAMPLES) {
        CUmemGenericAllocationHandle handle;
        double begun = probe_now_us();
        CHECK(cuMemCreate(&handle, bytes, &prop, 0));
        m->create_us[m->count] = probe_now_us() - begun;
        begun = probe_now_us();
        CHECK(cuMemMap(at, bytes, 0, handle, 0));
        CHECK(cuMemSetAccess(at, bytes, &access, 1));
        m->access_us[m->count] = probe_now_us() - begun;
        begun = probe_now_us();
        CHECK(cuMemUnmap(at, bytes));
        m->unmap_us[m->count] = probe_now_us() - begun;
        begun = probe_now_us();
        CHECK(cuMemRelease(handle));
        m->release_us[m->count++] = probe_now_us() - begun;
    }
    CHECK(cuMemAddressFree(at, bytes));
    return NULL;
}

/* For about `window_us` with copies under way. */
static void measure(const struct way *way, int threads, double window_us)
{
    volatile int stop = 0;
    CUcontext context;
    double moved = 0, begun = probe_now_us();
    CHECK(cuCtxGetCurrent(&context));
    for (int i = 0; i < threads; i++) {
        mappers[i].context = context;
        mappers[i].stop = &stop;
        mappers[i].count = 0;
    }
    submit(way);
    for (int i = 0; i < threads; i++)
        if (pthread_create(&mappers[i].thread, NULL, map_on, &mappers[i]) != 0)
            probe_give_up("no thread could be started");
    while (probe_now_us() - begun < window_us) {
        submit(way); /* one is under way while the next is queued */
        moved += (double)total;
        while (probe_now_us() - begun < window_us * 4) {
            if (!copying())
                break;
            usleep(50);
        }
    }
    stop = 1;
    CHECK(cuCtxSynchronize());
    const double took_us = probe_now_us() - begun;
    size_t count = 0;
    for (int i = 0; i < threads; i++) {
        pthread_join(mappers[i].thread, NULL);
        count += mappers[i].count;
    }
    struct mapper *m = &mappers[0];
    char name[96];
    snprintf(name, sizeof(name), "%s%s", way->name, threads > 1 ? "/4_threads" : "");
    probe_figure_at(probe_percentile(m->create_us, m->count, 0.5), "%s/create_us", name);
    probe_figure_at(probe_percentile(m->access_us, m->count, 0.5), "%s/map_and_set_access_us", name);
    probe_figure_at(probe_percentile(m->access_us, m->count, 0.95), "%s/map_and_set_access_p95_us", name);
    probe_figure_at(probe_percentile(m->unmap_us, m->count, 0.5), "%s/unmap_us", name);
    probe_figure_at(probe_percentile(m->release_us, m->count, 0.5), "%s/release_us", name);
    probe_figure_at(took_us / (double)(count ? count : 1), "%s/us_for_each_of_all", name);
    if (way->out || way->in)
        probe_figure_at((moved + (double)total) / took_us * 1e-3, "%s/copies_GB_per_s_each_way", name);
}

/* Host memory that is made like device memory, at a device address. 0: there is none on this device. */
static CUdeviceptr map_host_memory(size_t bytes)
{
    CUmemAllocationProp prop = probe_device_memory();
    CUmemGenericAllocationHandle handle;
    CUmemAccessDesc access = probe_device_access();
    CUdeviceptr at;
    prop.location.type = CU_MEM_LOCATION_TYPE_HOST_NUMA;
    prop.location.id = 0;
    if (cuMemCreate(&handle, bytes, &prop, 0) != CUDA_SUCCESS)
        return 0;
    CHECK(cuMemAddressReserve(&at, bytes, 0, 0, 0));
    CHECK(cuMemMap(at, bytes, 0, handle, 0));
    CHECK(cuMemSetAccess(at, bytes, &access, 1));
    return at;
}

static double access_of(const struct way *way, double window_us)
{
    measure(way, 1, window_us);
    return probe_percentile(mappers[0].access_us, mappers[0].count, 0.5);
}

int main(void)
{
    static const struct way ways[] = {
        {"out_16MiB", 1, 0, 16 * MIB, 0, 0, 0, 0},
        {"in_16MiB", 0, 1, 16 * MIB, 0, 0, 0, 0},
        {"both_16MiB", 1, 1, 16 * MIB, 0, 0, 0, 0},
        {"out_2MiB", 1, 0, 2 * MIB, 0, 0, 0, 0},
        {"out_4MiB_in_turn", 1, 0, 4 * MIB, 1, 0, 0, 0},
        {"out_16MiB_bounced", 1, 0, 16 * MIB, 0, 0, 1, 0},
        {"out_8MiB_bounced", 1, 0, 8 * MIB, 0, 0, 1, 0},
        {"out_4MiB_bounced", 1, 0, 4 * MIB, 0, 0, 1, 0},
        {"out_2MiB_bounced", 1, 0, 2 * MIB, 0, 0, 1, 0},
        {"both_4MiB_bounced", 1, 1, 4 * MIB, 0, 0, 1, 0},
        {"out_4MiB_bounced_kernel", 1, 0, 4 * MIB, 0, 0, 2, 0},
        {"out_16MiB_to_mapped", 1, 0, 16 * MIB, 0, 0, 0, 1},
        {"both_16MiB_to_mapped", 1, 1, 16 * MIB, 0, 0, 0, 1},
        {"out_kernel_2", 1, 0, 0, 0, 2, 0, 0},
        {"out_kernel_4", 1, 0, 0, 0, 4, 0, 0},
        {"out_kernel_8", 1, 0, 0, 0, 8, 0, 0},
        {"in_kernel_8", 0, 1, 0, 0, 8, 0, 0},
    };
    static const struct way none = {"nothing", 0, 0, 16 * MIB, 0, 0, 0, 0};
    int least, greatest;
    probe_start("map-beside-copies", 18);
    busy_check(cudaFree(0), "starting");
    for (int i = 0; i < 2; i++) {
        busy_check(cudaStreamCreateWithFlags(&out_stream[i], cudaStreamNonBlocking), "making a stream");
        busy_check(cudaStreamCreateWithFlags(&in_stream[i], cudaStreamNonBlocking), "making a stream");
        busy_check(cudaEventCreateWithFlags(&turn[i], cudaEventDisableTiming), "making an event");
    }
    busy_check(cudaMallocHost((void **)&host_out, total), "taking host memory");
    busy_check(cudaMallocHost((void **)&host_in, total), "taking host memory");
    memset(host_in, 1, total);
    memset(host_out, 2, total);
    device_out = probe_block_create(total).address;
    device_in = probe_block_create(total).address;
    mapped_host = map_host_memory(total);
    busy_check(cudaStreamCreateWithFlags(&bounce_stream, cudaStreamNonBlocking), "making a stream");
    busy_check(cudaEventCreateWithFlags(&there, cudaEventDisableTiming), "making an event");
    busy_check(cudaEventCreateWithFlags(&back, cudaEventDisableTiming), "making an event");
    const double alone = access_of(&none, 50e3);
    double out = 0, bounced = 0;
    for (size_t i = 0; i < sizeof(ways) / sizeof(*ways); i++) {
        if (ways[i].mapped && !mapped_host)
            continue;
        const double us = access_of(&ways[i], 200e3);
        out = i == 0 ? us : out;
        bounced = i == 7 ? us : bounced;
    }
    measure(&ways[0], MOST_THREADS, 200e3);
    measure(&none, MOST_THREADS, 50e3);
    busy_check(cudaDeviceGetStreamPriorityRange(&least, &greatest), "asking for priorities");
    busy_check(cudaStreamCreateWithPriority(&out_stream[0], cudaStreamNonBlocking, least), "making a stream");
    struct way low = ways[0];
    low.name = "out_16MiB_lowest_priority";
    measure(&low, 1, 200e3);
    probe_answer(
        "to map a piece and make it accessible takes %.0f us alone, %.0f us beside copies to the host in pieces of 16 MiB, "
        "%.0f us beside such in pieces of 4 MiB that come one behind the other by way of another stream",
        alone, out, bounced);
}
