/* test-reclaim.c - making room: whose memory is waited for first, and what happens when the easy way is closed: a device
 * with less memory than it should have, host memory that only small tensors fit into, victims that another thread is busy
 * with, and those whose uses end only once the program goes on. */
#include <time.h>
#include <unistd.h>

#include "carried.h"
#include "hostpool.h"
#include "idle-follower.h"
#include "logged.h"

static time_t hurry; /* seconds that each look at the clock takes */

int __real_clock_gettime(clockid_t clock, struct timespec *now);
int __wrap_clock_gettime(clockid_t clock, struct timespec *now);
int __wrap_clock_gettime(clockid_t clock, struct timespec *now)
{
    static time_t ahead;
    const int r = __real_clock_gettime(clock, now);
    now->tv_sec += ahead += hurry;
    return r;
}

/* What the program freed is there once the operations that used it are, sooner than what has yet to be copied out. */
static void memory_that_was_freed_is_waited_for_before_what_is_leaving(void **state)
{
    begin(2 * BYTES, 16 << 20);
    const CUdeviceptr freed = allocate(BYTES), leaving = allocate(BYTES), next = allocate(BYTES);
    fill(freed, 1);
    assert_int_equal(fill_on(t, leaving, BYTES, 2), 0);
    leave(leaving);
    assert_int_equal(spw_free(freed, NULL), 0); /* which its operation still uses */
    fill(next, 3);
    assert_true(attention(leaving) & SPW_EVICTING);
    assert_int_equal(spw_transfer_counts.waits, 0);
    assert_int_equal(expect_on(t, leaving, BYTES, 2), 0);
    expect(next, 3);
    fake_run_all();
    check_blocks();
}

/* What needs no copy goes before what is being copied out, though it was used later: the device works until then. */
static void what_needs_no_copy_is_waited_for_before_copies(void **state)
{
    begin(2 * BYTES, 16 << 20);
    const CUdeviceptr copied = allocate(BYTES), clean = allocate(BYTES), next = allocate(BYTES);
    fill(clean, 1);
    leave(clean);
    fake_run_all();
    expect(clean, 1); /* and its copy is good */
    fill(copied, 2);
    leave(copied);
    expect(clean, 1);
    leave(clean);
    fill(next, 3);
    assert_int_equal(attention(clean), SPW_EVICTED);
    assert_true(attention(copied) & SPW_EVICTING);
    assert_int_equal(spw_transfer_counts.waits, 1);
    expect(next, 3);
    expect(copied, 2);
    fake_run_all();
    check_blocks();
}

/* Others take memory on the device after the budget was set: tensors go for one another within what is left. */
static void a_device_with_less_memory_than_the_budget_evicts_earlier(void **state)
{
    enum { N = 8 };
    begin(N * BYTES, 16 << 20);
    fake_fail("cuMemCreate", N / 2 + 1, CUDA_ERROR_OUT_OF_MEMORY, true);
    CUdeviceptr a[N];
    for (unsigned i = 0; i < N; i++) {
        a[i] = allocate(BYTES);
        fill(a[i], (unsigned char)i);
    }
    for (unsigned i = 0; i < N; i++)
        expect(a[i], (unsigned char)i);
    fake_run_all();
}

/* The device refuses for a while: later the budget is what it was. */
static void memory_that_comes_back_is_used_again(void **state)
{
    begin(4 * BYTES, 16 << 20);
    CUdeviceptr a = allocate(BYTES);
    fill(a, 1);
    fake_fail("cuMemCreate", 1, CUDA_ERROR_OUT_OF_MEMORY, true);
    CUdeviceptr b = allocate(BYTES);
    fill(b, 2); /* in the place of a */
    fake_fail("", 0, 0, false);
    CUdeviceptr c = allocate(3 * BYTES);
    assert_int_equal(fill_on(s, c, 3 * BYTES, 3), 0);
    expect(a, 1);
    expect(b, 2);
    fake_run_all();
}

/* Where host memory is too short for the best victim, a smaller one goes. */
static void a_smaller_tensor_goes_where_the_host_has_no_room_for_a_larger(void **state)
{
    begin(5 * BYTES, 3 * BYTES);
    CUdeviceptr large = allocate(4 * BYTES), small = allocate(BYTES);
    assert_int_equal(fill_on(s, large, 4 * BYTES, 1), 0);
    for (int i = 0; i < 20; i++)
        fill(small, 2);
    CUdeviceptr other = 0;
    device->largest_bytes = BYTES; /* let it in */
    assert_int_equal(spw_allocate(device, BYTES, NULL, context, spw_mempool_stats_of_locked(NULL), &other), 0);
    fill(other, 3);
    expect(small, 2);
    assert_int_equal(expect_on(s, large, 4 * BYTES, 1), 0);
    fake_run_all();
}

static int use_both(CUdeviceptr a, CUdeviceptr b, unsigned char value)
{
    CUdeviceptr list[] = {a, b};
    struct spw_op op = {.handle = s, .hits = list, .count = 2, .room = 2, .name = "a kernel of two"};
    int r = spw_op_begin(&op);
    if (r < 0)
        return r;
    fake_fill(s, a, BYTES, value);
    fake_fill(s, b, BYTES, value);
    spw_op_end(&op);
    return 0;
}

/* What came back needs its copy on the host no more where another one has to go there. */
/* promise: host-budget */
static void one_tensors_worth_of_host_memory_is_enough_for_several_that_come_back(void **state)
{
    enum { N = 6, ON_DEVICE = 4 };
    begin(ON_DEVICE * BYTES, (N - ON_DEVICE + 1) * BYTES);
    CUdeviceptr a[N];
    for (unsigned i = 0; i < N; i++)
        a[i] = allocate(BYTES);
    for (unsigned i = 0; i < N; i++)
        fill(a[i], (unsigned char)i);
    for (unsigned i = 0; i < N; i += 2)
        assert_int_equal(use_both(a[i], a[i + 1], (unsigned char)(N + i)), 0);
    for (unsigned i = 0; i < N; i++)
        expect(a[i], (unsigned char)(N + i - i % 2));
    fake_run_all();
    check_blocks();
}

static struct spw_device *second_device(void)
{
    int r = 0;
    spw_lock();
    struct spw_device *d = spw_device_ready_locked(1, &r);
    spw_unlock();
    assert_non_null(d);
    return d;
}

/* Copies on the host that are void, and then good ones of what is there, go for another device's tensors too. */
/* promise: host-budget */
static void host_memory_that_one_device_can_do_without_serves_another(void **state)
{
    begin(2 * BYTES, 4 * BYTES);
    struct spw_device *one = device, *other = second_device();
    CUdeviceptr a[4], b[5];
    for (unsigned i = 0; i < 4; i++) {
        a[i] = allocate(BYTES);
        fill(a[i], (unsigned char)i);
    }
    fill(a[0], 10);  /* its copy is void */
    expect(a[1], 1); /* and this one's is good */
    assert_int_equal(spw_free(a[2], NULL), 0);
    assert_int_equal(spw_free(a[3], NULL), 0);
    device = other;
    for (unsigned i = 0; i < 5; i++) {
        b[i] = allocate(BYTES);
        fill(b[i], (unsigned char)(20 + i));
    }
    for (unsigned i = 0; i < 5; i++)
        expect(b[i], (unsigned char)(20 + i));
    check_blocks();
    device = one;
    expect(a[0], 10);
    expect(a[1], 1);
    fake_run_all();
    check_blocks();
}

/* The host budget is one for all devices. */
/* promise: host-budget */
static void what_the_host_holds_of_one_device_is_not_promised_to_another(void **state)
{
    CUdeviceptr refused = 0;
    begin(2 * BYTES, 3 * BYTES);
    for (unsigned i = 0; i < 3; i++)
        (void)allocate(BYTES); /* one is away, and one changes places */
    device = second_device();
    for (unsigned i = 0; i < 3; i++)
        (void)allocate(BYTES);
    assert_int_equal(spw_allocate(device, BYTES, NULL, context, spw_mempool_stats_of_locked(NULL), &refused), -ENOMEM);
}

/* The reason is the one of this time, with a host budget that would do. */
static void a_refusal_for_want_of_host_memory_names_a_host_budget(void **state)
{
    void *taken;
    char named[64];
    begin(2 * BYTES, 4 * BYTES);
    CUdeviceptr a = allocate(BYTES), b = allocate(BYTES), c = allocate(BYTES);
    fill(a, 1);
    fill(b, 2);
    spw_lock();
    assert_int_equal(spw_host_memory_take_locked(4 * BYTES, &taken), 0);
    spw_unlock();
    log_into_file(SPW_LOG_WARN);
    assert_int_equal(fill_on(s, c, BYTES, 3), -ENOMEM);
    snprintf(named, sizeof(named), "would do: %zu bytes", 3 * BYTES);
    assert_int_equal(lines_with("the host budget (SPILLWAY_HOST_BUDGET: 262144 bytes) has no room"), 1);
    assert_int_equal(lines_with(named), 1);
    spw_lock();
    spw_hostpool_give(spw_host_memory_pool_locked(), taken, 4 * BYTES);
    spw_unlock();
    fill(c, 3);
    for (int i = 0; i < 2; i++)
        spw_pin_address(i ? b : c, "the test says so");
    assert_int_equal(fill_on(s, a, BYTES, 4), -ENOMEM);
    assert_int_equal(lines_with("beside 0.1 MiB that cannot move"), 1);
    log_as_before();
    fake_run_all();
}

static void *leave_the_call_late(void *op)
{
    usleep(1000 * 1000);
    spw_op_end(op);
    return NULL;
}

/* Another thread stays long inside the driver with the only victim: it is waited for. */
static void a_victim_that_is_busy_is_waited_for(void **state)
{
    pthread_t thread;
    begin(BYTES, 16 << 20);
    CUdeviceptr a = allocate(BYTES), b = allocate(BYTES);
    struct spw_op op = {.handle = s, .hits = &a, .count = 1, .room = 1, .name = "a long copy"};
    assert_int_equal(spw_op_begin(&op), 0);
    fake_fill(s, a, BYTES, 1);
    assert_int_equal(pthread_create(&thread, NULL, leave_the_call_late, &op), 0);
    s = fake_stream();
    fill(b, 2);
    assert_int_equal(pthread_join(thread, NULL), 0);
    expect(a, 1);
    fake_run_all();
}

/* Who does not come out of the driver is no lack of memory, and the rest is as it was. */
static void a_victim_that_stays_busy_is_not_called_out_of_memory(void **state)
{
    begin(BYTES, 16 << 20);
    const CUdeviceptr a = allocate(BYTES), b = allocate(BYTES);
    struct spw_op op = {.handle = s, .hits = (CUdeviceptr *)&a, .count = 1, .room = 1, .name = "a long copy"};
    assert_int_equal(spw_op_begin(&op), 0);
    hurry = 1;
    assert_int_equal(fill_on(t, b, BYTES, 2), -ETIMEDOUT);
    hurry = 0;
    fake_fill(s, a, BYTES, 1);
    spw_op_end(&op);
    assert_int_equal(fill_on(t, b, BYTES, 2), 0);
    expect(a, 1);
    fake_run_all();
}

/* The same where the host has no room for another one. */
static void a_victim_that_is_busy_is_waited_for_where_the_host_has_no_room_for_others(void **state)
{
    pthread_t thread;
    void *taken;
    begin(3 * BYTES, 4 * BYTES);
    CUdeviceptr large = allocate(2 * BYTES), clean = allocate(BYTES), next = allocate(BYTES);
    assert_int_equal(fill_on(t, large, 2 * BYTES, 1), 0);
    spw_lock();
    assert_int_equal(spw_host_memory_take_locked(4 * BYTES, &taken), 0);
    spw_unlock();
    struct spw_op op = {.handle = s, .hits = &clean, .count = 1, .room = 1, .read_only = 1, .name = "a long copy"};
    assert_int_equal(spw_op_begin(&op), 0);
    assert_int_equal(pthread_create(&thread, NULL, leave_the_call_late, &op), 0);
    assert_int_equal(fill_on(t, next, BYTES, 3), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(expect_on(t, large, 2 * BYTES, 1), 0);
    fake_run_all();
}

static void *let_go_late(void *block)
{
    usleep(100 * 1000);
    spw_lock();
    ((struct spw_block *)block)->holds--;
    spw_unlock();
    return NULL;
}

/* An allocation of another thread has taken it, and waits for who used it. */
static void a_cached_block_that_is_held_is_waited_for(void **state)
{
    pthread_t thread;
    begin(BYTES, 16 << 20);
    CUdeviceptr a = allocate(BYTES), b = allocate(2 * 4096);
    fill(a, 1);
    struct spw_block *held = block_at(a);
    assert_int_equal(spw_free(a, spw_stream_of_locked(s)), 0);
    assert_int_equal(held->object.attention, SPW_FREE);
    held->holds++;
    assert_int_equal(pthread_create(&thread, NULL, let_go_late, held), 0);
    assert_int_equal(fill_on(s, b, 2 * 4096, 2), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    fake_run_all();
}

static CUdeviceptr lent;
static unsigned asked;

static int give_room_late(struct spw_device *d)
{
    if (++asked < 3)
        return -EAGAIN;
    block_at(lent)->pinned = false;
    return 1;
}

/* What finds something out about the program has taken memory, and is just using it. */
static void what_a_trial_has_taken_is_waited_for(void **state)
{
    begin(BYTES, 16 << 20);
    struct spw_follower follower = idle_follower;
    follower.give_room = give_room_late;
    lent = allocate(BYTES);
    const CUdeviceptr b = allocate(BYTES);
    fill(lent, 1);
    block_at(lent)->pinned = true;
    spw_follower = &follower;
    spw_plan_follower_any = true;
    fill(b, 2);
    spw_follower = NULL;
    spw_plan_follower_any = false;
    assert_int_equal(asked, 3);
    expect(lent, 1);
    fake_run_all();
}

/* ---- gates ---- */

enum { CROWD = 4 };

/* A host function, or a wait for a value, is submitted. */
static void gate(CUstream stream, bool is_known)
{
    fake_gate(stream);
    spw_lock();
    struct spw_stream *record = spw_stream_of_locked(stream);
    (void)spw_stream_next_locked(record);
    if (is_known)
        spw_stream_gate_locked(record);
    spw_unlock();
}

/* A device that goes on by itself while it is asked, full of a crowd that is out of use. */
static void begin_with_crowd(CUdeviceptr *crowd)
{
    begin(CROWD * BYTES, 16 << 20);
    fake_goes_on(true);
    for (unsigned i = 0; i < CROWD; i++) {
        crowd[i] = allocate(BYTES);
        fill(crowd[i], (unsigned char)i);
    }
    let_run();
}

static void check_crowd(const CUdeviceptr *crowd)
{
    fake_open_gates();
    let_run();
    for (unsigned i = 0; i < CROWD; i++)
        expect(crowd[i], (unsigned char)i);
    fake_run_all();
    check_blocks();
}

/* The one that was used before all others would be the victim, but for the gate before its use. */
static void what_is_gated_stays_where_another_can_go(void **state)
{
    CUdeviceptr crowd[CROWD];
    begin_with_crowd(crowd);
    const CUdeviceptr next = allocate(BYTES);
    gate(t, true);
    assert_int_equal(fill_on(t, crowd[0], BYTES, 0), 0);
    for (unsigned i = 1; i < CROWD; i++)
        fill(crowd[i], (unsigned char)i);
    fill(next, 9);
    assert_int_equal(attention(crowd[0]), 0);
    assert_int_equal(attention(crowd[1]), SPW_EVICTED);
    check_crowd(crowd);
    expect(next, 9);
    fake_run_all();
}

/* Nobody has told of the gate: it is found out by waiting in vain, and that once. What was being copied behind it does not
 * keep others from being copied. */
static void a_wait_in_vain_is_not_the_last(void **state)
{
    CUdeviceptr crowd[CROWD];
    begin_with_crowd(crowd);
    const CUdeviceptr next = allocate(BYTES), more = allocate(BYTES);
    const CUstream elsewhere = fake_stream();
    gate(elsewhere, true); /* so that nothing is waited for without end */
    gate(t, false);
    assert_int_equal(fill_on(t, crowd[0], BYTES, 0), 0);
    for (unsigned i = 1; i < CROWD; i++)
        fill(crowd[i], (unsigned char)i);
    fill(next, 9);
    assert_true(attention(crowd[0]) & SPW_EVICTING);
    assert_int_equal(block_at(crowd[0])->way, SPW_QUEUE_OUT);
    fill(more, 10);
    check_blocks();
    check_crowd(crowd);
    expect(next, 9);
    expect(more, 10);
    fake_run_all();
}

/* It leaves by plan, and its copy out waits. Whatever leaves later, and is out of use, does not come behind that. */
static void a_copy_out_that_is_gated_keeps_no_other_waiting(void **state)
{
    CUdeviceptr crowd[CROWD];
    begin_with_crowd(crowd);
    const CUdeviceptr next = allocate(BYTES), more = allocate(BYTES);
    gate(t, true);
    assert_int_equal(fill_on(t, crowd[0], BYTES, 0), 0);
    const uint64_t in_vain = spw_waits_in_vain;
    leave(crowd[0]);
    assert_true(attention(crowd[0]) & SPW_EVICTING);
    leave(crowd[1]);
    leave(crowd[2]);
    assert_int_not_equal(block_at(crowd[0])->leave_stream, block_at(crowd[1])->leave_stream);
    assert_int_equal(block_at(crowd[1])->leave_stream, block_at(crowd[2])->leave_stream);
    assert_int_equal(spw_driver.cuStreamSynchronize(spw_stream_by_id_locked(block_at(crowd[1])->leave_stream)->handle),
                     CUDA_SUCCESS);
    pump(); /* passes over what does not go yet */
    assert_int_equal(attention(crowd[1]), SPW_EVICTED);
    assert_int_equal(attention(crowd[2]), SPW_EVICTED);
    assert_true(attention(crowd[0]) & SPW_EVICTING);
    fill(next, 9);
    fill(more, 10);
    leave(crowd[3]);
    fill(crowd[1], 1);
    assert_int_equal(spw_waits_in_vain, in_vain);
    leave(more);
    fill(more, 10); /* its copy out is no gate for who writes it */
    assert_true(attention(crowd[0]) & SPW_EVICTING);
    assert_int_equal(spw_driver.cuStreamSynchronize(s), CUDA_SUCCESS);
    check_crowd(crowd);
    expect(next, 9);
    expect(more, 10);
    fake_run_all();
}

/* Freed blocks are waited for before tensors go, but for that one. */
static void a_freed_block_that_is_gated_is_not_waited_for(void **state)
{
    CUdeviceptr crowd[CROWD];
    begin_with_crowd(crowd);
    gate(t, true);
    assert_int_equal(fill_on(t, crowd[0], BYTES, 0), 0);
    assert_int_equal(spw_free(crowd[0], NULL), 0);
    crowd[0] = allocate(BYTES); /* not its address, which would be waited for as well */
    fill(crowd[0], 0);
    check_crowd(crowd);
}

/* The same where nobody has told of the gate: it is waited for once, in vain. */
static void a_freed_block_is_waited_for_in_vain_once(void **state)
{
    CUdeviceptr crowd[CROWD];
    begin_with_crowd(crowd);
    const CUdeviceptr next = allocate(BYTES);
    const CUstream elsewhere = fake_stream();
    const uint64_t before = spw_waits_in_vain;
    for (int is_by_allocation = 0; is_by_allocation < 2; is_by_allocation++) {
        gate(elsewhere, true);
        gate(t, false);
        assert_int_equal(fill_on(t, crowd[0], BYTES, 0), 0);
        assert_int_equal(spw_free(crowd[0], NULL), 0);
        if (!is_by_allocation)
            fill(next, 9);
        crowd[0] = allocate(BYTES);
        fill(crowd[0], 0);
        assert_int_equal(spw_waits_in_vain - before, 1 + is_by_allocation);
        check_crowd(crowd);
    }
    expect(next, 9);
    fake_run_all();
}

static void *open_late(void *unused)
{
    usleep(300 * 1000);
    spw_lock();
    fake_open_gates();
    spw_unlock();
    return unused;
}

/* Nothing else can go: it is waited for, and then goes. */
static void what_is_gated_goes_when_the_gate_opens(void **state)
{
    pthread_t thread;
    begin(BYTES, 16 << 20);
    fake_goes_on(true);
    const CUdeviceptr a = allocate(BYTES), b = allocate(BYTES);
    gate(t, true);
    assert_int_equal(fill_on(t, a, BYTES, 1), 0);
    assert_int_equal(pthread_create(&thread, NULL, open_late, NULL), 0);
    fill(b, 2);
    assert_int_equal(pthread_join(thread, NULL), 0);
    expect(a, 1);
    expect(b, 2);
    fake_run_all();
    check_blocks();
}

/* Each stream for copies out waits for another gate, and nothing is out of use. */
static void a_victim_that_would_keep_others_waiting_is_waited_for(void **state)
{
    CUdeviceptr crowd[CROWD];
    pthread_t thread;
    begin_with_crowd(crowd);
    const CUdeviceptr next = allocate(BYTES);
    for (unsigned i = 0; i < CROWD; i++) {
        const CUstream on = fake_stream();
        gate(on, i < CROWD - 1);
        assert_int_equal(fill_on(on, crowd[i], BYTES, (unsigned char)i), 0);
        if (i < CROWD - 1)
            leave(crowd[i]);
    }
    assert_int_equal(pthread_create(&thread, NULL, open_late, NULL), 0);
    fill(next, 9);
    assert_int_equal(pthread_join(thread, NULL), 0);
    check_crowd(crowd);
    expect(next, 9);
    fake_run_all();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_that_was_freed_is_waited_for_before_what_is_leaving),
        cmocka_unit_test(what_needs_no_copy_is_waited_for_before_copies),
        cmocka_unit_test(a_device_with_less_memory_than_the_budget_evicts_earlier),
        cmocka_unit_test(memory_that_comes_back_is_used_again),
        cmocka_unit_test(a_smaller_tensor_goes_where_the_host_has_no_room_for_a_larger),
        cmocka_unit_test(one_tensors_worth_of_host_memory_is_enough_for_several_that_come_back),
        cmocka_unit_test(host_memory_that_one_device_can_do_without_serves_another),
        cmocka_unit_test(what_the_host_holds_of_one_device_is_not_promised_to_another),
        cmocka_unit_test(a_refusal_for_want_of_host_memory_names_a_host_budget),
        cmocka_unit_test(a_victim_that_is_busy_is_waited_for),
        cmocka_unit_test(a_victim_that_stays_busy_is_not_called_out_of_memory),
        cmocka_unit_test(a_victim_that_is_busy_is_waited_for_where_the_host_has_no_room_for_others),
        cmocka_unit_test(a_cached_block_that_is_held_is_waited_for),
        cmocka_unit_test(what_a_trial_has_taken_is_waited_for),
        cmocka_unit_test(what_is_gated_stays_where_another_can_go),
        cmocka_unit_test(a_wait_in_vain_is_not_the_last),
        cmocka_unit_test(a_copy_out_that_is_gated_keeps_no_other_waiting),
        cmocka_unit_test(a_freed_block_that_is_gated_is_not_waited_for),
        cmocka_unit_test(a_freed_block_is_waited_for_in_vain_once),
        cmocka_unit_test(what_is_gated_goes_when_the_gate_opens),
        cmocka_unit_test(a_victim_that_would_keep_others_waiting_is_waited_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
