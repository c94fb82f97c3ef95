/* cublasLtMatmul(): what is handed to the kernel, in which roles, and what is refused. */
#include "fake-runtime.h"
#include "kernels.h"
#include "lt-fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static char a[1], b[1], c[1], d[1], bias[1], aux[1], scale[8]; /* only their addresses count */
static const float one = 1, zero = 0;

static cublasStatus_t multiply_by(const void *alpha, const void *beta)
{
    return cublasLtMatmul(lt.handle, lt.operation, alpha, a, lt.a, b, lt.b, beta, c, lt.c, d, lt.d, NULL, (void *)0x100000,
                          4096, (cudaStream_t)0x57);
}

static cublasStatus_t multiply(void)
{
    return multiply_by(&one, &zero);
}

static const struct blas_matmul_numbers *numbers(void)
{
    const struct blas_matmul_call *call = fake_last("simgpu_matmul", sizeof *call);
    assert_ptr_equal(fake.last.stream, (void *)0x57);
    assert_reads(MATMUL_A, a);
    assert_reads(MATMUL_B, b);
    assert_overwrites(MATMUL_D, d);
    return &call->numbers;
}

static void a_product_is_one_launch_with_everything_in_it(void **state)
{
    const float alpha = 2, beta = 0.5f;
    (void)state;
    assert_int_equal(multiply_by(&alpha, &beta), CUBLAS_STATUS_SUCCESS);
    assert_int_equal(fake.launches, 1);
    const struct blas_matmul_numbers expected = {.m = 5,
                                                 .n = 7,
                                                 .k = 3,
                                                 .batch = 1,
                                                 .fill = CUBLAS_FILL_MODE_FULL,
                                                 .a_type = CUDA_R_32F,
                                                 .b_type = CUDA_R_32F,
                                                 .c_type = CUDA_R_32F,
                                                 .d_type = CUDA_R_32F,
                                                 .compute_type = CUBLAS_COMPUTE_32F,
                                                 .scale_type = CUDA_R_32F,
                                                 .a_ld = 6,
                                                 .b_ld = 4,
                                                 .c_ld = 8,
                                                 .d_ld = 9,
                                                 .epilogue = CUBLASLT_EPILOGUE_DEFAULT,
                                                 .bias_type = -1,
                                                 .aux_type = -1,
                                                 .alpha = {2},
                                                 .beta = {0.5},
                                                 .operations = 2 * 5 * 7 * 3};
    assert_memory_equal(numbers(), &expected, sizeof expected);
    assert_part(MATMUL_A, 5 * 4, 3, 6 * 4, 1);
    assert_part(MATMUL_C, 5 * 4, 7, 8 * 4, 1);
    assert_part(MATMUL_D, 5 * 4, 7, 9 * 4, 1);
    assert_reads(MATMUL_C, c);
    for (int i = MATMUL_ALPHA; i <= MATMUL_AUX_SCALE; i++)
        assert_reads(i, NULL);
    for (int i = MATMUL_BIAS_GRADIENT; i < MATMUL_POINTERS; i++)
        assert_writes(i, NULL);
}

static void with_beta_0_nothing_is_added(void **state)
{
    (void)state;
    assert_int_equal(multiply(), CUBLAS_STATUS_SUCCESS);
    assert_reads(MATMUL_C, NULL);
    assert_int_equal(cublasLtMatmul(lt.handle, lt.operation, &one, a, lt.a, b, lt.b, &zero, NULL, lt.c, d, lt.d, NULL, NULL,
                                    0, (cudaStream_t)0x57),
                     CUBLAS_STATUS_SUCCESS);
    assert_int_equal(cublasLtMatmul(lt.handle, lt.operation, &one, a, lt.a, b, lt.b, &one, NULL, lt.c, d, lt.d, NULL, NULL,
                                    0, (cudaStream_t)0x57),
                     CUBLAS_STATUS_INVALID_VALUE);
}

/* Who it is that reads or writes bias and auxiliary matrix. */
static void an_epilogue_reads_and_writes(uint32_t epilogue, void *bias_in, void *bias_out, void *aux_in, void *aux_out)
{
    LT_OPERATION(EPILOGUE, uint32_t, epilogue);
    assert_int_equal(multiply(), CUBLAS_STATUS_SUCCESS);
    assert_int_equal(numbers()->epilogue, epilogue);
    assert_reads(MATMUL_BIAS, bias_in);
    assert_writes(MATMUL_BIAS_GRADIENT, bias_out);
    assert_reads(MATMUL_AUX, aux_in);
    assert_writes(MATMUL_AUX_OUT, aux_out);
}

static void an_epilogue_takes_and_makes_what_it_is_documented_to(void **state)
{
    (void)state;
    LT_OPERATION(BIAS_POINTER, void *, bias);
    LT_OPERATION(EPILOGUE_AUX_POINTER, void *, aux);
    an_epilogue_reads_and_writes(CUBLASLT_EPILOGUE_DEFAULT, NULL, NULL, NULL, NULL);
    an_epilogue_reads_and_writes(CUBLASLT_EPILOGUE_RELU, NULL, NULL, NULL, NULL);
    an_epilogue_reads_and_writes(CUBLASLT_EPILOGUE_RELU_AUX, NULL, NULL, NULL, aux);
    an_epilogue_reads_and_writes(CUBLASLT_EPILOGUE_BIAS, bias, NULL, NULL, NULL);
    an_epilogue_reads_and_writes(CUBLASLT_EPILOGUE_RELU_BIAS, bias, NULL, NULL, NULL);
    an_epilogue_reads_and_writes(CUBLASLT_EPILOGUE_RELU_AUX_BIAS, bias, NULL, NULL, aux);
    an_epilogue_reads_and_writes(CUBLASLT_EPILOGUE_DRELU, NULL, NULL, aux, NULL);
    an_epilogue_reads_and_writes(CUBLASLT_EPILOGUE_DRELU_BGRAD, NULL, bias, aux, NULL);
    an_epilogue_reads_and_writes(CUBLASLT_EPILOGUE_GELU, NULL, NULL, NULL, NULL);
    an_epilogue_reads_and_writes(CUBLASLT_EPILOGUE_GELU_AUX, NULL, NULL, NULL, aux);
    an_epilogue_reads_and_writes(CUBLASLT_EPILOGUE_GELU_BIAS, bias, NULL, NULL, NULL);
    an_epilogue_reads_and_writes(CUBLASLT_EPILOGUE_GELU_AUX_BIAS, bias, NULL, NULL, aux);
    an_epilogue_reads_and_writes(CUBLASLT_EPILOGUE_DGELU, NULL, NULL, aux, NULL);
    an_epilogue_reads_and_writes(CUBLASLT_EPILOGUE_DGELU_BGRAD, NULL, bias, aux, NULL);
    an_epilogue_reads_and_writes(CUBLASLT_EPILOGUE_BGRADA, NULL, bias, NULL, NULL);
    an_epilogue_reads_and_writes(CUBLASLT_EPILOGUE_BGRADB, NULL, bias, NULL, NULL);
}

static void an_epilogue_without_its_addresses_is_an_invalid_value(void **state)
{
    (void)state;
    LT_OPERATION(EPILOGUE, uint32_t, CUBLASLT_EPILOGUE_BIAS);
    assert_int_equal(multiply(), CUBLAS_STATUS_INVALID_VALUE);
    LT_OPERATION(EPILOGUE, uint32_t, CUBLASLT_EPILOGUE_BGRADB);
    assert_int_equal(multiply(), CUBLAS_STATUS_INVALID_VALUE);
    LT_OPERATION(EPILOGUE, uint32_t, CUBLASLT_EPILOGUE_DGELU);
    assert_int_equal(multiply(), CUBLAS_STATUS_INVALID_VALUE);
    LT_OPERATION(EPILOGUE, uint32_t, 3);
    assert_int_equal(multiply(), CUBLAS_STATUS_INVALID_VALUE);
    assert_int_equal(fake.launches, 0);
}

static void scales_are_read_and_maxima_are_written(void **state)
{
    (void)state;
    LT_OPERATION(A_SCALE_POINTER, void *, &scale[0]);
    LT_OPERATION(B_SCALE_POINTER, void *, &scale[1]);
    LT_OPERATION(C_SCALE_POINTER, void *, &scale[2]);
    LT_OPERATION(D_SCALE_POINTER, void *, &scale[3]);
    LT_OPERATION(EPILOGUE_AUX_SCALE_POINTER, void *, &scale[4]);
    LT_OPERATION(D_OUT_SCALE_POINTER, void *, &scale[5]);
    LT_OPERATION(AMAX_D_POINTER, void *, &scale[6]);
    LT_OPERATION(EPILOGUE_AUX_AMAX_POINTER, void *, &scale[7]);
    LT_OPERATION(B_SCALE_MODE, int32_t, CUBLASLT_MATMUL_MATRIX_SCALE_VEC32_UE8M0);
    LT_OPERATION(FAST_ACCUM, int8_t, 1);
    lt_set_types(CUBLAS_COMPUTE_32F, CUDA_R_32F, CUDA_R_8F_E4M3, CUDA_R_8F_E5M2, CUDA_R_16BF, CUDA_R_8F_E4M3);
    assert_int_equal(multiply(), CUBLAS_STATUS_SUCCESS);
    assert_reads(MATMUL_A_SCALE, &scale[0]);
    assert_reads(MATMUL_B_SCALE, &scale[1]);
    assert_reads(MATMUL_C_SCALE, &scale[2]);
    assert_reads(MATMUL_D_SCALE, &scale[3]);
    assert_reads(MATMUL_AUX_SCALE, &scale[4]);
    assert_writes(MATMUL_D_OUT_SCALE, &scale[5]);
    assert_writes(MATMUL_D_AMAX, &scale[6]);
    assert_writes(MATMUL_AUX_AMAX, &scale[7]);
    assert_int_equal(numbers()->b_scale_mode, CUBLASLT_MATMUL_MATRIX_SCALE_VEC32_UE8M0);
    assert_int_equal(numbers()->a_scale_mode, 0);
    assert_int_equal(numbers()->fast_accumulation, 1);
    assert_int_equal(numbers()->b_type, CUDA_R_8F_E5M2);
}

static void factors_are_where_the_pointer_mode_says(void **state)
{
    const float beta = 4;
    (void)state;
    LT_OPERATION(POINTER_MODE, int32_t, CUBLASLT_POINTER_MODE_DEVICE);
    assert_int_equal(multiply_by(&scale[0], &scale[1]), CUBLAS_STATUS_SUCCESS);
    assert_reads(MATMUL_ALPHA, &scale[0]);
    assert_reads(MATMUL_BETA, &scale[1]);
    assert_reads(MATMUL_C, c);
    LT_OPERATION(POINTER_MODE, int32_t, CUBLASLT_POINTER_MODE_DEVICE_VECTOR);
    assert_int_equal(multiply_by(&scale[0], &scale[1]), CUBLAS_STATUS_SUCCESS);
    assert_reads(MATMUL_BETA, &scale[1]);
    LT_OPERATION(POINTER_MODE, int32_t, CUBLASLT_POINTER_MODE_ALPHA_DEVICE_VECTOR_BETA_ZERO);
    assert_int_equal(multiply_by(&scale[0], NULL), CUBLAS_STATUS_SUCCESS);
    assert_reads(MATMUL_ALPHA, &scale[0]);
    assert_reads(MATMUL_BETA, NULL);
    assert_reads(MATMUL_C, NULL);
    LT_OPERATION(POINTER_MODE, int32_t, CUBLASLT_POINTER_MODE_ALPHA_DEVICE_VECTOR_BETA_HOST);
    assert_int_equal(multiply_by(&scale[0], &beta), CUBLAS_STATUS_SUCCESS);
    assert_reads(MATMUL_BETA, NULL);
    assert_reads(MATMUL_C, c);
    assert_true(numbers()->beta[0] == 4);
    LT_OPERATION(POINTER_MODE, int32_t, 5);
    assert_int_equal(multiply(), CUBLAS_STATUS_INVALID_VALUE);
}

static void matrices_may_be_transposed_and_lie_in_rows(void **state)
{
    (void)state;
    LT_OPERATION(TRANSA, int32_t, CUBLAS_OP_T);
    assert_int_equal(multiply(), CUBLAS_STATUS_INVALID_VALUE); /* 3 x 5, transposed, would do */
    LT_LAYOUT(lt.a, ROWS, uint64_t, 3);
    LT_LAYOUT(lt.a, COLS, uint64_t, 5);
    assert_int_equal(multiply(), CUBLAS_STATUS_SUCCESS);
    assert_int_equal(numbers()->a_transform, CUBLAS_OP_T);
    assert_int_equal(numbers()->k, 3);
    LT_LAYOUT(lt.b, ORDER, int32_t, CUBLASLT_ORDER_ROW);
    assert_int_equal(multiply(), CUBLAS_STATUS_INVALID_VALUE); /* 7 columns do not fit in 4 */
    LT_LAYOUT(lt.b, LD, int64_t, 7);
    assert_int_equal(multiply(), CUBLAS_STATUS_SUCCESS);
    assert_int_equal(numbers()->b_order, CUBLASLT_ORDER_ROW);
}

static void a_batch_is_one_launch(void **state)
{
    (void)state;
    LT_LAYOUT(lt.a, STRIDED_BATCH_OFFSET, int64_t, 100);
    LT_LAYOUT(lt.d, STRIDED_BATCH_OFFSET, int64_t, 200);
    const cublasLtMatrixLayout_t layouts[] = {lt.a, lt.b, lt.c, lt.d};
    for (int i = 0; i < 4; i++) { /* 3 of one, 1 of the others */
        LT_LAYOUT(layouts[i], BATCH_COUNT, int32_t, 3);
        assert_int_equal(multiply(), CUBLAS_STATUS_INVALID_VALUE);
        LT_LAYOUT(layouts[i], BATCH_COUNT, int32_t, 1);
    }
    LT_LAYOUTS(BATCH_COUNT, int32_t, 3);
    assert_int_equal(multiply(), CUBLAS_STATUS_SUCCESS);
    assert_int_equal(fake.launches, 1);
    assert_int_equal(numbers()->batch, 3);
    assert_int_equal(numbers()->a_stride, 100);
    assert_int_equal(numbers()->d_stride, 200);
    assert_true(numbers()->operations == 2 * 5 * 7 * 3 * 3);
    assert_int_equal(fake.last.grid.x, 3);
}

static void shapes_have_to_fit(void **state)
{
    (void)state;
    LT_LAYOUT(lt.b, ROWS, uint64_t, 4);
    assert_int_equal(multiply(), CUBLAS_STATUS_INVALID_VALUE);
    LT_LAYOUT(lt.b, ROWS, uint64_t, 3);
    LT_LAYOUT(lt.c, COLS, uint64_t, 8);
    assert_int_equal(multiply(), CUBLAS_STATUS_INVALID_VALUE);
    LT_LAYOUT(lt.c, COLS, uint64_t, 7);
    LT_LAYOUT(lt.d, LD, int64_t, 4);
    assert_int_equal(multiply(), CUBLAS_STATUS_INVALID_VALUE);
    LT_LAYOUT(lt.d, LD, int64_t, 5);
    assert_int_equal(multiply(), CUBLAS_STATUS_SUCCESS);
}

static void what_the_stand_in_cannot_do_is_not_supported(void **state)
{
    (void)state;
    LT_LAYOUT(lt.a, ORDER, int32_t, CUBLASLT_ORDER_COL32);
    assert_int_equal(multiply(), CUBLAS_STATUS_NOT_SUPPORTED);
    LT_LAYOUT(lt.a, ORDER, int32_t, CUBLASLT_ORDER_COL);
    LT_LAYOUT(lt.d, BATCH_MODE, uint32_t, CUBLASLT_BATCH_MODE_POINTER_ARRAY);
    assert_int_equal(multiply(), CUBLAS_STATUS_NOT_SUPPORTED);
    LT_LAYOUT(lt.d, BATCH_MODE, uint32_t, CUBLASLT_BATCH_MODE_STRIDED);
    LT_LAYOUT(lt.b, PLANE_OFFSET, int64_t, 64);
    assert_int_equal(multiply(), CUBLAS_STATUS_NOT_SUPPORTED);
    LT_LAYOUT(lt.b, PLANE_OFFSET, int64_t, 0);
    LT_OPERATION(TRANSC, int32_t, CUBLAS_OP_T);
    assert_int_equal(multiply(), CUBLAS_STATUS_NOT_SUPPORTED);
    LT_OPERATION(TRANSC, int32_t, CUBLAS_OP_N);
    LT_OPERATION(EMULATION_DESCRIPTOR, void *, scale);
    assert_int_equal(multiply(), CUBLAS_STATUS_NOT_SUPPORTED);
    LT_OPERATION(EMULATION_DESCRIPTOR, void *, NULL);
    assert_int_equal(fake.launches, 0);
    assert_int_equal(multiply(), CUBLAS_STATUS_SUCCESS);
}

static void types_have_to_go_together(void **state)
{
    const cublasComputeType_t single = CUBLAS_COMPUTE_32F;
    const cudaDataType_t f8 = CUDA_R_8F_E4M3, f8_wide = CUDA_R_8F_E5M2, f4 = CUDA_R_4F_E2M1, f32 = CUDA_R_32F;
    (void)state;
    lt_set_types(single, f32, CUDA_R_16BF, CUDA_R_16BF, CUDA_R_16BF, CUDA_R_16BF);
    assert_int_equal(multiply(), CUBLAS_STATUS_SUCCESS);
    lt_set_types(single, f32, CUDA_R_16BF, CUDA_R_16BF, CUDA_R_16BF, f32);
    assert_int_equal(multiply(), CUBLAS_STATUS_NOT_SUPPORTED); /* C and D are of one type */
    lt_set_types(single, f32, f8_wide, f8, CUDA_R_16BF, CUDA_R_16BF);
    assert_int_equal(multiply(), CUBLAS_STATUS_SUCCESS);
    lt_set_types(single, f32, f8_wide, f8_wide, CUDA_R_16BF, CUDA_R_16BF);
    assert_int_equal(multiply(), CUBLAS_STATUS_NOT_SUPPORTED);
    lt_set_types(single, f32, f8, f8, f8_wide, f8);
    assert_int_equal(multiply(), CUBLAS_STATUS_NOT_SUPPORTED);
    lt_set_types(single, f32, f4, f4, f32, f32);
    assert_int_equal(multiply(), CUBLAS_STATUS_SUCCESS);
    lt_set_types(single, f32, f4, f8, f32, f32);
    assert_int_equal(multiply(), CUBLAS_STATUS_NOT_SUPPORTED);
    lt_set_types(CUBLAS_COMPUTE_32I, f32, CUDA_R_8I, CUDA_R_8I, CUDA_R_8I, CUDA_R_8I);
    assert_int_equal(multiply(), CUBLAS_STATUS_SUCCESS);
    lt_set_types(single, CUDA_R_64F, f32, f32, f32, f32);
    assert_int_equal(multiply(), CUBLAS_STATUS_NOT_SUPPORTED);
}

static void what_is_missing_is_an_invalid_value(void **state)
{
    uint64_t no_algorithm[8] = {0};
    (void)state;
#define MATMUL(operation_, alpha_, a_, a_layout_, b_, beta_, d_, d_layout_, algo_) \
    cublasLtMatmul(lt.handle, operation_, alpha_, a_, a_layout_, b_, lt.b, beta_, c, lt.c, d_, d_layout_, algo_, NULL, 0, \
                   NULL)
    assert_int_equal(MATMUL(NULL, &one, a, lt.a, b, &one, d, lt.d, NULL), CUBLAS_STATUS_INVALID_VALUE);
    assert_int_equal(MATMUL(lt.operation, NULL, a, lt.a, b, &one, d, lt.d, NULL), CUBLAS_STATUS_INVALID_VALUE);
    assert_int_equal(MATMUL(lt.operation, &one, NULL, lt.a, b, &one, d, lt.d, NULL), CUBLAS_STATUS_INVALID_VALUE);
    assert_int_equal(MATMUL(lt.operation, &one, a, NULL, b, &one, d, lt.d, NULL), CUBLAS_STATUS_INVALID_VALUE);
    assert_int_equal(MATMUL(lt.operation, &one, a, lt.a, NULL, &one, d, lt.d, NULL), CUBLAS_STATUS_INVALID_VALUE);
    assert_int_equal(MATMUL(lt.operation, &one, a, lt.a, b, NULL, d, lt.d, NULL), CUBLAS_STATUS_INVALID_VALUE);
    assert_int_equal(MATMUL(lt.operation, &one, a, lt.a, b, &one, NULL, lt.d, NULL), CUBLAS_STATUS_INVALID_VALUE);
    assert_int_equal(MATMUL(lt.operation, &one, a, lt.a, b, &one, d, NULL, NULL), CUBLAS_STATUS_INVALID_VALUE);
    assert_int_equal(MATMUL(lt.operation, &one, a, lt.a, b, &one, d, lt.d, (cublasLtMatmulAlgo_t *)no_algorithm),
                     CUBLAS_STATUS_INVALID_VALUE);
#undef MATMUL
    assert_int_equal(cublasLtMatmul(NULL, lt.operation, &one, a, lt.a, b, lt.b, &one, c, lt.c, d, lt.d, NULL, NULL, 0, NULL),
                     CUBLAS_STATUS_NOT_INITIALIZED);
    assert_int_equal(fake.launches, 0);
}

static void nothing_to_compute_is_no_launch(void **state)
{
    (void)state;
    LT_LAYOUT(lt.b, COLS, uint64_t, 0);
    LT_LAYOUT(lt.c, COLS, uint64_t, 0);
    LT_LAYOUT(lt.d, COLS, uint64_t, 0);
    assert_int_equal(multiply(), CUBLAS_STATUS_SUCCESS);
    assert_int_equal(fake.launches, 0);
}

static void a_launch_that_fails_is_an_execution_that_fails(void **state)
{
    (void)state;
    fake.failing = "cudaLaunchKernel";
    assert_int_equal(multiply(), CUBLAS_STATUS_EXECUTION_FAILED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_product_is_one_launch_with_everything_in_it, lt_setup, lt_teardown),
        cmocka_unit_test_setup_teardown(with_beta_0_nothing_is_added, lt_setup, lt_teardown),
        cmocka_unit_test_setup_teardown(an_epilogue_takes_and_makes_what_it_is_documented_to, lt_setup, lt_teardown),
        cmocka_unit_test_setup_teardown(an_epilogue_without_its_addresses_is_an_invalid_value, lt_setup, lt_teardown),
        cmocka_unit_test_setup_teardown(scales_are_read_and_maxima_are_written, lt_setup, lt_teardown),
        cmocka_unit_test_setup_teardown(factors_are_where_the_pointer_mode_says, lt_setup, lt_teardown),
        cmocka_unit_test_setup_teardown(matrices_may_be_transposed_and_lie_in_rows, lt_setup, lt_teardown),
        cmocka_unit_test_setup_teardown(a_batch_is_one_launch, lt_setup, lt_teardown),
        cmocka_unit_test_setup_teardown(shapes_have_to_fit, lt_setup, lt_teardown),
        cmocka_unit_test_setup_teardown(what_the_stand_in_cannot_do_is_not_supported, lt_setup, lt_teardown),
        cmocka_unit_test_setup_teardown(types_have_to_go_together, lt_setup, lt_teardown),
        cmocka_unit_test_setup_teardown(what_is_missing_is_an_invalid_value, lt_setup, lt_teardown),
        cmocka_unit_test_setup_teardown(nothing_to_compute_is_no_launch, lt_setup, lt_teardown),
        cmocka_unit_test_setup_teardown(a_launch_that_fails_is_an_execution_that_fails, lt_setup, lt_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
