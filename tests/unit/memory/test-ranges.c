/* test-ranges.c - what the allocator of ranges promises, one sentence each, and a random run beside a naive one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "ranges.h"

/* The linker sends every mmap of ranges.c here, whichever of its two names the C library's headers choose. */
void *__real_mmap(void *, size_t, int, int, int, off_t);
void *__wrap_mmap(void *, size_t, int, int, int, off_t);
void *__wrap_mmap64(void *, size_t, int, int, int, off_t);
static bool mmap_fails;

void *__wrap_mmap(void *address, size_t bytes, int protection, int flags, int fd, off_t offset)
{
    if (mmap_fails) {
        errno = ENOMEM;
        return MAP_FAILED;
    }
    return __real_mmap(address, bytes, protection, flags, fd, offset);
}

void *__wrap_mmap64(void *address, size_t bytes, int protection, int flags, int fd, off_t offset)
{
    return __wrap_mmap(address, bytes, protection, flags, fd, offset);
}

static struct spw_ranges *ranges_of(uint32_t granules)
{
    struct spw_ranges *r;
    assert_int_equal(spw_ranges_create(granules, &r), 0);
    return r;
}

static uint32_t taken(struct spw_ranges *r, uint32_t granules)
{
    uint32_t first;
    assert_int_equal(spw_ranges_take(r, granules, &first), 0);
    assert_true(first <= spw_ranges_granules(r) - granules);
    return first;
}

static uint64_t random_state;

static uint32_t below(uint32_t bound)
{
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((random_state >> 33) % bound);
}

/* A fresh space is filled from its low end, up to the last granule. */
static void takes_follow_each_other_from_the_low_end(void **state)
{
    struct spw_ranges *r = ranges_of(100);
    assert_int_equal(taken(r, 1), 0);
    assert_int_equal(taken(r, 40), 1);
    assert_int_equal(taken(r, 59), 41);
    uint32_t untouched = 7;
    assert_int_equal(spw_ranges_take(r, 1, &untouched), -ENOMEM);
    assert_int_equal(untouched, 7);
    assert_true(spw_ranges_check(r));
    spw_ranges_destroy(r);
}

static void the_closest_hole_is_taken(void **state)
{
    struct spw_ranges *r = ranges_of(10000);
    uint32_t wide = taken(r, 900);
    (void)taken(r, 1);
    uint32_t close = taken(r, 300);
    (void)taken(r, 1);
    uint32_t narrow = taken(r, 200);
    (void)taken(r, 1);
    spw_ranges_give(r, wide, 900);
    spw_ranges_give(r, close, 300);
    spw_ranges_give(r, narrow, 200);
    assert_int_equal(spw_ranges_leftover(r, 290), 10);
    assert_int_equal(taken(r, 290), close);
    assert_int_equal(spw_ranges_leftover(r, 200), 0);
    assert_int_equal(taken(r, 200), narrow);
    assert_int_equal(taken(r, 200), wide);
    assert_true(spw_ranges_check(r));
    spw_ranges_destroy(r);
}

/* Holes of 1000 and 1005 granules are in one class: the longer one is found though the shorter one is met first. */
static void a_fit_within_the_same_class_is_found(void **state)
{
    struct spw_ranges *r = ranges_of(40 * 1001 + 1006);
    uint32_t holes[40], fitting = taken(r, 1005);
    (void)taken(r, 1);
    for (int i = 0; i < 40; i++) {
        holes[i] = taken(r, 1000);
        (void)taken(r, 1);
    }
    assert_int_equal(spw_ranges_in_use(r), spw_ranges_granules(r));
    spw_ranges_give(r, fitting, 1005);
    for (int i = 0; i < 40; i++)
        spw_ranges_give(r, holes[i], 1000);
    assert_int_equal(spw_ranges_longest_free(r), 1005);
    assert_int_equal(taken(r, 1003), fitting);
    uint32_t none;
    assert_int_equal(spw_ranges_take(r, 1001, &none), -ENOMEM);
    assert_int_equal(spw_ranges_leftover(r, 1001), -ENOMEM);
    assert_int_equal(spw_ranges_longest_free(r), 1000);
    assert_true(spw_ranges_check(r));
    spw_ranges_destroy(r);
}

static void among_equal_holes_the_lowest_is_taken(void **state)
{
    struct spw_ranges *r = ranges_of(100);
    for (int i = 0; i < 10; i++)
        assert_int_equal(taken(r, 10), 10 * i);
    const uint32_t order[] = {6, 2, 8, 4};
    for (int i = 0; i < 4; i++)
        spw_ranges_give(r, 10 * order[i], 10);
    assert_int_equal(taken(r, 10), 20);
    assert_int_equal(taken(r, 10), 40);
    assert_int_equal(taken(r, 10), 60);
    assert_int_equal(taken(r, 10), 80);
    spw_ranges_destroy(r);
}

/* Whatever the order in which four neighbours come back, one range is left. */
static void neighbours_join_in_every_order(void **state)
{
    for (int order = 0; order < 256; order++) {
        struct spw_ranges *r = ranges_of(40);
        bool given[4] = {false};
        for (int i = 0; i < 4; i++)
            (void)taken(r, 10);
        for (int i = 0; i < 4; i++) {
            int which = order >> 2 * i & 3;
            while (given[which])
                which = (which + 1) % 4;
            given[which] = true;
            spw_ranges_give(r, 10 * (uint32_t)which, 10);
            assert_true(spw_ranges_check(r));
        }
        assert_int_equal(spw_ranges_longest_free(r), 40);
        assert_int_equal(taken(r, 40), 0);
        spw_ranges_destroy(r);
    }
}

static void parts_of_a_take_and_several_takes_can_be_given_at_once(void **state)
{
    struct spw_ranges *r = ranges_of(64);
    assert_int_equal(taken(r, 30), 0);
    assert_int_equal(taken(r, 30), 30);
    spw_ranges_give(r, 10, 5);
    assert_int_equal(taken(r, 5), 10);
    spw_ranges_give(r, 25, 10);
    assert_int_equal(taken(r, 10), 25);
    spw_ranges_give(r, 0, 60);
    assert_int_equal(taken(r, 64), 0);
    assert_true(spw_ranges_check(r));
    spw_ranges_destroy(r);
}

static void marks_tell_how_much_and_how_far(void **state)
{
    struct spw_ranges *r = ranges_of(100);
    assert_int_equal(spw_ranges_in_use_peak(r), 0);
    uint32_t low = taken(r, 30), high = taken(r, 20);
    spw_ranges_give(r, low, 30);
    assert_int_equal(spw_ranges_in_use(r), 20);
    assert_int_equal(spw_ranges_in_use_peak(r), 50);
    assert_int_equal(spw_ranges_reach(r), 50);
    assert_int_equal(taken(r, 25), low);
    assert_int_equal(spw_ranges_reach(r), 50);
    assert_int_equal(taken(r, 10), 50);
    assert_int_equal(spw_ranges_in_use_peak(r), 55);
    assert_int_equal(spw_ranges_reach(r), 60);
    spw_ranges_give(r, high, 20);
    spw_ranges_destroy(r);
}

static void impossible_sizes_are_refused(void **state)
{
    struct spw_ranges *r = NULL;
    assert_int_equal(spw_ranges_create(0, &r), -EINVAL);
    assert_int_equal(spw_ranges_create(SPW_RANGES_MAX_GRANULES + 1, &r), -EINVAL);
    assert_null(r);
    r = ranges_of(1);
    uint32_t first;
    assert_int_equal(spw_ranges_take(r, 0, &first), -EINVAL);
    assert_int_equal(spw_ranges_take(r, 2, &first), -ENOMEM);
    assert_int_equal(spw_ranges_take(r, UINT32_MAX, &first), -ENOMEM);
    assert_int_equal(spw_ranges_leftover(r, UINT32_MAX), -ENOMEM);
    assert_int_equal(taken(r, 1), 0);
    assert_int_equal(spw_ranges_longest_free(r), 0);
    assert_true(spw_ranges_check(r));
    spw_ranges_destroy(r);
    spw_ranges_destroy(NULL);
}

static void no_memory_for_the_bookkeeping_is_an_error(void **state)
{
    struct spw_ranges *r = NULL;
    mmap_fails = true;
    int result = spw_ranges_create(100, &r);
    mmap_fails = false;
    assert_int_equal(result, -ENOMEM);
    assert_null(r);
}

/* A give that can be seen to be wrong changes nothing, and the check tells that there was one. */
static void a_wrong_give_changes_nothing_and_is_counted(void **state)
{
    const struct {
        uint32_t first, granules;
    } wrong[] = {{0, 10}, {95, 10}, {0, UINT32_MAX}, {50, 0}, {60, 40}, {9, 5}, {48, 3}, {99, 1}, {20, 101}};
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        struct spw_ranges *r = ranges_of(100);
        assert_int_equal(taken(r, 50), 0);
        spw_ranges_give(r, 0, 10); /* free: 0..9 and 50..99 */
        assert_true(spw_ranges_check(r));
        spw_ranges_give(r, wrong[i].first, wrong[i].granules);
        assert_false(spw_ranges_check(r));
        assert_int_equal(spw_ranges_in_use(r), 40);
        assert_int_equal(taken(r, 50), 50);
        assert_int_equal(taken(r, 10), 0);
        spw_ranges_destroy(r);
    }
}

/* The largest space: creating it and working at both ends touches a few pages, not the 16 GiB that its records span. */
static void bookkeeping_costs_only_what_is_touched(void **state)
{
#ifdef __SANITIZE_THREAD__
    skip(); /* whose own pages are counted as well */
#endif
    struct rusage before, after;
    getrusage(RUSAGE_SELF, &before);
    struct spw_ranges *r = ranges_of(SPW_RANGES_MAX_GRANULES);
    uint32_t low = taken(r, 1), middle = taken(r, SPW_RANGES_MAX_GRANULES - 2), high = taken(r, 1);
    assert_int_equal(high, SPW_RANGES_MAX_GRANULES - 1);
    spw_ranges_give(r, middle, SPW_RANGES_MAX_GRANULES - 2);
    spw_ranges_give(r, low, 1);
    spw_ranges_give(r, high, 1);
    assert_int_equal(taken(r, SPW_RANGES_MAX_GRANULES), 0);
    spw_ranges_destroy(r);
    getrusage(RUSAGE_SELF, &after);
    assert_in_range(after.ru_minflt - before.ru_minflt, 0, 64);
}

/* The naive one: a byte for each granule, searched from end to end. */
struct naive {
    uint8_t used[4096];
    uint32_t granules;
};

static uint32_t naive_longest_free(const struct naive *n)
{
    uint32_t longest = 0, run = 0;
    for (uint32_t i = 0; i < n->granules; i++) {
        run = n->used[i] ? 0 : run + 1;
        longest = run > longest ? run : longest;
    }
    return longest;
}

static void naive_mark(struct naive *n, uint32_t first, uint32_t granules, uint8_t from, uint8_t to)
{
    for (uint32_t i = first; i < first + granules; i++) {
        assert_int_equal(n->used[i], from);
        n->used[i] = to;
    }
}

static void random_run(uint32_t granules, uint32_t largest, int steps)
{
    struct live {
        uint32_t first, granules;
    } live[4096];
    uint32_t count = 0, in_use = 0;
    struct naive naive = {.granules = granules};
    struct spw_ranges *r = ranges_of(granules);

    for (int step = 0; step < steps; step++) {
        if (count == 0 || below(100) < 55) {
            uint32_t want = 1 + (below(2) ? below(largest) : below(1 + largest / 8)), longest = naive_longest_free(&naive);
            uint32_t first;
            assert_int_equal(spw_ranges_longest_free(r), longest);
            if (spw_ranges_take(r, want, &first) < 0) {
                assert_true(longest < want);
                continue;
            }
            naive_mark(&naive, first, want, 0, 1);
            live[count++] = (struct live){first, want};
            in_use += want;
        } else {
            struct live *one = &live[below(count)];
            uint32_t part = below(4) == 0 ? 1 + below(one->granules) : one->granules;
            naive_mark(&naive, one->first, part, 1, 0);
            spw_ranges_give(r, one->first, part);
            in_use -= part;
            one->first += part;
            one->granules -= part;
            if (one->granules == 0)
                *one = live[--count];
        }
        assert_int_equal(spw_ranges_in_use(r), in_use);
        if (step % 16 == 0)
            assert_true(spw_ranges_check(r));
    }
    while (count-- > 0)
        spw_ranges_give(r, live[count].first, live[count].granules);
    assert_true(spw_ranges_check(r));
    assert_int_equal(spw_ranges_longest_free(r), granules);
    spw_ranges_destroy(r);
}

/* No granule is handed out twice, nothing is refused that fits somewhere, nothing is lost. */
static void random_runs_agree_with_a_naive_allocator(void **state)
{
    for (uint32_t seed = 0; seed < 12; seed++) {
        random_state = seed;
        random_run(1 + below(4096), 1 + below(seed % 2 ? 300 : 20), 2000);
    }
}

/* A training step takes while it goes forward and gives while it goes back. The second one needs no more space than the
 * first, and neither does the hundredth. */
static void repeated_steps_stay_where_the_first_one_was(void **state)
{
    enum { LAYERS = 200 };
    struct spw_ranges *r = ranges_of(1 << 20);
    uint32_t sizes[LAYERS], firsts[LAYERS], reach = 0;
    random_state = 5;
    for (int i = 0; i < LAYERS; i++)
        sizes[i] = 1 + below(3000);
    for (int step = 0; step < 100; step++) {
        for (int i = 0; i < LAYERS; i++) {
            uint32_t scratch = taken(r, sizes[(i * 7) % LAYERS] / 2 + 1);
            firsts[i] = taken(r, sizes[i]);
            spw_ranges_give(r, scratch, sizes[(i * 7) % LAYERS] / 2 + 1);
        }
        for (int i = LAYERS - 1; i >= 0; i--) {
            uint32_t gradient = taken(r, sizes[i]);
            spw_ranges_give(r, firsts[i], sizes[i]);
            spw_ranges_give(r, gradient, sizes[i]);
        }
        if (step == 0)
            reach = spw_ranges_reach(r);
        assert_int_equal(spw_ranges_reach(r), reach);
        assert_int_equal(spw_ranges_in_use(r), 0);
    }
    assert_true(reach < spw_ranges_in_use_peak(r) / 100 * 115);
    spw_ranges_destroy(r);
}

/* Random sizes that live for random times, the space nine tenths full: holes cost less than a quarter on top. */
static void holes_stay_small(void **state)
{
    enum { SLOTS = 1000 };
    struct spw_ranges *r = ranges_of(1 << 22);
    uint32_t firsts[SLOTS] = {0}, sizes[SLOTS] = {0};
    random_state = 9;
    for (int step = 0; step < 50000; step++) {
        uint32_t slot = below(SLOTS);
        if (sizes[slot] != 0)
            spw_ranges_give(r, firsts[slot], sizes[slot]);
        sizes[slot] = 1 + below(below(10) ? 200 : 4000);
        firsts[slot] = taken(r, sizes[slot]);
    }
    double spread = (double)spw_ranges_reach(r) / spw_ranges_in_use_peak(r);
    if (spread >= 1.25)
        print_message("reach / peak = %.3f\n", spread);
    assert_true(spread < 1.25);
    spw_ranges_destroy(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(takes_follow_each_other_from_the_low_end),
        cmocka_unit_test(the_closest_hole_is_taken),
        cmocka_unit_test(a_fit_within_the_same_class_is_found),
        cmocka_unit_test(among_equal_holes_the_lowest_is_taken),
        cmocka_unit_test(neighbours_join_in_every_order),
        cmocka_unit_test(parts_of_a_take_and_several_takes_can_be_given_at_once),
        cmocka_unit_test(marks_tell_how_much_and_how_far),
        cmocka_unit_test(impossible_sizes_are_refused),
        cmocka_unit_test(no_memory_for_the_bookkeeping_is_an_error),
        cmocka_unit_test(a_wrong_give_changes_nothing_and_is_counted),
        cmocka_unit_test(bookkeeping_costs_only_what_is_touched),
        cmocka_unit_test(random_runs_agree_with_a_naive_allocator),
        cmocka_unit_test(repeated_steps_stay_where_the_first_one_was),
        cmocka_unit_test(holes_stay_small),
    };
    return cmocka_run_group_tests_name("ranges", tests, NULL, NULL);
}
