/* test-pin.c - what pinning waits for: bytes that are under way to the tensor, and not for ever what reads it. */
#include "carried.h"
#include "logged.h"
#include "lasting.h"
#include "pin.h"
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

/* With the budget that is named all of it has room: one line for several that do not fit, each counted once. */
/* promise: budget-at-run-time */
static void a_refusal_of_several_names_a_budget_for_them_all(void **state)
{
    CUdeviceptr a[6];
    char named[64];
    begin(3 * BYTES, 16 << 20);
    for (unsigned i = 0; i < 5; i++)
        fill(a[i] = allocate(BYTES), (unsigned char)i);
    a[5] = a[4] + 512;
    log_into_file(SPW_LOG_WARN);
    spw_pin_failure = 0;
    spw_pin_addresses(a, 6, "the test says so");
    assert_int_equal(spw_pin_failure, -ENOMEM);
    snprintf(named, sizeof(named), "smallest budget that would do: %zu bytes", 5 * BYTES);
    assert_int_equal(lines_with(named), 1);
    assert_int_equal(lines_with("smallest budget"), 1);
    log_as_before();
    fake_run_all();
}

/* The same of what was allocated where something knows addresses, and is pinned before the next graph. */
static void what_lasts_and_does_not_fit_is_said_before_a_graph(void **state)
{
    CUdeviceptr a[5];
    char named[64];
    begin(3 * BYTES, 16 << 20);
    for (unsigned i = 0; i < 5; i++)
        fill(a[i] = allocate(BYTES), (unsigned char)i);
    spw_lock();
    for (unsigned i = 0; i < 4; i++)
        spw_lasting_add_locked(a[i]);
    spw_lasting_unpinned = true;
    spw_unlock();
    log_into_file(SPW_LOG_WARN);
    spw_pin_before_graph();
    assert_int_equal(spw_pin_failure, -ENOMEM);
    snprintf(named, sizeof(named), "smallest budget that would do: %zu bytes", 4 * BYTES);
    assert_int_equal(lines_with(named), 1);
    log_as_before();
    fake_run_all();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_on_its_way_back_is_there_once_it_is_pinned),
        cmocka_unit_test(what_stays_is_read_by_nobody_once_it_is_pinned),
        cmocka_unit_test(a_copy_out_behind_a_gate_is_not_waited_for),
        cmocka_unit_test(a_refusal_of_several_names_a_budget_for_them_all),
        cmocka_unit_test(what_lasts_and_does_not_fit_is_said_before_a_graph),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
