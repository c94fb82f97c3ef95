/* streams.c - many streams that come and go: of all priorities, blocking and not, destroyed with work still in flight,
 * ordered by events that are used again and again, beside the default stream. */
#include "driver.h"

enum { STREAMS = 200, LIVE = 9, TENSORS = 8, EVENTS = 5, PIECE = 96 << 10 };

static CUdeviceptr tensor[TENSORS];
static CUevent event[EVENTS];
static int lowest, highest;

static CUstream make(unsigned i)
{
    CUstream stream;
    unsigned flags = i % 3 == 0 ? CU_STREAM_DEFAULT : CU_STREAM_NON_BLOCKING;
    int levels = lowest - highest + 1;
    CHECK(cuStreamCreateWithPriority(&stream, flags, highest + (int)(i % (unsigned)levels)));
    return stream;
}

/* Each stream's work comes after that of the one before, by an event; it lives on in the order of the events when its stream
 * is destroyed. */
static void work(CUstream stream, unsigned i)
{
    CUdeviceptr a = tensor[i % TENSORS], b = tensor[(i * 3 + 1) % TENSORS], c = tensor[(i * 5 + 2) % TENSORS];
    if (i > 0)
        CHECK(cuStreamWaitEvent(stream, event[(i - 1) % EVENTS], 0));
    CHECK(cuMemcpyDtoDAsync(a + 512, b + 1024, PIECE / 2, stream));
    CHECK(cuMemsetD8Async(c + (i * 97) % 4096, (unsigned char)i, 1500, stream));
    CHECK(cuMemcpyDtoDAsync(b + PIECE / 2, c, PIECE / 3, stream));
    CHECK(cuEventRecord(event[i % EVENTS], stream));
}

/* The default stream waits for the blocking ones by itself; the others it is told to wait for. */
static void use_default_stream(unsigned i)
{
    CHECK(cuStreamWaitEvent(NULL, event[i % EVENTS], 0));
    CHECK(cuMemsetD32Async(tensor[i % TENSORS] + 256, i, 300, NULL));
    CHECK(cuEventRecord(event[i % EVENTS], NULL));
}

int main(void)
{
    CUstream live[LIVE] = {NULL};
    (void)start();
    CHECK(cuCtxGetStreamPriorityRange(&lowest, &highest));
    for (unsigned i = 0; i < TENSORS; i++) {
        CHECK(cuMemAlloc(&tensor[i], PIECE));
        fill_device(tensor[i], PIECE, i);
    }
    for (unsigned i = 0; i < EVENTS; i++)
        CHECK(cuEventCreate(&event[i], CU_EVENT_DISABLE_TIMING));
    for (unsigned i = 0; i < STREAMS; i++) {
        if (live[i % LIVE])
            CHECK(cuStreamDestroy(live[i % LIVE])); /* what it was given is not done yet, or may not be */
        live[i % LIVE] = make(i);
        work(live[i % LIVE], i);
        if (i % 7 == 3)
            use_default_stream(i);
        if (i % 40 == 39) {
            CHECK(cuEventSynchronize(event[i % EVENTS]));
            uint64_t sum = 0;
            for (unsigned k = 0; k < TENSORS; k++)
                sum = sum * 31 + device_sum(tensor[k], PIECE);
            printf("after %u streams: %016llx\n", i + 1, (unsigned long long)sum);
        }
    }
    for (unsigned i = 0; i < LIVE; i++)
        CHECK(cuStreamDestroy(live[i]));
    CHECK(cuCtxSynchronize());
    for (unsigned i = 0; i < TENSORS; i++) {
        printf("tensor %u: %016llx\n", i, (unsigned long long)device_sum(tensor[i], PIECE));
        CHECK(cuMemFree(tensor[i]));
    }
    for (unsigned i = 0; i < EVENTS; i++)
        CHECK(cuEventDestroy(event[i]));
    return 0;
}
