/* test-split_merge.c - pieces of memory in other sizes: joined where too many are small, cut where all are too large, and
 * left alone where they serve. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <string.h>

#include "driver.h"
#include "fake-device.h"
#include "phys_pool.h"
#include "unlocked.h"

enum { GRANULE = 4096, HOLDERS = 40, PIECE = SPW_PIECE_GRANULES };

static struct spw_phys_pool h;
static struct spw_memory held[HOLDERS];

static void begin(uint32_t budget)
{
    for (int i = 0; i < HOLDERS; i++)
        spw_phys_pool_give_locked(&h, &held[i], 0);
    spw_phys_pool_reset(&h);
    fake_start(GRANULE, (uint64_t)budget * GRANULE, (uint64_t)budget * GRANULE, 1 << 20);
    h.granule_shift = 12;
    h.budget_bytes = (uint64_t)budget * GRANULE;
    spw_phys_pool_regroup_locked(&h);
}

/* What was made is what is held or pooled, of each size, and no more than the budget. */
static void check(void)
{
    uint32_t of[PIECE + 1] = {0};
    for (int i = 0; i < HOLDERS; i++)
        for (uint32_t k = 0; k < held[i].count; k++)
            of[spw_memory_piece(&held[i], k).granules]++;
    for (uint32_t i = 0; i < h.bin_count; i++)
        of[h.bins[i].granules] += h.bins[i].count;
    for (uint32_t n = 1; n <= PIECE; n++)
        assert_int_equal(of[n], h.made_of[n]);
    assert_int_equal(h.made_bytes, fake_counts()->made_bytes);
    assert_true(fake_counts()->made_bytes_peak <= h.budget_bytes + h.lacking_bytes);
}

static void take(int holder, uint32_t granules)
{
    assert_int_equal(spw_phys_pool_take_locked(&h, granules, &held[holder]), 0);
    check();
}

static void give(int from, int to)
{
    for (int i = from; i <= to; i++)
        spw_phys_pool_give_locked(&h, &held[i], 0);
    check();
}

/* A budget of `budget` in pieces of one granule, all of them pooled. */
static void begin_with_dust(uint32_t budget)
{
    begin(budget);
    for (uint32_t i = 0; i < budget; i++)
        take((int)i, 1);
    give(0, (int)budget - 1);
    memset(h.demand.most, 0, sizeof(h.demand.most));
}

/* An iteration that wants `fours` ranges of 4 granules at once, and before that `ones` of 1. */
static void iterate(int ones, int fours)
{
    spw_phys_pool_iteration_locked(&h);
    for (int i = 0; i < ones; i++)
        take(i, 1);
    give(0, ones - 1);
    for (int i = 0; i < fours; i++)
        take(i, 4);
    give(0, fours - 1);
}

static void pieces_that_are_too_small_are_joined_as_far_as_nobody_wants_them(void **state)
{
    begin_with_dust(16);
    for (int i = 0; i < 8; i++)
        iterate(7, 4);
    assert_int_equal(h.made_of[4], 2); /* of the nine that are spare */
    assert_int_equal(h.made_of[1], 8);
    assert_int_equal(h.join_count, 2);
    unsigned creates = fake_counts()->creates, releases = fake_counts()->releases;
    for (int i = 0; i < 200; i++)
        iterate(7, 4);
    assert_int_equal(fake_counts()->creates, creates);
    assert_int_equal(fake_counts()->releases, releases);
}

static void nothing_is_joined_before_it_is_known_what_is_wanted(void **state)
{
    begin_with_dust(16);
    take(0, 4);
    spw_phys_pool_iteration_locked(&h);
    take(1, 4);
    assert_int_equal(h.join_count, 0);
    spw_phys_pool_iteration_locked(&h);
    take(2, 4);
    assert_int_equal(h.join_count, 1);
    assert_int_equal(held[2].count, 1);
}

static void regrouping_ends_and_starts_again_only_when_asked_for(void **state)
{
    begin_with_dust(16);
    for (unsigned i = 0; i < SPW_SIZE_HISTOGRAM_COUNTS + SPW_SIZE_HISTOGRAM_REGROUPS; i++)
        iterate(0, 0);
    for (int i = 0; i < 8; i++)
        iterate(0, 4);
    assert_int_equal(h.join_count, 0);
    spw_phys_pool_regroup_locked(&h);
    for (int i = 0; i < 8; i++)
        iterate(0, 4);
    assert_int_equal(h.join_count, 4);
}

static void nothing_is_joined_where_pieces_serve_as_they_are(void **state)
{
    begin(16);
    for (int i = 0; i < 4; i++)
        take(i, 4);
    give(0, 3);
    for (int i = 0; i < 8; i++)
        iterate(0, 4);
    assert_int_equal(h.join_count, 0);
    assert_int_equal(fake_counts()->creates, 4);
}

static void little_is_joined_in_an_iteration(void **state)
{
    begin_with_dust(40);
    const uint32_t then[] = {0, PIECE / 4, 2 * PIECE / 4, 10, 10};
    for (unsigned i = 0; i < sizeof(then) / sizeof(*then); i++) {
        iterate(0, 10);
        assert_int_equal(h.made_of[4], then[i]);
    }
}

/* Then it may have none for the next piece either: what there is serves as it is. */
static void a_device_that_gives_less_than_it_took_is_not_asked_again(void **state)
{
    for (int for_good = 0; for_good < 2; for_good++) {
        begin_with_dust(24);
        iterate(0, 3);
        spw_phys_pool_iteration_locked(&h);
        fake_fail("cuMemCreate", 1, CUDA_ERROR_OUT_OF_MEMORY, for_good);
        for (int i = 0; i < 3; i++)
            take(i, 4);
        fake_fail("", 0, 0, false);
        assert_int_equal(fake_counts()->releases, 4);
        assert_int_equal(fake_counts()->creates, for_good ? 24 : 28);
        give(0, 2);
        for (int i = 0; i < 10; i++)
            iterate(0, 5);
        assert_int_equal(h.join_count, 0);
        assert_int_equal(fake_counts()->releases, 4);
    }
}

static void what_the_driver_refuses_to_release_is_not_made_again(void **state)
{
    begin_with_dust(16);
    iterate(0, 3);
    spw_phys_pool_iteration_locked(&h);
    fake_fail("cuMemRelease", 2, CUDA_ERROR_UNKNOWN, false);
    assert_int_equal(spw_phys_pool_take_locked(&h, 4, &held[0]), 0);
    fake_fail("", 0, 0, false);
    assert_int_equal(h.made_bytes, 16 * GRANULE);
    assert_int_equal(fake_counts()->made_bytes, 16 * GRANULE);
    assert_int_equal(held[0].granules, 4);
}

static CUresult (*really_create)(CUmemGenericAllocationHandle *, size_t, const CUmemAllocationProp *, unsigned long long);
static int refusals;

static CUresult create_after_refusals(CUmemGenericAllocationHandle *handle, size_t bytes, const CUmemAllocationProp *prop,
                                      unsigned long long flags)
{
    return refusals-- > 0 ? CUDA_ERROR_OUT_OF_MEMORY : really_create(handle, bytes, prop, flags);
}

/* Many have gone by the time that the device gives something: as much is made again, in pieces like any others. */
static void whatever_goes_before_something_can_be_made_is_made_again_in_pieces(void **state)
{
    for (int is_regrouped = 0; is_regrouped < 2; is_regrouped++) {
        begin(8 * PIECE);
        for (int i = 0; i < 8; i++)
            take(i, PIECE);
        give(0, 7);
        iterate(0, 0);
        for (int i = 0; is_regrouped && i < SPW_SIZE_HISTOGRAM_COUNTS; i++)
            iterate(0, 0);
        really_create = spw_driver.cuMemCreate;
        spw_driver.cuMemCreate = create_after_refusals;
        refusals = 6;
        take(0, 5);
        spw_driver.cuMemCreate = really_create;
        assert_true(refusals < 0);
        assert_int_equal(h.made_bytes, 8 * PIECE * GRANULE);
        for (uint32_t i = 0; i < h.bin_count; i++)
            assert_true(h.bins[i].granules <= PIECE);
    }
}

/* Where pieces are regrouped: a piece for all that is missing, and more of its size. */
static void a_piece_is_cut_for_all_that_is_wanted_in_one(void **state)
{
    begin(PIECE + 2);
    take(0, PIECE);
    take(1, 1);
    take(2, 1);
    give(0, 2);
    iterate(0, 0);
    iterate(0, 0);
    take(0, 5);
    assert_int_equal(held[0].count, 1);
    assert_int_equal(h.made_of[5], 3);
    assert_int_equal(h.made_of[1], 3);
}

static void the_smallest_piece_that_will_do_is_cut(void **state)
{
    begin(PIECE + 8);
    take(0, PIECE);
    take(1, 8);
    give(0, 1);
    iterate(0, 0);
    iterate(0, 0);
    take(0, 4);
    assert_int_equal(h.made_of[PIECE], 1);
    assert_int_equal(h.made_of[8], 0);
    assert_int_equal(h.made_of[4], 2);
}

/* 6 + 6 + 6 leave 4 of 22 missing, which are to be in one piece with two of those: there is none so large. */
static void what_cannot_be_had_in_one_piece_is_had_in_several(void **state)
{
    begin(24);
    for (int i = 0; i < 4; i++)
        take(i, 6);
    give(0, 3);
    iterate(0, 0);
    iterate(0, 0);
    take(0, 22);
    assert_int_equal(held[0].granules, 22);
}

static void ranges_that_are_split_and_joined_are_counted_as_what_they_are(void **state)
{
    begin(16);
    take(0, 1);
    take(0, 3);
    assert_int_equal(h.demand.wanted[4], 1);
    assert_int_equal(spw_phys_pool_split_locked(&h, &held[0], 1, &held[1]), 0);
    assert_int_equal(h.demand.wanted[4], 0);
    assert_int_equal(h.demand.wanted[1], 1);
    assert_int_equal(h.demand.wanted[3], 1);
    assert_int_equal(spw_phys_pool_join_locked(&h, &held[1], &held[0]), 0);
    assert_int_equal(h.demand.wanted[4], 1);
    give(0, 1);
    for (uint32_t n = 1; n <= PIECE; n++)
        assert_int_equal(h.demand.wanted[n], 0);
}

static uint32_t random_below(uint64_t *seed, uint32_t limit)
{
    *seed = *seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
    return (uint32_t)(*seed >> 33) % limit;
}

/* Holders are given other sizes, as large as there is room for: the same each time. */
static void iterate_at_random(uint64_t seed)
{
    spw_phys_pool_iteration_locked(&h);
    for (int step = 0; step < 120; step++) {
        int i = (int)random_below(&seed, HOLDERS);
        uint32_t granules = 1 + random_below(&seed, 40);
        give(i, i);
        for (int k = 0; spw_phys_pool_room_locked(&h) < (uint64_t)granules * GRANULE; k++)
            give(k, k);
        take(i, granules);
    }
    give(0, HOLDERS - 1);
}

/* Also where not all that is wanted at some time can be there at once. */
static void an_iteration_that_does_not_change_makes_nothing_in_the_end(void **state)
{
    for (uint64_t seed = 1; seed <= 6; seed++) {
        begin(200);
        for (int i = 0; i < 170; i++)
            iterate_at_random(seed);
        assert_true(h.join_count > 0);
        unsigned creates = fake_counts()->creates;
        for (int i = 0; i < 50; i++)
            iterate_at_random(seed);
        assert_int_equal(fake_counts()->creates, creates);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pieces_that_are_too_small_are_joined_as_far_as_nobody_wants_them),
        cmocka_unit_test(nothing_is_joined_before_it_is_known_what_is_wanted),
        cmocka_unit_test(regrouping_ends_and_starts_again_only_when_asked_for),
        cmocka_unit_test(nothing_is_joined_where_pieces_serve_as_they_are),
        cmocka_unit_test(little_is_joined_in_an_iteration),
        cmocka_unit_test(a_device_that_gives_less_than_it_took_is_not_asked_again),
        cmocka_unit_test(what_the_driver_refuses_to_release_is_not_made_again),
        cmocka_unit_test(whatever_goes_before_something_can_be_made_is_made_again_in_pieces),
        cmocka_unit_test(a_piece_is_cut_for_all_that_is_wanted_in_one),
        cmocka_unit_test(the_smallest_piece_that_will_do_is_cut),
        cmocka_unit_test(what_cannot_be_had_in_one_piece_is_had_in_several),
        cmocka_unit_test(ranges_that_are_split_and_joined_are_counted_as_what_they_are),
        cmocka_unit_test(an_iteration_that_does_not_change_makes_nothing_in_the_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
