/* Types of elements, and the numbers that a program hands over in them. */
#include "types.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

static double of_half(uint16_t bits)
{
    struct blas_scalar scalar;
    assert_true(blas_read_scalar(CUDA_R_16F, &bits, false, &scalar));
    return scalar.number[0];
}

static void halves_are_numbers(void **state)
{
    (void)state;
    assert_true(of_half(0x3c00) == 1);
    assert_true(of_half(0xc000) == -2);
    assert_true(of_half(0x7bff) == 65504);              /* the largest */
    assert_true(of_half(0x0001) == 1.0 / (1 << 24));    /* the smallest */
    assert_true(of_half(0x03ff) == 1023.0 / (1 << 24)); /* the largest that is not normal */
    assert_true(of_half(0x8000) == 0 && signbit(of_half(0x8000)));
    assert_true(isinf(of_half(0xfc00)) && of_half(0xfc00) < 0);
    assert_true(isnan(of_half(0x7e00)));
}

static void numbers_are_read_in_their_types(void **state)
{
    const uint16_t bfloat16 = 0xc040; /* -3 */
    const float complex_float[] = {1.5f, -2.5f};
    const double complex_double[] = {0, 4};
    const int32_t integer = -7;
    struct blas_scalar scalar;
    (void)state;
    assert_true(blas_read_scalar(CUDA_R_16BF, &bfloat16, false, &scalar));
    assert_true(scalar.number[0] == -3 && scalar.number[1] == 0 && !scalar.zero);
    assert_true(blas_read_scalar(CUDA_C_32F, complex_float, false, &scalar));
    assert_true(scalar.number[0] == 1.5 && scalar.number[1] == -2.5);
    assert_true(blas_read_scalar(CUDA_C_64F, complex_double, false, &scalar));
    assert_true(scalar.number[0] == 0 && scalar.number[1] == 4 && !scalar.zero);
    assert_true(blas_read_scalar(CUDA_R_32I, &integer, false, &scalar));
    assert_true(scalar.number[0] == -7);
    assert_null(scalar.at);
}

static void on_the_device_only_the_address_is_known(void **state)
{
    struct blas_scalar scalar;
    (void)state;
    assert_true(blas_read_scalar(CUDA_R_32F, (void *)0x10, true, &scalar)); /* reading it would end here */
    assert_ptr_equal(scalar.at, (void *)0x10);
    assert_false(scalar.zero);
    assert_false(blas_read_scalar(CUDA_R_8I, (void *)0x10, true, &scalar)); /* no type for a factor */
    assert_false(blas_read_scalar((cudaDataType_t)99, (void *)0x10, true, &scalar));
}

static void elements_have_a_size(void **state)
{
    (void)state;
    assert_int_equal(blas_type_bits(CUDA_R_4F_E2M1), 4);
    assert_int_equal(blas_type_bits(CUDA_R_16BF), 16);
    assert_int_equal(blas_type_bits(CUDA_C_64F), 128);
    assert_int_equal(blas_type_bits((cudaDataType_t)99), 0);
    assert_true(blas_operations(CUDA_R_64F) == 2 && blas_operations(CUDA_C_32F) == 8);
}

static void a_scale_type_follows_from_what_is_computed(void **state)
{
    cudaDataType_t scale;
    (void)state;
    assert_true(blas_scale_type(CUBLAS_COMPUTE_32F_PEDANTIC, CUDA_C_8I, &scale));
    assert_int_equal(scale, CUDA_C_32F);
    assert_true(blas_scale_type(CUBLAS_COMPUTE_16F, CUDA_R_16F, &scale));
    assert_int_equal(scale, CUDA_R_16F);
    assert_true(blas_scale_type(CUBLAS_COMPUTE_64F_PEDANTIC, CUDA_C_64F, &scale));
    assert_int_equal(scale, CUDA_C_64F);
    assert_true(blas_scale_type(CUBLAS_COMPUTE_32I, CUDA_R_8I, &scale));
    assert_int_equal(scale, CUDA_R_32I);
    assert_false(blas_scale_type((cublasComputeType_t)0, CUDA_R_32F, &scale));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(halves_are_numbers),
        cmocka_unit_test(numbers_are_read_in_their_types),
        cmocka_unit_test(on_the_device_only_the_address_is_known),
        cmocka_unit_test(elements_have_a_size),
        cmocka_unit_test(a_scale_type_follows_from_what_is_computed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
