/* test-remake.c - pieces of memory to measure: taken as they are where they fit, made in place of others where they do not.
 */
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

/* A budget of `budget` in pieces of so many granules, all of them pooled. */
static void begin_with(uint32_t budget, uint32_t granules)
{
    begin(budget);
    for (uint32_t i = 0; i < budget / granules; i++)
        take((int)i, granules);
    give(0, (int)(budget / granules) - 1);
}

static void made_and_released(unsigned made, unsigned released)
{
    assert_int_equal(fake_counts()->creates, made);
    assert_int_equal(fake_counts()->releases, released);
}

static void a_piece_of_the_size_serves_as_it_is(void **state)
{
    begin_with(16, 4);
    take(0, 4);
    assert_int_equal(held[0].count, 1);
    made_and_released(4, 0);
}

static void two_pieces_that_are_it_together_serve_as_they_are(void **state)
{
    begin_with(16, 4);
    take(0, 8);
    assert_int_equal(held[0].count, 2);
    begin(9);
    take(0, 6);
    take(1, 3);
    give(0, 1);
    take(0, 9);
    assert_int_equal(held[0].count, 2);
    made_and_released(2, 0);
}

/* Three of seven granules are not six of them. */
static void half_of_it_has_to_be_there_twice(void **state)
{
    begin(7);
    take(0, 3);
    take(1, 4);
    give(0, 1);
    take(0, 6);
    assert_int_equal(held[0].count, 1);
}

static void one_is_made_in_place_of_many_small_ones(void **state)
{
    begin_with(16, 1);
    take(0, 4);
    assert_int_equal(held[0].count, 1);
    assert_int_equal(h.remade_count, 1);
    made_and_released(17, 4);
}

static void as_few_go_as_will_do(void **state)
{
    begin(16);
    take(0, 10);
    for (int i = 1; i <= 6; i++)
        take(i, 1);
    give(0, 6);
    take(0, 12);
    assert_int_equal(held[0].count, 1);
    made_and_released(8, 3);
}

static void one_is_made_of_the_smallest_of_larger_ones_and_the_rest_when_it_is_wanted(void **state)
{
    begin(24);
    take(0, 16);
    take(1, 8);
    give(0, 1);
    take(0, 3);
    assert_int_equal(h.made_of[16], 1);
    assert_int_equal(h.made_of[8], 0);
    made_and_released(3, 1);
    take(1, 5);
    assert_int_equal(held[1].count, 1);
    made_and_released(4, 1);
}

static void what_is_larger_than_a_piece_has_as_few_as_can_be(void **state)
{
    begin(3 * PIECE);
    for (int i = 0; i < HOLDERS; i++)
        take(i, i < 30 ? 5 : 1);
    give(0, HOLDERS - 1);
    take(0, 2 * PIECE + 5);
    assert_int_equal(held[0].count, 3);
}

static char elsewhere; /* stands for an address */

static void map_elsewhere(uint32_t granules, uint32_t count)
{
    for (uint32_t i = 0; i < h.bin_count; i++)
        for (uint32_t k = 0; h.bins[i].granules == granules && k < count; k++)
            assert_int_equal(spw_alias_map_add(&h.aliases, h.bins[i].handles[k], (struct spw_deferred_unmap *)&elsewhere),
                             0);
}

static void what_is_mapped_elsewhere_serves_as_it_is(void **state)
{
    begin_with(16, 1);
    map_elsewhere(1, 14);
    assert_int_equal(spw_phys_pool_unserved_locked(&h, 6), 0);
    take(0, 6);
    assert_int_equal(held[0].granules, 6);
    assert_int_equal(held[0].count, 6);
    made_and_released(16, 0);
    spw_alias_map_reset(&h.aliases);
}

static void what_is_larger_and_mapped_elsewhere_cannot_be_had_now(void **state)
{
    begin_with(16, 8);
    map_elsewhere(8, 2);
    assert_int_equal(spw_phys_pool_unserved_locked(&h, 3), 3);
    assert_int_equal(spw_phys_pool_take_locked(&h, 3, &held[0]), -EBUSY);
    assert_int_equal(held[0].granules, 0);
    check();
    assert_int_equal(spw_phys_pool_unserved_locked(&h, 8), 0);
    take(0, 8);
    spw_alias_map_reset(&h.aliases);
}

/* Others have taken what was given back: what there is serves as it is from then on. */
static void a_device_that_gives_less_than_it_took_is_not_asked_again(void **state)
{
    begin_with(24, 1);
    fake_fail("cuMemCreate", 1, CUDA_ERROR_OUT_OF_MEMORY, true);
    take(0, 4);
    fake_fail("", 0, 0, false);
    assert_int_equal(held[0].count, 4);
    assert_true(h.make_refused);
    made_and_released(24, 4);
    assert_int_equal(h.made_bytes, 20 * GRANULE);
    assert_int_equal(h.budget_bytes, 20 * GRANULE);
    take(1, 8);
    assert_int_equal(held[1].count, 8);
    made_and_released(24, 4);
}

/* Nothing but a larger one is left: that goes also then. */
static void where_there_are_only_larger_ones_one_goes_in_any_case(void **state)
{
    begin_with(16, 8);
    h.make_refused = true;
    take(0, 3);
    assert_int_equal(held[0].count, 1);
    made_and_released(3, 1);
}

static void a_device_that_has_less_than_the_budget_is_asked_for_less(void **state)
{
    begin(32);
    fake_start(GRANULE, 11 * GRANULE, 11 * GRANULE, 1 << 20);
    assert_int_equal(spw_phys_pool_take_locked(&h, 11, &held[0]), 0);
    spw_phys_pool_give_locked(&h, &held[0], 0);
    assert_int_equal(spw_phys_pool_take_locked(&h, 10, &held[0]), 0);
    assert_int_equal(held[0].granules, 10);
    assert_int_equal(spw_phys_pool_take_locked(&h, 4, &held[1]), -ENOMEM);
    assert_int_equal(held[1].granules, 0);
    assert_int_equal(h.budget_bytes, 11 * GRANULE);
}

static void a_device_that_has_nothing_is_asked_for_no_more_than_that(void **state)
{
    begin(32);
    fake_fail("cuMemCreate", 1, CUDA_ERROR_OUT_OF_MEMORY, true);
    assert_int_equal(spw_phys_pool_take_locked(&h, 11, &held[0]), -ENOMEM);
    fake_fail("", 0, 0, false);
    assert_int_equal(h.made_bytes, 0);
    take(0, 11);
}

static void what_the_driver_refuses_to_release_stays_on_the_bill(void **state)
{
    begin_with(16, 1);
    fake_fail("cuMemRelease", 2, CUDA_ERROR_UNKNOWN, false);
    assert_int_equal(spw_phys_pool_take_locked(&h, 4, &held[0]), 0);
    fake_fail("", 0, 0, false);
    assert_int_equal(h.made_bytes, 16 * GRANULE);
    assert_int_equal(fake_counts()->made_bytes, 16 * GRANULE);
    assert_int_equal(held[0].granules, 4);
}

static uint32_t random_below(uint64_t *seed, uint32_t limit)
{
    *seed = *seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
    return (uint32_t)(*seed >> 33) % limit;
}

/* Holders are given other sizes, as large as there is room for. */
static void no_range_has_more_than_twice_as_many_pieces_as_it_needs(void **state)
{
    uint64_t seed = 1;
    for (int step = 0; step < 6000; step++) {
        if (step % 100 == 0)
            begin(400);
        const int i = (int)random_below(&seed, HOLDERS);
        const uint32_t granules = 1 + random_below(&seed, random_below(&seed, 4) ? 40 : 2 * PIECE + 20);
        give(i, i);
        for (int k = 0; spw_phys_pool_room_locked(&h) < (uint64_t)granules * GRANULE; k++)
            give(k, k);
        take(i, granules);
        assert_true(held[i].count <= 2 * ((granules + PIECE - 1) / PIECE));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_piece_of_the_size_serves_as_it_is),
        cmocka_unit_test(two_pieces_that_are_it_together_serve_as_they_are),
        cmocka_unit_test(half_of_it_has_to_be_there_twice),
        cmocka_unit_test(one_is_made_in_place_of_many_small_ones),
        cmocka_unit_test(as_few_go_as_will_do),
        cmocka_unit_test(one_is_made_of_the_smallest_of_larger_ones_and_the_rest_when_it_is_wanted),
        cmocka_unit_test(what_is_larger_than_a_piece_has_as_few_as_can_be),
        cmocka_unit_test(what_is_mapped_elsewhere_serves_as_it_is),
        cmocka_unit_test(what_is_larger_and_mapped_elsewhere_cannot_be_had_now),
        cmocka_unit_test(a_device_that_gives_less_than_it_took_is_not_asked_again),
        cmocka_unit_test(where_there_are_only_larger_ones_one_goes_in_any_case),
        cmocka_unit_test(a_device_that_has_less_than_the_budget_is_asked_for_less),
        cmocka_unit_test(a_device_that_has_nothing_is_asked_for_no_more_than_that),
        cmocka_unit_test(what_the_driver_refuses_to_release_stays_on_the_bill),
        cmocka_unit_test(no_range_has_more_than_twice_as_many_pieces_as_it_needs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
