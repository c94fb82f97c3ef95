/* sizes.c - odd sizes and mistakes: nothing, a byte, three bytes, more than there is; freed twice, in the middle, from
 * another context; copies and sets that reach beyond the end. Every answer is as without a budget, and no mistake harms
 * anything else. */
#include "driver.h"

enum { BYTES = 512 << 10, ODD = BYTES - 37, PIECES = 12, PIECE_BYTES = 256 << 10, TINY = 200 };

static struct crowd crowd;
static CUdeviceptr bystander;

static const size_t odd_sizes[] = {1,     2,     3,     7,     511,   512,   513,   4095,   4096,   4097,
                                   32767, 32768, 32769, 65535, 65536, 65537, 98304, 131071, 131072, 131073};
enum { SIZES = sizeof odd_sizes / sizeof *odd_sizes };

static void every_byte_of_odd_sizes(void)
{
    CUdeviceptr a[SIZES];
    for (unsigned i = 0; i < SIZES; i++) {
        CHECK(cuMemAlloc(&a[i], odd_sizes[i]));
        fill_device(a[i], odd_sizes[i], i);
        if (a[i] % 256)
            printf("%zu bytes are not aligned\n", odd_sizes[i]);
    }
    crowd_press(&crowd);
    for (unsigned i = 0; i < SIZES; i++)
        printf("%zu bytes: %016llx\n", odd_sizes[i], (unsigned long long)device_sum(a[i], odd_sizes[i]));
    for (unsigned i = 0; i < SIZES; i += 2)
        CHECK(cuMemFree(a[i]));
    for (unsigned i = 0; i < SIZES; i += 2) {
        CHECK(cuMemAlloc(&a[i], odd_sizes[SIZES - 2 - i]));
        fill_device(a[i], odd_sizes[SIZES - 2 - i], 100 + i);
    }
    crowd_press(&crowd);
    uint64_t sum = 0;
    for (unsigned i = 0; i < SIZES; i++) {
        sum = sum * 31 + device_sum(a[i], i % 2 ? odd_sizes[i] : odd_sizes[SIZES - 2 - i]);
        CHECK(cuMemFree(a[i]));
    }
    printf("after changing places: %016llx\n", (unsigned long long)sum);
}

static void very_many_tiny_ones(void)
{
    static CUdeviceptr a[TINY];
    uint64_t sum = 0;
    for (unsigned i = 0; i < TINY; i++) {
        CHECK(cuMemAlloc(&a[i], 1 + i % 5));
        CHECK(cuMemsetD8(a[i], (unsigned char)i, 1 + i % 5));
    }
    for (unsigned i = 0; i < TINY; i++)
        sum = sum * 31 + device_sum(a[i], 1 + i % 5);
    for (unsigned i = 0; i < TINY; i++)
        CHECK(cuMemFree(a[(i * 7) % TINY]));
    printf("tiny ones: %016llx\n", (unsigned long long)sum);
}

/* An address is printed only as far as the call changed it. */
static void ask_for(const char *what, size_t bytes)
{
    CUdeviceptr a = 12345;
    CUresult r = cuMemAlloc(&a, bytes);
    answer(what, r);
    if (r != CUDA_SUCCESS)
        truth("    and the address is left alone", a == 12345);
    else
        CHECK(cuMemFree(a));
}

static void impossible_sizes(void)
{
    CUdeviceptr a = 0;
    size_t pitch = 0;
    ask_for("0 bytes", 0);
    ask_for("a thousand times the device", (size_t)1 << 40);
    ask_for("half of all addresses", (size_t)1 << 63);
    ask_for("all addresses", SIZE_MAX);
    ask_for("all addresses but a few", SIZE_MAX - 100000);
    ask_for("a megabyte after that", 1 << 20);
    answer("no place for the address", cuMemAlloc(NULL, BYTES));
    answer("0 wide", cuMemAllocPitch(&a, &pitch, 0, 10, 4));
    answer("0 high", cuMemAllocPitch(&a, &pitch, 100, 0, 4));
    answer("elements of 3 bytes", cuMemAllocPitch(&a, &pitch, 100, 10, 3));
    answer("too wide", cuMemAllocPitch(&a, &pitch, (size_t)1 << 40, 1 << 20, 4));
    answer("0 bytes of managed memory", cuMemAllocManaged(&a, 0, CU_MEM_ATTACH_GLOBAL));
    answer("0 bytes in stream order", cuMemAllocAsync(&a, 0, NULL));
    answer("too much in stream order", cuMemAllocAsync(&a, (size_t)1 << 40, NULL));
    answer("all addresses in stream order", cuMemAllocAsync(&a, SIZE_MAX, NULL));
}

static void wrong_frees(void)
{
    CUdeviceptr a, b, small;
    char on_the_stack = 0;
    CHECK(cuMemAlloc(&a, ODD));
    CHECK(cuMemAlloc(&b, BYTES));
    CHECK(cuMemAlloc(&small, 100));
    fill_device(b, BYTES, 5);
    crowd_press(&crowd);
    answer("free nothing", cuMemFree(0));
    answer("free the second byte", cuMemFree(a + 1));
    answer("free the middle", cuMemFree(a + BYTES / 2));
    answer("free the middle of a small one", cuMemFree(small + 50));
    answer("free beyond the end", cuMemFree(a + ODD));
    answer("free the stack", cuMemFree((CUdeviceptr)(uintptr_t)&on_the_stack));
    answer("free as host memory", cuMemFreeHost((void *)(uintptr_t)a));
    answer("free", cuMemFree(a));
    answer("free twice", cuMemFree(a));
    answer("free the middle afterwards", cuMemFree(a + BYTES / 2));
    answer("free the small one", cuMemFree(small));
    answer("free the small one twice", cuMemFree(small));
    printf("its neighbour: %016llx\n", (unsigned long long)device_sum(b, BYTES));
    answer("free its neighbour", cuMemFree(b));
    answer("free its neighbour twice", cuMemFree(b));
}

static void other_contexts(CUdevice device)
{
    CUcontext first, second;
    CUdeviceptr a, b;
    CHECK(cuCtxGetCurrent(&first));
    CHECK(cuMemAlloc(&a, BYTES));
    fill_device(a, BYTES, 6);
    CHECK(cuCtxCreate(&second, NULL, 0, device));
    CHECK(cuMemAlloc(&b, BYTES));
    printf("read from another context: %016llx\n", (unsigned long long)device_sum(a, BYTES));
    CHECK(cuMemcpyDtoD(b, a, BYTES));
    CHECK(cuCtxSynchronize());
    answer("free in another context", cuMemFree(a));
    CHECK(cuCtxSetCurrent(first));
    crowd_press(&crowd);
    printf("read from the first context: %016llx\n", (unsigned long long)device_sum(b, BYTES));
    answer("free what another context allocated", cuMemFree(b));
    CHECK(cuCtxDestroy(second));
    for (CUcontext current = first; current; CHECK(cuCtxGetCurrent(&current)))
        CHECK(cuCtxPopCurrent(&current));
    answer("allocate without a context", cuMemAlloc(&a, BYTES));
    CHECK(cuCtxSetCurrent(first));
}

static void beyond_the_end(void)
{
    CUdeviceptr a;
    unsigned char *host = host_bytes(BYTES * 2);
    pattern(host, (size_t)BYTES * 2, 8);
    CHECK(cuMemAlloc(&a, BYTES));
    CHECK(cuMemcpyHtoD(a, host, BYTES));
    crowd_press(&crowd);
    CHECK(cuCtxSynchronize());
    answer("copy far beyond the end", cuMemcpyHtoD(a, host, (size_t)1 << 40));
    answer("set far beyond the end", cuMemsetD8(a, 9, (size_t)1 << 40));
    answer("copy from far beyond the end", cuMemcpyDtoH(host, a + ((size_t)1 << 41), 100));
    CHECK(cuMemFree(a));
    free(host);
}

int main(void)
{
    CUdevice device = start();
    CHECK(cuMemAlloc(&bystander, BYTES));
    fill_device(bystander, BYTES, 99);
    crowd_make(&crowd, PIECES, PIECE_BYTES);
    every_byte_of_odd_sizes();
    very_many_tiny_ones();
    impossible_sizes();
    wrong_frees();
    other_contexts(device);
    beyond_the_end();
    crowd_free(&crowd);
    printf("bystander: %016llx\n", (unsigned long long)device_sum(bystander, BYTES));
    CHECK(cuMemFree(bystander));
    return 0;
}
