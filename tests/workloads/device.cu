/* device.cu - streams by role, ordering between them, and memory in stream order. */
#include "device.h"
#include <atomic>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define MAX_STREAMS 4

static struct {
    enum allocator allocator;
    int stream_count;
    cudaStream_t streams[MAX_STREAMS];
    cudaEvent_t reached[MAX_STREAMS]; /* recorded anew for every ordering; a wait keeps what it saw */
    size_t live_bytes, peak_bytes;
} device;

void check_result(cudaError_t result, const char *call, const char *file, int line)
{
    static std::atomic<bool> is_ending; /* exit() is for one thread, and takes the device away from the others */
    if (result == cudaSuccess)
        return;
    while (is_ending.exchange(true))
        pause();
    fflush(stdout);
    fprintf(stderr, "%s:%d: %s: %s (%s)\n", file, line, call, cudaGetErrorName(result), cudaGetErrorString(result));
    exit(3);
}

static int stream_index(enum role role)
{
    int last = device.stream_count - 1;
    return (int)role < last ? (int)role : last;
}

cudaStream_t stream_of(enum role role)
{
    return device.streams[stream_index(role)];
}

static void order_streams(int before, int after)
{
    if (before == after)
        return;
    CHECK(cudaEventRecord(device.reached[before], device.streams[before]));
    CHECK(cudaStreamWaitEvent(device.streams[after], device.reached[before], 0));
}

void order_after(enum role before, enum role after)
{
    order_streams(stream_index(before), stream_index(after));
}

void wait_for_device(void)
{
    CHECK(cudaDeviceSynchronize());
}

/* Freed memory stays with the pool between steps, as frameworks that allocate in stream order have it. */
static void keep_pool_memory(int index)
{
    cudaMemPool_t pool;
    uint64_t everything = UINT64_MAX;
    CHECK(cudaDeviceGetDefaultMemPool(&pool, index));
    CHECK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &everything));
}

void device_open(int index, int streams, enum allocator allocator)
{
    device.allocator = allocator;
    device.stream_count = streams;
    CHECK(cudaSetDevice(index));
    if (allocator == ALLOCATE_ASYNC)
        keep_pool_memory(index);
    for (int i = 0; i < streams; i++) {
        CHECK(cudaStreamCreateWithFlags(&device.streams[i], cudaStreamNonBlocking));
        CHECK(cudaEventCreateWithFlags(&device.reached[i], cudaEventDisableTiming));
    }
}

void device_close(void)
{
    wait_for_device();
    for (int i = 0; i < device.stream_count; i++) {
        CHECK(cudaEventDestroy(device.reached[i]));
        CHECK(cudaStreamDestroy(device.streams[i]));
    }
    if (device.live_bytes != 0) {
        fprintf(stderr, "%zu bytes of device memory were never freed\n", device.live_bytes);
        exit(1);
    }
}

size_t peak_live_bytes(void)
{
    return device.peak_bytes;
}

block::block(size_t bytes, enum role role) : size_bytes(bytes), streams_used(1u << stream_index(role))
{
    if (device.allocator == ALLOCATE_ASYNC)
        CHECK(cudaMallocAsync(&where, bytes, stream_of(role)));
    else
        CHECK(cudaMalloc(&where, bytes));
    device.live_bytes += bytes;
    if (device.live_bytes > device.peak_bytes)
        device.peak_bytes = device.live_bytes;
}

/* Freed on the last of the streams that used it, since those run behind COMPUTE anyway: COMPUTE never waits to free. */
block::~block()
{
    if (device.allocator == ALLOCATE_ASYNC) {
        int last = 0;
        for (int i = 0; i < device.stream_count; i++)
            if (streams_used & (1u << i))
                last = i;
        for (int i = 0; i < last; i++)
            if (streams_used & (1u << i))
                order_streams(i, last);
        CHECK(cudaFreeAsync(where, device.streams[last]));
    } else {
        CHECK(cudaFree(where)); /* waits for the device by itself */
    }
    device.live_bytes -= size_bytes;
}

void block::used_for(enum role role)
{
    streams_used |= 1u << stream_index(role);
}
