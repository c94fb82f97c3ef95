/* contexts.c - tensors of several contexts of one device, which come and go: what a context leaves allocated goes with it,
 * and nothing else does, wherever it was pushed out to and whoever was current then. */
#include "driver.h"

enum { PIECE = 256 << 10, TENSORS = 6, ROUNDS = 4 };

struct own { /* a context with tensors of its own */
    CUcontext context;
    CUdeviceptr tensor[TENSORS];
    void *pinned;
};

static CUdevice device;

static void allocate(struct own *o, unsigned seed)
{
    for (unsigned i = 0; i < TENSORS; i++) {
        CHECK(cuMemAlloc(&o->tensor[i], PIECE));
        fill_device(o->tensor[i], PIECE, seed + i);
    }
    CHECK(cuMemHostAlloc(&o->pinned, PIECE, 0));
    pattern(o->pinned, PIECE, seed + 50);
}

/* The one that was current before is again. */
static void make(struct own *o, unsigned seed)
{
    CHECK(cuCtxCreate(&o->context, NULL, 0, device));
    allocate(o, seed);
    CHECK(cuCtxPopCurrent(NULL));
}

static void print_own(const char *what, const struct own *o)
{
    uint64_t sum = 0;
    CHECK(cuCtxPushCurrent(o->context));
    for (unsigned i = 0; i < TENSORS; i++)
        sum = sum * 31 + device_sum(o->tensor[i], PIECE);
    CHECK(cuMemcpyHtoD(o->tensor[0], o->pinned, PIECE));
    CHECK(cuMemsetD8(o->tensor[1] + 7, (unsigned char)sum, 1000));
    CHECK(cuCtxSynchronize()); /* the default stream of another context waits for nothing of this one */
    CHECK(cuCtxPopCurrent(NULL));
    printf("%s: %016llx\n", what, (unsigned long long)sum);
}

/* Reads another context's tensors without making it current. */
static void print_across(const char *what, const struct own *o)
{
    uint64_t sum = 0;
    for (unsigned i = 0; i < TENSORS; i++)
        sum = sum * 31 + device_sum(o->tensor[i], PIECE);
    printf("%s: %016llx\n", what, (unsigned long long)sum);
}

int main(void)
{
    struct own first, second, third;
    device = start();
    CHECK(cuCtxGetCurrent(&first.context));
    allocate(&first, 100);
    for (unsigned round = 0; round < ROUNDS; round++) {
        make(&second, 200 + round);
        print_across("the second, while the first is current", &second);
        print_own("the second", &second);
        make(&third, 300 + round);
        print_own("the first", &first);
        print_own("the second again", &second);
        print_own("the third", &third);
        CHECK(cuCtxDestroy(second.context)); /* not the current one */
        print_own("the first, after the second has gone", &first);
        print_own("the third, after the second has gone", &third);
        CHECK(cuCtxPushCurrent(third.context));
        print_across("the first, while the third is current", &first);
        CHECK(cuCtxDestroy(third.context)); /* the current one */
        print_own("the first, alone", &first);
    }
    for (unsigned i = 0; i < TENSORS; i++)
        CHECK(cuMemFree(first.tensor[i]));
    CHECK(cuMemFreeHost(first.pinned));
    allocate(&first, 500);
    print_own("the first, with new tensors", &first);
    CHECK(cuDevicePrimaryCtxReset(device));
    CHECK(cuDevicePrimaryCtxRetain(&first.context, device));
    CHECK(cuCtxSetCurrent(first.context));
    allocate(&first, 600);
    print_own("the first, begun anew", &first);
    for (unsigned i = 0; i < TENSORS; i++)
        CHECK(cuMemFree(first.tensor[i]));
    CHECK(cuMemFreeHost(first.pinned));
    return 0;
}
