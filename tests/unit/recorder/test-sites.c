/* test-sites.c - how often stacks are walked, and that the shortcuts name the right ones. */
#include "sites.h"
#include "unlocked.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

enum { STEPS = 4096 };

static uint64_t walks;

static int begin(void **state)
{
    spw_sites_reset();
    walks = 0;
    return 0;
}

/* An allocation whose stack is `which`, as the recorder asks for its site: all of them have one place. */
static uint32_t site_of(unsigned which, uint32_t before)
{
    static const char caller, frame;
    struct spw_site_key key = spw_site_key_locked(&caller, &frame, 1 << 20, before);
    uint32_t site = spw_site_known_locked(key);
    bool is_new;
    if (site)
        return site;
    walks++;
    struct spw_stack stack = {.count = 2, .frames = {1000, 2000 + which}};
    return spw_site_learn_locked(key, &stack, &is_new);
}

/* One stack is walked when it is met, and then ever more rarely. */
static void walks_a_known_place_ever_more_rarely(void **state)
{
    const uint32_t site = site_of(0, 0);
    for (unsigned i = 1; i < STEPS; i++)
        assert_int_equal(site_of(0, 0), site);
    assert_in_range(walks, 2, 14);
}

/* Several stacks that look alike but for what happened before are each named right from when that was found out on, and not
 * walked each time. */
static void tells_places_apart_by_what_went_before(void **state)
{
    unsigned wrong = 0;
    uint32_t sites[3] = {0};
    for (unsigned i = 0; i < 3 * STEPS; i++) {
        const unsigned which = i % 3;
        const uint32_t site = site_of(which, 7 + which);
        if (i >= 3 * 16 && sites[which] && site != sites[which])
            wrong++;
        sites[which] = site;
    }
    assert_int_equal(wrong, 0);
    assert_true(sites[0] != sites[1] && sites[1] != sites[2] && sites[0] != sites[2]);
    assert_in_range(walks, 6, 80);
}

/* The same, where only the sites before tell: a, a, b, c repeated. */
static void tells_places_apart_by_the_sites_before(void **state)
{
    static const unsigned order[4] = {0, 0, 1, 2};
    unsigned wrong = 0;
    uint32_t sites[3] = {0};
    for (unsigned i = 0; i < 4 * STEPS; i++) {
        const unsigned which = order[i % 4];
        const uint32_t site = site_of(which, 1);
        if (i >= 4 * 16 && site != sites[which])
            wrong++;
        sites[which] = site;
    }
    assert_int_equal(wrong, 0);
    assert_in_range(walks, 6, 160);
}

/* Stacks that nothing tells apart are walked each time, so that none is named wrongly once that is known. */
static void walks_what_nothing_tells_apart(void **state)
{
    uint32_t sites[2] = {0};
    uint64_t seed = 1, wrong = 0;
    for (unsigned i = 0; i < STEPS; i++) {
        seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
        const unsigned which = seed >> 63;
        const uint32_t site = site_of(which, 1);
        if (i > STEPS / 2 && site != sites[which])
            wrong++;
        sites[which] = site;
    }
    assert_int_equal(wrong, 0);
    assert_true(walks > STEPS / 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(walks_a_known_place_ever_more_rarely, begin),
        cmocka_unit_test_setup(tells_places_apart_by_what_went_before, begin),
        cmocka_unit_test_setup(tells_places_apart_by_the_sites_before, begin),
        cmocka_unit_test_setup(walks_what_nothing_tells_apart, begin),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
