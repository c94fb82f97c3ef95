/* test-pin.c - what pinning waits for: bytes that are under way to the tensor, and not for ever what reads it. */
#include "carried.h"
#include "pinning.h"

static bool is_pinned(CUdeviceptr a)
{
    spw_lock();
    const bool is = block_at(a)->pinned;
    spw_unlock();
    return is;
}

/* Its bytes are there for whoever comes, without waiting for copies. */
static void what_is_on_its_way_back_is_there_once_it_is_pinned(void **state)
{
    begin(2 * BYTES, 16 << 20);
    const CUdeviceptr a = allocate(BYTES);
    fill(a, 1);
    leave(a);
    let_run();
    pump();
    assert_int_equal(attention(a), SPW_EVICTED);
    restore(a);
    assert_int_equal(attention(a), SPW_RESTORING);
    spw_pin_address(a, "the test says so");
    assert_int_equal(spw_pin_failure, 0);
    assert_true(is_pinned(a));
    assert_int_equal(attention(a), 0);
    fake_expect(t, a, BYTES, 1);
    assert_int_equal(spw_driver.cuStreamSynchronize(t), CUDA_SUCCESS);
    fake_run_all();
    check_blocks();
}

/* The same of one that stays, and is read by a copy out until then. */
static void what_stays_is_read_by_nobody_once_it_is_pinned(void **state)
{
    begin(2 * BYTES, 16 << 20);
    const CUdeviceptr a = allocate(BYTES);
    fill(a, 1);
    leave(a);
    spw_pin_address(a, "the test says so");
    assert_true(is_pinned(a));
    assert_int_equal(attention(a), 0);
    assert_int_equal(fake_counts()->copies_out, 1);
    fake_run_all();
    check_blocks();
}

/* Its copy out is behind a gate, which the program opens once the address is where it is to be. */
static void a_copy_out_behind_a_gate_is_not_waited_for(void **state)
{
    begin(2 * BYTES, 16 << 20);
    fake_goes_on(true);
    const CUdeviceptr a = allocate(BYTES);
    fake_gate(t);
    spw_lock();
    struct spw_stream *record = spw_stream_of_locked(t);
    (void)spw_stream_next_locked(record);
    spw_stream_gate_of_program_locked(record);
    spw_unlock();
    assert_int_equal(fill_on(t, a, BYTES, 1), 0);
    leave(a);
    spw_pin_address(a, "the test says so");
    assert_int_equal(spw_pin_failure, 0);
    assert_true(is_pinned(a));
    assert_int_equal(attention(a), SPW_COPYING);
    check_blocks();
    fake_open_gates();
    let_run();
    expect(a, 1);
    fill(a, 2);
    assert_int_equal(attention(a), 0);
    expect(a, 2);
    fake_run_all();
    check_blocks();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_on_its_way_back_is_there_once_it_is_pinned),
        cmocka_unit_test(what_stays_is_read_by_nobody_once_it_is_pinned),
        cmocka_unit_test(a_copy_out_behind_a_gate_is_not_waited_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
