/* devices.c - three devices with tensors of their own that are copied from one to the other, in streams of either side, by
 * the plain and the peer forms; access between the first two is enabled half way. */
#include "driver.h"

enum { DEVICES = 3, TENSORS = 6, ROUNDS = 6, PIECE = 192 << 10 };

static struct own {
    CUcontext context;
    CUstream stream;
    CUevent event;
    CUdeviceptr tensor[TENSORS];
    struct crowd crowd;
} devices[DEVICES];

static void make(struct own *o, int ordinal)
{
    CUdevice device;
    CHECK(cuDeviceGet(&device, ordinal));
    CHECK(cuDevicePrimaryCtxRetain(&o->context, device));
    CHECK(cuCtxSetCurrent(o->context));
    CHECK(cuStreamCreate(&o->stream, CU_STREAM_NON_BLOCKING));
    CHECK(cuEventCreate(&o->event, CU_EVENT_DISABLE_TIMING));
    for (unsigned i = 0; i < TENSORS; i++) {
        CHECK(cuMemAlloc(&o->tensor[i], PIECE));
        fill_device(o->tensor[i], PIECE, (unsigned)ordinal * 100 + i);
    }
    crowd_make(&o->crowd, 6, PIECE);
}

/* In the receiver's stream, after what the sender has in flight. */
static void pull(struct own *to, struct own *from, unsigned i)
{
    CHECK(cuCtxSetCurrent(from->context));
    CHECK(cuEventRecord(from->event, from->stream));
    CHECK(cuCtxSetCurrent(to->context));
    CHECK(cuStreamWaitEvent(to->stream, from->event, 0));
    CHECK(cuMemcpyPeerAsync(to->tensor[i], to->context, from->tensor[(i + 1) % TENSORS], from->context, PIECE, to->stream));
    CHECK(cuStreamSynchronize(to->stream));
}

/* In the sender's stream, a part only. */
static void push(struct own *to, struct own *from, unsigned i)
{
    CHECK(cuCtxSetCurrent(from->context));
    CHECK(cuMemcpyDtoDAsync(to->tensor[i] + 4096, from->tensor[i] + 128, PIECE / 3, from->stream));
    CHECK(cuStreamSynchronize(from->stream));
}

static void press(struct own *o)
{
    CHECK(cuCtxSetCurrent(o->context));
    crowd_press(&o->crowd);
    CHECK(cuCtxSynchronize());
}

/* Memory from another device's pool lies there, whatever device the stream is of. */
static void from_the_others_pool(struct own *mine, int other)
{
    CUmemoryPool pool;
    CUdevice device;
    CUdeviceptr a;
    int ordinal = -1;
    CHECK(cuCtxSetCurrent(mine->context));
    CHECK(cuDeviceGet(&device, other));
    CHECK(cuDeviceGetDefaultMemPool(&pool, device));
    CHECK(cuMemAllocFromPoolAsync(&a, PIECE, pool, mine->stream));
    CHECK(cuStreamSynchronize(mine->stream));
    CHECK(cuPointerGetAttribute(&ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, a));
    printf("from the pool of device %d: on device %d\n", other, ordinal);
    CHECK(cuMemFreeAsync(a, mine->stream));
    CHECK(cuStreamSynchronize(mine->stream));
}

static void print_sums(unsigned round)
{
    for (int d = 0; d < DEVICES; d++) {
        uint64_t sum = 0;
        CHECK(cuCtxSetCurrent(devices[d].context));
        for (unsigned i = 0; i < TENSORS; i++)
            sum = sum * 31 + device_sum(devices[d].tensor[i], PIECE);
        printf("round %u, device %d: %016llx\n", round, d, (unsigned long long)sum);
    }
}

static void enable_access(void)
{
    CHECK(cuCtxSetCurrent(devices[0].context));
    CHECK(cuCtxEnablePeerAccess(devices[1].context, 0));
    CHECK(cuCtxSetCurrent(devices[1].context));
    CHECK(cuCtxEnablePeerAccess(devices[0].context, 0));
}

static void let_go(struct own *o)
{
    CHECK(cuCtxSetCurrent(o->context));
    crowd_free(&o->crowd);
    for (unsigned i = 0; i < TENSORS; i++)
        CHECK(cuMemFree(o->tensor[i]));
    CHECK(cuEventDestroy(o->event));
    CHECK(cuStreamDestroy(o->stream));
}

int main(void)
{
    CHECK(cuInit(0));
    for (int d = 0; d < DEVICES; d++)
        make(&devices[d], d);
    for (unsigned round = 0; round < ROUNDS; round++) {
        if (round == ROUNDS / 2)
            enable_access();
        for (unsigned i = 0; i < TENSORS; i++) {
            pull(&devices[(round + i) % DEVICES], &devices[(round + i + 1) % DEVICES], i);
            push(&devices[(round + i + 2) % DEVICES], &devices[(round + i) % DEVICES], (i + 3) % TENSORS);
            press(&devices[i % DEVICES]);
        }
        from_the_others_pool(&devices[round % DEVICES], (int)((round + 1) % DEVICES));
        print_sums(round);
    }
    for (int d = 0; d < DEVICES; d++)
        let_go(&devices[d]);
    return 0;
}
