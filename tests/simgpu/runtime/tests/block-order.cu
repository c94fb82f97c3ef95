/* block-order.cu - in which order the blocks of a launch run, under SIMGPU_BLOCK_ORDER=ascending and =varying. */
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

__global__ void note_block(unsigned *taken, unsigned *order)
{
    order[atomicAdd(taken, 1u)] = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
}

__global__ void add_to_one(float *sum, const float *from)
{
    atomicAdd(sum, from[blockIdx.x]);
}

static bool varying()
{
    return strcmp(getenv("SIMGPU_BLOCK_ORDER"), "varying") == 0;
}

/* The numbers of the blocks of one launch, in the order in which they ran. */
static std::vector<unsigned> order_of(dim3 grid)
{
    const size_t count = (size_t)grid.x * grid.y * grid.z;
    std::vector<unsigned> order(count);
    unsigned *memory;
    CHECK(cudaMalloc(&memory, (count + 1) * sizeof *memory));
    CHECK(cudaMemset(memory, 0, (count + 1) * sizeof *memory));
    note_block<<<grid, 1>>>(memory, memory + 1);
    CHECK(cudaMemcpy(order.data(), memory + 1, count * sizeof *memory, cudaMemcpyDeviceToHost));
    CHECK(cudaFree(memory));
    return order;
}

static void each_block_runs_once(void **)
{
    for (dim3 grid : {dim3(1, 1, 1), dim3(2, 1, 1), dim3(7, 1, 1), dim3(4, 3, 5), dim3(1, 1, 6), dim3(1, 16, 1)}) {
        const std::vector<unsigned> order = order_of(grid);
        std::vector<unsigned> times(order.size());
        for (unsigned block : order)
            times.at(block)++;
        for (unsigned count : times)
            assert_int_equal(count, 1);
    }
}

static void blocks_ascend_unless_the_order_is_to_vary(void **)
{
    const std::vector<unsigned> first = order_of(dim3(8, 2, 2)), second = order_of(dim3(8, 2, 2));
    bool ascending = true;
    for (unsigned i = 0; i < first.size(); i++)
        ascending &= first[i] == i && second[i] == i;
    assert_int_equal(ascending, !varying());
    assert_int_equal(first != second, varying());
}

/* What this is for: the rounding of a sum shows the order. */
static void sums_by_float_atomics_differ_when_the_order_varies(void **)
{
    const std::vector<float> numbers = {1e8f, 1.0f, -1e8f, 3.0f, 1e7f, -5.0f, 0.5f, -1e7f};
    float *from, *sum, got[4];
    CHECK(cudaMalloc(&from, numbers.size() * sizeof *from));
    CHECK(cudaMalloc(&sum, sizeof got));
    CHECK(cudaMemcpy(from, numbers.data(), numbers.size() * sizeof *from, cudaMemcpyHostToDevice));
    CHECK(cudaMemset(sum, 0, sizeof got));
    for (int i = 0; i < 4; i++)
        add_to_one<<<(unsigned)numbers.size(), 1>>>(sum + i, from);
    CHECK(cudaMemcpy(got, sum, sizeof got, cudaMemcpyDeviceToHost));
    CHECK(cudaFree(from));
    CHECK(cudaFree(sum));
    assert_int_equal(got[0] != got[1] || got[1] != got[2] || got[2] != got[3], varying());
}

int main()
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_block_runs_once),
        cmocka_unit_test(blocks_ascend_unless_the_order_is_to_vary),
        cmocka_unit_test(sums_by_float_atomics_differ_when_the_order_varies),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
