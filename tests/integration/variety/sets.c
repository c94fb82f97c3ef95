/* sets.c - every form of set on a tensor that was pushed out just before: three element sizes, lines and rectangles, the
 * whole and a single element at either end. What is not set keeps its bytes.
 *
 * Compiled a second time with each thread's own default stream, where the same names are other entry points. */
#include "driver.h"

enum { BYTES = 640 << 10, PITCH = 1024, PIECES = 6, PIECE_BYTES = 256 << 10 };

static CUdeviceptr a;
static CUstream stream;
static struct crowd crowd;

static void bytes(void)
{
    CHECK(cuMemsetD8(a + 1, 0x5a, 300001));
    CHECK(cuMemsetD8(a + BYTES - 1, 0x5b, 1));
}

static void bytes_async(void)
{
    CHECK(cuMemsetD8Async(a, 0x77, 1, stream));
    CHECK(cuMemsetD8Async(a + 65535, 0x78, 2, stream));
}

static void halves(void)
{
    CHECK(cuMemsetD16(a + 2, 0x1234, 100001));
}

static void halves_async(void)
{
    CHECK(cuMemsetD16Async(a + BYTES - 2, 0xabcd, 1, stream));
    CHECK(cuMemsetD16Async(a + 70000, 0xef01, 9999, stream));
}

static void words(void)
{
    CHECK(cuMemsetD32(a, 0xdeadbeef, BYTES / 4));
}

static void words_async(void)
{
    CHECK(cuMemsetD32Async(a + 4, 0xfeedface, 77777, stream));
}

static void rectangle_of_bytes(void)
{
    CHECK(cuMemsetD2D8(a + 3, PITCH, 0x11, 501, 600));
}

static void rectangle_of_bytes_async(void)
{
    CHECK(cuMemsetD2D8Async(a + 100, PITCH, 0x22, 1, 639, stream));
}

static void rectangle_of_halves(void)
{
    CHECK(cuMemsetD2D16(a + 10, PITCH, 0x3344, 500, 100));
}

static void rectangle_of_halves_async(void)
{
    CHECK(cuMemsetD2D16Async(a, PITCH, 0x5566, 512, 640, stream));
}

static void rectangle_of_words(void)
{
    CHECK(cuMemsetD2D32(a + 512, PITCH, 0x778899aa, 128, 640));
}

static void rectangle_of_words_async(void)
{
    CHECK(cuMemsetD2D32Async(a + 4, PITCH, 0xbbccddee, 255, 639, stream));
}

static void nothing(void)
{
    answer("0 bytes", cuMemsetD8(a, 1, 0));
    answer("0 words", cuMemsetD32Async(a, 1, 0, stream));
    answer("0 rows", cuMemsetD2D8(a, PITCH, 1, 10, 0));
    answer("words at an odd address", cuMemsetD32(a + 2, 1, 1));
}

static const struct {
    const char *name;
    void (*set)(void);
} steps[] = {{"bytes", bytes},
             {"bytes, asynchronous", bytes_async},
             {"halves", halves},
             {"halves, asynchronous", halves_async},
             {"words", words},
             {"words, asynchronous", words_async},
             {"rectangle of bytes", rectangle_of_bytes},
             {"rectangle of bytes, asynchronous", rectangle_of_bytes_async},
             {"rectangle of halves", rectangle_of_halves},
             {"rectangle of halves, asynchronous", rectangle_of_halves_async},
             {"rectangle of words", rectangle_of_words},
             {"rectangle of words, asynchronous", rectangle_of_words_async},
             {"nothing", nothing}};

int main(void)
{
    start();
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CHECK(cuMemAlloc(&a, BYTES));
    crowd_make(&crowd, PIECES, PIECE_BYTES);
    for (unsigned i = 0; i < sizeof steps / sizeof *steps; i++) {
        fill_device(a, BYTES, i);
        crowd_press(&crowd);
        CHECK(cuCtxSynchronize());
        steps[i].set();
        CHECK(cuCtxSynchronize());
        crowd_press(&crowd);
        printf("%s: %016llx\n", steps[i].name, (unsigned long long)device_sum(a, BYTES));
    }
    crowd_free(&crowd);
    CHECK(cuMemFree(a));
    CHECK(cuStreamDestroy(stream));
    return 0;
}
