/* The kernels as the device is told of them: a text whose lines say each byte of each kernel's parameters. */
#include "fake-runtime.h"
#include "kernels.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static const char *const names[] = {"simgpu_dot", "simgpu_gemm", "simgpu_gemv", "simgpu_matmul", "simgpu_trsm"};
enum { NAMES = sizeof names / sizeof *names };

static void the_image_is_a_table_of_layouts(void **state)
{
    (void)state;
    assert_non_null(fake.layouts);
    assert_string_equal(fake.layouts, blas_kernel_layouts());
    assert_int_equal(strncmp(fake.layouts, ".version 0.0 simgpu-layouts 1 ", strlen(".version 0.0 simgpu-layouts 1 ")), 0);
    assert_int_equal(fake.layouts[strlen(fake.layouts) - 1], '\n');
}

static void there_is_a_line_for_each_kernel_sorted_by_name(void **state)
{
    const char *line = strchr(fake.layouts, '\n');
    (void)state;
    assert_int_equal(fake.kernel_count, NAMES);
    for (int i = 0; i < NAMES; i++, line = strchr(line, '\n')) {
        line++;
        assert_int_equal(strncmp(line, names[i], strlen(names[i])), 0);
        assert_int_equal(line[strlen(names[i])], ' ');
    }
    assert_string_equal(line, "\n");
}

/* Nothing between parameters, nothing behind them: no byte that could be anything. */
static void parameters_cover_the_whole_image(void **state)
{
    (void)state;
    for (int i = 0; i < NAMES; i++) {
        const struct fake_kernel *kernel = fake_kernel(names[i]);
        size_t end = 0;
        for (size_t p = 0; p < kernel->param_count; end += kernel->params[p++].bytes)
            assert_int_equal(kernel->params[p].offset, end);
        assert_int_equal(end, kernel->bytes);
        end = 0;
        for (size_t u = 0; u < kernel->use_count; end += kernel->uses[u++].bytes)
            assert_int_equal(kernel->uses[u].offset, end);
        assert_int_equal(end, kernel->bytes);
    }
}

static void addresses_come_first_then_numbers_then_the_operations(void **state)
{
    (void)state;
    for (int i = 0; i < NAMES; i++) {
        const struct fake_kernel *kernel = fake_kernel(names[i]);
        const size_t last = kernel->use_count - 1;
        for (size_t u = 0; u < last - 1; u++) {
            assert_int_equal(kernel->uses[u].bytes, 8);
            assert_true(!strcmp(kernel->uses[u].how, "reads") || !strcmp(kernel->uses[u].how, "writes") ||
                        !strcmp(kernel->uses[u].how, "overwrites"));
        }
        assert_string_equal(kernel->uses[last - 1].how, "value");
        assert_string_equal(kernel->uses[last].how, "flops");
        assert_int_equal(kernel->uses[last].bytes, sizeof(double));
        assert_int_equal(kernel->param_count, last); /* the numbers and the operations are one parameter */
    }
}

static void is_written(const char *name, const int *written, size_t count)
{
    const struct fake_kernel *kernel = fake_kernel(name);
    for (size_t u = 0; u + 2 < kernel->use_count; u++) {
        bool expected = false;
        for (size_t i = 0; i < count; i++)
            expected |= written[i] == (int)u;
        assert_string_equal(kernel->uses[u].how, !expected ? "reads" : kernel->uses[u].part ? "overwrites" : "writes");
    }
}

#define IS_WRITTEN(name, ...) is_written(name, (const int[]){__VA_ARGS__}, sizeof((const int[]){__VA_ARGS__}) / sizeof(int))

static void only_results_are_written(void **state)
{
    (void)state;
    IS_WRITTEN("simgpu_dot", DOT_RESULT);
    IS_WRITTEN("simgpu_gemm", GEMM_C);
    IS_WRITTEN("simgpu_gemv", GEMV_Y);
    IS_WRITTEN("simgpu_trsm", TRSM_B);
    IS_WRITTEN("simgpu_matmul", MATMUL_D, MATMUL_BIAS_GRADIENT, MATMUL_AUX_OUT, MATMUL_D_OUT_SCALE, MATMUL_D_AMAX,
               MATMUL_AUX_AMAX);
}

/* The parts lie one behind the other between addresses and numbers, and the result before a call is the result. */
static void matrices_and_vectors_have_parts(void **state)
{
    const struct fake_kernel *gemm = fake_kernel("simgpu_gemm"), *dot = fake_kernel("simgpu_dot");
    (void)state;
    assert_int_equal(gemm->uses[GEMM_A].part, offsetof(struct blas_gemm_call, parts[GEMM_A]));
    assert_int_equal(gemm->uses[GEMM_C].part, offsetof(struct blas_gemm_call, parts[GEMM_C]));
    assert_int_equal(gemm->uses[GEMM_C_BEFORE].part, gemm->uses[GEMM_C].part);
    assert_int_equal(gemm->uses[GEMM_ALPHA].part + gemm->uses[GEMM_BETA].part, 0);
    assert_int_equal(dot->uses[DOT_RESULT].part, offsetof(struct blas_dot_call, parts[DOT_RESULT]));
    assert_int_equal(fake_kernel("simgpu_gemv")->uses[GEMV_Y_BEFORE].part, offsetof(struct blas_gemv_call, parts[GEMV_Y]));
    assert_int_equal(fake_kernel("simgpu_trsm")->uses[TRSM_B_BEFORE].part, offsetof(struct blas_trsm_call, parts[TRSM_B]));
    assert_int_equal(fake_kernel("simgpu_matmul")->uses[MATMUL_D].part, offsetof(struct blas_matmul_call, parts[MATMUL_D]));
}

static void a_result_is_worked_on_in_tiles(void **state)
{
    (void)state;
    assert_int_equal(blas_blocks(1, 1, 1), 1);
    assert_int_equal(blas_blocks(128, 128, 1), 1);
    assert_int_equal(blas_blocks(129, 128, 3), 6);
    assert_int_equal(blas_blocks(INT64_MAX / 2, INT64_MAX / 2, 1000), INT32_MAX); /* as many as a grid may have */
}

static void a_launch_that_fails_is_an_execution_that_fails(void **state)
{
    const struct blas_dot_call call = {0};
    (void)state;
    fake.failing = "cudaLaunchKernel";
    assert_int_equal(blas_launch(BLAS_DOT, &call, 1, NULL), CUBLAS_STATUS_EXECUTION_FAILED);
    fake.failing = NULL;
    assert_int_equal(blas_launch(BLAS_DOT, &call, 7, (cudaStream_t)0x51), CUBLAS_STATUS_SUCCESS);
    assert_string_equal(fake.last.kernel->name, "simgpu_dot");
    assert_int_equal(fake.last.grid.x, 7);
    assert_int_equal(fake.last.grid.y * fake.last.grid.z, 1);
    assert_int_equal(fake.last.shared_bytes, 0);
    assert_ptr_equal(fake.last.stream, (void *)0x51);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(the_image_is_a_table_of_layouts, fake_reset),
        cmocka_unit_test_setup(there_is_a_line_for_each_kernel_sorted_by_name, fake_reset),
        cmocka_unit_test_setup(parameters_cover_the_whole_image, fake_reset),
        cmocka_unit_test_setup(addresses_come_first_then_numbers_then_the_operations, fake_reset),
        cmocka_unit_test_setup(only_results_are_written, fake_reset),
        cmocka_unit_test_setup(matrices_and_vectors_have_parts, fake_reset),
        cmocka_unit_test_setup(a_result_is_worked_on_in_tiles, fake_reset),
        cmocka_unit_test_setup(a_launch_that_fails_is_an_execution_that_fails, fake_reset),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
