/* out-of-memory.c - a program that lives with being told that memory is out: whatever call it is, it lets go of its oldest
 * tensor and tries again. What it computes does not depend on how often that happens; how often it did is told apart.
 *
 * With enough memory, on the device or on the host to move to, it never happens. */
#include "driver.h"

enum { TENSORS = 40, BYTES = 256 << 10, STEPS = 120, MOST_TRIES = 200 };

struct tensor {
    CUdeviceptr address;
    unsigned step;
};

static struct tensor live[TENSORS]; /* oldest first */
static unsigned count, let_go;
static uint64_t sum;

/* The bytes go into the result, wherever in the program's life it happens. */
static bool finish_oldest(void)
{
    static unsigned char copy[BYTES];
    if (count == 0 || cuMemcpyDtoH(copy, live[0].address, BYTES) != CUDA_SUCCESS)
        return false;
    sum = sum * 31 + sum_of(copy, BYTES) + live[0].step;
    CHECK(cuMemFree(live[0].address));
    count--;
    for (unsigned i = 0; i < count; i++)
        live[i] = live[i + 1];
    return true;
}

/* Whether to try again after `r`, with more room. */
static bool again(CUresult r)
{
    static unsigned tries;
    if (r != CUDA_ERROR_OUT_OF_MEMORY)
        return false;
    if (++tries > MOST_TRIES || !finish_oldest())
        check(r, "nothing is left to let go of");
    let_go++;
    return true;
}

static void step(unsigned number)
{
    static unsigned char bytes[BYTES];
    CUdeviceptr a = 0;
    CUresult r;
    if (count == TENSORS && !finish_oldest())
        check(CUDA_ERROR_OUT_OF_MEMORY, "the oldest tensor cannot be read");
    do
        r = cuMemAlloc(&a, BYTES);
    while (again(r));
    check(r, "cuMemAlloc");
    pattern(bytes, BYTES, number);
    do
        r = cuMemcpyHtoD(a, bytes, BYTES);
    while (again(r));
    check(r, "cuMemcpyHtoD");
    do
        r = cuMemsetD8(a + number, (unsigned char)number, 100);
    while (again(r));
    check(r, "cuMemsetD8");
    live[count++] = (struct tensor){a, number};
}

int main(void)
{
    start();
    for (unsigned i = 0; i < STEPS; i++)
        step(i);
    while (count > 0)
        if (!finish_oldest())
            check(CUDA_ERROR_OUT_OF_MEMORY, "the oldest tensor cannot be read");
    printf("result: %016llx\n", (unsigned long long)sum);
    fprintf(stderr, "let go of %u tensors for want of memory\n", let_go);
    return 0;
}
