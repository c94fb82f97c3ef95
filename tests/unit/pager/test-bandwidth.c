/* test-bandwidth.c - how fast copies go is learned from the copies themselves, alone and beside others, with few events. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "bandwidth.h"
#include "counters.h"
#include "driver.h"
#include "events.h"
#include "fake-device.h"
#include "host_memory.h"
#include "mover.h"
#include "unlocked.h"

#define BASE  ((CUdeviceptr)0x700000000000)
#define LARGE ((size_t)1 << 20)

static CUcontext context;
static CUstream out, in;
static CUevent met[2];
static unsigned before; /* events that are the test's own */
static uint64_t held;   /* events of others */
static char host[2][LARGE];

static int begin(void **state)
{
    CUdeviceptr a;
    CUmemGenericAllocationHandle h;
    CUmemAccessDesc access = {0};
    spw_mover_reset();
    fake_start(4096, 4 * LARGE, 4 * LARGE, 4 * LARGE);
    assert_int_equal(spw_driver.cuMemAddressReserve(&a, LARGE, 0, 0, 0), CUDA_SUCCESS);
    assert_int_equal(spw_driver.cuMemCreate(&h, LARGE, NULL, 0), CUDA_SUCCESS);
    assert_int_equal(spw_driver.cuMemMap(BASE, LARGE, 0, h, 0), CUDA_SUCCESS);
    assert_int_equal(spw_driver.cuMemSetAccess(BASE, LARGE, &access, 1), CUDA_SUCCESS);
    assert_int_equal(spw_driver.cuCtxGetCurrent(&context), CUDA_SUCCESS);
    out = fake_stream();
    in = fake_stream();
    for (int i = 0; i < 2; i++)
        assert_int_equal(spw_driver.cuEventCreate(&met[i], CU_EVENT_DISABLE_TIMING), CUDA_SUCCESS);
    before = fake_counts()->events;
    held = spw_events_held();
    return 0;
}

/* In two pieces; true when it was measured. */
static bool copy(bool is_out, size_t bytes)
{
    CUstream s = is_out ? out : in;
    struct spw_bandwidth_pair *p = spw_bandwidth_begin_locked(0, is_out, bytes, context, s);
    CUresult r = CUDA_SUCCESS;
    for (size_t at = 0; at < bytes && r == CUDA_SUCCESS; at += bytes / 2)
        r = is_out ? spw_driver.cuMemcpyDtoHAsync_v2(host[0] + at, BASE + at, bytes / 2, s)
                   : spw_driver.cuMemcpyHtoDAsync_v2(BASE + at, host[1] + at, bytes / 2, s);
    spw_bandwidth_end_locked(p, s, r == CUDA_SUCCESS);
    return p != NULL;
}

static void wait(CUstream s)
{
    assert_int_equal(spw_driver.cuStreamSynchronize(s), CUDA_SUCCESS);
}

/* What waits for the other direction's work so far: the streams' clocks come together. */
static void meet(void)
{
    CUstream s[] = {out, in};
    for (int i = 0; i < 2; i++)
        spw_driver.cuEventRecord(met[i], s[i]);
    for (int i = 0; i < 2; i++)
        spw_driver.cuStreamWaitEvent(s[i], met[!i], 0);
    wait(out);
    wait(in);
}

static void alone(bool is_out, size_t bytes)
{
    meet();
    copy(is_out, bytes);
    meet();
}

/* One in each direction at once; `share` of what each would do alone. */
static void together(size_t bytes, double share)
{
    meet();
    fake_slow_copies(1 / share);
    copy(true, bytes * 1 / 2);
    copy(false, bytes);
    meet();
    fake_slow_copies(1);
}

static bool known(struct spw_bandwidth *ret_bandwidth)
{
    spw_bandwidth_collect_locked(0);
    return spw_bandwidth_locked(0, ret_bandwidth);
}

static void assert_about(double value, double expected)
{
    assert_true(value > expected * 0.99 && value < expected * 1.01);
}

static void nothing_known_is_a_guess(void **state)
{
    struct spw_bandwidth b;
    assert_false(known(&b));
    assert_about(b.d2h_bytes_per_us, 12000);
    assert_about(b.h2d_bytes_per_us, 12000);
    assert_true(b.duplex_share > 0.5 && b.duplex_share < 1);
    assert_int_equal(fake_counts()->events, before);
}

static void each_direction_is_known_after_three_copies(void **state)
{
    struct spw_bandwidth b;
    for (int i = 0; i < 3; i++) {
        assert_false(known(&b));
        alone(true, LARGE);
        alone(false, LARGE);
    }
    assert_true(known(&b));
    assert_false(b.duplex_measured);
    assert_about(b.d2h_bytes_per_us, FAKE_OUT_BYTES_PER_US);
    assert_about(b.h2d_bytes_per_us, FAKE_IN_BYTES_PER_US);
}

/* Two streams of copies out: while they overlap each has half of the link. */
static void copies_of_one_direction_that_overlap_tell_nothing(void **state)
{
    struct spw_bandwidth b;
    const CUstream first = out, second = fake_stream();
    for (int i = 0; i < 5; i++) {
        alone(false, LARGE);
        meet();
        fake_slow_copies(2);
        copy(true, LARGE);
        assert_int_equal(spw_driver.cuStreamWaitEvent(second, met[1], 0), CUDA_SUCCESS);
        out = second;
        copy(true, LARGE);
        out = first;
        wait(first);
        wait(second);
        fake_slow_copies(1);
    }
    assert_false(known(&b));
    assert_about(b.d2h_bytes_per_us, FAKE_IN_BYTES_PER_US); /* the other one's */
    for (int i = 0; i < 3; i++)
        alone(true, LARGE);
    assert_true(known(&b));
    assert_about(b.d2h_bytes_per_us, FAKE_OUT_BYTES_PER_US);
}

static void one_known_direction_stands_for_the_other(void **state)
{
    struct spw_bandwidth b;
    for (int i = 0; i < 5; i++)
        alone(false, LARGE);
    assert_false(known(&b));
    assert_about(b.d2h_bytes_per_us, FAKE_IN_BYTES_PER_US);
    assert_about(b.h2d_bytes_per_us, FAKE_IN_BYTES_PER_US);
}

static void directions_that_are_never_alone_are_known_by_what_they_do_beside_each_other(void **state)
{
    struct spw_bandwidth b;
    for (int i = 0; i < 3; i++)
        together(LARGE, 0.6);
    assert_true(known(&b));
    assert_about(b.d2h_bytes_per_us, FAKE_OUT_BYTES_PER_US * 0.6);
    assert_about(b.h2d_bytes_per_us, FAKE_IN_BYTES_PER_US * 0.6);
}

/* A copy out takes as long as one of twice the bytes in; both at once go at 60 % of it. */
static void copies_beside_each_other_tell_what_the_link_does_both_ways(void **state)
{
    struct spw_bandwidth b;
    for (int i = 0; i < 4; i++) {
        alone(true, LARGE);
        alone(false, LARGE);
        together(LARGE, 0.6);
    }
    assert_true(known(&b));
    assert_about(b.d2h_bytes_per_us, FAKE_OUT_BYTES_PER_US);
    assert_about(b.h2d_bytes_per_us, FAKE_IN_BYTES_PER_US);
    assert_about(b.duplex_share, 0.6);
    assert_true(b.duplex_measured);
}

/* The copy in runs beside the beginning of one that goes out: at full speed first, then at half. */
static void a_copy_that_is_partly_alone_tells_of_the_part_that_is_not(void **state)
{
    struct spw_bandwidth b;
    for (int i = 0; i < 4; i++) {
        alone(true, LARGE);
        alone(false, LARGE);
    }
    for (int i = 0; i < 4; i++) {
        meet();
        struct spw_bandwidth_pair *p = spw_bandwidth_begin_locked(0, false, LARGE, context, in);
        spw_driver.cuMemcpyHtoDAsync_v2(BASE, host[1], LARGE / 2, in);  /* 64 us */
        spw_driver.cuMemcpyHtoDAsync_v2(BASE, host[1], LARGE / 2, out); /* 64 us, until the copy out may begin */
        fake_slow_copies(2);
        spw_driver.cuMemcpyHtoDAsync_v2(BASE, host[1], LARGE / 2, in); /* 128 us */
        spw_bandwidth_end_locked(p, in, true);
        copy(true, LARGE * 3 / 4); /* 384 us, most of them alone: it does not count itself */
        fake_slow_copies(1);
        meet();
    }
    assert_true(known(&b));
    assert_about(b.d2h_bytes_per_us, FAKE_OUT_BYTES_PER_US);
    assert_about(b.h2d_bytes_per_us, FAKE_IN_BYTES_PER_US);
    assert_about(b.duplex_share, 0.5);
}

/* The first copies were slower than they usually are: what ran beside others was not faster by that. */
static void what_copies_do_beside_each_other_is_held_against_what_they_turn_out_to_do_alone(void **state)
{
    struct spw_bandwidth b;
    fake_slow_copies(1.5);
    alone(true, LARGE);
    alone(false, LARGE);
    fake_slow_copies(1);
    for (int i = 0; i < 4; i++)
        together(LARGE, 0.7);
    for (int i = 0; i < 8; i++) {
        alone(true, LARGE);
        alone(false, LARGE);
    }
    assert_true(known(&b));
    assert_about(b.h2d_bytes_per_us, FAKE_IN_BYTES_PER_US);
    assert_about(b.duplex_share, 0.7);
}

/* Of a tensor, on a link that is slow: a copy of the program's waits for one piece, not for all of it. Small pieces, which
 * cost the link more, are for programs that copy often. */
static void what_is_copied_goes_in_pieces_that_take_a_third_of_a_millisecond(void **state)
{
    static const struct {
        double times;
        unsigned long long copies; /* the program's, for eight of ours */
        unsigned out, in;
    } links[] = {{1, 0, 1, 1}, {2, 0, 2, 1}, {1000, 3, 2, 2}, {1000, 4, LARGE >> 15, LARGE >> 15}};
    for (unsigned i = 0; i < sizeof(links) / sizeof(links[0]); i++) {
        assert_int_equal(begin(NULL), 0);
        spw_bandwidth_reset();
        fake_slow_copies(links[i].times);
        spw_moved = (struct spw_moved){.in_count = 8};
        spw_counts[SPW_CALL_cuMemcpyHtoDAsync_v2].calls = links[i].copies;
        for (int k = 0; k < 4; k++) {
            alone(true, LARGE);
            alone(false, LARGE);
        }
        spw_bandwidth_collect_locked(0);
        spw_lock();
        struct spw_stream *s = spw_stream_of_locked(out);
        void *pinned;
        assert_int_equal(spw_host_memory_take_locked(2 * LARGE, &pinned), 0);
        unsigned char *bytes = pinned;
        const struct fake_counts was = *fake_counts();
        for (size_t at = 0; at < LARGE; at++)
            bytes[at] = (unsigned char)(at / 1000); /* no two pieces are alike */
        assert_int_equal(spw_mover_copy_range_locked(s, BASE, bytes, LARGE, false), 0);
        assert_int_equal(spw_mover_copy_range_locked(s, BASE, bytes + LARGE, LARGE, true), 0);
        assert_int_equal(fake_counts()->copies_in - was.copies_in, links[i].in);
        assert_int_equal(fake_counts()->copies_out - was.copies_out, links[i].out);
        spw_unlock();
        wait(out);
        for (size_t at = 0; at < LARGE; at++)
            assert_int_equal(bytes[LARGE + at], (unsigned char)(at / 1000));
    }
    spw_counts[SPW_CALL_cuMemcpyHtoDAsync_v2].calls = 0;
    spw_moved = (struct spw_moved){0};
}

static void a_hiccup_does_not_count(void **state)
{
    struct spw_bandwidth b;
    for (int i = 0; i < 7; i++) {
        fake_slow_copies(i == 2 ? 1.8 : i == 5 ? 0.5 : 1);
        alone(true, LARGE);
        alone(false, LARGE);
    }
    assert_true(known(&b));
    assert_about(b.d2h_bytes_per_us, FAKE_OUT_BYTES_PER_US);
    assert_about(b.h2d_bytes_per_us, FAKE_IN_BYTES_PER_US);
}

/* Not for more than another, however long it took: something held it up. */
static void a_copy_that_stands_still_counts_for_its_bytes(void **state)
{
    struct spw_bandwidth b;
    for (int i = 0; i < 7; i++) {
        fake_slow_copies(i == 2 ? 40 : 1);
        alone(true, LARGE);
        alone(false, LARGE);
    }
    assert_true(known(&b));
    assert_about(b.d2h_bytes_per_us, FAKE_OUT_BYTES_PER_US);
    assert_about(b.h2d_bytes_per_us, FAKE_IN_BYTES_PER_US);
}

static void a_link_that_has_become_slower_is_noticed(void **state)
{
    struct spw_bandwidth b;
    for (int i = 0; i < 2000; i++) {
        fake_slow_copies(i < 1000 ? 1 : 2);
        alone(i % 2, 8192);
        fake_run_all();
    }
    assert_true(known(&b));
    assert_about(b.d2h_bytes_per_us, FAKE_OUT_BYTES_PER_US / 2);
    assert_about(b.h2d_bytes_per_us, FAKE_IN_BYTES_PER_US / 2);
}

static void copy_both_ways(int times)
{
    for (int i = 0; i < times; i++) {
        alone(true, LARGE);
        alone(false, LARGE);
    }
}

static void what_is_doubted_counts_until_it_is_known_anew(void **state)
{
    struct spw_bandwidth b;
    for (int i = 0; i < 9; i++) {
        copy_both_ways(1);
        together(LARGE, 0.6);
    }
    assert_true(known(&b));
    assert_false(spw_bandwidth_in_doubt_locked(0));
    spw_bandwidth_doubt_locked(0);
    fake_slow_copies(2);
    copy_both_ways(1);
    assert_true(known(&b));
    assert_about(b.h2d_bytes_per_us, FAKE_IN_BYTES_PER_US);
    assert_true(spw_bandwidth_in_doubt_locked(0));
    copy_both_ways(5);
    assert_true(known(&b));
    assert_about(b.d2h_bytes_per_us, FAKE_OUT_BYTES_PER_US / 2);
    assert_about(b.h2d_bytes_per_us, FAKE_IN_BYTES_PER_US / 2);
    assert_about(b.duplex_share, 0.6);
    assert_true(b.duplex_measured);
    assert_false(spw_bandwidth_in_doubt_locked(0));
    fake_slow_copies(1);
}

static void what_is_doubted_is_measured_at_every_copy_but_not_for_ever(void **state)
{
    struct spw_bandwidth b;
    spw_bandwidth_doubt_locked(0); /* nothing is known yet */
    assert_false(spw_bandwidth_in_doubt_locked(0));
    copy_both_ways(1100);
    assert_false(copy(true, LARGE));
    spw_bandwidth_doubt_locked(0);
    assert_true(copy(true, LARGE));
    const unsigned events = fake_counts()->events;
    for (int i = 0; i < 1100; i++) /* in one direction, so that the other stays unknown */
        alone(true, LARGE);
    assert_false(copy(true, LARGE));
    assert_false(spw_bandwidth_in_doubt_locked(0));
    assert_true(fake_counts()->events <= events + 64);
    assert_true(known(&b));
    assert_about(b.h2d_bytes_per_us, FAKE_IN_BYTES_PER_US);
}

static void small_copies_are_left_out(void **state)
{
    struct spw_bandwidth b;
    for (int i = 0; i < 3; i++)
        alone(true, LARGE);
    for (int i = 0; i < 20; i++) {
        fake_slow_copies(7);
        meet();
        assert_false(copy(true, LARGE / 8));
        meet();
    }
    known(&b);
    assert_about(b.d2h_bytes_per_us, FAKE_OUT_BYTES_PER_US);
}

/* One that nobody measures may run beside one that is: that one does not count as alone. */
static void what_ran_beside_an_unmeasured_copy_is_not_taken_for_alone(void **state)
{
    struct spw_bandwidth b;
    for (int i = 0; i < 3; i++) {
        alone(true, LARGE);
        alone(false, LARGE);
    }
    fake_slow_copies(1.5);
    for (int i = 0; i < 9; i++) {
        meet();
        fake_fail("cuEventRecord", 1, CUDA_ERROR_UNKNOWN, false);
        assert_false(copy(true, LARGE));
        fake_fail("", 0, CUDA_SUCCESS, false);
        assert_true(copy(false, LARGE));
        meet();
    }
    known(&b);
    assert_about(b.h2d_bytes_per_us, FAKE_IN_BYTES_PER_US);
}

static void measuring_becomes_rare_and_makes_no_events(void **state)
{
    unsigned measured = 0, events = 0;
    for (int i = 0; i < 4096; i++) {
        if (i == 2048) {
            measured = 0;
            events = fake_counts()->events;
        }
        measured += copy(i & 1, 8192);
        if (i % 16 == 0)
            fake_run_all();
    }
    assert_int_equal(measured, 2048 / 512 * 8);
    assert_int_equal(fake_counts()->events, events);
    assert_true(events - before <= 128);
    assert_int_equal(spw_events_held() - held, events - before);
}

static void more_copies_under_way_than_pairs_are_not_measured(void **state)
{
    unsigned measured = 0;
    for (int i = 0; i < 40; i++)
        measured += copy(true, LARGE);
    assert_int_equal(measured, 32);
    wait(out);
    assert_true(copy(true, LARGE));
}

static void what_is_known_outlives_the_context(void **state)
{
    struct spw_bandwidth b;
    for (int i = 0; i < 3; i++) {
        alone(true, LARGE);
        alone(false, LARGE);
    }
    assert_true(known(&b));
    assert_true(spw_events_held() > held);
    spw_bandwidth_context_gone_locked(context);
    assert_int_equal(fake_counts()->events, before);
    assert_int_equal(spw_events_held(), held);
    assert_true(known(&b));
    assert_about(b.d2h_bytes_per_us, FAKE_OUT_BYTES_PER_US);
    context = (CUcontext)(uintptr_t)0xd0; /* the next one */
    alone(true, LARGE);
    assert_int_equal(spw_events_held(), held + 2);
}

static void a_copy_whose_calls_fail_says_nothing(void **state)
{
    static const char *const calls[] = {"cuEventCreate", "cuEventRecord", "cuMemcpyHtoDAsync_v2", "cuEventElapsedTime"};
    struct spw_bandwidth b;
    for (int i = 0; i < 4; i++)
        for (unsigned n = 1; n <= 3; n++) {
            begin(NULL);
            fake_fail(calls[i], n, CUDA_ERROR_UNKNOWN, false);
            for (int k = 0; k < 6; k++) {
                copy(false, LARGE);
                wait(in);
            }
            known(&b);
            assert_about(b.h2d_bytes_per_us, FAKE_IN_BYTES_PER_US);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(nothing_known_is_a_guess, begin),
        cmocka_unit_test_setup(each_direction_is_known_after_three_copies, begin),
        cmocka_unit_test_setup(copies_of_one_direction_that_overlap_tell_nothing, begin),
        cmocka_unit_test_setup(one_known_direction_stands_for_the_other, begin),
        cmocka_unit_test_setup(directions_that_are_never_alone_are_known_by_what_they_do_beside_each_other, begin),
        cmocka_unit_test_setup(copies_beside_each_other_tell_what_the_link_does_both_ways, begin),
        cmocka_unit_test_setup(a_copy_that_is_partly_alone_tells_of_the_part_that_is_not, begin),
        cmocka_unit_test_setup(what_copies_do_beside_each_other_is_held_against_what_they_turn_out_to_do_alone, begin),
        cmocka_unit_test_setup(a_hiccup_does_not_count, begin),
        cmocka_unit_test_setup(a_copy_that_stands_still_counts_for_its_bytes, begin),
        cmocka_unit_test_setup(a_link_that_has_become_slower_is_noticed, begin),
        cmocka_unit_test_setup(what_is_doubted_counts_until_it_is_known_anew, begin),
        cmocka_unit_test_setup(what_is_doubted_is_measured_at_every_copy_but_not_for_ever, begin),
        cmocka_unit_test_setup(small_copies_are_left_out, begin),
        cmocka_unit_test_setup(what_ran_beside_an_unmeasured_copy_is_not_taken_for_alone, begin),
        cmocka_unit_test_setup(measuring_becomes_rare_and_makes_no_events, begin),
        cmocka_unit_test_setup(more_copies_under_way_than_pairs_are_not_measured, begin),
        cmocka_unit_test_setup(what_is_copied_goes_in_pieces_that_take_a_third_of_a_millisecond, begin),
        cmocka_unit_test_setup(what_is_known_outlives_the_context, begin),
        cmocka_unit_test_setup(a_copy_whose_calls_fail_says_nothing, begin),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
