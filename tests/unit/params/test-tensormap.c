/* test-tensormap.c - tensor maps that show their address cost nothing; the others are remembered by value. */
#include "tensormap.h"

#include <stdarg.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <string.h>

#define BASE UINT64_C(0x700000001000)

static CUtensorMap map_of(unsigned seed)
{
    CUtensorMap map;
    memset(&map, 0xa5, sizeof map);
    memcpy((char *)&map + sizeof map - sizeof seed, &seed, sizeof seed);
    return map;
}

static void a_map_that_shows_its_address_is_not_remembered(void **state)
{
    CUtensorMap map = map_of(1);
    CUdeviceptr base = BASE;
    memcpy((char *)&map + 8, &base, 8);
    assert_int_equal(spw_tensormap_made(&map, base), 0);
    assert_false(spw_tensormap_any());
    assert_int_equal(spw_tensormap_base(&map), 0);
}

static void a_map_that_hides_its_address_is_found_by_its_bytes(void **state)
{
    CUtensorMap map = map_of(2);
    char elsewhere[1 + sizeof map];
    assert_int_equal(spw_tensormap_made(&map, BASE), 0);
    assert_true(spw_tensormap_any());
    memcpy(elsewhere + 1, &map, sizeof map);
    assert_int_equal(spw_tensormap_base(elsewhere + 1), BASE);
    elsewhere[100] ^= 1;
    assert_int_equal(spw_tensormap_base(elsewhere + 1), 0);
}

static void the_same_map_made_again_takes_no_room(void **state)
{
    CUtensorMap map = map_of(2);
    unsigned before = spw_tensormap_count;
    assert_int_equal(spw_tensormap_made(&map, BASE), 0);
    assert_int_equal(spw_tensormap_count, before);
}

/* An engine that fills the table is told so each time, and what was remembered stays. */
static void a_full_table_refuses_and_forgets_nothing(void **state)
{
    for (unsigned i = spw_tensormap_count; i < SPW_TENSORMAP_MAX; i++) {
        CUtensorMap map = map_of(100 + i);
        assert_int_equal(spw_tensormap_made(&map, BASE + i), 0);
    }
    CUtensorMap one_more = map_of(99), first = map_of(2);
    assert_int_equal(spw_tensormap_made(&one_more, BASE), -ENOBUFS);
    assert_int_equal(spw_tensormap_base(&one_more), 0);
    assert_int_equal(spw_tensormap_base(&first), BASE);
    for (unsigned i = 1; i < SPW_TENSORMAP_MAX; i += 97) {
        CUtensorMap map = map_of(100 + i);
        assert_int_equal(spw_tensormap_base(&map), BASE + i);
    }
}

static void windows_are_looked_at_where_they_may_begin(void **state)
{
    struct {
        char before[64];
        CUtensorMap map;
        char after[100];
    } bytes;
    CUdeviceptr hits[2];
    memset(&bytes, 0, sizeof bytes);
    bytes.map = map_of(2);
    assert_int_equal(spw_tensormap_scan(&bytes, sizeof bytes, 64, hits, 0, 2), 1);
    assert_int_equal(hits[0], BASE);
    assert_int_equal(spw_tensormap_scan(&bytes, 64 + 127, 64, hits, 0, 2), 0); /* cut short */
    assert_int_equal(spw_tensormap_scan(&bytes, sizeof bytes, 64, hits, 1, 1), -E2BIG);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_map_that_shows_its_address_is_not_remembered),
        cmocka_unit_test(a_map_that_hides_its_address_is_found_by_its_bytes),
        cmocka_unit_test(the_same_map_made_again_takes_no_room),
        cmocka_unit_test(windows_are_looked_at_where_they_may_begin),
        cmocka_unit_test(a_full_table_refuses_and_forgets_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
