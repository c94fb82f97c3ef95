/* copies.c - every form of plain copy between two tensors that were pushed out just before: whole, in the middle, a byte
 * at an end, between parts of one tensor, larger than half of the memory, from each kind of host memory, in batches.
 *
 * Compiled a second time with each thread's own default stream, where the same names are other entry points. */
#include "driver.h"

#include <string.h>

enum { BYTES = (512 << 10) - 40, BIG_BYTES = 3 << 19, PIECES = 12, PIECE_BYTES = 256 << 10, MANY = 100 };

static CUdeviceptr a, b, big;
static CUstream stream;
static CUcontext context;
static struct crowd crowd;
static unsigned char *pageable, *pinned, *registered;

/* ---- one step each ---- */

static void unified_host_to_device(void)
{
    CHECK(cuMemcpy(a, (CUdeviceptr)(uintptr_t)pageable, BYTES));
    CHECK(cuMemcpy(b + 5, (CUdeviceptr)(uintptr_t)(pinned + 1), BYTES - 7));
}

static void unified_device_to_host(void)
{
    CHECK(cuMemcpy((CUdeviceptr)(uintptr_t)pageable, a, BYTES));
    CHECK(cuMemcpy((CUdeviceptr)(uintptr_t)(registered + 3), b + 1, BYTES - 3));
}

static void unified_on_the_device(void)
{
    CHECK(cuMemcpy(a, b, BYTES));
    CHECK(cuCtxSynchronize()); /* a copy on the device does not wait, and the stream waits for no other */
    CHECK(cuMemcpyAsync(b + 64, big + 4097, BYTES - 64, stream));
}

static void unified_async(void)
{
    CHECK(cuMemcpyAsync(a, (CUdeviceptr)(uintptr_t)pinned, BYTES, stream));
    CHECK(cuMemcpyAsync((CUdeviceptr)(uintptr_t)registered, b, BYTES, stream));
}

static void to_device(void)
{
    CHECK(cuMemcpyHtoD(a, pageable, BYTES));
    CHECK(cuMemcpyHtoD(b, registered, BYTES));
    CHECK(cuMemcpyHtoD(big + 11, pinned, BYTES));
}

static void to_device_async(void)
{
    CHECK(cuMemcpyHtoDAsync(a, pageable, BYTES, stream));
    CHECK(cuMemcpyHtoDAsync(b, registered, BYTES, stream));
    CHECK(cuMemcpyHtoDAsync(big + 11, pinned, BYTES, stream));
}

static void to_host(void)
{
    CHECK(cuMemcpyDtoH(pageable, a, BYTES));
    CHECK(cuMemcpyDtoH(registered, b, BYTES));
    CHECK(cuMemcpyDtoH(pinned, big + BIG_BYTES - BYTES, BYTES));
}

static void to_host_async(void)
{
    CHECK(cuMemcpyDtoHAsync(pageable, a, BYTES, stream));
    CHECK(cuMemcpyDtoHAsync(registered, b, BYTES, stream));
    CHECK(cuMemcpyDtoHAsync(pinned, big + BIG_BYTES - BYTES, BYTES, stream));
}

static void on_the_device(void)
{
    CHECK(cuMemcpyDtoD(a, b, BYTES));
    CHECK(cuCtxSynchronize());
    CHECK(cuMemcpyDtoDAsync(big, a, BYTES, stream));
}

static void to_a_peer(void)
{
    CHECK(cuMemcpyPeer(a, context, b, context, BYTES - 1));
    CHECK(cuCtxSynchronize());
    CHECK(cuMemcpyPeerAsync(big + 77, context, a, context, BYTES, stream));
}

static void a_few_bytes(void)
{
    static const size_t places[] = {0, 1, 65535, 65536, BYTES / 2, BYTES - 8};
    for (unsigned i = 0; i < sizeof places / sizeof *places; i++)
        for (unsigned bytes = 1; bytes <= 8; bytes += bytes == 1 ? 2 : 5) {
            CHECK(cuMemcpyHtoD(a + places[i], pageable + 64 * i + bytes, bytes));
            CHECK(cuMemcpyDtoHAsync(pinned + 16 * i, b + places[i], bytes, stream));
            CHECK(cuMemcpyDtoDAsync(big + places[i], b + places[i], bytes, stream));
        }
}

static void between_parts_of_one(void)
{
    CHECK(cuMemcpyDtoD(big + 1, big + BIG_BYTES / 2, BIG_BYTES / 2 - 1));
    CHECK(cuCtxSynchronize());
    CHECK(cuMemcpyDtoDAsync(big + BIG_BYTES - 1000, big + 17, 1000, stream));
    CHECK(cuMemcpyAsync(big + 65536, big, 65536, stream));
}

static void more_than_half(void)
{
    CHECK(cuMemcpyDtoH(pageable, big, BIG_BYTES));
    memmove(pageable, pageable + 1, BIG_BYTES - 1);
    CHECK(cuMemcpyHtoDAsync(big, pageable, BIG_BYTES, stream));
}

static void nothing_at_all(void)
{
    answer("0 bytes to the device", cuMemcpyHtoD(a, pageable, 0));
    answer("0 bytes to the host", cuMemcpyDtoHAsync(pinned, b, 0, stream));
    answer("0 bytes on the device", cuMemcpyDtoD(a, b, 0));
}

/* Entries of several kinds, more of them than fit into anything small. */
static void in_a_batch(void)
{
    CUdeviceptr to[MANY], from[MANY];
    size_t bytes[MANY], first = 0;
    CUmemcpyAttributes attributes = {.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM};
    for (unsigned i = 0; i < MANY; i++) {
        size_t at = (size_t)i * 5000;
        to[i] = i % 3 == 0 ? a + at : i % 3 == 1 ? big + at : (CUdeviceptr)(uintptr_t)(pinned + at);
        from[i] = i % 3 == 0 ? (CUdeviceptr)(uintptr_t)(registered + at) : b + at;
        bytes[i] = 4000 + i;
    }
    CHECK(cuMemcpyBatchAsync(to, from, bytes, MANY, &attributes, &first, 1, stream));
}

/* Sources that nothing is about to write, which may be read before the stream gets there. */
static void in_a_batch_out_of_order(void)
{
    enum { PARTS = 4, PART = BYTES / PARTS };
    CUdeviceptr to[] = {a, a + PART, big, (CUdeviceptr)(uintptr_t)pinned};
    CUdeviceptr from[] = {(CUdeviceptr)(uintptr_t)pageable, (CUdeviceptr)(uintptr_t)registered, b, b + PART};
    size_t bytes[] = {PART, PART, PART, PART}, first[] = {0, 1, 3};
    CUmemcpyAttributes attributes[] = {{.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_DURING_API_CALL},
                                       {.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_ANY},
                                       {.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_DURING_API_CALL}};
    CHECK(cuMemcpyBatchAsync(to, from, bytes, PARTS, attributes, first, 3, stream));
}

static const struct {
    const char *name;
    void (*copy)(void);
} steps[] = {{"unified, to the device", unified_host_to_device},
             {"unified, to the host", unified_device_to_host},
             {"unified, on the device", unified_on_the_device},
             {"unified, asynchronous", unified_async},
             {"to the device", to_device},
             {"to the device, asynchronous", to_device_async},
             {"to the host", to_host},
             {"to the host, asynchronous", to_host_async},
             {"on the device", on_the_device},
             {"to a peer", to_a_peer},
             {"a few bytes", a_few_bytes},
             {"between parts of one", between_parts_of_one},
             {"more than half", more_than_half},
             {"nothing at all", nothing_at_all},
             {"in a batch", in_a_batch},
             {"in a batch out of order", in_a_batch_out_of_order}};

static void fill_all(unsigned round)
{
    fill_device(a, BYTES, 10 * round);
    fill_device(b, BYTES, 10 * round + 1);
    fill_device(big, BIG_BYTES, 10 * round + 2);
    pattern(pageable, BIG_BYTES, 10 * round + 3);
    pattern(pinned, BYTES, 10 * round + 4);
    pattern(registered, BYTES, 10 * round + 5);
}

static void print_all(const char *step)
{
    printf("%s: %016llx %016llx %016llx\n", step, (unsigned long long)device_sum(a, BYTES),
           (unsigned long long)device_sum(b, BYTES), (unsigned long long)device_sum(big, BIG_BYTES));
    print_sum("    pageable", pageable, BIG_BYTES);
    print_sum("    pinned", pinned, BYTES);
    print_sum("    registered", registered, BYTES);
}

int main(void)
{
    start();
    CHECK(cuCtxGetCurrent(&context));
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CHECK(cuMemAlloc(&a, BYTES));
    CHECK(cuMemAlloc(&b, BYTES));
    CHECK(cuMemAlloc(&big, BIG_BYTES));
    crowd_make(&crowd, PIECES, PIECE_BYTES);
    pageable = host_bytes(BIG_BYTES);
    registered = host_bytes(BYTES);
    CHECK(cuMemHostAlloc((void **)&pinned, BYTES, 0));
    CHECK(cuMemHostRegister(registered, BYTES, 0));
    for (unsigned i = 0; i < sizeof steps / sizeof *steps; i++) {
        fill_all(i);
        crowd_press(&crowd);
        CHECK(cuCtxSynchronize());
        steps[i].copy();
        CHECK(cuCtxSynchronize());
        crowd_press(&crowd);
        print_all(steps[i].name);
    }
    crowd_free(&crowd);
    CHECK(cuMemHostUnregister(registered));
    CHECK(cuMemFreeHost(pinned));
    CHECK(cuMemFree(a));
    CHECK(cuMemFree(b));
    CHECK(cuMemFree(big));
    CHECK(cuStreamDestroy(stream));
    free(registered);
    free(pageable);
    return 0;
}
