/* Triangular systems: what is handed to the kernel, and what is refused. */
#include "fake-runtime.h"
#include "handles.h"
#include "kernels.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static char a[1], b[1], on_device[1]; /* only their addresses count */
static cublasHandle_t handle;

static int setup(void **state)
{
    fake_reset(state);
    return cublasCreate_v2(&handle) != CUBLAS_STATUS_SUCCESS;
}

static int teardown(void **state)
{
    (void)state;
    return cublasDestroy_v2(handle) != CUBLAS_STATUS_SUCCESS;
}

static cublasStatus_t solve(int side, int fill, int transform, int diagonal, int m, int n, int a_ld, int b_ld)
{
    const double alpha = 3;
    return cublasDtrsm_v2(handle, (cublasSideMode_t)side, (cublasFillMode_t)fill, (cublasOperation_t)transform,
                          (cublasDiagType_t)diagonal, m, n, &alpha, (double *)a, a_ld, (double *)b, b_ld);
}

static void a_system_is_solved_in_place(void **state)
{
    (void)state;
    assert_int_equal(solve(CUBLAS_SIDE_RIGHT, CUBLAS_FILL_MODE_UPPER, CUBLAS_OP_T, CUBLAS_DIAG_UNIT, 4, 6, 7, 5),
                     CUBLAS_STATUS_SUCCESS);
    const struct blas_trsm_call *call = fake_last("simgpu_trsm", sizeof *call);
    const struct blas_trsm_numbers expected = {.m = 4,
                                               .n = 6,
                                               .side = CUBLAS_SIDE_RIGHT,
                                               .fill = CUBLAS_FILL_MODE_UPPER,
                                               .transform = CUBLAS_OP_T,
                                               .diagonal = CUBLAS_DIAG_UNIT,
                                               .type = CUDA_R_64F,
                                               .a_ld = 7,
                                               .b_ld = 5,
                                               .alpha = {3},
                                               .operations = 4 * 6 * 6};
    assert_memory_equal(&call->numbers, &expected, sizeof expected);
    assert_part(TRSM_A, 6 * 8, 6, 7 * 8, 1);
    assert_part(TRSM_B, 4 * 8, 6, 5 * 8, 1);
    assert_reads(TRSM_A, a);
    assert_reads(TRSM_B_BEFORE, b);
    assert_overwrites(TRSM_B, b);
    assert_reads(TRSM_ALPHA, NULL);
    assert_int_equal(fake.launches, 1);
}

static void with_alpha_0_nothing_is_read(void **state)
{
    const cuComplex zero = {0, 0};
    (void)state;
    assert_int_equal(cublasCtrsm_v2(handle, CUBLAS_SIDE_LEFT, CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_N, CUBLAS_DIAG_NON_UNIT, 2,
                                    2, &zero, (cuComplex *)a, 2, (cuComplex *)b, 2),
                     CUBLAS_STATUS_SUCCESS);
    assert_reads(TRSM_A, NULL);
    assert_reads(TRSM_B_BEFORE, NULL);
    assert_overwrites(TRSM_B, b);
}

static void a_factor_on_the_device_is_read_there(void **state)
{
    (void)state;
    assert_int_equal(cublasSetPointerMode_v2(handle, CUBLAS_POINTER_MODE_DEVICE), CUBLAS_STATUS_SUCCESS);
    assert_int_equal(cublasStrsm_v2(handle, CUBLAS_SIDE_LEFT, CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_N, CUBLAS_DIAG_NON_UNIT, 2,
                                    2, (float *)on_device, (float *)a, 2, (float *)b, 2),
                     CUBLAS_STATUS_SUCCESS);
    assert_reads(TRSM_ALPHA, on_device);
    assert_reads(TRSM_B_BEFORE, b);
}

static void wrong_arguments_are_invalid_values(void **state)
{
    const cublasSideMode_t left = CUBLAS_SIDE_LEFT, right = CUBLAS_SIDE_RIGHT;
    const cublasFillMode_t lower = CUBLAS_FILL_MODE_LOWER;
    const cublasOperation_t plain = CUBLAS_OP_N;
    const float one = 1;
    (void)state;
    assert_int_equal(solve(2, lower, plain, 0, 2, 2, 2, 2), CUBLAS_STATUS_INVALID_VALUE);
    assert_int_equal(solve(left, CUBLAS_FILL_MODE_FULL, plain, 0, 2, 2, 2, 2), CUBLAS_STATUS_INVALID_VALUE);
    assert_int_equal(solve(left, lower, 3, 0, 2, 2, 2, 2), CUBLAS_STATUS_INVALID_VALUE);
    assert_int_equal(solve(left, lower, plain, 2, 2, 2, 2, 2), CUBLAS_STATUS_INVALID_VALUE);
    assert_int_equal(solve(left, lower, plain, 0, -1, 2, 2, 2), CUBLAS_STATUS_INVALID_VALUE);
    assert_int_equal(solve(left, lower, plain, 0, 2, -1, 2, 2), CUBLAS_STATUS_INVALID_VALUE);
    assert_int_equal(solve(left, lower, plain, 0, 3, 2, 2, 3), CUBLAS_STATUS_INVALID_VALUE);  /* lda < m */
    assert_int_equal(solve(right, lower, plain, 0, 2, 3, 2, 3), CUBLAS_STATUS_INVALID_VALUE); /* lda < n */
    assert_int_equal(solve(left, lower, plain, 0, 3, 2, 3, 2), CUBLAS_STATUS_INVALID_VALUE);  /* ldb < m */
    assert_int_equal(
        cublasStrsm_v2(handle, left, lower, plain, CUBLAS_DIAG_NON_UNIT, 2, 2, NULL, (float *)a, 2, (float *)b, 2),
        CUBLAS_STATUS_INVALID_VALUE);
    assert_int_equal(cublasStrsm_v2(handle, left, lower, plain, CUBLAS_DIAG_NON_UNIT, 2, 2, &one, NULL, 2, (float *)b, 2),
                     CUBLAS_STATUS_INVALID_VALUE);
    assert_int_equal(
        cublasStrsm_v2(NULL, left, lower, plain, CUBLAS_DIAG_NON_UNIT, 2, 2, &one, (float *)a, 2, (float *)b, 2),
        CUBLAS_STATUS_NOT_INITIALIZED);
    assert_int_equal(solve(left, lower, plain, 0, 0, 2, 1, 1), CUBLAS_STATUS_SUCCESS);
    assert_int_equal(fake.launches, 0);
}

static void a_launch_that_fails_is_an_execution_that_fails(void **state)
{
    (void)state;
    fake.failing = "cudaLaunchKernel";
    assert_int_equal(solve(0, 0, 0, 0, 2, 2, 2, 2), CUBLAS_STATUS_EXECUTION_FAILED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_system_is_solved_in_place, setup, teardown),
        cmocka_unit_test_setup_teardown(with_alpha_0_nothing_is_read, setup, teardown),
        cmocka_unit_test_setup_teardown(a_factor_on_the_device_is_read_there, setup, teardown),
        cmocka_unit_test_setup_teardown(wrong_arguments_are_invalid_values, setup, teardown),
        cmocka_unit_test_setup_teardown(a_launch_that_fails_is_an_execution_that_fails, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
