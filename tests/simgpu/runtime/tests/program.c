/* program.c - what the runtime tells the driver of the program: each call that makes, gives back, writes or launches is
 * told, seen by what an opaque kernel makes of it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>
#include <cuda.h>
#include <cuda_runtime_api.h>

#define CHECK(call) assert_int_equal(call, cudaSuccess)

enum { BYTES = 1 << 16 };

void **__cudaRegisterFatBinary(void *wrapper);
void __cudaRegisterFatBinaryEnd(void **handle);
void __cudaRegisterFunction(void **handle, const char *host_function, char *device_function, const char *device_name,
                            int thread_limit, uint3 *tid, uint3 *bid, dim3 *block, dim3 *grid, int *warp_size);
cudaError_t CUDARTAPI __cudaGetKernel(cudaKernel_t *ret_kernel, const void *function);
cudaError_t CUDARTAPI __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void **args, size_t shared_bytes,
                                         cudaStream_t stream);

static const char table[] = "simgpu-layouts 1 for a test\n"
                            "grow bytes=8 shared=0 registers=32 params=0:8 uses=0:8:writes\n";
static const char grow; /* stands for the kernel */

static const struct {
    int magic, version;
    const void *image;
    void *unused;
} wrapper = {0x466243b1, 1, table, NULL};

static int start(void **state)
{
    (void)state;
    void **handle = __cudaRegisterFatBinary((void *)&wrapper);
    __cudaRegisterFunction(handle, &grow, (char *)"grow", "grow", -1, NULL, NULL, NULL, NULL, NULL);
    __cudaRegisterFatBinaryEnd(handle);
    return cudaFree(NULL) != cudaSuccess;
}

static void launch(void *x)
{
    void *args[] = {&x};
    CHECK(cudaLaunchKernel(&grow, (dim3){1, 1, 1}, (dim3){1, 1, 1}, args, 0, NULL));
}

static uint64_t digest(const void *x)
{
    static unsigned char copy[BYTES];
    uint64_t digest = 1;
    CHECK(cudaMemcpy(copy, x, BYTES, cudaMemcpyDeviceToHost));
    for (int i = 0; i < BYTES; i++)
        digest = (digest ^ copy[i]) * 0x100000001b3u;
    return digest;
}

/* Behind the runtime's back. */
static void rubbish(void *x, int byte)
{
    assert_int_equal(cuMemsetD8((CUdeviceptr)x, (unsigned char)byte, BYTES), CUDA_SUCCESS);
}

/* Two tensors with different bytes in them: whether a kernel makes the same of both. */
static bool looks_the_same(void *x, void *y)
{
    launch(x);
    launch(y);
    return digest(x) == digest(y);
}

/* ---- memory ---- */

static void *plain(void)
{
    void *x;
    CHECK(cudaMalloc(&x, BYTES));
    return x;
}

static void *ordered(void)
{
    void *x;
    CHECK(cudaMallocAsync(&x, BYTES, NULL));
    return x;
}

static void *of_pool(void)
{
    void *x;
    cudaMemPool_t pool;
    CHECK(cudaDeviceGetDefaultMemPool(&pool, 0));
    CHECK(cudaMallocFromPoolAsync(&x, BYTES, pool, NULL));
    return x;
}

static void *pitched(void)
{
    void *x;
    size_t pitch;
    CHECK(cudaMallocPitch(&x, &pitch, 512, BYTES / 512));
    assert_int_equal(pitch, 512);
    return x;
}

static void *managed(void)
{
    void *x;
    CHECK(cudaMallocManaged(&x, BYTES, cudaMemAttachGlobal));
    return x;
}

static void what_was_just_allocated_has_nothing_to_read(void **state)
{
    void *(*const ways[])(void) = {plain, ordered, of_pool, pitched, managed};
    (void)state;
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        void *x = ways[i](), *y = ways[i]();
        rubbish(x, 1);
        rubbish(y, 2);
        assert_true(looks_the_same(x, y));
        rubbish(x, 3);
        assert_false(looks_the_same(x, y)); /* a launch has written to it */
        CHECK(cudaDeviceSynchronize());
        CHECK(cudaFree(x));
        CHECK(cudaFree(y));
    }
}

static void what_was_given_back_is_nobodys(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        void *x = plain();
        launch(x);
        CHECK(cudaDeviceSynchronize());
        CHECK(i ? cudaFree(x) : cudaFreeAsync(x, NULL));
        CHECK(cudaDeviceSynchronize());
        launch(x); /* would be a fault */
        CHECK(cudaDeviceSynchronize());
    }
}

/* ---- copies and sets ---- */

static void set(void *x, int byte)
{
    CHECK(cudaMemset(x, byte, BYTES));
}

static void set_async(void *x, int byte)
{
    CHECK(cudaMemsetAsync(x, byte, BYTES, NULL));
}

static void set_2d(void *x, int byte)
{
    CHECK(cudaMemset2D(x, 512, byte, 512, BYTES / 512));
}

static void set_2d_async(void *x, int byte)
{
    CHECK(cudaMemset2DAsync(x, 512, byte, 512, BYTES / 512, NULL));
}

static void set_3d(void *x, int byte)
{
    CHECK(cudaMemset3D((struct cudaPitchedPtr){x, 512, 512, BYTES / 512}, byte, (struct cudaExtent){512, BYTES / 512, 1}));
}

static unsigned char *filled(int byte)
{
    static unsigned char bytes[BYTES];
    for (int i = 0; i < BYTES; i++)
        bytes[i] = (unsigned char)byte;
    return bytes;
}

static void copy(void *x, int byte)
{
    CHECK(cudaMemcpy(x, filled(byte), BYTES, cudaMemcpyHostToDevice));
}

static void copy_async(void *x, int byte)
{
    CHECK(cudaMemcpyAsync(x, filled(byte), BYTES, cudaMemcpyDefault, NULL));
}

static void copy_2d(void *x, int byte)
{
    CHECK(cudaMemcpy2D(x, 512, filled(byte), 512, 512, BYTES / 512, cudaMemcpyHostToDevice));
}

static void copy_3d(void *x, int byte)
{
    const struct cudaMemcpy3DParms p = {.srcPtr = {filled(byte), 512, 512, BYTES / 512},
                                        .dstPtr = {x, 512, 512, BYTES / 512},
                                        .extent = {512, BYTES / 512, 1},
                                        .kind = cudaMemcpyHostToDevice};
    CHECK(cudaMemcpy3D(&p));
}

static void copy_batch(void *x, int byte)
{
    const void *from = filled(byte);
    size_t bytes = BYTES, start = 0;
    struct cudaMemcpyAttributes attributes = {.srcAccessOrder = cudaMemcpySrcAccessOrderStream};
    cudaStream_t stream;
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaMemcpyBatchAsync(&x, &from, &bytes, 1, &attributes, &start, 1, stream));
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaStreamDestroy(stream));
}

static void copy_peer(void *x, int byte)
{
    void *from = plain();
    set(from, byte);
    CHECK(cudaMemcpyPeer(x, 0, from, 0, BYTES));
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaFree(from));
}

static void copy_peer_async(void *x, int byte)
{
    void *from = plain();
    set(from, byte);
    CHECK(cudaMemcpyPeerAsync(x, 0, from, 0, BYTES, NULL));
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaFree(from));
}

static void what_the_program_wrote_is_read(void **state)
{
    void (*const ways[])(void *, int) = {set,        set_async, set_2d,  set_2d_async, set_3d,    copy,
                                         copy_async, copy_2d,   copy_3d, copy_batch,   copy_peer, copy_peer_async};
    (void)state;
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        void *x = plain(), *y = plain();
        ways[i](x, 1);
        ways[i](y, 2);
        assert_false(looks_the_same(x, y));
        CHECK(cudaDeviceSynchronize());
        CHECK(cudaFree(x));
        CHECK(cudaFree(y));
    }
}

/* ---- parts ---- */

/* All of them write the first 64 bytes of each 512, or the first 64 KiB / 8. */
enum { ROW = 512, PART = ROW / 8, ROWS = BYTES / ROW };

static void set_part(void *x)
{
    CHECK(cudaMemset(x, 1, BYTES / 8));
}

static void copy_part(void *x)
{
    CHECK(cudaMemcpy(x, filled(1), BYTES / 8, cudaMemcpyHostToDevice));
}

static void set_columns(void *x)
{
    CHECK(cudaMemset2D(x, ROW, 1, PART, ROWS));
}

static void copy_columns(void *x)
{
    CHECK(cudaMemcpy2DAsync(x, ROW, filled(1), PART, PART, ROWS, cudaMemcpyHostToDevice, NULL));
}

static void set_box(void *x)
{
    CHECK(
        cudaMemset3DAsync((struct cudaPitchedPtr){x, ROW, ROW, ROWS / 4}, 1, (struct cudaExtent){PART, ROWS / 4, 4}, NULL));
}

static void copy_box(void *x)
{
    const struct cudaMemcpy3DParms p = {.srcPtr = {filled(1), PART, PART, ROWS / 4},
                                        .dstPtr = {x, ROW, ROW, ROWS / 4},
                                        .extent = {PART, ROWS / 4, 4},
                                        .kind = cudaMemcpyHostToDevice};
    CHECK(cudaMemcpy3DAsync(&p, NULL));
}

/* Of a tensor that was written as far; the rest of the copy is as little anybody's as the rest of that. */
static void copy_of_part(void *x)
{
    void *from = plain();
    set_columns(from);
    CHECK(cudaMemcpyAsync(x, from, BYTES, cudaMemcpyDeviceToDevice, NULL));
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaFree(from));
}

static void copy_of_nothing(void *x)
{
    void *from = plain();
    set_columns(x);
    CHECK(cudaMemcpy((char *)x + PART, (char *)from + PART, PART, cudaMemcpyDeviceToDevice));
    CHECK(cudaFree(from));
}

/* Whether it tells what lies there, where nothing else differs. */
static bool tells(void (*write)(void *), int offset)
{
    void *x = plain(), *y = plain();
    const unsigned char one = 9;
    rubbish(x, 5);
    rubbish(y, 5);
    write(x);
    write(y);
    CHECK(cudaDeviceSynchronize());
    assert_int_equal(cuMemcpyHtoD((CUdeviceptr)x + (unsigned)offset, &one, 1), CUDA_SUCCESS);
    const bool told = !looks_the_same(x, y);
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaFree(x));
    CHECK(cudaFree(y));
    return told;
}

static void of_what_is_written_in_part_that_part_is_read(void **state)
{
    void (*const ways[])(void *) = {set_part, copy_part, set_columns,  copy_columns,
                                    set_box,  copy_box,  copy_of_part, copy_of_nothing};
    (void)state;
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        assert_true(tells(ways[i], 0));
        assert_false(tells(ways[i], BYTES - 1)); /* where each tensor of this size is looked at */
    }
}

/* ---- launches ---- */

static void cooperative(void *x)
{
    void *args[] = {&x};
    CHECK(cudaLaunchCooperativeKernel(&grow, (dim3){1, 1, 1}, (dim3){1, 1, 1}, args, 0, NULL));
}

static void with_configuration(void *x)
{
    void *args[] = {&x};
    const cudaLaunchConfig_t config = {.gridDim = {1, 1, 1}, .blockDim = {1, 1, 1}};
    CHECK(cudaLaunchKernelExC(&config, &grow, args));
}

static void by_handle(void *x)
{
    void *args[] = {&x};
    cudaKernel_t kernel;
    CHECK(__cudaGetKernel(&kernel, &grow));
    CHECK(__cudaLaunchKernel(kernel, (dim3){1, 1, 1}, (dim3){1, 1, 1}, args, 0, NULL));
}

static void what_a_launch_wrote_is_read(void **state)
{
    void (*const ways[])(void *) = {launch, cooperative, with_configuration, by_handle};
    (void)state;
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        void *x = plain(), *y = plain();
        ways[i](x);
        ways[i](y);
        assert_int_equal(digest(x), digest(y));
        rubbish(y, 1);
        assert_false(looks_the_same(x, y));
        CHECK(cudaDeviceSynchronize());
        CHECK(cudaFree(x));
        CHECK(cudaFree(y));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_just_allocated_has_nothing_to_read),
        cmocka_unit_test(what_was_given_back_is_nobodys),
        cmocka_unit_test(what_the_program_wrote_is_read),
        cmocka_unit_test(of_what_is_written_in_part_that_part_is_read),
        cmocka_unit_test(what_a_launch_wrote_is_read),
    };
    return cmocka_run_group_tests(tests, start, NULL);
}
