/* kernels.cu - a program with what CUDA C++ kernels do; each test launches one and looks at what it left in memory. */
#include "other.cuh"
#include <cuda_runtime.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <vector>
extern "C" {
#include <cmocka.h>
}

#define CHECK(call) assert_int_equal(call, cudaSuccess)

/* Device memory with a copy of `values`; read back with contents(). */
template <class T> static T *on_device(const std::vector<T> &values)
{
    T *address = nullptr;
    CHECK(cudaMalloc(&address, values.size() * sizeof(T)));
    CHECK(cudaMemcpy(address, values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice));
    return address;
}

template <class T> static std::vector<T> contents(T *address, size_t count)
{
    std::vector<T> values(count);
    CHECK(cudaGetLastError());
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaMemcpy(values.data(), address, count * sizeof(T), cudaMemcpyDeviceToHost));
    CHECK(cudaFree(address));
    return values;
}

/* --- indices --- */

__global__ void write_indices(unsigned *out)
{
    unsigned block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
    unsigned thread = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
    unsigned i = block * blockDim.x * blockDim.y * blockDim.z + thread;
    out[i] =
        blockIdx.x + 10 * blockIdx.y + 100 * blockIdx.z + 1000 * threadIdx.x + 10000 * threadIdx.y + 100000 * threadIdx.z;
}

static void every_thread_of_a_three_dimensional_launch_runs_once_at_its_place(void **)
{
    unsigned *out = on_device(std::vector<unsigned>(2 * 3 * 2 * 4 * 2 * 3, ~0u));
    write_indices<<<dim3(2, 3, 2), dim3(4, 2, 3)>>>(out);
    const auto values = contents(out, 2 * 3 * 2 * 4 * 2 * 3);
    size_t i = 0;
    for (unsigned bz = 0; bz < 2; bz++)
        for (unsigned by = 0; by < 3; by++)
            for (unsigned bx = 0; bx < 2; bx++)
                for (unsigned tz = 0; tz < 3; tz++)
                    for (unsigned ty = 0; ty < 2; ty++)
                        for (unsigned tx = 0; tx < 4; tx++)
                            assert_int_equal(values[i++], bx + 10 * by + 100 * bz + 1000 * tx + 10000 * ty + 100000 * tz);
}

__device__ static unsigned index_from_a_function()
{
    return blockIdx.x * blockDim.x + threadIdx.x;
}

__global__ void stride(unsigned *out, unsigned n)
{
    for (unsigned i = index_from_a_function(); i < n; i += gridDim.x * blockDim.x)
        out[i]++;
}

static void grid_strides_cover_everything_once_whatever_the_grid(void **)
{
    const dim3 grids[] = {1, 3, 7}, blocks[] = {1, 32, 33};
    for (dim3 grid : grids)
        for (dim3 block : blocks) {
            unsigned *out = on_device(std::vector<unsigned>(1000, 5));
            stride<<<grid, block>>>(out, 1000);
            for (unsigned value : contents(out, 1000))
                assert_int_equal(value, 6);
        }
}

/* --- parameters --- */

struct alignas(16) wide {
    float x[3];
    char tag;
};

__global__ void all_kinds(char a, double b, wide c, const short *d, bool e, double *out)
{
    out[0] = a + b + c.x[2] + c.tag + d[1] + e;
    a = 0; /* the thread's own copy */
    c.x[2] = 0;
}

static void parameters_of_all_sizes_arrive_by_value(void **)
{
    short *d = on_device(std::vector<short>{1, 1000});
    double *out = on_device(std::vector<double>{0});
    wide c = {{0, 0, 10}, 100};
    all_kinds<<<2, 2>>>(1, 0.5, c, d, true, out);
    assert_true(contents(out, 1)[0] == 1 + 0.5 + 10 + 100 + 1000 + 1);
    CHECK(cudaFree(d));
}

static void the_layout_of_parameters_is_that_of_the_device(void **)
{
    const size_t offsets[] = {0, 8, 16, 32, 40, 48}, sizes[] = {1, 8, 16, 8, 1, 8};
    size_t offset, size;
    for (size_t i = 0; i < 6; i++) {
        CHECK(cudaFuncGetParamInfo((const void *)all_kinds, i, &offset, &size));
        assert_int_equal(offset, offsets[i]);
        assert_int_equal(size, sizes[i]);
    }
    assert_int_equal(cudaFuncGetParamInfo((const void *)all_kinds, 6, &offset, &size), cudaErrorInvalidValue);
    (void)cudaGetLastError();
}

__global__ void changes_its_parameters(int *out, int n)
{
    out += threadIdx.x;
    n += threadIdx.x;
    *out = n;
}

static void a_thread_that_changes_its_parameters_does_so_for_itself(void **)
{
    int *out = on_device(std::vector<int>(64, -1));
    changes_its_parameters<<<1, 64>>>(out, 7);
    const auto values = contents(out, 64);
    for (int i = 0; i < 64; i++)
        assert_int_equal(values[i], 7 + i);
}

__global__ void without_names(int *out, int, const float *, unsigned)
{
    *out = 1;
}

static void parameters_need_no_names(void **)
{
    int *out = on_device(std::vector<int>(1));
    without_names<<<1, 1>>>(out, 1, nullptr, 2u);
    assert_int_equal(contents(out, 1)[0], 1);
}

/* --- names --- */

extern "C" __global__ void plain_name(int *out)
{
    *out = 2;
}

namespace outer
{
namespace inner
{
template <class T, int N = 3> __global__ void fill(T *out, T value)
{
    for (int i = threadIdx.x; i < N; i += blockDim.x)
        out[i] = value;
}
template <> __global__ void fill<char, 3>(char *out, char value)
{
    out[0] = value + 1;
}
} // namespace inner
__global__ void overloaded(int *out)
{
    *out = 1;
}
__global__ void overloaded(float *out)
{
    *out = 2;
}
} // namespace outer

template <class... T> __global__ void count_of(int *out, T... values)
{
    *out = sizeof...(values);
    ((*out += values), ...);
}

template <class T> struct traits {
    static constexpr int threads = 4;
};

/* Not in the C library's alphabet: the name as the compiler mangles it. */
static void kernels_have_the_names_that_nvcc_gives_them(void **)
{
    const char *name;
    CHECK(cudaFuncGetName(&name, (const void *)plain_name));
    assert_string_equal(name, "plain_name");
    CHECK(cudaFuncGetName(&name, (const void *)stride));
    assert_string_equal(name, "_Z6stridePjj");
    CHECK(cudaFuncGetName(&name, (const void *)static_cast<void (*)(float *)>(outer::overloaded)));
    assert_string_equal(name, "_ZN5outer10overloadedEPf");
    CHECK(cudaFuncGetName(&name, (const void *)outer::inner::fill<float, 5>));
    assert_string_equal(name, "_ZN5outer5inner4fillIfLi5EEEvPT_S2_");
}

static void templates_namespaces_and_overloads_are_told_apart(void **)
{
    float *f = on_device(std::vector<float>(5));
    int *n = on_device(std::vector<int>(3));
    char *c = on_device(std::vector<char>(3));
    using namespace outer::inner;

    outer::inner::fill<float, 5><<<1, traits<traits<int>>::threads>>>(f, 2.5f);
    fill<<<1, 2>>>(n, 7);
    fill<char, 3><<<1, 1>>>(c, 'a');
    for (float value : contents(f, 5))
        assert_true(value == 2.5f);
    for (int value : contents(n, 3))
        assert_int_equal(value, 7);
    assert_int_equal(contents(c, 3)[0], 'b');

    f = on_device(std::vector<float>(1));
    outer::overloaded<<<1, 1>>>(f);
    assert_true(contents(f, 1)[0] == 2);
    n = on_device(std::vector<int>(1));
    outer::overloaded<<<1, 1>>>(n);
    assert_int_equal(contents(n, 1)[0], 1);
    n = on_device(std::vector<int>(1));
    count_of<<<1, 1>>>(n, 10, 20u, 30.0f);
    assert_int_equal(contents(n, 1)[0], 63);
}

static void kernels_may_be_launched_through_pointers_and_by_the_plain_call(void **)
{
    void (*kernel)(int *) = plain_name;
    void (*const kernels[])(int *) = {outer::overloaded, plain_name};
    int *out = on_device(std::vector<int>(1));
    void *args[] = {&out};

    kernel<<<1, 1>>>(out);
    kernels[1]<<<1, 1>>>(out);
    (*kernel)<<<1, 1>>>(out);
    CHECK(cudaLaunchKernel((const void *)plain_name, dim3(1), dim3(1), args, 0, nullptr));
    assert_int_equal(contents(out, 1)[0], 2);
}

/* --- variables --- */

__constant__ float coefficients[4];
namespace outer
{
__device__ int counter = 3, second = 4;
}
__device__ static unsigned long long total;

__global__ void use_variables(float *out)
{
    for (int i = 0; i < 4; i++)
        out[i] = coefficients[i];
    atomicAdd(&outer::counter, 1);
    atomicAdd(&total, 2ull);
}

static void constants_and_device_variables_are_reached_by_name(void **)
{
    const float values[] = {1, 2, 3, 4}, last = 9;
    float *out = on_device(std::vector<float>(4));
    int counter;
    unsigned long long sum = 0;
    size_t bytes;
    void *address;

    CHECK(cudaMemcpyToSymbol(coefficients, values, sizeof values));
    CHECK(cudaMemcpyToSymbol(coefficients, &last, sizeof last, 3 * sizeof last));
    CHECK(cudaMemcpyToSymbol(total, &sum, sizeof sum));
    use_variables<<<5, 2>>>(out);
    const auto seen = contents(out, 4);
    assert_true(seen[0] == 1 && seen[2] == 3 && seen[3] == 9);
    CHECK(cudaMemcpyFromSymbol(&counter, outer::counter, sizeof counter));
    assert_int_equal(counter, 13);
    CHECK(cudaMemcpyFromSymbol(&sum, total, sizeof sum));
    assert_int_equal(sum, 20);
    CHECK(cudaMemcpyFromSymbol(&counter, outer::second, sizeof counter));
    assert_int_equal(counter, 4);
    CHECK(cudaGetSymbolSize(&bytes, coefficients));
    assert_int_equal(bytes, sizeof coefficients);
    CHECK(cudaGetSymbolAddress(&address, coefficients));
    assert_non_null(address);
    assert_int_equal(cudaMemcpyToSymbol(coefficients, values, sizeof values, 1), cudaErrorInvalidValue);
    assert_int_equal(cudaGetSymbolAddress(&address, (const void *)&last), cudaErrorInvalidSymbol);
    (void)cudaGetLastError();
}

/* --- threads together --- */

__device__ static float sum_of_block(float value, float *scratch)
{
    scratch[threadIdx.x] = value;
    for (unsigned half = blockDim.x / 2; half > 0; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half)
            scratch[threadIdx.x] += scratch[threadIdx.x + half];
    }
    __syncthreads();
    return scratch[0];
}

__global__ void __launch_bounds__(256, 2) sum_with_dynamic_memory(const float *x, float *out, int n)
{
    extern __shared__ __align__(16) float scratch[];
    float mine = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        mine += x[i];
    float sum = sum_of_block(mine, scratch);
    if (threadIdx.x == 0)
        out[blockIdx.x] = sum;
}

template <int N> __global__ void transpose(const int *in, int *out)
{
    __shared__ int tile[N][N + 1];
    tile[threadIdx.y][threadIdx.x] = in[threadIdx.y * N + threadIdx.x];
    __syncthreads();
    out[threadIdx.y * N + threadIdx.x] = tile[threadIdx.x][threadIdx.y];
}

static void threads_wait_for_each_other_and_share_memory(void **)
{
    float *x = on_device(std::vector<float>(1000, 1.0f)), *out = on_device(std::vector<float>(3));
    sum_with_dynamic_memory<<<3, 128, 128 * sizeof(float)>>>(x, out, 1000);
    const auto sums = contents(out, 3);
    assert_true(sums[0] + sums[1] + sums[2] == 1000);
    CHECK(cudaFree(x));

    std::vector<int> square(16 * 16);
    for (int i = 0; i < 256; i++)
        square[i] = i;
    int *in = on_device(square), *turned = on_device(square);
    transpose<16><<<1, dim3(16, 16)>>>(in, turned);
    const auto result = contents(turned, 256);
    for (int i = 0; i < 256; i++)
        assert_int_equal(result[i], i % 16 * 16 + i / 16);
    CHECK(cudaFree(in));
}

__global__ void some_leave_early(int *out)
{
    __shared__ int arrived;
    if (threadIdx.x < 3 || threadIdx.x == 40)
        return;
    if (threadIdx.x == 3)
        arrived = 0;
    __syncthreads();
    atomicAdd(&arrived, 1);
    __syncthreads();
    if (threadIdx.x == 63)
        *out = arrived;
}

static void threads_that_returned_do_not_hold_up_the_others(void **)
{
    int *out = on_device(std::vector<int>(1));
    some_leave_early<<<2, 64>>>(out);
    assert_int_equal(contents(out, 1)[0], 60);
}

__global__ void warp_sums(const int *x, int *sums, unsigned *votes)
{
    int value = x[threadIdx.x];
    for (int delta = 16; delta > 0; delta /= 2)
        value += __shfl_down_sync(0xffffffffu, value, delta);
    unsigned odd = __ballot_sync(0xffffffffu, threadIdx.x & 1);
    int broadcast = __shfl_sync(0xffffffffu, value, 0);
    int neighbour = __shfl_xor_sync(0xffffffffu, (int)threadIdx.x, 1);
    if (threadIdx.x % 32 == 31) {
        sums[threadIdx.x / 32] = broadcast + neighbour % 32;
        votes[threadIdx.x / 32] = odd;
    }
}

static void the_lanes_of_a_warp_exchange_values(void **)
{
    std::vector<int> x(64);
    for (int i = 0; i < 64; i++)
        x[i] = i;
    int *in = on_device(x), *sums = on_device(std::vector<int>(2));
    unsigned *votes = on_device(std::vector<unsigned>(2));
    warp_sums<<<1, 64>>>(in, sums, votes);
    const auto result = contents(sums, 2);
    assert_int_equal(result[0], 31 * 32 / 2 + 30);
    assert_int_equal(result[1], 31 * 32 / 2 + 32 * 32 + 30);
    for (unsigned vote : contents(votes, 2))
        assert_int_equal(vote, 0xaaaaaaaa);
    CHECK(cudaFree(in));
}

__global__ void count_at_barriers(int *out)
{
    int counts = __syncthreads_count(threadIdx.x % 3 == 0);
    int any = __syncthreads_or(threadIdx.x == 5), all = __syncthreads_and(threadIdx.x < 5);
    if (threadIdx.x == 0)
        out[0] = counts + 100 * any + 1000 * all;
}

static void barriers_count(void **)
{
    int *out = on_device(std::vector<int>(1));
    count_at_barriers<<<1, 30>>>(out);
    assert_int_equal(contents(out, 1)[0], 110);
}

/* --- atomics --- */

__global__ void atomics(int *i, unsigned *u, float *f)
{
    atomicSub(&i[0], 1);
    atomicMax(&i[1], (int)threadIdx.x);
    atomicMin(&i[2], -(int)threadIdx.x);
    atomicCAS(&i[3], 0, (int)threadIdx.x + 1);
    atomicInc(&u[0], 9);
    atomicOr(&u[1], 1u << threadIdx.x);
    atomicExch(&u[2], threadIdx.x);
    atomicAdd(f, 0.5);
}

static void atomics_do_their_arithmetic(void **)
{
    int *i = on_device(std::vector<int>{100, 0, 0, 0});
    unsigned *u = on_device(std::vector<unsigned>(3));
    float *f = on_device(std::vector<float>(1));
    atomics<<<1, 32>>>(i, u, f);
    const auto ints = contents(i, 4);
    const auto unsigneds = contents(u, 3);
    assert_int_equal(ints[0], 68);
    assert_int_equal(ints[1], 31);
    assert_int_equal(ints[2], -31);
    assert_int_equal(ints[3], 1);
    assert_int_equal(unsigneds[0], 2);
    assert_int_equal(unsigneds[1], 0xffffffff);
    assert_int_equal(unsigneds[2], 31);
    assert_true(contents(f, 1)[0] == 16);
}

/* --- several files --- */

static void a_template_and_a_static_kernel_may_be_in_several_files(void **)
{
    int *out = on_device(std::vector<int>(3));
    shared_template<<<1, 1>>>(out);
    local_kernel<<<1, 1>>>(out + 1);
    run_in_other_file(out + 2);
    const auto values = contents(out, 3);
    assert_int_equal(values[0], 11);
    assert_int_equal(values[1], 12);
    assert_int_equal(values[2], 11 + 12 + 100);
}

int main()
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_thread_of_a_three_dimensional_launch_runs_once_at_its_place),
        cmocka_unit_test(grid_strides_cover_everything_once_whatever_the_grid),
        cmocka_unit_test(parameters_of_all_sizes_arrive_by_value),
        cmocka_unit_test(the_layout_of_parameters_is_that_of_the_device),
        cmocka_unit_test(a_thread_that_changes_its_parameters_does_so_for_itself),
        cmocka_unit_test(parameters_need_no_names),
        cmocka_unit_test(kernels_have_the_names_that_nvcc_gives_them),
        cmocka_unit_test(templates_namespaces_and_overloads_are_told_apart),
        cmocka_unit_test(kernels_may_be_launched_through_pointers_and_by_the_plain_call),
        cmocka_unit_test(constants_and_device_variables_are_reached_by_name),
        cmocka_unit_test(threads_wait_for_each_other_and_share_memory),
        cmocka_unit_test(threads_that_returned_do_not_hold_up_the_others),
        cmocka_unit_test(the_lanes_of_a_warp_exchange_values),
        cmocka_unit_test(barriers_count),
        cmocka_unit_test(atomics_do_their_arithmetic),
        cmocka_unit_test(a_template_and_a_static_kernel_may_be_in_several_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
