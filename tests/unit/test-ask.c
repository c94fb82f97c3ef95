/* test-ask.c - a driver call of ours that is refused is told of once, by its name. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "ask.h"
#include "logged.h"

static CUresult answer;

static CUresult query(CUevent event)
{
    (void)event;
    return answer;
}

static CUresult synchronize(void)
{
    return answer;
}

static int start(void **state)
{
    (void)state;
    log_into_file(SPW_LOG_WARN);
    spw_ask_reset();
    spw_driver.cuEventQuery = query;
    spw_driver.cuCtxSynchronize = synchronize;
    return 0;
}

static int finish(void **state)
{
    (void)state;
    log_as_before();
    return 0;
}

static CUresult ask_as_often_as_answered(CUresult with, unsigned times)
{
    CUresult r = CUDA_SUCCESS;
    answer = with;
    for (unsigned i = 0; i < times; i++)
        r = SPW_ASK(cuEventQuery, NULL);
    return r;
}

static void a_refused_call_is_told_of_once_with_its_name_and_what_was_said(void **state)
{
    (void)state;
    assert_int_equal(ask_as_often_as_answered(CUDA_ERROR_INVALID_VALUE, 5), CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(lines_with("cuEventQuery"), 1);
    assert_int_equal(lines_with("error 1"), 1);
    (void)ask_as_often_as_answered(CUDA_ERROR_OUT_OF_MEMORY, 5);
    assert_int_equal(lines_with(""), 1);
}

static void each_call_is_told_of_for_itself(void **state)
{
    (void)state;
    (void)ask_as_often_as_answered(CUDA_ERROR_INVALID_VALUE, 1);
    assert_int_equal(SPW_ASK(cuCtxSynchronize), CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(lines_with("cuCtxSynchronize"), 1);
    assert_int_equal(lines_with(""), 2);
}

static void what_is_usual_is_not_told_of(void **state)
{
    static const CUresult usual[] = {CUDA_SUCCESS, CUDA_ERROR_NOT_READY, CUDA_ERROR_DEINITIALIZED,
                                     CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, CUDA_ERROR_CAPTURED_EVENT};
    (void)state;
    for (size_t i = 0; i < sizeof usual / sizeof *usual; i++)
        assert_int_equal(ask_as_often_as_answered(usual[i], 2), usual[i]);
    assert_int_equal(lines_with(""), 0);
}

/* Everything is refused then, and the program has heard of it. */
static void after_a_fault_of_the_program_there_is_one_line_for_all_calls(void **state)
{
    (void)state;
    (void)ask_as_often_as_answered(CUDA_ERROR_ILLEGAL_ADDRESS, 3);
    (void)SPW_ASK(cuCtxSynchronize);
    assert_int_equal(lines_with(""), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_refused_call_is_told_of_once_with_its_name_and_what_was_said, start, finish),
        cmocka_unit_test_setup_teardown(each_call_is_told_of_for_itself, start, finish),
        cmocka_unit_test_setup_teardown(what_is_usual_is_not_told_of, start, finish),
        cmocka_unit_test_setup_teardown(after_a_fault_of_the_program_there_is_one_line_for_all_calls, start, finish),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
