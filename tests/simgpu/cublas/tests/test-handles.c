/* Handles: made, given back, and what a program chooses for its calls. */
#include "fake-runtime.h"
#include "handles.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

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

static void a_handle_begins_with_the_documented_choices(void **state)
{
    cublasPointerMode_t pointer_mode = CUBLAS_POINTER_MODE_DEVICE;
    cublasAtomicsMode_t atomics_mode = CUBLAS_ATOMICS_ALLOWED;
    cublasMath_t math_mode = CUBLAS_PEDANTIC_MATH;
    cudaStream_t stream = (cudaStream_t)1;
    int sm_count = 1;
    (void)state;
    assert_int_equal(cublasGetPointerMode_v2(handle, &pointer_mode), CUBLAS_STATUS_SUCCESS);
    assert_int_equal(cublasGetAtomicsMode(handle, &atomics_mode), CUBLAS_STATUS_SUCCESS);
    assert_int_equal(cublasGetMathMode(handle, &math_mode), CUBLAS_STATUS_SUCCESS);
    assert_int_equal(cublasGetStream_v2(handle, &stream), CUBLAS_STATUS_SUCCESS);
    assert_int_equal(cublasGetSmCountTarget(handle, &sm_count), CUBLAS_STATUS_SUCCESS);
    assert_int_equal(pointer_mode, CUBLAS_POINTER_MODE_HOST);
    assert_int_equal(atomics_mode, CUBLAS_ATOMICS_NOT_ALLOWED);
    assert_int_equal(math_mode, CUBLAS_DEFAULT_MATH);
    assert_null(stream);
    assert_int_equal(sm_count, 0);
}

static void what_was_set_is_what_one_gets(void **state)
{
    const cublasMath_t reduced = CUBLAS_TF32_TENSOR_OP_MATH | CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION;
    cublasPointerMode_t pointer_mode;
    cublasAtomicsMode_t atomics_mode;
    cublasMath_t math_mode;
    cudaStream_t stream;
    int sm_count;
    (void)state;
    assert_int_equal(cublasSetPointerMode_v2(handle, CUBLAS_POINTER_MODE_DEVICE), CUBLAS_STATUS_SUCCESS);
    assert_int_equal(cublasSetAtomicsMode(handle, CUBLAS_ATOMICS_ALLOWED), CUBLAS_STATUS_SUCCESS);
    assert_int_equal(cublasSetMathMode(handle, reduced), CUBLAS_STATUS_SUCCESS);
    assert_int_equal(cublasSetStream_v2(handle, (cudaStream_t)0x57), CUBLAS_STATUS_SUCCESS);
    assert_int_equal(cublasSetSmCountTarget(handle, 40), CUBLAS_STATUS_SUCCESS);
    assert_int_equal(cublasSetWorkspace_v2(handle, (void *)0x10000, 1 << 20), CUBLAS_STATUS_SUCCESS);
    assert_int_equal(cublasGetPointerMode_v2(handle, &pointer_mode), CUBLAS_STATUS_SUCCESS);
    assert_int_equal(cublasGetAtomicsMode(handle, &atomics_mode), CUBLAS_STATUS_SUCCESS);
    assert_int_equal(cublasGetMathMode(handle, &math_mode), CUBLAS_STATUS_SUCCESS);
    assert_int_equal(cublasGetStream_v2(handle, &stream), CUBLAS_STATUS_SUCCESS);
    assert_int_equal(cublasGetSmCountTarget(handle, &sm_count), CUBLAS_STATUS_SUCCESS);
    assert_int_equal(pointer_mode, CUBLAS_POINTER_MODE_DEVICE);
    assert_int_equal(atomics_mode, CUBLAS_ATOMICS_ALLOWED);
    assert_int_equal(math_mode, reduced);
    assert_ptr_equal(stream, (void *)0x57);
    assert_int_equal(sm_count, 40);
}

static void what_is_no_choice_is_an_invalid_value(void **state)
{
    cublasPointerMode_t mode;
    (void)state;
    assert_int_equal(cublasSetPointerMode_v2(handle, (cublasPointerMode_t)2), CUBLAS_STATUS_INVALID_VALUE);
    assert_int_equal(cublasSetAtomicsMode(handle, (cublasAtomicsMode_t)2), CUBLAS_STATUS_INVALID_VALUE);
    assert_int_equal(cublasSetMathMode(handle, (cublasMath_t)64), CUBLAS_STATUS_INVALID_VALUE);
    assert_int_equal(cublasSetSmCountTarget(handle, -1), CUBLAS_STATUS_INVALID_VALUE);
    assert_int_equal(cublasSetWorkspace_v2(handle, (void *)0x10010, 1 << 20), CUBLAS_STATUS_INVALID_VALUE);
    assert_int_equal(cublasGetPointerMode_v2(handle, NULL), CUBLAS_STATUS_INVALID_VALUE);
    assert_int_equal(cublasGetPointerMode_v2(handle, &mode), CUBLAS_STATUS_SUCCESS);
    assert_int_equal(mode, CUBLAS_POINTER_MODE_HOST);
}

static void without_a_handle_nothing_is_initialized(void **state)
{
    uint64_t rubbish = 1;
    (void)state;
    assert_int_equal(cublasDestroy_v2(NULL), CUBLAS_STATUS_NOT_INITIALIZED);
    assert_int_equal(cublasDestroy_v2((cublasHandle_t)&rubbish), CUBLAS_STATUS_NOT_INITIALIZED);
    assert_int_equal(cublasSetStream_v2(NULL, NULL), CUBLAS_STATUS_NOT_INITIALIZED);
    assert_int_equal(cublasGetMathMode(NULL, NULL), CUBLAS_STATUS_NOT_INITIALIZED);
    assert_int_equal(cublasSetWorkspace_v2(NULL, NULL, 0), CUBLAS_STATUS_NOT_INITIALIZED);
}

static void a_handle_needs_a_device(void **state)
{
    cublasHandle_t none = NULL;
    (void)state;
    assert_int_equal(cublasCreate_v2(NULL), CUBLAS_STATUS_INVALID_VALUE);
    fake.failing = "cudaGetDevice";
    assert_int_equal(cublasCreate_v2(&none), CUBLAS_STATUS_NOT_INITIALIZED);
    assert_null(none);
}

static void the_version_is_the_headers(void **state)
{
    int version, major, minor, patch;
    (void)state;
    assert_int_equal(cublasGetVersion_v2(handle, &version), CUBLAS_STATUS_SUCCESS);
    assert_int_equal(version, CUBLAS_VERSION);
    assert_int_equal(cublasGetVersion_v2(handle, NULL), CUBLAS_STATUS_INVALID_VALUE);
    assert_int_equal(cublasGetProperty(MAJOR_VERSION, &major), CUBLAS_STATUS_SUCCESS);
    assert_int_equal(cublasGetProperty(MINOR_VERSION, &minor), CUBLAS_STATUS_SUCCESS);
    assert_int_equal(cublasGetProperty(PATCH_LEVEL, &patch), CUBLAS_STATUS_SUCCESS);
    assert_int_equal(major * 10000 + minor * 100 + patch, CUBLAS_VERSION);
    assert_int_equal(cublasGetProperty((libraryPropertyType)3, &patch), CUBLAS_STATUS_INVALID_VALUE);
    assert_int_equal(cublasGetCudartVersion(), CUDART_VERSION);
}

static void a_status_has_a_name(void **state)
{
    (void)state;
    assert_string_equal(cublasGetStatusName(CUBLAS_STATUS_NOT_SUPPORTED), "CUBLAS_STATUS_NOT_SUPPORTED");
    assert_string_equal(cublasGetStatusName((cublasStatus_t)2), "unrecognized status");
    assert_string_equal(cublasGetStatusString(CUBLAS_STATUS_SUCCESS), "success");
    assert_string_equal(cublasGetStatusString((cublasStatus_t)2), "unrecognized status");
}

/* What is said on stderr while `call` is made. */
static const char *said(cublasStatus_t (*call)(void))
{
    static char text[1024];
    int ends[2], before = dup(STDERR_FILENO);
    assert_int_equal(pipe(ends), 0);
    assert_true(dup2(ends[1], STDERR_FILENO) >= 0);
    const cublasStatus_t status = call();
    (void)dup2(before, STDERR_FILENO);
    close(ends[1]);
    const ssize_t length = read(ends[0], text, sizeof text - 1);
    close(ends[0]);
    close(before);
    assert_int_equal(status, CUBLAS_STATUS_NOT_SUPPORTED);
    text[length < 0 ? 0 : length] = 0;
    return text;
}

static cublasStatus_t factorise(void)
{
    return cublasSgetrfBatched(handle, 1, NULL, 1, NULL, NULL, 1);
}

static cublasStatus_t solve(void)
{
    return cublasDtrsmBatched(handle, CUBLAS_SIDE_LEFT, CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_N, CUBLAS_DIAG_UNIT, 1, 1, NULL,
                              NULL, 1, NULL, 1, 1);
}

static void what_is_not_carried_out_says_so_once(void **state)
{
    (void)state;
    assert_non_null(strstr(said(factorise), "cublasSgetrfBatched: "));
    assert_string_equal(said(factorise), "");
    assert_non_null(strstr(said(solve), "cublasDtrsmBatched: "));
    assert_int_equal(fake.launches, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_handle_begins_with_the_documented_choices, setup, teardown),
        cmocka_unit_test_setup_teardown(what_was_set_is_what_one_gets, setup, teardown),
        cmocka_unit_test_setup_teardown(what_is_no_choice_is_an_invalid_value, setup, teardown),
        cmocka_unit_test_setup_teardown(without_a_handle_nothing_is_initialized, setup, teardown),
        cmocka_unit_test_setup_teardown(a_handle_needs_a_device, setup, teardown),
        cmocka_unit_test_setup_teardown(the_version_is_the_headers, setup, teardown),
        cmocka_unit_test_setup_teardown(a_status_has_a_name, setup, teardown),
        cmocka_unit_test_setup_teardown(what_is_not_carried_out_says_so_once, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
