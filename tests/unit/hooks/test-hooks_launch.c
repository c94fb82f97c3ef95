/* test-hooks_launch.c - what launches of rare forms may touch stays resident, and they are operations of their streams. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "capture.h"
#include "devices.h"
#include "driver.h"
#include "fake-device.h"
#include "hooks.h"
#include "mover.h"
#include "pin.h"
#include "plan_follower.h"
#include "streams.h"
#include "unlocked.h"

static CUstream s;
static unsigned launches; /* that reached the driver */

/* A kernel of one number. */
static CUresult CUDAAPI param_info(CUfunction f, size_t i, size_t *ret_offset, size_t *ret_size)
{
    *ret_offset = 0;
    *ret_size = 4;
    return i ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

static CUresult CUDAAPI launch(const CUlaunchConfig *config, CUfunction f, void **params, void **extra)
{
    launches++;
    return CUDA_SUCCESS;
}

static unsigned
    in_calls; /* operations that were on their way when the driver was called, and what each stream had been given */
static uint64_t numbered[2];
static CUstream several[2];

static uint64_t given_to(CUstream stream)
{
    spw_lock();
    const uint64_t begun = spw_stream_of_locked(stream)->begun;
    spw_unlock();
    return begun;
}

static CUresult CUDAAPI launch_on_several(CUDA_LAUNCH_PARAMS *list, unsigned count, unsigned flags)
{
    in_calls = 0;
    for (unsigned i = 0; i < 2; i++) {
        numbered[i] = given_to(several[i]);
        spw_lock();
        in_calls += spw_stream_in_call_locked(spw_stream_of_locked(several[i]));
        spw_unlock();
    }
    launches++;
    return CUDA_SUCCESS;
}

static CUresult CUDAAPI captures(CUstream stream, CUstreamCaptureStatus *ret_status)
{
    *ret_status = CU_STREAM_CAPTURE_STATUS_ACTIVE;
    return CUDA_SUCCESS;
}

static int begin(void **state)
{
    CUcontext context;
    spw_plan_follower_reset();
    spw_plan_follower_open();
    spw_ledger_reset();
    spw_mover_reset();
    spw_devices_reset();
    spw_streams_reset();
    spw_pinning_everything = false;
    fake_start(4096, 16 << 20, 1 << 20, 1 << 20);
    spw_driver.cuFuncGetParamInfo = param_info;
    spw_driver.cuLaunchKernelEx = launch;
    assert_non_null(spw_device_current(&context));
    s = fake_stream();
    launches = 0;
    return 0;
}

/* The kernel may get an address from another one that nobody sees. */
static void a_captured_launch_that_kernels_may_change_pins_everything(void **state)
{
    int n = 1;
    void *params[] = {&n};
    CUlaunchAttribute attributes[] = {
        {.id = CU_LAUNCH_ATTRIBUTE_PRIORITY, .value.priority = 1},
        {.id = CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE, .value.deviceUpdatableKernelNode = {.deviceUpdatable = 1}}};
    CUlaunchConfig config = {.gridDimX = 1, .blockDimX = 1, .hStream = s, .attrs = attributes, .numAttrs = 1};
    spw_driver.cuStreamIsCapturing = captures;
    spw_captures_active = 1;
    assert_int_equal(spw_on_cuLaunchKernelEx(&config, (CUfunction)8, params, NULL), CUDA_SUCCESS);
    assert_false(spw_pinning_everything);
    config.numAttrs = 2;
    assert_int_equal(spw_on_cuLaunchKernelEx(&config, (CUfunction)8, params, NULL), CUDA_SUCCESS);
    assert_true(spw_pinning_everything);
    assert_int_equal(launches, 2);
    spw_captures_active = 0;
}

/* What is freed behind it is not used again before it has ended, whichever of the streams used it. */
static void a_launch_on_several_devices_is_an_operation_of_each_of_their_streams(void **state)
{
    CUDA_LAUNCH_PARAMS list[2] = {{.hStream = s}, {.hStream = fake_stream()}};
    spw_driver.cuLaunchCooperativeKernelMultiDevice = launch_on_several;
    for (unsigned i = 0; i < 2; i++)
        several[i] = list[i].hStream;
    assert_int_equal(spw_on_cuLaunchCooperativeKernelMultiDevice(list, 2, 0), CUDA_SUCCESS);
    assert_int_equal(launches, 1);
    assert_int_equal(in_calls, 2);
    for (unsigned i = 0; i < 2; i++)
        assert_int_equal(numbered[i], 1);
    assert_int_equal(spw_on_cuLaunchCooperativeKernelMultiDevice(NULL, 0, 0),
                     CUDA_SUCCESS); /* the driver says what is wrong */
    assert_int_equal(in_calls, 0);
    assert_int_equal(launches, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_captured_launch_that_kernels_may_change_pins_everything, begin),
        cmocka_unit_test_setup(a_launch_on_several_devices_is_an_operation_of_each_of_their_streams, begin),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
