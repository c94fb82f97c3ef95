/* call-cost.c - question 17: how long does the host take for the calls that spillway adds to those of the program: what it
 * asks of contexts, streams and events, and what it submits? */
#include "probe.h"

enum { ROUNDS = 400 };

static double spent_us[ROUNDS];
static CUstream stream, other;
static CUevent event, timed, timed_too;
static CUdeviceptr memory;
static void *host;

/* The median of a call, with the streams idle before each where it submits. */
#define COST(name, submits, ...) \
    do { \
        for (int round = 0; round < ROUNDS; round++) { \
            double before_us = probe_now_us(); \
            (void)__VA_ARGS__; \
            spent_us[round] = probe_now_us() - before_us; \
            if ((submits) && round % 32 == 0) \
                CHECK(cuCtxSynchronize()); \
        } \
        CHECK(cuCtxSynchronize()); \
        probe_figure_at(probe_percentile(spent_us, ROUNDS, 0.5), "%s/median_us", name); \
        probe_figure_at(probe_percentile(spent_us, ROUNDS, 0.99), "%s/p99_us", name); \
    } while (0)

static void asks(void)
{
    CUdevice device;
    CUcontext context;
    CUstreamCaptureStatus status;
    CUuuid uuid;
    size_t free_bytes, total_bytes;
    float ms;
    COST("clock", 0, probe_now_us());
    COST("cuCtxGetDevice", 0, cuCtxGetDevice(&device));
    COST("cuCtxGetCurrent", 0, cuCtxGetCurrent(&context));
    COST("cuCtxSetCurrent", 0, cuCtxSetCurrent(context));
    COST("cuStreamIsCapturing", 0, cuStreamIsCapturing(stream, &status));
    COST("cuStreamGetCtx", 0, cuStreamGetCtx(stream, &context));
    COST("cuStreamQuery", 0, cuStreamQuery(stream));
    COST("cuDeviceGetUuid", 0, cuDeviceGetUuid_v2(&uuid, probe.device));
    COST("cuMemGetInfo", 0, cuMemGetInfo(&free_bytes, &total_bytes));
    COST("cuEventQuery", 0, cuEventQuery(event));
    COST("cuEventElapsedTime", 0, cuEventElapsedTime(&ms, timed, timed_too));
}

static void submits(void)
{
    CUevent made;
    COST("cuEventCreate+Destroy", 0, (cuEventCreate(&made, CU_EVENT_DISABLE_TIMING) || cuEventDestroy(made)));
    COST("cuEventRecord", 1, cuEventRecord(event, stream));
    COST("cuEventRecord_timed", 1, cuEventRecord(timed, stream));
    COST("cuStreamWaitEvent", 1, cuStreamWaitEvent(other, event, 0));
    COST("cuMemsetD32Async", 1, cuMemsetD32Async(memory, 1, 1024, stream));
    COST("cuMemcpyDtoHAsync_4KiB", 1, cuMemcpyDtoHAsync(host, memory, 4096, stream));
    COST("cuMemcpyHtoDAsync_4KiB", 1, cuMemcpyHtoDAsync(memory, host, 4096, stream));
    COST("cuMemcpyDtoDAsync_4KiB", 1, cuMemcpyDtoDAsync(memory, memory + MIB, 4096, stream));
    COST("cuStreamWriteValue32", 1, cuStreamWriteValue32(stream, memory, 1, 0));
}

int main(void)
{
    CUdeviceptr pooled;
    probe_start("call-cost", 17);
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CHECK(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
    CHECK(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    CHECK(cuEventCreate(&timed, CU_EVENT_DEFAULT));
    CHECK(cuEventCreate(&timed_too, CU_EVENT_DEFAULT));
    CHECK(cuMemAlloc(&memory, 4 * MIB));
    CHECK(cuMemHostAlloc(&host, MIB, 0));
    CHECK(cuEventRecord(timed, stream));
    CHECK(cuEventRecord(timed_too, stream));
    CHECK(cuCtxSynchronize());
    asks();
    submits();
    COST("cuMemAllocAsync+cuMemFreeAsync", 1, (cuMemAllocAsync(&pooled, 8 * MIB, stream) || cuMemFreeAsync(pooled, stream)));
    const double pooled_us = probe_percentile(spent_us, ROUNDS, 0.5);
    COST("cuEventRecord+cuStreamWaitEvent", 1, (cuEventRecord(event, stream) || cuStreamWaitEvent(other, event, 0)));
    probe_answer("to record an event and have a stream wait for it takes %.2f us; memory of the driver's pool, there and "
                 "back, %.2f us",
                 probe_percentile(spent_us, ROUNDS, 0.5), pooled_us);
}
