/* Products of a matrix and a vector, and of two vectors. */
#include "fake-runtime.h"
#include "handles.h"
#include "kernels.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static char a[1], x[1], y[1], on_device[16]; /* only their addresses count */
static const float one = 1, zero = 0;
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

/* ---- a matrix and a vector ---- */

static cublasStatus_t multiply(cublasOperation_t transform, const float *alpha, const float *beta)
{
    return cublasSgemv_v2(handle, transform, 300, 5, alpha, (float *)a, 301, (float *)x, 2, beta, (float *)y, -3);
}

static const struct blas_gemv_numbers *gemv_numbers(void)
{
    const struct blas_gemv_call *call = fake_last("simgpu_gemv", sizeof *call);
    assert_ptr_equal(fake.last.stream, (void *)0x57);
    assert_reads(GEMV_A, a);
    assert_reads(GEMV_X, x);
    assert_overwrites(GEMV_Y, y);
    return &call->numbers;
}

static void a_matrix_times_a_vector_is_one_launch(void **state)
{
    const float alpha = 2, beta = 4;
    (void)state;
    assert_int_equal(multiply(CUBLAS_OP_T, &alpha, &beta), CUBLAS_STATUS_SUCCESS);
    const struct blas_gemv_numbers expected = {.m = 300,
                                               .n = 5,
                                               .batch = 1,
                                               .transform = CUBLAS_OP_T,
                                               .a_type = CUDA_R_32F,
                                               .x_type = CUDA_R_32F,
                                               .y_type = CUDA_R_32F,
                                               .a_ld = 301,
                                               .x_increment = 2,
                                               .y_increment = -3,
                                               .alpha = {2},
                                               .beta = {4},
                                               .operations = 2 * 300 * 5};
    assert_memory_equal(gemv_numbers(), &expected, sizeof expected);
    assert_part(GEMV_A, 300 * 4, 5, 301 * 4, 1);
    assert_part(GEMV_X, 4, 300, 2 * 4, 1);
    assert_part(GEMV_Y, 4, 5, 3 * 4, 1);
    assert_reads(GEMV_Y_BEFORE, y);
    assert_int_equal(fake.launches, 1);
    assert_int_equal(fake.last.grid.x, 1); /* 5 results */
    assert_int_equal(multiply(CUBLAS_OP_N, &alpha, &beta), CUBLAS_STATUS_SUCCESS);
    assert_int_equal(fake.last.grid.x, 3); /* 300 of them */
}

static void a_vector_is_read_only_where_beta_says_so(void **state)
{
    (void)state;
    assert_int_equal(multiply(CUBLAS_OP_N, &one, &zero), CUBLAS_STATUS_SUCCESS);
    assert_reads(GEMV_Y_BEFORE, NULL);
    assert_int_equal(cublasSetPointerMode_v2(handle, CUBLAS_POINTER_MODE_DEVICE), CUBLAS_STATUS_SUCCESS);
    assert_int_equal(multiply(CUBLAS_OP_N, (float *)&on_device[0], (float *)&on_device[4]), CUBLAS_STATUS_SUCCESS);
    assert_reads(GEMV_Y_BEFORE, y);
    assert_reads(GEMV_ALPHA, &on_device[0]);
    assert_reads(GEMV_BETA, &on_device[4]);
}

static void a_batch_has_strides(void **state)
{
    const cuDoubleComplex i = {0, 1};
    (void)state;
    assert_int_equal(cublasZgemvStridedBatched(handle, CUBLAS_OP_C, 2, 3, &i, (cuDoubleComplex *)a, 2, 10,
                                               (cuDoubleComplex *)x, 1, 20, &i, (cuDoubleComplex *)y, 1, 30, 4),
                     CUBLAS_STATUS_SUCCESS);
    assert_int_equal(gemv_numbers()->batch, 4);
    assert_int_equal(gemv_numbers()->a_stride, 10);
    assert_int_equal(gemv_numbers()->x_stride, 20);
    assert_int_equal(gemv_numbers()->y_stride, 30);
    assert_int_equal(gemv_numbers()->y_type, CUDA_C_64F);
    assert_true(gemv_numbers()->alpha[1] == 1 && gemv_numbers()->operations == 8 * 2 * 3 * 4);
}

static void a_matrix_that_makes_no_sense_is_an_invalid_value(void **state)
{
    float *const m = (float *)a, *const v = (float *)x, *const r = (float *)y;
    (void)state;
    assert_int_equal(cublasSgemv_v2(NULL, CUBLAS_OP_N, 2, 2, &one, m, 2, v, 1, &one, r, 1), CUBLAS_STATUS_NOT_INITIALIZED);
    assert_int_equal(cublasSgemv_v2(handle, CUBLAS_OP_N, -1, 2, &one, m, 2, v, 1, &one, r, 1), CUBLAS_STATUS_INVALID_VALUE);
    assert_int_equal(cublasSgemv_v2(handle, CUBLAS_OP_N, 2, -1, &one, m, 2, v, 1, &one, r, 1), CUBLAS_STATUS_INVALID_VALUE);
    assert_int_equal(cublasSgemv_v2(handle, (cublasOperation_t)3, 2, 2, &one, m, 2, v, 1, &one, r, 1),
                     CUBLAS_STATUS_INVALID_VALUE);
    assert_int_equal(cublasSgemv_v2(handle, CUBLAS_OP_T, 3, 2, &one, m, 2, v, 1, &one, r, 1), CUBLAS_STATUS_INVALID_VALUE);
    assert_int_equal(cublasSgemv_v2(handle, CUBLAS_OP_N, 2, 2, &one, m, 2, v, 0, &one, r, 1), CUBLAS_STATUS_INVALID_VALUE);
    assert_int_equal(cublasSgemv_v2(handle, CUBLAS_OP_N, 2, 2, &one, m, 2, v, 1, &one, r, 0), CUBLAS_STATUS_INVALID_VALUE);
    assert_int_equal(cublasSgemv_v2(handle, CUBLAS_OP_N, 2, 2, NULL, m, 2, v, 1, &one, r, 1), CUBLAS_STATUS_INVALID_VALUE);
    assert_int_equal(cublasSgemv_v2(handle, CUBLAS_OP_N, 2, 2, &one, m, 2, v, 1, NULL, r, 1), CUBLAS_STATUS_INVALID_VALUE);
    assert_int_equal(cublasSgemv_v2(handle, CUBLAS_OP_N, 2, 2, &one, NULL, 2, v, 1, &one, r, 1),
                     CUBLAS_STATUS_INVALID_VALUE);
    assert_int_equal(cublasSgemv_v2(handle, CUBLAS_OP_N, 0, 2, &one, NULL, 1, v, 1, &one, r, 1), CUBLAS_STATUS_SUCCESS);
    assert_int_equal(fake.launches, 0);
}

/* ---- two vectors ---- */

static cublasStatus_t dot(float *result)
{
    return cublasSdot_v2(handle, 1000, (float *)x, 1, (float *)y, 2, result);
}

static const struct blas_dot_numbers *dot_numbers(void)
{
    const struct blas_dot_call *call = fake_last("simgpu_dot", sizeof *call);
    assert_ptr_equal(fake.last.stream, (void *)0x57);
    assert_reads(DOT_X, x);
    assert_reads(DOT_Y, y);
    return &call->numbers;
}

static void a_result_on_the_device_is_written_there(void **state)
{
    (void)state;
    assert_int_equal(cublasSetPointerMode_v2(handle, CUBLAS_POINTER_MODE_DEVICE), CUBLAS_STATUS_SUCCESS);
    assert_int_equal(dot((float *)on_device), CUBLAS_STATUS_SUCCESS);
    const struct blas_dot_numbers expected = {.n = 1000,
                                              .x_increment = 1,
                                              .y_increment = 2,
                                              .x_type = CUDA_R_32F,
                                              .y_type = CUDA_R_32F,
                                              .result_type = CUDA_R_32F,
                                              .execution_type = CUDA_R_32F,
                                              .operations = 2000};
    assert_memory_equal(dot_numbers(), &expected, sizeof expected);
    assert_part(DOT_X, 4, 1000, 4, 1);
    assert_part(DOT_Y, 4, 1000, 2 * 4, 1);
    assert_part(DOT_RESULT, 4, 1, 4, 1);
    assert_overwrites(DOT_RESULT, on_device);
    assert_int_equal(fake.launches, 1);
    assert_int_equal(fake.copies + fake.waits, 0);
}

static void the_host_waits_for_its_result(void **state)
{
    const float made_by_the_device = 42;
    float result = 0;
    (void)state;
    memcpy(fake.device_result, &made_by_the_device, sizeof made_by_the_device);
    assert_int_equal(dot(&result), CUBLAS_STATUS_SUCCESS);
    assert_true(result == 42);
    assert_int_equal(dot(&result), CUBLAS_STATUS_SUCCESS);
    assert_int_equal(fake.copies, 2);
    assert_int_equal(fake.waits, 2);
    assert_int_equal(fake.allocations, 2);
    assert_int_equal(fake.frees, 2);
    assert_ptr_equal(fake.stream, (void *)0x57);
    assert_overwrites(DOT_RESULT, fake.allocated);
}

static void a_failure_on_the_way_to_the_host_is_told(void **state)
{
    static const struct {
        const char *call;
        cublasStatus_t status;
    } failures[] = {{"cudaMallocAsync", CUBLAS_STATUS_ALLOC_FAILED},
                    {"cudaLaunchKernel", CUBLAS_STATUS_EXECUTION_FAILED},
                    {"cudaMemcpyAsync", CUBLAS_STATUS_EXECUTION_FAILED},
                    {"cudaFreeAsync", CUBLAS_STATUS_EXECUTION_FAILED},
                    {"cudaStreamSynchronize", CUBLAS_STATUS_EXECUTION_FAILED}};
    float result;
    (void)state;
    for (size_t i = 0; i < sizeof failures / sizeof *failures; i++) {
        fake.failing = failures[i].call;
        assert_int_equal(dot(&result), failures[i].status);
    }
    assert_int_equal(fake.launches, 3);
    assert_int_equal(fake.frees, fake.allocations);
    fake.failing = NULL;
    assert_int_equal(dot(&result), CUBLAS_STATUS_SUCCESS);
}

static void vectors_without_elements_make_zero(void **state)
{
    double result = 1, there = 1;
    (void)state;
    assert_int_equal(cublasDdot_v2(handle, 0, NULL, 1, NULL, 1, &result), CUBLAS_STATUS_SUCCESS);
    assert_true(result == 0);
    assert_int_equal(cublasSetPointerMode_v2(handle, CUBLAS_POINTER_MODE_DEVICE), CUBLAS_STATUS_SUCCESS);
    assert_int_equal(cublasDdot_v2(handle, -4, NULL, 1, NULL, 1, &there), CUBLAS_STATUS_SUCCESS);
    assert_true(there == 0);
    assert_int_equal(fake.sets, 1);
    assert_int_equal(fake.launches, 0);
    fake.failing = "cudaMemsetAsync";
    assert_int_equal(cublasDdot_v2(handle, 0, NULL, 1, NULL, 1, &there), CUBLAS_STATUS_EXECUTION_FAILED);
}

static void conjugated_products_are_others(void **state)
{
    cuComplex result;
    (void)state;
    assert_int_equal(cublasCdotu_v2(handle, 3, (cuComplex *)x, 1, (cuComplex *)y, 1, &result), CUBLAS_STATUS_SUCCESS);
    assert_int_equal(dot_numbers()->conjugated, 0);
    assert_int_equal(dot_numbers()->x_type, CUDA_C_32F);
    assert_true(dot_numbers()->operations == 24);
    assert_int_equal(cublasCdotc_v2(handle, 3, (cuComplex *)x, 1, (cuComplex *)y, 1, &result), CUBLAS_STATUS_SUCCESS);
    assert_int_equal(dot_numbers()->conjugated, 1);
}

static cublasStatus_t dot_of(cudaDataType_t type, cudaDataType_t result_type, cudaDataType_t execution_type, void *result)
{
    return cublasDotEx(handle, 3, x, type, 1, y, type, 1, result, result_type, execution_type);
}

static void the_documented_types_are_supported(void **state)
{
    char result[16];
    (void)state;
    assert_int_equal(dot_of(CUDA_R_16F, CUDA_R_16F, CUDA_R_32F, result), CUBLAS_STATUS_SUCCESS);
    assert_int_equal(dot_of(CUDA_R_16BF, CUDA_R_16BF, CUDA_R_32F, result), CUBLAS_STATUS_SUCCESS);
    assert_int_equal(dot_numbers()->result_type, CUDA_R_16BF);
    assert_int_equal(dot_of(CUDA_C_64F, CUDA_C_64F, CUDA_C_64F, result), CUBLAS_STATUS_SUCCESS);
    assert_int_equal(dot_of(CUDA_R_16F, CUDA_R_16F, CUDA_R_16F, result), CUBLAS_STATUS_NOT_SUPPORTED);
    assert_int_equal(dot_of(CUDA_R_16F, CUDA_R_32F, CUDA_R_32F, result), CUBLAS_STATUS_NOT_SUPPORTED);
    assert_int_equal(dot_of(CUDA_R_8I, CUDA_R_8I, CUDA_R_32I, result), CUBLAS_STATUS_NOT_SUPPORTED);
}

static void a_result_has_to_go_somewhere(void **state)
{
    float result;
    (void)state;
    assert_int_equal(dot(NULL), CUBLAS_STATUS_INVALID_VALUE);
    assert_int_equal(cublasSdot_v2(handle, 3, NULL, 1, (float *)y, 1, &result), CUBLAS_STATUS_INVALID_VALUE);
    assert_int_equal(cublasSdot_v2(NULL, 3, (float *)x, 1, (float *)y, 1, &result), CUBLAS_STATUS_NOT_INITIALIZED);
    assert_int_equal(fake.launches, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_matrix_times_a_vector_is_one_launch, setup, teardown),
        cmocka_unit_test_setup_teardown(a_vector_is_read_only_where_beta_says_so, setup, teardown),
        cmocka_unit_test_setup_teardown(a_batch_has_strides, setup, teardown),
        cmocka_unit_test_setup_teardown(a_matrix_that_makes_no_sense_is_an_invalid_value, setup, teardown),
        cmocka_unit_test_setup_teardown(a_result_on_the_device_is_written_there, setup, teardown),
        cmocka_unit_test_setup_teardown(the_host_waits_for_its_result, setup, teardown),
        cmocka_unit_test_setup_teardown(a_failure_on_the_way_to_the_host_is_told, setup, teardown),
        cmocka_unit_test_setup_teardown(vectors_without_elements_make_zero, setup, teardown),
        cmocka_unit_test_setup_teardown(conjugated_products_are_others, setup, teardown),
        cmocka_unit_test_setup_teardown(the_documented_types_are_supported, setup, teardown),
        cmocka_unit_test_setup_teardown(a_result_has_to_go_somewhere, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
