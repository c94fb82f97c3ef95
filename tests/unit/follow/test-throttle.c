/* test-throttle.c - the host stays close to the device while a tensor waits for memory, on the fake device, where nothing
 * runs before somebody waits for it. */
#include "carried.h"
#include "throttle.h"
#include "uses_wait.h"

enum { OPS = 17 };

static struct spw_throttle pace;
static struct spw_course_op ops[OPS];
static const struct spw_course course = {.ops = ops, .op_count = OPS};
static bool hopeless[OPS + 1];
static CUdeviceptr gone, used, leaving; /* `gone` waits for the memory of `leaving` */

static void start(double us)
{
    begin(2 * BYTES, 16 << 20);
    fake_goes_on(true);
    pace = (struct spw_throttle){0};
    memset(hopeless, 0, sizeof(hopeless));
    for (int i = 0; i < OPS; i++)
        ops[i].us = us;
    gone = allocate(BYTES), used = allocate(BYTES), leaving = allocate(BYTES);
    fill(gone, 1);
    fill(used, 2);
    fill(leaving, 3);                                                          /* `gone` went on demand */
    assert_int_equal(under_locks(spw_transfer_write_back_locked, leaving), 0); /* what it is waited for is its last use */
    let_run();
    assert_int_equal(attention(gone), SPW_EVICTED);
    restore(gone);
}

static void use_and_leave(void)
{
    expect(leaving, 3);
    leave(leaving);
}

/* After operation number `op` of the course. */
static void keep_pace_after(uint32_t op)
{
    pthread_mutex_lock(&device->slow);
    spw_lock();
    spw_throttle_unlocking(&pace, device, spw_stream_find_locked(s), &course, hopeless, op);
    spw_unlock();
    pthread_mutex_unlock(&device->slow);
    check_blocks();
}

static void operate(uint32_t op)
{
    fill(used, (unsigned char)op);
    keep_pace_after(op);
}

/* So much work is behind the use of `leaving` that the device need not run empty for the wait: its memory is handed on. */
static void the_host_waits_until_the_device_is_close(void **state)
{
    start(600);
    use_and_leave();
    operate(1);
    operate(2);
    assert_int_equal(attention(gone), SPW_EVICTED);
    operate(3);
    assert_int_equal(attention(gone), SPW_RESTORING);
    assert_false(spw_uses_done_locked(&block_at(used)->object.uses)); /* the newest was not waited for */
    expect(gone, 1);
    fake_run_all();
}

/* With little work in them, however many they are, operations are not waited for. */
static void little_work_is_not_waited_for(void **state)
{
    start(10);
    use_and_leave();
    for (uint32_t op = 1; op <= OPS; op++)
        operate(op);
    assert_int_equal(attention(gone), SPW_EVICTED);
    fake_run_all();
}

/* What does not end is asked about for a while, then the host goes on, and does not ask there again; after a
 * few such places it asks nowhere. */
static void what_does_not_end_is_not_waited_for(void **state)
{
    start(600);
    fake_goes_on(false);
    use_and_leave();
    for (int round = 0; round < 5; round++)
        for (uint32_t op = 1; op <= OPS; op++)
            operate(op);
    assert_int_equal(attention(gone), SPW_EVICTED);
    assert_int_equal(pace.given_up, 3);
    unsigned count = 0;
    for (uint32_t op = 1; op <= OPS; op++)
        count += hopeless[op];
    assert_int_equal(count, 3);
    fake_run_all();
}

/* What ended by itself the last time may depend on what the program does next this time. */
static void what_has_ended_before_is_waited_for_no_longer(void **state)
{
    start(600);
    use_and_leave();
    for (uint32_t op = 1; op <= 3; op++)
        operate(op);
    assert_int_equal(attention(gone), SPW_RESTORING); /* behind the third one */
    expect(gone, 1);
    let_run();
    leave(gone);
    let_run();
    restore(leaving);
    expect(leaving, 3);
    restore(gone);
    use_and_leave();
    fake_goes_on(false);
    for (uint32_t op = 1; op <= 3; op++)
        operate(op);
    assert_int_equal(attention(gone), SPW_EVICTED);
    assert_true(hopeless[3]);
    assert_int_equal(pace.given_up, 1);
    fake_goes_on(true);
    for (uint32_t op = 4; op <= 6; op++)
        operate(op);
    assert_int_equal(attention(gone), SPW_RESTORING);
    assert_int_equal(pace.given_up, 0);
    fake_run_all();
}

/* Not even a mark is made where no tensor waits. */
static void nothing_is_done_where_nobody_waits(void **state)
{
    start(600);
    expect(gone, 1);
    for (uint32_t op = 1; op <= OPS; op++) {
        unsigned calls = fake_calls();
        keep_pace_after(op);
        assert_int_equal(fake_calls(), calls);
    }
    fake_run_all();
}

/* While memory is short and nobody waits for it, marks are made every few operations all the same: what was used long ago
 * can be waited for, and the newest operations go on. */
static void an_old_operation_is_waited_for_without_the_newest(void **state)
{
    start(1);
    expect(gone, 1);
    for (int i = 0; i < 3 * SPW_MARK_EVERY; i++)
        fill(used, 4);
    spw_lock();
    assert_int_equal(spw_uses_wait_unlocking(&block_at(gone)->object.uses), 0);
    assert_false(spw_uses_done_locked(&block_at(used)->object.uses));
    spw_unlock();
    fake_run_all();
}

static void restart(void)
{
    spw_lock();
    spw_throttle_restart_locked(&pace);
    memset(hopeless, true, sizeof(hopeless));
    spw_unlock();
}

/* Another thread takes the device off the course while this one waits: nothing of it is looked at any more. */
static void a_restart_during_the_wait_ends_it(void **state)
{
    start(600);
    use_and_leave();
    operate(1);
    operate(2);
    fake_meanwhile(restart);
    operate(3);
    for (uint32_t op = 0; op <= OPS; op++)
        assert_true(hopeless[op]);
    assert_int_equal(pace.count, 0);
    fake_run_all();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_host_waits_until_the_device_is_close),
        cmocka_unit_test(little_work_is_not_waited_for),
        cmocka_unit_test(what_does_not_end_is_not_waited_for),
        cmocka_unit_test(what_has_ended_before_is_waited_for_no_longer),
        cmocka_unit_test(nothing_is_done_where_nobody_waits),
        cmocka_unit_test(a_restart_during_the_wait_ends_it),
        cmocka_unit_test(an_old_operation_is_waited_for_without_the_newest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
