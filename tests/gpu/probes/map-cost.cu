/* map-cost.cu - question 4: what do create, map, set-access, unmap and release cost by size, idle and while kernels
 * run, and how long does a launch take that another thread makes meanwhile? */
#include "busy.cuh"
#include <pthread.h>

enum step { RESERVE, CREATE, MAP, SET_ACCESS, UNMAP, RELEASE, FREE_ADDRESS, STEPS };
static const char *const step_names[STEPS] = {"reserve", "create", "map", "set_access", "unmap", "release", "free_address"};

#define MAX_ROUNDS 24
static double spent_us[STEPS][MAX_ROUNDS];

#define TIMED(step, call) \
    do { \
        double before_us = probe_now_us(); \
        CHECK(call); \
        spent_us[step][round] = probe_now_us() - before_us; \
    } while (0)

/* One life of a block, each call timed. */
static void live_once(size_t bytes, int round)
{
    CUdeviceptr address;
    CUmemGenericAllocationHandle handle;
    CUmemAllocationProp prop = probe_device_memory();
    CUmemAccessDesc access = probe_device_access();
    TIMED(RESERVE, cuMemAddressReserve(&address, bytes, 0, 0, 0));
    TIMED(CREATE, cuMemCreate(&handle, bytes, &prop, 0));
    TIMED(MAP, cuMemMap(address, bytes, 0, handle, 0));
    TIMED(SET_ACCESS, cuMemSetAccess(address, bytes, &access, 1));
    TIMED(UNMAP, cuMemUnmap(address, bytes));
    TIMED(RELEASE, cuMemRelease(handle));
    TIMED(FREE_ADDRESS, cuMemAddressFree(address, bytes));
}

static void measure(size_t bytes, const char *when, double *ret_remap_us)
{
    int rounds = bytes >= 256 * MIB ? 8 : MAX_ROUNDS;
    double median[STEPS];
    for (int round = 0; round < rounds; round++)
        live_once(bytes, round);
    for (int step = 0; step < STEPS; step++) {
        median[step] = probe_percentile(spent_us[step], (size_t)rounds, 0.5);
        probe_figure_at(median[step], "%s/%s/%s_us", when, probe_size(bytes), step_names[step]);
    }
    *ret_remap_us = median[MAP] + median[SET_ACCESS] + median[UNMAP];
}

/* ---- another thread that launches all the while ---- */

#define MAX_LAUNCHES 200000
static struct {
    CUcontext context;
    cudaStream_t stream;
    volatile int stop;
    size_t count;
    double us[MAX_LAUNCHES];
} launcher;

static void *launch_on(void *unused)
{
    (void)unused;
    CHECK(cuCtxSetCurrent(launcher.context));
    while (!launcher.stop && launcher.count < MAX_LAUNCHES) {
        double before_us = probe_now_us();
        tiny_kernel<<<1, 32, 0, launcher.stream>>>(NULL);
        launcher.us[launcher.count++] = probe_now_us() - before_us;
        if (launcher.count % 64 == 0)
            cudaStreamSynchronize(launcher.stream); /* the queue never fills, which would be timed too */
    }
    return NULL;
}

/* Launches for about 0.3 s, with or without maps going on beside; tells the median and the 99.9th percentile. */
static double launch_latency(const char *when, size_t map_bytes, double *ret_p999_us)
{
    pthread_t thread;
    launcher.stop = 0;
    launcher.count = 0;
    if (pthread_create(&thread, NULL, launch_on, NULL) != 0)
        probe_give_up("no thread could be started");
    double end_us = probe_now_us() + 300e3;
    while (probe_now_us() < end_us) {
        if (map_bytes)
            live_once(map_bytes, 0);
        else
            usleep(1000);
    }
    launcher.stop = 1;
    pthread_join(thread, NULL);
    double median = probe_percentile(launcher.us, launcher.count, 0.5);
    *ret_p999_us = probe_percentile(launcher.us, launcher.count, 0.999);
    probe_figure_at(median, "launch_beside_%s/median_us", when);
    probe_figure_at(*ret_p999_us, "launch_beside_%s/p999_us", when);
    probe_figure_at(probe_percentile(launcher.us, launcher.count, 1.0), "launch_beside_%s/max_us", when);
    return median;
}

int main(void)
{
    static const size_t sizes[] = {2 * MIB, 8 * MIB, 32 * MIB, 128 * MIB, 512 * MIB, 1 * GIB};
    size_t free_bytes, total_bytes;
    double idle_us[6] = {0}, busy_us[6] = {0}, p999_alone, p999_beside;
    cudaStream_t stream;
    probe_start("map-cost", 4);
    struct probe_block block = probe_block_create(32 * MIB);
    busy_check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "making a stream");
    busy_check(cudaStreamCreateWithFlags(&launcher.stream, cudaStreamNonBlocking), "making a stream");
    CHECK(cuCtxGetCurrent(&launcher.context));
    CHECK(cuMemGetInfo(&free_bytes, &total_bytes));
    tiny_kernel<<<1, 32, 0, stream>>>(NULL); /* loads the module */
    busy_start(stream, block, 10);
    CHECK(cuCtxSynchronize());
    live_once(2 * MIB, 0);

    for (int i = 0; i < 6 && sizes[i] * 2 < free_bytes; i++)
        measure(probe_round_up(sizes[i]), "idle", &idle_us[i]);
    for (int i = 0; i < 6 && sizes[i] * 2 < free_bytes; i++) {
        busy_start(stream, block, 400 * 1000);
        measure(probe_round_up(sizes[i]), "busy", &busy_us[i]);
        int still_running = cudaStreamQuery(stream) == cudaErrorNotReady;
        probe_figure_at(still_running, "busy/%s/kernel_outlasted_calls", probe_size(sizes[i]));
        CHECK(cuCtxSynchronize());
    }
    double alone = launch_latency("nothing", 0, &p999_alone);
    double beside = launch_latency("maps_2MiB", probe_round_up(2 * MIB), &p999_beside);
    launch_latency("maps_64MiB", probe_round_up(64 * MIB), &p999_beside);
    probe_answer("giving an address other memory (map, set access, unmap) costs %.0f us at 2 MiB and %.0f us at 512 MiB "
                 "when idle, %.0f and %.0f us beside a kernel; a launch takes %.1f us, %.1f us while another thread maps "
                 "(99.9th percentile %.0f us, %.0f us beside maps)",
                 idle_us[0], idle_us[4], busy_us[0], busy_us[4], alone, beside, p999_alone, p999_beside);
}
