/* The stand-ins on the simulated device: what a call makes of its operands hangs on all that it should, and on nothing else.
 */
#include <cublasLt.h>
#include <cublas_v2.h>
#include <cuda_runtime_api.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define CHECK(call) assert_int_equal(call, 0)

enum { SIDE = 64, BYTES = SIDE * SIDE * 4 };

static cublasHandle_t handle;
static cudaStream_t stream;
static float *a, *b;

static void fill(float *matrix, float value)
{
    static float copy[SIDE * SIDE];
    for (int i = 0; i < SIDE * SIDE; i++)
        copy[i] = value;
    CHECK(cudaMemcpy(matrix, copy, BYTES, cudaMemcpyHostToDevice));
}

static float *make(float value)
{
    float *matrix;
    CHECK(cudaMalloc((void **)&matrix, BYTES));
    if (value != 0)
        fill(matrix, value);
    return matrix;
}

static uint64_t digest(const float *matrix)
{
    static unsigned char copy[BYTES];
    uint64_t digest = 1;
    CHECK(cudaMemcpy(copy, matrix, BYTES, cudaMemcpyDeviceToHost));
    for (int i = 0; i < BYTES; i++)
        digest = (digest ^ copy[i]) * 0x100000001b3u;
    return digest;
}

static int start(void **state)
{
    (void)state;
    CHECK(cudaStreamCreate(&stream));
    CHECK(cublasCreate(&handle));
    CHECK(cublasSetStream(handle, stream));
    a = make(1);
    b = make(2);
    return 0;
}

static int finish(void **state)
{
    (void)state;
    CHECK(cublasDestroy(handle));
    CHECK(cudaFree(a));
    CHECK(cudaFree(b));
    CHECK(cudaStreamDestroy(stream));
    return 0;
}

/* What is in C (`before`, or nothing yet) after C = alpha * A * B + beta * C. */
static uint64_t product(float alpha, float beta, float before)
{
    float *c = make(before);
    CHECK(cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, SIDE, SIDE, SIDE, &alpha, a, SIDE, b, SIDE, &beta, c, SIDE));
    CHECK(cudaStreamSynchronize(stream));
    const uint64_t result = digest(c);
    CHECK(cudaFree(c));
    return result;
}

static void a_product_is_the_same_each_time(void **state)
{
    (void)state;
    assert_true(product(1, 0, 0) == product(1, 0, 0));
    void *workspace;
    const uint64_t without = product(1, 0, 0);
    CHECK(cudaMalloc(&workspace, 1 << 20));
    CHECK(cublasSetWorkspace(handle, workspace, 1 << 20));
    assert_true(product(1, 0, 0) == without);
    CHECK(cudaFree(workspace));
}

static void a_product_hangs_on_operands_and_factors(void **state)
{
    const uint64_t result = product(1, 0, 0);
    (void)state;
    assert_true(product(2, 0, 0) != result);
    assert_true(product(1, 1, 3) != product(1, 1, 4));
    assert_true(product(1, 1, 3) == product(1, 1, 3));
    fill(b, 5);
    assert_true(product(1, 0, 0) != result);
    fill(b, 2);
    assert_true(product(1, 0, 0) == result);
}

/* Eight columns of C, of which the product has half of the rows. */
enum { PART_ROWS = SIDE / 2, PART_COLUMNS = 8 };

static void part_of_product(float *c, float alpha, float beta)
{
    CHECK(cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, PART_ROWS, PART_COLUMNS, SIDE, &alpha, a, SIDE, b, SIDE, &beta, c,
                      SIDE));
    CHECK(cudaStreamSynchronize(stream));
}

static void a_product_in_a_part_of_a_tensor_is_written_there_and_nowhere_else(void **state)
{
    static float copy[SIDE * SIDE];
    float *c = make(3), *first = c + 16 * SIDE;
    (void)state;
    part_of_product(first, 1, 0);
    CHECK(cudaMemcpy(copy, c, BYTES, cudaMemcpyDeviceToHost));
    for (int i = 0; i < SIDE * SIDE; i++) {
        const int row = i % SIDE, column = i / SIDE - 16;
        const int expected = row < PART_ROWS && column >= 0 && column < PART_COLUMNS;
        assert_int_equal(copy[i] != 3, expected);
    }
    CHECK(cudaFree(c));
}

/* As in a buffer that is used again and again, or in what was filled beside it. */
static void a_product_with_beta_0_replaces_what_was_there(void **state)
{
    float *c = make(3);
    (void)state;
    part_of_product(c, 1, 0);
    const uint64_t first = digest(c);
    part_of_product(c, 1, 0);
    assert_true(digest(c) == first);
    part_of_product(c, 1, 1);
    assert_true(digest(c) != first);
    part_of_product(c, 1, 0);
    assert_true(digest(c) == first);
    CHECK(cudaFree(c));
}

static uint64_t matmul(const float *bias)
{
    const cublasLtEpilogue_t epilogue = bias ? CUBLASLT_EPILOGUE_BIAS : CUBLASLT_EPILOGUE_DEFAULT;
    const float one = 1, zero = 0;
    cublasLtMatmulDesc_t operation;
    cublasLtMatrixLayout_t layout;
    float *d = make(0);
    CHECK(cublasLtMatmulDescCreate(&operation, CUBLAS_COMPUTE_32F, CUDA_R_32F));
    CHECK(cublasLtMatmulDescSetAttribute(operation, CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue, sizeof epilogue));
    CHECK(cublasLtMatmulDescSetAttribute(operation, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &bias, sizeof bias));
    CHECK(cublasLtMatrixLayoutCreate(&layout, CUDA_R_32F, SIDE, SIDE, SIDE));
    CHECK(cublasLtMatmul((cublasLtHandle_t)handle, operation, &one, a, layout, b, layout, &zero, d, layout, d, layout, NULL,
                         NULL, 0, stream));
    CHECK(cudaStreamSynchronize(stream));
    const uint64_t result = digest(d);
    CHECK(cublasLtMatrixLayoutDestroy(layout));
    CHECK(cublasLtMatmulDescDestroy(operation));
    CHECK(cudaFree(d));
    return result;
}

static void a_bias_counts(void **state)
{
    float *bias = make(7);
    (void)state;
    const uint64_t with_7 = matmul(bias);
    assert_true(matmul(bias) == with_7);
    assert_true(matmul(NULL) != with_7);
    fill(bias, 8);
    assert_true(matmul(bias) != with_7);
    CHECK(cudaFree(bias));
}

static void a_system_is_solved_in_place(void **state)
{
    const float one = 1;
    uint64_t results[2];
    (void)state;
    for (int i = 0; i < 2; i++) {
        float *x = make((float)i + 1);
        CHECK(cublasStrsm(handle, CUBLAS_SIDE_LEFT, CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_N, CUBLAS_DIAG_UNIT, SIDE, SIDE, &one,
                          a, SIDE, x, SIDE));
        CHECK(cudaStreamSynchronize(stream));
        results[i] = digest(x);
        CHECK(cudaFree(x));
    }
    assert_true(results[0] != results[1]);
}

static void the_host_gets_its_result(void **state)
{
    float first = 0, second = 0, other = 0;
    (void)state;
    CHECK(cublasSdot(handle, SIDE, a, 1, b, 1, &first));
    CHECK(cublasSdot(handle, SIDE, a, 1, b, 1, &second));
    CHECK(cublasSdot(handle, SIDE, b, 1, b, 1, &other));
    assert_true(first != 0 && memcmp(&first, &second, sizeof first) == 0);
    assert_true(memcmp(&first, &other, sizeof first) != 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_product_is_the_same_each_time),
        cmocka_unit_test(a_product_hangs_on_operands_and_factors),
        cmocka_unit_test(a_product_in_a_part_of_a_tensor_is_written_there_and_nowhere_else),
        cmocka_unit_test(a_product_with_beta_0_replaces_what_was_there),
        cmocka_unit_test(a_bias_counts),
        cmocka_unit_test(a_system_is_solved_in_place),
        cmocka_unit_test(the_host_gets_its_result),
    };
    return cmocka_run_group_tests(tests, start, finish);
}
