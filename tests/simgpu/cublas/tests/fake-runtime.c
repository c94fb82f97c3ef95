/* fake-runtime.c - reads the text of the image, keeps the parameters of a launch, and fails on request. */
#include "fake-runtime.h"
#include "compiler.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum { MOST_KERNELS = 16, WRAPPER_MAGIC = 0x466243b1 };

struct fake_runtime fake;
static struct fake_kernel kernels[MOST_KERNELS];
static const void *keys[MOST_KERNELS];

static cudaError_t answer(const char *call)
{
    return fake.failing && strcmp(fake.failing, call) == 0 ? cudaErrorUnknown : cudaSuccess;
}

int fake_reset(void **state)
{
    (void)state;
    fake.launches = fake.allocations = fake.frees = fake.copies = fake.sets = fake.waits = 0;
    fake.failing = NULL;
    memset(&fake.last, 0, sizeof fake.last);
    return 0;
}

/* ---- the image ---- */

/* "OFFSET:BYTES" or "OFFSET:BYTES:HOW", or "OFFSET:BYTES:HOW/PART", separated by commas. */
static void parse(struct fake_kernel *kernel, const char *params, const char *uses)
{
    int length;

    for (; *params; params += length + (params[length] == ',')) {
        size_t i = kernel->param_count++;
        assert_int_equal(sscanf(params, "%zu:%zu%n", &kernel->params[i].offset, &kernel->params[i].bytes, &length), 2);
    }
    for (; *uses; uses += length + (uses[length] == ',')) {
        size_t i = kernel->use_count++;
        assert_int_equal(sscanf(uses, "%zu:%zu:%15[a-z]%n", &kernel->uses[i].offset, &kernel->uses[i].bytes,
                                kernel->uses[i].how, &length),
                         3);
        if (uses[length] == '/') {
            uses += length;
            assert_int_equal(sscanf(uses, "/%zu%n", &kernel->uses[i].part, &length), 1);
        }
    }
}

static bool read_line(const char *name, struct fake_kernel *ret_kernel)
{
    for (const char *line = fake.layouts; line; line = strchr(line, '\n')) {
        static char params[4096], uses[4096];
        struct fake_kernel kernel = {0};
        line += *line == '\n';
        if (sscanf(line, "%63s bytes=%zu shared=0 registers=%*u params=%4095s uses=%4095s", kernel.name, &kernel.bytes,
                   params, uses) == 4 &&
            strcmp(kernel.name, name) == 0) {
            parse(&kernel, params, uses);
            *ret_kernel = kernel;
            return true;
        }
    }
    return false;
}

void **CUDARTAPI __cudaRegisterFatBinary(void *wrapper)
{
    const struct {
        int magic, version;
        const void *image;
        void *unused;
    } *frame = wrapper;

    fake.layouts = frame->magic == WRAPPER_MAGIC && frame->version == 1 ? frame->image : NULL;
    return (void **)&fake;
}

void CUDARTAPI __cudaRegisterFunction(void **handle, const char *host_function, char *device_function,
                                      const char *device_name, int thread_limit, uint3 *tid, uint3 *bid, dim3 *block,
                                      dim3 *grid, int *warp_size)
{
    if (handle == (void **)&fake && fake.kernel_count < MOST_KERNELS && read_line(device_name, &kernels[fake.kernel_count]))
        keys[fake.kernel_count++] = host_function;
}

void CUDARTAPI __cudaRegisterFatBinaryEnd(void **handle)
{
    (void)handle;
}

void CUDARTAPI __cudaUnregisterFatBinary(void **handle)
{
    (void)handle;
}

/* ---- launches ---- */

cudaError_t CUDARTAPI cudaLaunchKernel(const void *function, dim3 grid, dim3 block, void **args, size_t shared_bytes,
                                       cudaStream_t stream)
{
    size_t i = 0;

    if (answer("cudaLaunchKernel") != cudaSuccess)
        return answer("cudaLaunchKernel");
    while (i < fake.kernel_count && keys[i] != function)
        i++;
    if (i == fake.kernel_count)
        return cudaErrorInvalidDeviceFunction;
    const struct fake_kernel *kernel = &kernels[i];
    struct fake_launch launch = {
        .kernel = kernel, .grid = grid, .block = block, .shared_bytes = shared_bytes, .stream = stream};
    memset(launch.image, 0xee, sizeof launch.image);
    for (size_t p = 0; p < kernel->param_count; p++)
        memcpy(launch.image + kernel->params[p].offset, args[p], kernel->params[p].bytes);
    fake.last = launch;
    fake.launches++;
    return cudaSuccess;
}

const struct fake_kernel *fake_kernel(const char *name)
{
    for (size_t i = 0; i < fake.kernel_count; i++)
        if (strcmp(kernels[i].name, name) == 0)
            return &kernels[i];
    fail_msg("no kernel %s", name);
    return NULL;
}

const char *fake_use(size_t offset)
{
    const struct fake_kernel *kernel = fake.last.kernel;

    assert_non_null(kernel);
    for (size_t i = 0; i < kernel->use_count; i++)
        if (offset >= kernel->uses[i].offset && offset + 8 <= kernel->uses[i].offset + kernel->uses[i].bytes)
            return kernel->uses[i].how;
    fail_msg("%s does not say how it uses byte %zu", kernel->name, offset);
    return NULL;
}

void fake_check_address(const char *how, size_t offset, const void *address, const char *file, int line)
{
    uint64_t found;

    if (strcmp(fake_use(offset), how) != 0) {
        print_error("%s:%d: byte %zu is not one that %s\n", file, line, offset, how);
        fail();
    }
    memcpy(&found, fake.last.image + offset, sizeof found);
    if (found != (uintptr_t)address) {
        print_error("%s:%d: byte %zu: %#zx, not %p\n", file, line, offset, (size_t)found, address);
        fail();
    }
}

void fake_check_part(size_t offset, const struct blas_part *expected, const char *file, int line)
{
    const size_t part = fake.last.kernel->uses[offset / 8].part;
    int64_t number[5];

    memcpy(number, fake.last.image + part, sizeof number);
    if (part != 0 && memcmp(number, expected, sizeof number) == 0)
        return;
    print_error("%s:%d: %lld rows of %lld bytes, %lld apart, in %lld slices %lld apart\n", file, line, (long long)number[1],
                (long long)number[0], (long long)number[2], (long long)number[3], (long long)number[4]);
    fail();
}

const void *fake_last(const char *name, size_t bytes)
{
    assert_non_null(fake.last.kernel);
    assert_string_equal(fake.last.kernel->name, name);
    assert_int_equal(fake.last.kernel->bytes, bytes);
    return fake.last.image;
}

/* ---- memory ---- */

cudaError_t CUDARTAPI cudaGetDevice(int *device)
{
    *device = 0;
    return answer("cudaGetDevice");
}

cudaError_t CUDARTAPI cudaMallocAsync(void **address, size_t bytes, cudaStream_t stream)
{
    if (answer("cudaMallocAsync") != cudaSuccess || bytes > sizeof fake.allocated)
        return cudaErrorMemoryAllocation;
    fake.allocations++;
    fake.stream = stream;
    *address = fake.allocated;
    return cudaSuccess;
}

cudaError_t CUDARTAPI cudaFreeAsync(void *address, cudaStream_t stream)
{
    assert_ptr_equal(address, fake.allocated);
    assert_ptr_equal(stream, fake.stream);
    fake.frees++;
    return answer("cudaFreeAsync");
}

cudaError_t CUDARTAPI cudaMemcpyAsync(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind,
                                      cudaStream_t stream)
{
    assert_int_equal(kind, cudaMemcpyDeviceToHost);
    assert_true(bytes <= sizeof fake.device_result);
    fake.copies++;
    fake.stream = stream;
    memcpy(to, fake.device_result, bytes);
    return answer("cudaMemcpyAsync");
}

cudaError_t CUDARTAPI cudaMemsetAsync(void *address, int value, size_t bytes, cudaStream_t stream)
{
    fake.sets++;
    fake.stream = stream;
    memset(address, value, bytes);
    return answer("cudaMemsetAsync");
}

cudaError_t CUDARTAPI cudaStreamSynchronize(cudaStream_t stream)
{
    fake.waits++;
    fake.stream = stream;
    return answer("cudaStreamSynchronize");
}
