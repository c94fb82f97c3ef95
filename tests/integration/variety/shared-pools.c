/* shared-pools.c - pools that the driver serves itself: one that could be shared with other processes and keeps what is
 * freed, one on a second device, one on the host. Tensors of both devices take all the room meanwhile.
 */
#include "driver.h"

enum { PIECE = 256 << 10, CROWD = 12, PIECES = 4, ON_HOST = 12, ROUNDS = 4 };

static struct own {
    CUcontext context;
    CUstream stream;
    struct crowd crowd;
} devices[2];

static void make(int ordinal)
{
    struct own *o = &devices[ordinal];
    CHECK(cuDevicePrimaryCtxRetain(&o->context, ordinal));
    CHECK(cuCtxSetCurrent(o->context));
    CHECK(cuStreamCreate(&o->stream, CU_STREAM_NON_BLOCKING));
    crowd_make(&o->crowd, CROWD, PIECE);
}

static void press(int ordinal)
{
    CHECK(cuCtxSetCurrent(devices[ordinal].context));
    crowd_press(&devices[ordinal].crowd);
    CHECK(cuCtxSynchronize());
}

static CUmemoryPool new_pool(CUmemLocationType type, int id)
{
    CUmemoryPool pool;
    cuuint64_t all = UINT64_MAX;
    CUmemPoolProps props = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                            .handleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
                            .location = {.type = type, .id = id}};
    CHECK(cuMemPoolCreate(&pool, &props));
    CHECK(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &all));
    return pool;
}

static uint64_t reserved(CUmemoryPool pool)
{
    cuuint64_t bytes;
    CHECK(cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT, &bytes));
    return bytes;
}

/* Pieces of the pool by a stream of the first device; both devices are pressed while they are there, and when they are free.
 */
static void use(const char *what, CUmemoryPool pool, unsigned pieces, unsigned seed)
{
    CUdeviceptr p[ON_HOST];
    uint64_t sum = 0;
    CHECK(cuCtxSetCurrent(devices[0].context));
    for (unsigned i = 0; i < pieces; i++) {
        CHECK(cuMemAllocFromPoolAsync(&p[i], PIECE, pool, devices[0].stream));
        CHECK(cuMemsetD32Async(p[i], seed * 100 + i, PIECE / 4, devices[0].stream));
    }
    truth("what there is, is reserved", reserved(pool) >= (uint64_t)pieces * PIECE);
    press(0);
    press(1);
    CHECK(cuCtxSetCurrent(devices[0].context));
    CHECK(cuStreamSynchronize(devices[0].stream));
    for (unsigned i = 0; i < pieces; i++) {
        sum = sum * 31 + device_sum(p[i], PIECE);
        CHECK(cuMemFreeAsync(p[i], devices[0].stream));
    }
    printf("%s: %016llx\n", what, (unsigned long long)sum);
    press(0);
    press(1);
}

static void let_go(int ordinal)
{
    CHECK(cuCtxSetCurrent(devices[ordinal].context));
    crowd_free(&devices[ordinal].crowd);
    CHECK(cuStreamDestroy(devices[ordinal].stream));
}

int main(void)
{
    CHECK(cuInit(0));
    for (int d = 0; d < 2; d++)
        make(d);
    CUmemoryPool here = new_pool(CU_MEM_LOCATION_TYPE_DEVICE, 0), there = new_pool(CU_MEM_LOCATION_TYPE_DEVICE, 1),
                 on_host = new_pool(CU_MEM_LOCATION_TYPE_HOST, 0);
    for (unsigned round = 0; round < ROUNDS; round++) {
        use("here", here, PIECES, round);
        use("there", there, PIECES, round);
        use("on the host", on_host, ON_HOST, round);
    }
    CHECK(cuCtxSetCurrent(devices[0].context));
    CHECK(cuMemPoolDestroy(here));
    CHECK(cuMemPoolDestroy(there));
    CHECK(cuMemPoolDestroy(on_host));
    press(0);
    press(1);
    for (int d = 0; d < 2; d++)
        let_go(d);
    return 0;
}
