/* test-hooks_pin.c - an address that a call keeps is pinned before the call passes. */
#include "hooks.h"

#include <stdarg.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <string.h>

#include "fake-engine.h"
#include "log.h"

static CUresult answer;
static unsigned pinned_at_call, unnamed_at_call, breaks_at_call; /* what was pinned, and so on, when the driver was called */

static CUresult value32(CUstream stream, CUdeviceptr address, cuuint32_t value, unsigned flags)
{
    pinned_at_call = pinned_count;
    return answer;
}

static CUresult value64(CUstream stream, CUdeviceptr address, cuuint64_t value, unsigned flags)
{
    unnamed_at_call = unnamed;
    pinned_at_call = pinned_count;
    breaks_at_call = breaks;
    return answer;
}

static CUresult batch(CUstream stream, unsigned count, CUstreamBatchMemOpParams *list, unsigned flags)
{
    unnamed_at_call = unnamed;
    pinned_at_call = pinned_count;
    breaks_at_call = breaks;
    return answer;
}

static CUresult texture(CUtexObject *t, const CUDA_RESOURCE_DESC *r, const CUDA_TEXTURE_DESC *d,
                        const CUDA_RESOURCE_VIEW_DESC *v)
{
    return answer;
}

static CUresult ipc(CUipcMemHandle *handle, CUdeviceptr address)
{
    pinned_at_call = pinned_count;
    return answer;
}

static CUresult retain(CUmemGenericAllocationHandle *handle, void *address)
{
    pinned_at_call = pinned_count;
    if (handle)
        *handle = 77;
    return answer;
}

static CUresult bind_endpoint(CUlogicalEndpointId id, CUdevice device, cuuint64_t offset, void *address, cuuint64_t size,
                              unsigned long long flags)
{
    pinned_at_call = pinned_count;
    return answer;
}

static unsigned waits; /* for semaphores, that reached the driver */

static CUresult wait_for_semaphores(const CUexternalSemaphore *list, const CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS *params,
                                    unsigned count, CUstream stream)
{
    waits++;
    return answer;
}

/* So no stream has a record. */
static CUresult no_context(CUcontext *context)
{
    return CUDA_ERROR_INVALID_CONTEXT;
}

static int setup(void **state)
{
    spw_driver.cuCtxGetCurrent = no_context;
    spw_driver.cuWaitExternalSemaphoresAsync = wait_for_semaphores;
    spw_log_setup(SPW_LOG_QUIET, NULL);
    spw_driver.cuStreamWaitValue32_v2 = value32;
    spw_driver.cuStreamWriteValue64_v2_ptsz = value64;
    spw_driver.cuStreamBatchMemOp_v2 = batch;
    spw_driver.cuTexObjectCreate = texture;
    spw_driver.cuIpcGetMemHandle = ipc;
    spw_driver.cuMemRetainAllocationHandle = retain;
    spw_driver.cuLogicalEndpointBindAddr = bind_endpoint;
    answer = CUDA_SUCCESS;
    (void)pinned_nothing();
    lasting = 0;
    return 0;
}

static void a_word_that_a_stream_waits_for_is_pinned_first(void **state)
{
    assert_int_equal(spw_on_cuStreamWaitValue32_v2(NULL, LOW + 4, 1, 0), CUDA_SUCCESS);
    assert_int_equal(pinned_at_call, 1);
    assert_true(pinned_only(LOW + 4));
    assert_int_equal(spw_on_cuStreamWriteValue64_v2_ptsz(NULL, LOW + 8, 1, 0), CUDA_SUCCESS);
    assert_true(pinned_only(LOW + 8));
    spw_on_cuStreamWaitValue32_v2(NULL, HIGH, 1, 0);
    assert_true(pinned_nothing());
}

static void each_word_of_a_batch_is_pinned(void **state)
{
    CUstreamBatchMemOpParams list[] = {
        {.writeValue = {.operation = CU_STREAM_MEM_OP_WRITE_VALUE_64, .address = LOW}},
        {.memoryBarrier = {.operation = CU_STREAM_MEM_OP_BARRIER}},
        {.waitValue = {.operation = CU_STREAM_MEM_OP_WAIT_VALUE_64, .address = LOW + 64}},
    };
    assert_int_equal(spw_on_cuStreamBatchMemOp_v2(NULL, 3, list, 0), CUDA_SUCCESS);
    assert_int_equal(pinned_at_call, 2);
    assert_int_equal(pinned[1], LOW + 64);
}

/* (13.1) The operation, flags, what is done and with which type, then the address. */
static void a_word_that_a_stream_adds_to_is_pinned(void **state)
{
    const struct {
        unsigned operation, flags, kind, type;
        CUdeviceptr address;
        cuuint64_t value;
    } reduction = {.operation = 8, .address = LOW + 128, .value = 1};
    CUstreamBatchMemOpParams list[2] = {{.memoryBarrier = {.operation = CU_STREAM_MEM_OP_BARRIER}}};
    memcpy(&list[1], &reduction, sizeof(reduction));
    assert_int_equal(spw_on_cuStreamBatchMemOp_v2(NULL, 2, list, 0), CUDA_SUCCESS);
    assert_int_equal(pinned_at_call, 1);
    assert_true(pinned_only(LOW + 128));
}

/* It may be a constant of a module, which kernels read without being given its address. */
static void a_word_outside_of_our_memory_that_a_stream_writes_changes_what_kernels_read(void **state)
{
    const struct {
        unsigned operation, flags, kind, type;
        CUdeviceptr address;
        cuuint64_t value;
    } reduction = {.operation = 8, .address = HIGH, .value = 1};
    CUstreamBatchMemOpParams list[] = {
        {.writeValue = {.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32, .address = HIGH}},
        {.writeValue = {.operation = CU_STREAM_MEM_OP_WRITE_VALUE_64, .address = HIGH}},
        {.writeValue = {.operation = CU_STREAM_MEM_OP_WRITE_VALUE_64, .address = LOW}},
        {.memoryBarrier = {.operation = CU_STREAM_MEM_OP_BARRIER}},
    };
    memcpy(&list[3], &reduction, sizeof(reduction));
    breaks = 0;
    assert_int_equal(spw_on_cuStreamWriteValue64_v2_ptsz(NULL, LOW + 8, 1, 0), CUDA_SUCCESS);
    assert_int_equal(breaks_at_call, 0);
    assert_int_equal(spw_on_cuStreamWriteValue64_v2_ptsz(NULL, HIGH, 1, 0), CUDA_SUCCESS);
    assert_int_equal(breaks_at_call, 1);
    assert_int_equal(spw_on_cuStreamBatchMemOp_v2(NULL, 4, list, 0), CUDA_SUCCESS);
    assert_int_equal(breaks_at_call, 4);
    break_failure = -ENOMEM;
    assert_int_equal(spw_on_cuStreamBatchMemOp_v2(NULL, 1, list, 0), CUDA_ERROR_OUT_OF_MEMORY);
    assert_int_equal(breaks_at_call, 4); /* what was to be made again is not there */
    break_failure = 0;
    (void)pinned_nothing();
}

/* Nobody knows what it touches, or whether it waits for something. */
static void before_an_operation_of_a_kind_that_is_not_known_everything_is_pinned(void **state)
{
    CUstreamBatchMemOpParams unknown = {.operation = (CUstreamBatchMemOpType)99},
                             flush = {.flushRemoteWrites = {.operation = CU_STREAM_MEM_OP_FLUSH_REMOTE_WRITES}};
    unseen_orders = 0;
    assert_int_equal(spw_on_cuStreamBatchMemOp_v2(NULL, 1, &flush, 0), CUDA_SUCCESS);
    assert_true(pinned_nothing());
    assert_int_equal(unseen_orders, 0);
    assert_int_equal(spw_on_cuStreamBatchMemOp_v2(NULL, 1, &unknown, 0), CUDA_SUCCESS);
    assert_int_equal(pinned_everything, 1);
    assert_int_equal(unseen_orders, 1);
    (void)pinned_nothing();
}

/* The stream may still write the word when the program frees it. */
static void a_write_by_the_stream_is_an_operation_of_it(void **state)
{
    CUstreamBatchMemOpParams word = {.writeValue = {.operation = CU_STREAM_MEM_OP_WRITE_VALUE_64, .address = LOW}};
    const CUstream stream = (CUstream)(uintptr_t)77;
    unnamed_at_call = 0;
    assert_int_equal(spw_on_cuStreamBatchMemOp_v2(stream, 1, &word, 0), CUDA_SUCCESS);
    assert_int_equal(unnamed_at_call, 1);
    assert_ptr_equal(unnamed_on, stream);
    unnamed_at_call = 0;
    assert_int_equal(spw_on_cuStreamWriteValue64_v2_ptsz(NULL, LOW + 8, 1, 0), CUDA_SUCCESS);
    assert_int_equal(unnamed_at_call, 1);
    assert_ptr_equal(unnamed_on, CU_STREAM_PER_THREAD);
    no_stream = true;
    answer = CUDA_ERROR_INVALID_HANDLE;
    assert_int_equal(spw_on_cuStreamWriteValue64_v2_ptsz(stream, LOW + 8, 1, 0), answer);
    no_stream = false;
    assert_int_equal(unnamed, 0);
}

/* The order of submission is not that of what happens, from there on. */
static void a_wait_for_a_value_or_a_semaphore_is_told_before_it_is_made(void **state)
{
    CUstreamBatchMemOpParams write = {.writeValue = {.operation = CU_STREAM_MEM_OP_WRITE_VALUE_64, .address = LOW}},
                             wait = {.waitValue = {.operation = CU_STREAM_MEM_OP_WAIT_VALUE_32, .address = LOW}};
    unseen_orders = waits = 0;
    assert_int_equal(spw_on_cuStreamWriteValue64_v2_ptsz(NULL, LOW + 8, 1, 0), CUDA_SUCCESS);
    assert_int_equal(spw_on_cuStreamBatchMemOp_v2(NULL, 1, &write, 0), CUDA_SUCCESS);
    assert_int_equal(unseen_orders, 0);
    assert_int_equal(spw_on_cuStreamWaitValue32_v2(NULL, HIGH, 1, 0), CUDA_SUCCESS);
    assert_int_equal(unseen_orders, 1);
    assert_int_equal(spw_on_cuStreamBatchMemOp_v2(NULL, 1, &wait, 0), CUDA_SUCCESS);
    assert_int_equal(unseen_orders, 2);
    assert_int_equal(spw_on_cuWaitExternalSemaphoresAsync(NULL, NULL, 0, NULL), CUDA_SUCCESS);
    assert_int_equal(unseen_orders, 3);
    assert_int_equal(waits, 1);
    break_failure = -ENOMEM;
    assert_int_equal(spw_on_cuWaitExternalSemaphoresAsync(NULL, NULL, 0, NULL), CUDA_ERROR_OUT_OF_MEMORY);
    assert_int_equal(waits, 1); /* what was to be made again is not there */
    break_failure = 0;
    (void)pinned_nothing();
}

static void a_linear_texture_pins_its_memory(void **state)
{
    CUDA_RESOURCE_DESC linear = {.resType = CU_RESOURCE_TYPE_LINEAR, .res = {.linear = {.devPtr = LOW + 512}}};
    CUDA_RESOURCE_DESC pitched = {.resType = CU_RESOURCE_TYPE_PITCH2D, .res = {.pitch2D = {.devPtr = LOW + 1024}}};
    CUDA_RESOURCE_DESC array = {.resType = CU_RESOURCE_TYPE_ARRAY, .res = {.array = {.hArray = (CUarray)(uintptr_t)LOW}}};
    spw_on_cuTexObjectCreate(NULL, &linear, NULL, NULL);
    assert_true(pinned_only(LOW + 512));
    spw_on_cuTexObjectCreate(NULL, &pitched, NULL, NULL);
    assert_true(pinned_only(LOW + 1024));
    spw_on_cuTexObjectCreate(NULL, &array, NULL, NULL);
    assert_true(pinned_nothing());
    assert_int_equal(lasting, 2);
}

static void shared_memory_is_pinned_and_a_refusal_passed_on(void **state)
{
    answer = CUDA_ERROR_NOT_SUPPORTED;
    assert_int_equal(spw_on_cuIpcGetMemHandle(NULL, LOW), CUDA_ERROR_NOT_SUPPORTED);
    assert_int_equal(pinned_at_call, 1);
    assert_true(pinned_only(LOW));
    assert_int_equal(lasting, 0); /* they have that memory, and not the address */
    answer = CUDA_SUCCESS;
}

/* The pieces behind our addresses are nobody's to hold: the answer is that for memory that was not mapped by the program. */
static void what_lies_behind_our_addresses_is_not_handed_out(void **state)
{
    CUmemGenericAllocationHandle handle = 5;
    assert_int_equal(spw_on_cuMemRetainAllocationHandle(&handle, (void *)(uintptr_t)(LOW + 2)), CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(handle, 5);
    assert_true(pinned_nothing());
    assert_true(retained == 0);
}

static void a_handle_of_the_programs_own_memory_has_one_more_holder(void **state)
{
    CUmemGenericAllocationHandle handle = 0;
    assert_int_equal(spw_on_cuMemRetainAllocationHandle(&handle, (void *)(uintptr_t)HIGH), CUDA_SUCCESS);
    assert_true(retained == 77);
    retained = 0;
    answer = CUDA_ERROR_INVALID_VALUE;
    assert_int_equal(spw_on_cuMemRetainAllocationHandle(&handle, (void *)(uintptr_t)HIGH), CUDA_ERROR_INVALID_VALUE);
    assert_true(retained == 0);
    (void)pinned_nothing();
}

/* What other devices of a fabric reach by an endpoint, they reach whenever they like (13.3). */
static void what_an_endpoint_is_bound_to_is_pinned_first(void **state)
{
    assert_int_equal(spw_on_cuLogicalEndpointBindAddr(1, 0, 0, (void *)(uintptr_t)(LOW + 8), 64, 0), CUDA_SUCCESS);
    assert_int_equal(pinned_at_call, 1);
    assert_true(pinned_only(LOW + 8));
}

static void nothing_is_shared_that_cannot_be_pinned(void **state)
{
    no_room = true;
    pinned_at_call = 77;
    assert_int_equal(spw_on_cuIpcGetMemHandle(NULL, LOW), CUDA_ERROR_OUT_OF_MEMORY);
    assert_int_equal(spw_on_cuStreamWaitValue32_v2(NULL, LOW, 1, 0), CUDA_ERROR_OUT_OF_MEMORY);
    assert_int_equal(pinned_at_call, 77);
    no_room = false;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_word_that_a_stream_waits_for_is_pinned_first, setup),
        cmocka_unit_test_setup(each_word_of_a_batch_is_pinned, setup),
        cmocka_unit_test_setup(a_word_that_a_stream_adds_to_is_pinned, setup),
        cmocka_unit_test_setup(a_word_outside_of_our_memory_that_a_stream_writes_changes_what_kernels_read, setup),
        cmocka_unit_test_setup(before_an_operation_of_a_kind_that_is_not_known_everything_is_pinned, setup),
        cmocka_unit_test_setup(a_write_by_the_stream_is_an_operation_of_it, setup),
        cmocka_unit_test_setup(a_wait_for_a_value_or_a_semaphore_is_told_before_it_is_made, setup),
        cmocka_unit_test_setup(a_linear_texture_pins_its_memory, setup),
        cmocka_unit_test_setup(shared_memory_is_pinned_and_a_refusal_passed_on, setup),
        cmocka_unit_test_setup(what_lies_behind_our_addresses_is_not_handed_out, setup),
        cmocka_unit_test_setup(a_handle_of_the_programs_own_memory_has_one_more_holder, setup),
        cmocka_unit_test_setup(what_an_endpoint_is_bound_to_is_pinned_first, setup),
        cmocka_unit_test_setup(nothing_is_shared_that_cannot_be_pinned, setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
