/* emptied.c - a training loop that gives all cached memory back to the device after each step, as some do; its argument says
 * how many steps. */
#include "driver.h"

enum { PIECE = 4 << 20, PIECES = 8 };

int main(int argc, char **argv)
{
    CUstream stream;
    CUmemoryPool pool;
    CUdeviceptr pieces[PIECES];
    static uint32_t host[PIECE / 4];
    uint64_t sum = 0;
    const CUdevice device = start();
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CHECK(cuDeviceGetDefaultMemPool(&pool, device));
    for (int step = 0; step < (argc > 1 ? atoi(argv[1]) : 1); step++) {
        cuuint64_t reserved;
        for (unsigned i = 0; i < PIECES; i++) {
            CHECK(cuMemAllocAsync(&pieces[i], PIECE, stream));
            CHECK(cuMemsetD32Async(pieces[i], (unsigned)step * PIECES + i, PIECE / 4, stream));
        }
        for (unsigned i = 0; i < PIECES; i++) {
            CHECK(cuMemcpyDtoHAsync(host, pieces[i], PIECE, stream));
            CHECK(cuStreamSynchronize(stream));
            for (unsigned k = 0; k < PIECE / 4; k++)
                sum = sum * 31 + host[k];
            CHECK(cuMemFreeAsync(pieces[i], stream));
        }
        CHECK(cuStreamSynchronize(stream));
        CHECK(cuMemPoolTrimTo(pool, 0));
        CHECK(cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT, &reserved));
        printf("reserved after step %d: %llu\n", step, (unsigned long long)reserved);
    }
    printf("sum %016llx\n", (unsigned long long)sum);
    return 0;
}
