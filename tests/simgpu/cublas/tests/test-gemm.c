/* Products of matrices: what each form hands to the kernel, and what it refuses. */
#include "fake-runtime.h"
#include "handles.h"
#include "kernels.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static char a[1], b[1], c[1], on_device[2]; /* only their addresses count */
static cublasHandle_t handle;

static int setup(void **state)
{
    fake_reset(state);
    return cublasCreate_v2(&handle) != CUBLAS_STATUS_SUCCESS ||
           cublasSetStream_v2(handle, (cudaStream_t)0x57) != CUBLAS_STATUS_SUCCESS;
}

static int teardown(void **state)
{
    (void)state;
    return cublasDestroy_v2(handle) != CUBLAS_STATUS_SUCCESS;
}

static const struct blas_gemm_numbers *numbers(void)
{
    const struct blas_gemm_call *call = fake_last("simgpu_gemm", sizeof *call);
    assert_ptr_equal(fake.last.stream, (void *)0x57);
    assert_reads(GEMM_A, a);
    assert_reads(GEMM_B, b);
    assert_overwrites(GEMM_C, c);
    return &call->numbers;
}

/* C (5 x 7) = alpha * A (5 x 3) * B' (3 x 7) + beta * C */
static cublasStatus_t single(float alpha, float beta)
{
    return cublasSgemm_v2(handle, CUBLAS_OP_N, CUBLAS_OP_T, 5, 7, 3, &alpha, (float *)a, 6, (float *)b, 8, &beta, (float *)c,
                          9);
}

static void a_product_is_one_launch_with_everything_in_it(void **state)
{
    (void)state;
    assert_int_equal(cublasSetMathMode(handle, CUBLAS_TF32_TENSOR_OP_MATH), CUBLAS_STATUS_SUCCESS);
    assert_int_equal(single(2, 0.5f), CUBLAS_STATUS_SUCCESS);
    assert_int_equal(fake.launches, 1);
    const struct blas_gemm_numbers expected = {.m = 5,
                                               .n = 7,
                                               .k = 3,
                                               .batch = 1,
                                               .a_transform = CUBLAS_OP_N,
                                               .b_transform = CUBLAS_OP_T,
                                               .a_type = CUDA_R_32F,
                                               .b_type = CUDA_R_32F,
                                               .c_type = CUDA_R_32F,
                                               .compute_type = CUBLAS_COMPUTE_32F,
                                               .math_mode = CUBLAS_TF32_TENSOR_OP_MATH,
                                               .a_ld = 6,
                                               .b_ld = 8,
                                               .c_ld = 9,
                                               .alpha = {2},
                                               .beta = {0.5},
                                               .operations = 2 * 5 * 7 * 3};
    assert_memory_equal(numbers(), &expected, sizeof expected);
    assert_part(GEMM_A, 5 * 4, 3, 6 * 4, 1);
    assert_part(GEMM_B, 7 * 4, 3, 8 * 4, 1);
    assert_part(GEMM_C, 5 * 4, 7, 9 * 4, 1);
    assert_reads(GEMM_C_BEFORE, c);
    assert_reads(GEMM_ALPHA, NULL);
    assert_reads(GEMM_BETA, NULL);
}

static void with_beta_0_the_result_is_not_read(void **state)
{
    (void)state;
    assert_int_equal(single(1, 0), CUBLAS_STATUS_SUCCESS);
    assert_reads(GEMM_C_BEFORE, NULL);
    assert_int_equal(single(1, -0.0f), CUBLAS_STATUS_SUCCESS);
    assert_reads(GEMM_C_BEFORE, NULL);
    assert_int_equal(single(0, 1), CUBLAS_STATUS_SUCCESS);
    assert_reads(GEMM_C_BEFORE, c);
}

/* Their values are not known, so that the result has to be taken to be read. */
static void factors_on_the_device_are_read_there(void **state)
{
    (void)state;
    assert_int_equal(cublasSetPointerMode_v2(handle, CUBLAS_POINTER_MODE_DEVICE), CUBLAS_STATUS_SUCCESS);
    assert_int_equal(cublasDgemm_v2(handle, CUBLAS_OP_N, CUBLAS_OP_N, 1, 1, 1, (double *)&on_device[0], (double *)a, 1,
                                    (double *)b, 1, (double *)&on_device[1], (double *)c, 1),
                     CUBLAS_STATUS_SUCCESS);
    assert_reads(GEMM_ALPHA, &on_device[0]);
    assert_reads(GEMM_BETA, &on_device[1]);
    assert_reads(GEMM_C_BEFORE, c);
    assert_true(numbers()->alpha[0] == 0 && numbers()->beta[0] == 0);
}

static void each_type_is_itself(void **state)
{
    const double d = 3;
    const cuComplex f2 = {1, 2}, f0 = {0, 0};
    const cuDoubleComplex d2 = {1, 2}, d0 = {0, 1};
    (void)state;
    assert_int_equal(
        cublasDgemm_v2(handle, CUBLAS_OP_C, CUBLAS_OP_N, 2, 2, 2, &d, (double *)a, 2, (double *)b, 2, &d, (double *)c, 2),
        CUBLAS_STATUS_SUCCESS);
    assert_int_equal(numbers()->a_type, CUDA_R_64F);
    assert_int_equal(numbers()->compute_type, CUBLAS_COMPUTE_64F);
    assert_int_equal(numbers()->a_transform, CUBLAS_OP_C);
    assert_true(numbers()->alpha[0] == 3 && numbers()->operations == 16);
    assert_int_equal(cublasCgemm_v2(handle, CUBLAS_OP_N, CUBLAS_OP_N, 2, 2, 2, &f2, (cuComplex *)a, 2, (cuComplex *)b, 2,
                                    &f0, (cuComplex *)c, 2),
                     CUBLAS_STATUS_SUCCESS);
    assert_int_equal(numbers()->c_type, CUDA_C_32F);
    assert_true(numbers()->alpha[0] == 1 && numbers()->alpha[1] == 2 && numbers()->operations == 64);
    assert_reads(GEMM_C_BEFORE, NULL);
    assert_int_equal(cublasZgemm_v2(handle, CUBLAS_OP_N, CUBLAS_OP_N, 2, 2, 2, &d2, (cuDoubleComplex *)a, 2,
                                    (cuDoubleComplex *)b, 2, &d0, (cuDoubleComplex *)c, 2),
                     CUBLAS_STATUS_SUCCESS);
    assert_int_equal(numbers()->b_type, CUDA_C_64F);
    assert_true(numbers()->beta[0] == 0 && numbers()->beta[1] == 1);
    assert_reads(GEMM_C_BEFORE, c);
}

static void sizes_of_64_bits_stay_whole(void **state)
{
    const int64_t large = INT64_C(5) << 32;
    const float one = 1;
    (void)state;
    assert_int_equal(cublasSgemm_v2_64(handle, CUBLAS_OP_N, CUBLAS_OP_N, large, 2, 1, &one, (float *)a, large, (float *)b, 1,
                                       &one, (float *)c, large),
                     CUBLAS_STATUS_SUCCESS);
    assert_int_equal(numbers()->m, large);
    assert_int_equal(numbers()->c_ld, large);
    assert_true(numbers()->operations == 4.0 * (double)large);
}

static cublasStatus_t mixed(cudaDataType_t operand, cudaDataType_t result, cublasComputeType_t compute, const void *alpha)
{
    return cublasGemmEx(handle, CUBLAS_OP_T, CUBLAS_OP_N, 4, 4, 4, alpha, a, operand, 4, b, operand, 4, alpha, c, result, 4,
                        compute, CUBLAS_GEMM_DEFAULT_TENSOR_OP);
}

static void the_compute_type_says_what_the_factors_are(void **state)
{
    const float f = 1.5f;
    const double d = -2.25;
    const unsigned short half = 0xbe00; /* -1.5 */
    const int i = 7;
    (void)state;
    assert_int_equal(mixed(CUDA_R_16BF, CUDA_R_16BF, CUBLAS_COMPUTE_32F, &f), CUBLAS_STATUS_SUCCESS);
    assert_true(numbers()->alpha[0] == 1.5);
    assert_int_equal(numbers()->a_type, CUDA_R_16BF);
    assert_int_equal(mixed(CUDA_R_16F, CUDA_R_32F, CUBLAS_COMPUTE_32F, &f), CUBLAS_STATUS_SUCCESS);
    assert_int_equal(numbers()->c_type, CUDA_R_32F);
    assert_int_equal(mixed(CUDA_R_16F, CUDA_R_16F, CUBLAS_COMPUTE_16F, &half), CUBLAS_STATUS_SUCCESS);
    assert_true(numbers()->alpha[0] == -1.5);
    assert_int_equal(mixed(CUDA_R_64F, CUDA_R_64F, CUBLAS_COMPUTE_64F, &d), CUBLAS_STATUS_SUCCESS);
    assert_true(numbers()->alpha[0] == -2.25);
    assert_int_equal(mixed(CUDA_R_8I, CUDA_R_32I, CUBLAS_COMPUTE_32I, &i), CUBLAS_STATUS_SUCCESS);
    assert_true(numbers()->alpha[0] == 7);
    assert_int_equal(mixed(CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F_FAST_TF32, &f), CUBLAS_STATUS_SUCCESS);
    assert_int_equal(numbers()->compute_type, CUBLAS_COMPUTE_32F_FAST_TF32);
}

static void other_combinations_are_not_supported(void **state)
{
    const float f = 1;
    (void)state;
    assert_int_equal(mixed(CUDA_R_16BF, CUDA_R_16F, CUBLAS_COMPUTE_32F, &f), CUBLAS_STATUS_NOT_SUPPORTED);
    assert_int_equal(mixed(CUDA_R_16F, CUDA_R_16F, CUBLAS_COMPUTE_32F_FAST_TF32, &f), CUBLAS_STATUS_NOT_SUPPORTED);
    assert_int_equal(mixed(CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_64F, &f), CUBLAS_STATUS_NOT_SUPPORTED);
    assert_int_equal(mixed(CUDA_R_32F, CUDA_R_32F, (cublasComputeType_t)1, &f), CUBLAS_STATUS_NOT_SUPPORTED);
    assert_int_equal(mixed(CUDA_R_8F_E4M3, CUDA_R_32F, CUBLAS_COMPUTE_32F, &f), CUBLAS_STATUS_NOT_SUPPORTED);
    assert_int_equal(fake.launches, 0);
}

static void single_factors_go_with_matrices_of_other_types(void **state)
{
    const float f = 2;
    const cuComplex f2 = {2, 1};
    (void)state;
    assert_int_equal(cublasSgemmEx(handle, CUBLAS_OP_N, CUBLAS_OP_N, 2, 2, 2, &f, a, CUDA_R_16F, 2, b, CUDA_R_16F, 2, &f, c,
                                   CUDA_R_32F, 2),
                     CUBLAS_STATUS_SUCCESS);
    assert_int_equal(numbers()->a_type, CUDA_R_16F);
    assert_int_equal(numbers()->compute_type, CUBLAS_COMPUTE_32F);
    assert_true(numbers()->beta[0] == 2);
    assert_int_equal(cublasCgemmEx(handle, CUBLAS_OP_N, CUBLAS_OP_N, 2, 2, 2, &f2, a, CUDA_C_8I, 2, b, CUDA_C_8I, 2, &f2, c,
                                   CUDA_C_32F, 2),
                     CUBLAS_STATUS_SUCCESS);
    assert_true(numbers()->alpha[1] == 1);
}

static void a_batch_is_one_launch(void **state)
{
    const float f = 1;
    (void)state;
    assert_int_equal(cublasGemmStridedBatchedEx(handle, CUBLAS_OP_N, CUBLAS_OP_N, 130, 4, 5, &f, a, CUDA_R_32F, 130, 650, b,
                                                CUDA_R_32F, 5, 20, &f, c, CUDA_R_32F, 130, 520, 6, CUBLAS_COMPUTE_32F,
                                                CUBLAS_GEMM_DEFAULT),
                     CUBLAS_STATUS_SUCCESS);
    assert_int_equal(fake.launches, 1);
    assert_int_equal(numbers()->batch, 6);
    assert_int_equal(numbers()->a_stride, 650);
    assert_int_equal(numbers()->b_stride, 20);
    assert_int_equal(numbers()->c_stride, 520);
    assert_true(numbers()->operations == 2.0 * 130 * 4 * 5 * 6);
    assert_int_equal(fake.last.grid.x, 12);
    assert_int_equal(cublasSgemmStridedBatched(handle, CUBLAS_OP_N, CUBLAS_OP_N, 1, 1, 1, &f, (float *)a, 1, 1, (float *)b,
                                               1, 2, &f, (float *)c, 1, 3, 4),
                     CUBLAS_STATUS_SUCCESS);
    assert_int_equal(numbers()->batch, 4);
    assert_int_equal(numbers()->c_stride, 3);
}

static void nothing_to_compute_is_no_launch(void **state)
{
    const float f = 1;
    (void)state;
    assert_int_equal(cublasSgemm_v2(handle, CUBLAS_OP_N, CUBLAS_OP_N, 0, 2, 2, &f, NULL, 1, NULL, 2, &f, NULL, 1),
                     CUBLAS_STATUS_SUCCESS);
    assert_int_equal(cublasSgemm_v2(handle, CUBLAS_OP_N, CUBLAS_OP_N, 2, 0, 2, &f, NULL, 2, NULL, 2, &f, NULL, 2),
                     CUBLAS_STATUS_SUCCESS);
    assert_int_equal(
        cublasSgemmStridedBatched(handle, CUBLAS_OP_N, CUBLAS_OP_N, 2, 2, 2, &f, NULL, 2, 0, NULL, 2, 0, &f, NULL, 2, 0, 0),
        CUBLAS_STATUS_SUCCESS);
    assert_int_equal(fake.launches, 0);
}

/* C = beta * C is left of it. */
static void without_anything_to_sum_up_the_result_is_scaled(void **state)
{
    const float f = 2;
    (void)state;
    assert_int_equal(cublasSgemm_v2(handle, CUBLAS_OP_N, CUBLAS_OP_N, 2, 2, 0, &f, NULL, 2, NULL, 1, &f, (float *)c, 2),
                     CUBLAS_STATUS_SUCCESS);
    assert_int_equal(fake.launches, 1);
    assert_reads(GEMM_A, NULL);
    assert_overwrites(GEMM_C, c);
}

static void wrong_arguments_are_invalid_values(void **state)
{
    static const struct {
        int transa, transb, m, n, k, lda, ldb, ldc;
        bool with_a, with_b, with_c;
    } wrong[] = {
        {CUBLAS_OP_N, CUBLAS_OP_N, -1, 2, 2, 3, 3, 3, true, true, true},
        {CUBLAS_OP_N, CUBLAS_OP_N, 3, -1, 3, 3, 3, 3, true, true, true},
        {CUBLAS_OP_N, CUBLAS_OP_N, 3, 2, -1, 3, 3, 3, true, true, true},
        {3, CUBLAS_OP_N, 3, 2, 3, 3, 3, 3, true, true, true},
        {CUBLAS_OP_N, 4, 3, 2, 3, 3, 3, 3, true, true, true},
        {CUBLAS_OP_N, CUBLAS_OP_N, 4, 2, 3, 3, 3, 4, true, true, true}, /* lda < m */
        {CUBLAS_OP_T, CUBLAS_OP_N, 2, 2, 4, 3, 4, 4, true, true, true}, /* lda < k */
        {CUBLAS_OP_N, CUBLAS_OP_N, 2, 2, 4, 3, 3, 3, true, true, true}, /* ldb < k */
        {CUBLAS_OP_N, CUBLAS_OP_C, 2, 4, 2, 3, 3, 3, true, true, true}, /* ldb < n */
        {CUBLAS_OP_N, CUBLAS_OP_N, 4, 2, 2, 4, 3, 3, true, true, true}, /* ldc < m */
        {CUBLAS_OP_N, CUBLAS_OP_N, 0, 2, 2, 0, 3, 3, true, true, true}, /* lda < 1 */
        {CUBLAS_OP_N, CUBLAS_OP_N, 3, 3, 3, 3, 3, 3, false, true, true},
        {CUBLAS_OP_N, CUBLAS_OP_N, 3, 3, 3, 3, 3, 3, true, false, true},
        {CUBLAS_OP_N, CUBLAS_OP_N, 3, 3, 3, 3, 3, 3, true, true, false},
    };
    const float f = 1;
    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_int_equal(cublasSgemm_v2(handle, (cublasOperation_t)wrong[i].transa, (cublasOperation_t)wrong[i].transb,
                                        wrong[i].m, wrong[i].n, wrong[i].k, &f, wrong[i].with_a ? (float *)a : NULL,
                                        wrong[i].lda, wrong[i].with_b ? (float *)b : NULL, wrong[i].ldb, &f,
                                        wrong[i].with_c ? (float *)c : NULL, wrong[i].ldc),
                         CUBLAS_STATUS_INVALID_VALUE);
    assert_int_equal(mixed(CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F, NULL), CUBLAS_STATUS_INVALID_VALUE);
    assert_int_equal(cublasSgemmStridedBatched(handle, CUBLAS_OP_N, CUBLAS_OP_N, 1, 1, 1, &f, (float *)a, 1, 1, (float *)b,
                                               1, 2, &f, (float *)c, 1, 3, -1),
                     CUBLAS_STATUS_INVALID_VALUE);
    assert_int_equal(fake.launches, 0);
}

static void without_a_handle_nothing_is_initialized(void **state)
{
    const float f = 1;
    (void)state;
    assert_int_equal(
        cublasSgemm_v2(NULL, CUBLAS_OP_N, CUBLAS_OP_N, 1, 1, 1, &f, (float *)a, 1, (float *)b, 1, &f, (float *)c, 1),
        CUBLAS_STATUS_NOT_INITIALIZED);
    assert_int_equal(cublasGemmEx(NULL, CUBLAS_OP_N, CUBLAS_OP_N, 1, 1, 1, &f, a, CUDA_R_32F, 1, b, CUDA_R_32F, 1, &f, c,
                                  CUDA_R_32F, 1, (cublasComputeType_t)1, CUBLAS_GEMM_DEFAULT),
                     CUBLAS_STATUS_NOT_INITIALIZED);
}

static void a_launch_that_fails_is_an_execution_that_fails(void **state)
{
    (void)state;
    fake.failing = "cudaLaunchKernel";
    assert_int_equal(single(1, 0), CUBLAS_STATUS_EXECUTION_FAILED);
}

/* The workspace is not among the addresses, wherever it is. */
static void the_workspace_makes_no_difference(void **state)
{
    unsigned char before[sizeof(struct blas_gemm_call)];
    (void)state;
    assert_int_equal(single(1, 0), CUBLAS_STATUS_SUCCESS);
    memcpy(before, fake_last("simgpu_gemm", sizeof before), sizeof before);
    assert_int_equal(cublasSetWorkspace_v2(handle, (void *)0x100000, 4096), CUBLAS_STATUS_SUCCESS);
    assert_int_equal(single(1, 0), CUBLAS_STATUS_SUCCESS);
    assert_memory_equal(before, fake_last("simgpu_gemm", sizeof before), sizeof before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_product_is_one_launch_with_everything_in_it, setup, teardown),
        cmocka_unit_test_setup_teardown(with_beta_0_the_result_is_not_read, setup, teardown),
        cmocka_unit_test_setup_teardown(factors_on_the_device_are_read_there, setup, teardown),
        cmocka_unit_test_setup_teardown(each_type_is_itself, setup, teardown),
        cmocka_unit_test_setup_teardown(sizes_of_64_bits_stay_whole, setup, teardown),
        cmocka_unit_test_setup_teardown(the_compute_type_says_what_the_factors_are, setup, teardown),
        cmocka_unit_test_setup_teardown(other_combinations_are_not_supported, setup, teardown),
        cmocka_unit_test_setup_teardown(single_factors_go_with_matrices_of_other_types, setup, teardown),
        cmocka_unit_test_setup_teardown(a_batch_is_one_launch, setup, teardown),
        cmocka_unit_test_setup_teardown(nothing_to_compute_is_no_launch, setup, teardown),
        cmocka_unit_test_setup_teardown(without_anything_to_sum_up_the_result_is_scaled, setup, teardown),
        cmocka_unit_test_setup_teardown(wrong_arguments_are_invalid_values, setup, teardown),
        cmocka_unit_test_setup_teardown(without_a_handle_nothing_is_initialized, setup, teardown),
        cmocka_unit_test_setup_teardown(a_launch_that_fails_is_an_execution_that_fails, setup, teardown),
        cmocka_unit_test_setup_teardown(the_workspace_makes_no_difference, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
