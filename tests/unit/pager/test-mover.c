/* test-mover.c - copies in flight while contexts go and waits fail: no bytes are lost, and nobody waits for what is gone. */
#include "moved.h"

/* The bytes that are pinned are those of allocations that live. */
static void freed_tensors_are_no_longer_counted_as_pinned(void **state)
{
    const char *why;
    begin(4 * BYTES);
    CUdeviceptr a = allocate_in(context);
    spw_pin_address(a, "the test says so");
    assert_int_equal(spw_pinned_bytes_locked(&why), BYTES);
    assert_int_equal(spw_free(a, NULL), 0);
    assert_int_equal(spw_pinned_bytes_locked(&why), 0);
}

/* A copy to the host whose end could not be waited for still writes: its host memory goes to nobody else before. */
static void host_memory_stays_while_a_copy_writes_to_it(void **state)
{
    begin(BYTES);
    CUdeviceptr a = allocate_in(context), b = allocate_in(context);
    struct spw_op op;
    fill(a, 1);
    fake_fail("cuEventSynchronize", 1, CUDA_ERROR_UNKNOWN, true);
    fake_fail_too("cuCtxSynchronize");
    assert_true(begin_use(&op, &b, 0) < 0); /* a was to go, and stays: its copy is in flight */
    fake_fail("", 0, 0, false);
    assert_int_equal(spw_free(a, NULL), 0);
    spw_lock();
    struct spw_block *block = device->blocks[0];
    assert_true(!block->host_copy_valid);
    assert_non_null(block->host_copy);
    spw_unlock();
    fake_run_all();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(freed_tensors_are_no_longer_counted_as_pinned),
        cmocka_unit_test(host_memory_stays_while_a_copy_writes_to_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
