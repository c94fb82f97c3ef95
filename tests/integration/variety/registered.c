/* registered.c - the program registers host memory of its own with every flag, copies from and to it while tensors come and
 * go, lets go of it and registers it again; and makes the mistakes that can be made with it. */
#include "driver.h"

#include <string.h>
#include <sys/mman.h>

enum { PAGE = 4096, BYTES = 512 << 10, PIECES = 12, PIECE_BYTES = 256 << 10 };

static CUdeviceptr a, b;
static CUstream stream;
static struct crowd crowd;

static unsigned char *own_pages(size_t bytes)
{
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED)
        exit(EXIT_WRONG);
    return p;
}

/* Copies with work behind them, then both directions at once. */
static void with_flags(const char *what, unsigned flags, unsigned round)
{
    unsigned char *host = own_pages(2 * BYTES);
    CUdeviceptr seen = 0;
    unsigned got = 99;
    pattern(host, BYTES, round);
    CHECK(cuMemHostRegister(host, 2 * BYTES, flags));
    CHECK(cuMemHostGetFlags(&got, host));
    CHECK(cuMemHostGetDevicePointer(&seen, host, 0));
    crowd_press(&crowd);
    CHECK(cuCtxSynchronize());
    CHECK(cuMemcpyHtoDAsync(a, host, BYTES, stream));
    CHECK(cuMemsetD8Async(a + 100, (unsigned char)round, 50, stream));
    CHECK(cuMemcpyDtoDAsync(b, a, BYTES, stream));
    CHECK(cuMemcpyDtoHAsync(host + BYTES, b, BYTES, stream));
    CHECK(cuMemcpyAsync(b, seen, BYTES / 2, stream));
    CHECK(cuStreamSynchronize(stream));
    crowd_press(&crowd);
    printf("%s: flags %u, device %016llx %016llx\n", what, got & ~CU_MEMHOSTREGISTER_DEVICEMAP,
           (unsigned long long)device_sum(a, BYTES), (unsigned long long)device_sum(b, BYTES));
    print_sum("    host", host, 2 * BYTES);
    CHECK(cuMemHostUnregister(host));
    munmap(host, 2 * BYTES);
}

/* The same pages registered, used and let go of many times, with evictions in between. */
static void again_and_again(void)
{
    unsigned char *host = own_pages(BYTES);
    uint64_t sum = 0;
    for (unsigned i = 0; i < 20; i++) {
        pattern(host, BYTES, 200 + i);
        CHECK(cuMemHostRegister(host, BYTES, CU_MEMHOSTREGISTER_PORTABLE));
        CHECK(cuMemcpyHtoDAsync(i % 2 ? a : b, host, BYTES, stream));
        CHECK(cuMemcpyDtoHAsync(host, i % 2 ? b : a, BYTES, stream));
        CHECK(cuStreamSynchronize(stream));
        CHECK(cuMemHostUnregister(host));
        if (i % 4 == 0)
            crowd_press(&crowd);
        CHECK(cuCtxSynchronize());
        sum = sum * 31 + sum_of(host, BYTES);
    }
    printf("again and again: %016llx\n", (unsigned long long)sum);
    munmap(host, BYTES);
}

/* Only the middle is registered: copies over its borders, and from both sides of them. */
static void only_the_middle(void)
{
    unsigned char *host = own_pages(BYTES);
    pattern(host, BYTES, 300);
    CHECK(cuMemHostRegister(host + 16 * PAGE, 32 * PAGE, 0));
    crowd_press(&crowd);
    CHECK(cuCtxSynchronize());
    CHECK(cuMemcpyHtoD(a, host, 16 * PAGE));
    CHECK(cuMemcpyHtoD(a + 16 * PAGE, host + 16 * PAGE, 32 * PAGE));
    CHECK(cuMemcpyHtoD(a + 48 * PAGE, host + 48 * PAGE, BYTES - 48 * PAGE));
    printf("only the middle: %016llx\n", (unsigned long long)device_sum(a, BYTES));
    CHECK(cuMemHostUnregister(host + 16 * PAGE));
    munmap(host, BYTES);
}

static void mistakes(void)
{
    unsigned char *host = own_pages(BYTES);
    unsigned flags;
    CUdeviceptr seen;
    answer("nothing registered", cuMemHostRegister(NULL, BYTES, 0));
    answer("0 bytes registered", cuMemHostRegister(host, 0, 0));
    answer("unregistered, but never registered", cuMemHostUnregister(host));
    answer("flags of plain memory", cuMemHostGetFlags(&flags, host));
    answer("device pointer of plain memory", cuMemHostGetDevicePointer(&seen, host, 0));
    CHECK(cuMemHostRegister(host, BYTES, 0));
    answer("registered twice", cuMemHostRegister(host, BYTES, 0));
    answer("registered in the middle", cuMemHostRegister(host + PAGE, PAGE, 0));
    answer("unregistered in the middle", cuMemHostUnregister(host + PAGE));
    answer("freed", cuMemFreeHost(host));
    answer("unregistered", cuMemHostUnregister(host));
    answer("unregistered twice", cuMemHostUnregister(host));
    answer("a tensor registered", cuMemHostRegister((void *)(uintptr_t)a, BYTES, 0));
    answer("a tensor unregistered", cuMemHostUnregister((void *)(uintptr_t)a));
    munmap(host, BYTES);
}

int main(void)
{
    start();
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CHECK(cuMemAlloc(&a, BYTES));
    CHECK(cuMemAlloc(&b, BYTES));
    crowd_make(&crowd, PIECES, PIECE_BYTES);
    with_flags("plain", 0, 1);
    with_flags("portable", CU_MEMHOSTREGISTER_PORTABLE, 2);
    with_flags("mapped", CU_MEMHOSTREGISTER_DEVICEMAP, 3);
    with_flags("portable and mapped", CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP, 4);
    again_and_again();
    only_the_middle();
    mistakes();
    printf("tensors: %016llx %016llx\n", (unsigned long long)device_sum(a, BYTES), (unsigned long long)device_sum(b, BYTES));
    crowd_free(&crowd);
    CHECK(cuMemFree(a));
    CHECK(cuMemFree(b));
    CHECK(cuStreamDestroy(stream));
    return 0;
}
