/* test-ask.c - a driver call of ours that is refused is told of once, by its name; the thread that asks is relaxed
 * meanwhile. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "ask.h"
#include "context.h"
#include "logged.h"

static CUresult answer, exchange_answer;
static CUstreamCaptureMode mode, mode_in_call;
static unsigned exchanges;

static CUresult exchange(CUstreamCaptureMode *with)
{
    CUstreamCaptureMode before = mode;
    exchanges++;
    if (exchange_answer != CUDA_SUCCESS)
        return exchange_answer;
    mode = *with;
    *with = before;
    return CUDA_SUCCESS;
}

static CUresult query(CUevent event)
{
    (void)event;
    mode_in_call = mode;
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
    exchange_answer = CUDA_SUCCESS;
    mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
    exchanges = 0;
    spw_driver.cuThreadExchangeStreamCaptureMode = exchange;
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

/* ---- whoever captures ---- */

static void the_thread_is_relaxed_in_the_call_and_has_its_own_mode_after_it(void **state)
{
    const CUstreamCaptureMode modes[] = {CU_STREAM_CAPTURE_MODE_GLOBAL, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL,
                                         CU_STREAM_CAPTURE_MODE_RELAXED};
    const CUresult answers[] = {CUDA_SUCCESS, CUDA_ERROR_NOT_READY, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED};
    (void)state;
    for (unsigned i = 0; i < 3; i++)
        for (unsigned k = 0; k < 3; k++) {
            mode = modes[i];
            assert_int_equal(ask_as_often_as_answered(answers[k], 2), answers[k]);
            assert_int_equal(mode_in_call, CU_STREAM_CAPTURE_MODE_RELAXED);
            assert_int_equal(mode, modes[i]);
        }
}

static void within_a_stretch_the_mode_is_exchanged_once(void **state)
{
    struct spw_context_guard outer, inner;
    (void)state;
    assert_int_equal(spw_context_enter(&outer, NULL), 0);
    assert_int_equal(spw_context_enter(&inner, NULL), 0);
    (void)ask_as_often_as_answered(CUDA_SUCCESS, 5);
    spw_context_leave(&inner);
    assert_int_equal(mode, CU_STREAM_CAPTURE_MODE_RELAXED);
    assert_int_equal(exchanges, 1);
    spw_context_leave(&outer);
    assert_int_equal(mode, CU_STREAM_CAPTURE_MODE_GLOBAL);
    assert_int_equal(exchanges, 2);
}

static void a_driver_that_has_no_modes_or_refuses_is_asked_all_the_same(void **state)
{
    (void)state;
    exchange_answer = CUDA_ERROR_DEINITIALIZED;
    assert_int_equal(ask_as_often_as_answered(CUDA_ERROR_NOT_READY, 3), CUDA_ERROR_NOT_READY);
    assert_int_equal(exchanges, 3);
    spw_driver.cuThreadExchangeStreamCaptureMode = NULL;
    assert_int_equal(ask_as_often_as_answered(CUDA_ERROR_NOT_READY, 3), CUDA_ERROR_NOT_READY);
    assert_int_equal(lines_with(""), 0);
}

static CUresult push_refused(CUcontext context)
{
    (void)context;
    return CUDA_ERROR_INVALID_CONTEXT;
}

static CUresult current_context(CUcontext *ret_context)
{
    *ret_context = NULL;
    return CUDA_SUCCESS;
}

static void a_context_that_cannot_be_entered_leaves_the_mode_alone(void **state)
{
    struct spw_context_guard guard;
    (void)state;
    spw_driver.cuCtxGetCurrent = current_context;
    spw_driver.cuCtxPushCurrent_v2 = push_refused;
    assert_true(spw_context_enter(&guard, (CUcontext)&guard) < 0);
    assert_int_equal(mode, CU_STREAM_CAPTURE_MODE_GLOBAL);
    assert_int_equal(spw_relaxed.depth, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_refused_call_is_told_of_once_with_its_name_and_what_was_said, start, finish),
        cmocka_unit_test_setup_teardown(each_call_is_told_of_for_itself, start, finish),
        cmocka_unit_test_setup_teardown(what_is_usual_is_not_told_of, start, finish),
        cmocka_unit_test_setup_teardown(after_a_fault_of_the_program_there_is_one_line_for_all_calls, start, finish),
        cmocka_unit_test_setup_teardown(the_thread_is_relaxed_in_the_call_and_has_its_own_mode_after_it, start, finish),
        cmocka_unit_test_setup_teardown(within_a_stretch_the_mode_is_exchanged_once, start, finish),
        cmocka_unit_test_setup_teardown(a_driver_that_has_no_modes_or_refuses_is_asked_all_the_same, start, finish),
        cmocka_unit_test_setup_teardown(a_context_that_cannot_be_entered_leaves_the_mode_alone, start, finish),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
