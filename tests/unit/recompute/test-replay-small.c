/* test-replay-small.c - replays read small allocations that are lent or saved for them, and what fails is done later. */
#include "pin.h"
#include "reran.h"

/* Nobody was told that it was changed, nor that the launch itself changes it when it runs again. */
static void a_small_allocation_that_is_read_may_change_unseen(void **state)
{
    begin_replays(BUDGET, 16 << 20);
    CUdeviceptr b = allocate(BYTES), n = allocate(SLOT_BYTES);
    mix(&n, 0, 1, 7);
    believes = true;
    mix((CUdeviceptr[]){n, b}, 1, 1, 9);
    believes = false;
    fake_fill(s, n, SLOT_BYTES, 77);
    drop(b);
    let_go_all();
    assert_true(attention(b) & SPW_DROPPED);
    assert_int_equal(slot_at(n)->content.needed, 0);
    assert_int_equal(slot_at(n)->lent, 1);
    expect(b, mixed(fake_mixed(NULL, 0, 7), 9));
    assert_int_equal(fake_expect(s, n, SLOT_BYTES, 77), CUDA_SUCCESS);
    let_go_all();
    assert_int_equal(slot_at(n)->lent, 0);
}

/* A graph may use it at any time from then on: a replay could put nothing else there for a while. */
static void a_small_allocation_that_is_pinned_is_lent_to_nobody(void **state)
{
    begin_replays(BUDGET, 16 << 20);
    CUdeviceptr b = allocate(BYTES), n = allocate(SLOT_BYTES);
    mix(&n, 0, 1, 7);
    believes = true;
    mix((CUdeviceptr[]){n, b}, 1, 1, 9);
    believes = false;
    drop(b);
    let_go_all();
    assert_int_equal(slot_at(n)->lent, 1);
    spw_pin_address(n, "a graph uses it");
    assert_int_equal(slot_at(n)->lent, 0);
    assert_false(attention(b) & SPW_DROPPED);
    expect(b, mixed(fake_mixed(NULL, 0, 7), 9));
    let_go_all();
}

struct meanwhile {
    CUdeviceptr address;
    struct spw_stream *stream; /* somebody is inside the driver with it */
    uint32_t attention;        /* as another thread finds it */
};

static void *look_meanwhile(void *argument)
{
    struct meanwhile *m = argument;
    for (m->attention = SPW_ABSENT; m->attention & SPW_ABSENT;) {
        const struct timespec moment = {.tv_nsec = 100000};
        nanosleep(&moment, NULL);
        spw_lock();
        m->attention = attention(m->address);
        spw_unlock();
    }
    atomic_store(&m->stream->in_call, 0);
    return NULL;
}

/* Its memory is there before what makes it is submitted, which waits for others: these must not take it for what it was. */
static void nobody_uses_what_is_about_to_be_made(void **state)
{
    begin_replays(BUDGET, 16 << 20);
    CUdeviceptr a = allocate(BYTES), b = allocate(BYTES), n = allocate(SLOT_BYTES);
    mix(&n, 0, 1, 7);
    mix(&a, 0, 1, 5);
    const unsigned char values[] = {fake_mixed(NULL, 0, 5), fake_mixed(NULL, 0, 7)};
    mix((CUdeviceptr[]){a, n, b, n}, 2, 2, 9);
    drop(b);
    let_go_all();
    assert_true(attention(b) & SPW_DROPPED);
    spw_lock();
    struct meanwhile m = {.address = b, .stream = spw_stream_of_locked(s)};
    spw_unlock();
    pthread_t thread;
    atomic_store(&m.stream->in_call, 1);
    assert_int_equal(pthread_create(&thread, NULL, look_meanwhile, &m), 0);
    expect(b, fake_mixed(values, 2, 9));
    pthread_join(thread, NULL);
    assert_true(m.attention & SPW_UNVERIFIED);
    assert_false(attention(b));
    let_go_all();
}

/* Without room for what it held, nothing is dropped for it. */
static void without_a_stash_what_updates_small_allocations_is_copied(void **state)
{
    begin_replays(BUDGET, 16 << 20);
    CUdeviceptr b = allocate(BYTES), n = allocate(SLOT_BYTES);
    uint32_t offset;
    while (spw_stash_take_for_long_locked(device, 256, &offset) == 0)
        continue;
    mix(&n, 0, 1, 7);
    mix((CUdeviceptr[]){n, b, n}, 1, 2, 9);
    drop(b);
    let_go_all();
    assert_int_equal(attention(b), SPW_EVICTED);
    expect(b, mixed(fake_mixed(NULL, 0, 7), 9));
    let_go_all();
}

/* However much is saved: what a replay puts away while it runs finds room. */
static void what_is_saved_for_long_leaves_room_for_what_is_put_away(void **state)
{
    begin_replays(BUDGET, 16 << 20);
    CUdeviceptr b = allocate(BYTES), n = allocate(SLOT_BYTES);
    uint32_t offset;
    uint64_t saved = 0, moment = 0;
    mix(&n, 0, 1, 7);
    mix((CUdeviceptr[]){n, b, n}, 1, 2, 9);
    while (spw_stash_take_for_long_locked(device, SLOT_BYTES, &offset) == 0)
        saved += spw_stash_rounded(SLOT_BYTES);
    assert_true(saved > 0);
    drop(b);
    let_go_all();
    assert_true(attention(b) & SPW_DROPPED);
    expect(b, mixed(fake_mixed(NULL, 0, 7), 9));
    let_go_all();
    while (spw_stash_take_locked(device, SLOT_BYTES, &offset) == 0)
        moment += spw_stash_rounded(SLOT_BYTES);
    assert_true(moment >= spw_stash_moment_bytes_locked(device));
}

/* One that is only read has to be as it was; freed, it is kept back until it is needed no more. */
static void a_small_allocation_that_is_needed_is_kept_back(void **state)
{
    begin_replays(BUDGET, 16 << 20);
    CUdeviceptr b = allocate(BYTES), n = allocate(SLOT_BYTES);
    mix(&n, 0, 1, 7);
    mix((CUdeviceptr[]){n, b}, 1, 1, 9);
    drop(b);
    let_go_all();
    assert_int_equal(slot_at(n)->content.needed, 1);
    give_back(n, s, false);
    CUdeviceptr other[32];
    for (int i = 0; i < 32; i++) {
        other[i] = allocate(SLOT_BYTES);
        assert_int_not_equal(other[i], n);
        assert_int_equal(mix_on(s, &other[i], 0, 1, 1), 0);
    }
    expect(b, mixed(fake_mixed(NULL, 0, 7), 9));
    let_go_all();
    bool again = false;
    for (int i = 0; i < 300; i++)
        again |= allocate(SLOT_BYTES) == n;
    assert_true(again);
}

/* If what a small allocation held cannot be put back, no operation uses it before that has been done. */
static void nobody_uses_what_could_not_be_put_back(void **state)
{
    begin_replays(BUDGET, 16 << 20);
    CUdeviceptr b = allocate(BYTES), n = allocate(SLOT_BYTES);
    mix(&n, 0, 1, 7);
    mix((CUdeviceptr[]){n, b, n}, 1, 2, 9);
    const unsigned char made = mixed(fake_mixed(NULL, 0, 7), 9);
    mix((CUdeviceptr[]){n, n}, 1, 1, 4);
    drop(b);
    let_go_all();
    fake_fail("cuMemcpyDtoDAsync_v2", 3, CUDA_ERROR_UNKNOWN, true);
    expect(b, made);
    assert_int_equal(spw_replayed.owed_count, 1);
    assert_true(expect_on(s, n, SLOT_BYTES, 0) < 0);
    fake_fail("", 0, CUDA_SUCCESS, false);
    assert_int_equal(expect_on(t, n, SLOT_BYTES, mixed((unsigned char)(made + 1), 4)), 0);
    let_go_all();
    assert_int_equal(attention(n), 0);
}

/* The plan's replays bring back what it dropped, as long as that takes memory from nobody. */
static void a_plan_takes_memory_from_nobody(void **state)
{
    begin_replays(3 * BYTES, 16 << 20);
    CUdeviceptr a = allocate(BYTES), b = allocate(BYTES), c = allocate(BYTES), d = allocate(BYTES);
    mix(&a, 0, 1, 5);
    mix((CUdeviceptr[]){a, b}, 1, 1, 9);
    drop(b);
    let_go_all();
    fill(c, 1);
    fill(d, 2);
    assert_int_equal(under_locks(run_again, b), 0);
    assert_int_equal(attention(b), SPW_DROPPED);
    assert_int_equal(spw_replayed.postponed_count, 1);
    leave(c); /* this one is waited for */
    assert_int_equal(under_locks(run_again, b), 0);
    assert_int_equal(attention(b), 0);
    assert_int_equal(spw_replayed.count[SPW_REPLAY_PLAN], 1);
    expect(b, mixed(fake_mixed(NULL, 0, 5), 9));
    expect(c, 1);
    let_go_all();
}

/* The program's other streams, those too that begin later, come after what ran again. */
static void other_streams_come_after_it(void **state)
{
    begin_replays(BUDGET, 16 << 20);
    CUdeviceptr a = allocate(BYTES), b = allocate(BYTES);
    mix(&a, 0, 1, 5);
    mix((CUdeviceptr[]){a, b}, 1, 1, 9);
    fill_on(t, allocate(BYTES), BYTES, 1);
    drop(b);
    let_go_all();
    expect(b, mixed(fake_mixed(NULL, 0, 5), 9));
    assert_int_equal(expect_on(t, b, BYTES, mixed(fake_mixed(NULL, 0, 5), 9)), 0);
    assert_int_equal(fill_on(t, a, BYTES, 77), 0);
    assert_int_equal(spw_driver.cuStreamSynchronize(t), CUDA_SUCCESS);
    fake_run_all();
}

/* Whatever fails while it is made, it stays dropped, and the next use makes it. */
static void what_fails_is_done_the_next_time(void **state)
{
    static const char *const calls[] = {"cuMemMap", "cuMemSetAccess", "cuMemcpyHtoDAsync_v2", "cuMemcpyDtoDAsync_v2", ""};
    for (unsigned call = 0; call < sizeof(calls) / sizeof(calls[0]); call++) {
        for (unsigned n = 1; n < 6; n++) {
            begin_replays(BUDGET, 16 << 20);
            CUdeviceptr a = allocate(BYTES), b = allocate(BYTES), c = allocate(SLOT_BYTES);
            mix(&c, 0, 1, 7);
            mix(&a, 0, 1, 5);
            const unsigned char values[] = {fake_mixed(NULL, 0, 5), fake_mixed(NULL, 0, 7)};
            mix((CUdeviceptr[]){a, c, b, c}, 2, 2, 9);
            drop(b);
            leave(a);
            let_go_all();
            fake_fail(calls[call], n, CUDA_ERROR_UNKNOWN, false);
            refuse_submits = calls[call][0] ? 0 : n;
            under_locks(run_again, b);
            check_needs();
            assert_true(attention(b) == SPW_DROPPED || attention(b) == 0);
            fake_fail("", 0, CUDA_SUCCESS, false);
            refuse_submits = 0;
            expect(b, fake_mixed(values, 2, 9));
            assert_int_equal(expect_on(s, c, SLOT_BYTES, (unsigned char)(fake_mixed(values, 2, 9) + 1)), 0);
            let_go_all();
        }
    }
}

/* If what depends on it cannot be made, the operation that would write it is refused, and nothing is lost. */
static void what_cannot_be_rescued_is_not_written(void **state)
{
    begin_replays(2 * BYTES, 16 << 20);
    CUdeviceptr a = allocate(BYTES), b = allocate(BYTES), c = allocate(BYTES);
    mix(&a, 0, 1, 5);
    mix((CUdeviceptr[]){a, b}, 1, 1, 9);
    drop(b);
    let_go_all();
    fill(c, 3);
    fake_fail("cuMemcpyDtoHAsync_v2", 1, CUDA_ERROR_UNKNOWN, true); /* nothing can leave */
    assert_true(mix_on(s, &a, 0, 1, 6) < 0);
    fake_fail("", 0, CUDA_SUCCESS, false);
    assert_int_equal(attention(b), SPW_DROPPED);
    check_needs();
    expect(a, fake_mixed(NULL, 0, 5));
    give_back(c, s, false);
    mix(&a, 0, 1, 6);
    expect(b, mixed(fake_mixed(NULL, 0, 5), 9));
    let_go_all();
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_small_allocation_that_is_read_may_change_unseen),
        cmocka_unit_test(a_small_allocation_that_is_pinned_is_lent_to_nobody),
        cmocka_unit_test(nobody_uses_what_is_about_to_be_made),
        cmocka_unit_test(without_a_stash_what_updates_small_allocations_is_copied),
        cmocka_unit_test(what_is_saved_for_long_leaves_room_for_what_is_put_away),
        cmocka_unit_test(a_small_allocation_that_is_needed_is_kept_back),
        cmocka_unit_test(nobody_uses_what_could_not_be_put_back),
        cmocka_unit_test(a_plan_takes_memory_from_nobody),
        cmocka_unit_test(other_streams_come_after_it),
        cmocka_unit_test(what_fails_is_done_the_next_time),
        cmocka_unit_test(what_cannot_be_rescued_is_not_written),
    };
    is_eager = argc > 1;
    fake_eager(is_eager);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
