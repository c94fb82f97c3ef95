/* test-extents.c - finding allocations by address, against a plain list. */
#include "extents.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#define MIB  ((uint64_t)1 << 20)
#define BASE (UINT64_C(0x7f0000000000))

static struct spw_extents x;

static int begin(void **state)
{
    spw_extents_clear(&x);
    return 0;
}

static struct spw_extent *add(uint64_t start, uint64_t bytes, uint64_t id)
{
    struct spw_extent *e = spw_extents_add(&x, start, bytes, NULL, NULL);
    assert_non_null(e);
    e->id = id;
    return e;
}

static uint64_t id_at(uint64_t address)
{
    struct spw_extent *e = spw_extents_find(&x, address);
    return e ? e->id : 0;
}

/* Every byte from the first to the last is found, the neighbours are not. */
static void finds_interior_addresses(void **state)
{
    add(BASE + 512, 5 * MIB, 1);
    assert_int_equal(id_at(BASE + 511), 0);
    assert_int_equal(id_at(BASE + 512), 1);
    assert_int_equal(id_at(BASE + 3 * MIB), 1);
    assert_int_equal(id_at(BASE + 511 + 5 * MIB), 1);
    assert_int_equal(id_at(BASE + 512 + 5 * MIB), 0);
}

/* Many small ones in one bin are told apart, in whatever order they came. */
static void tells_small_neighbours_apart(void **state)
{
    for (uint64_t i = 0; i < 4096; i++) {
        uint64_t k = i * 1021 % 4096;
        add(BASE + k * 512, 256, k + 1);
    }
    for (uint64_t i = 0; i < 4096; i++) {
        assert_int_equal(id_at(BASE + i * 512), i + 1);
        assert_int_equal(id_at(BASE + i * 512 + 255), i + 1);
        assert_int_equal(id_at(BASE + i * 512 + 256), 0);
    }
}

/* What was freed is found no more, and its neighbours still are. */
static void forgets_what_was_removed(void **state)
{
    struct spw_extent *middle;
    add(BASE, MIB, 1);
    middle = add(BASE + MIB, 4 * MIB, 2);
    add(BASE + 5 * MIB, MIB, 3);
    spw_extents_remove(&x, middle);
    assert_int_equal(id_at(BASE + MIB - 1), 1);
    assert_int_equal(id_at(BASE + MIB), 0);
    assert_int_equal(id_at(BASE + 5 * MIB - 1), 0);
    assert_int_equal(id_at(BASE + 5 * MIB), 3);
    assert_int_equal(x.count, 2);
}

/* Who was found lately is found no more once it was removed, nor is the next one at a place where it does not lie. */
static void forgets_what_it_found_lately(void **state)
{
    struct spw_extent *first = add(BASE + 4096, 512, 1);
    assert_int_equal(id_at(BASE + 4096 + 256), 1);
    spw_extents_remove(&x, first);
    assert_int_equal(id_at(BASE + 4096 + 256), 0);
    assert_ptr_equal(add(BASE + 8192, 512, 2), first); /* used again: else this test shows nothing */
    assert_int_equal(id_at(BASE + 4096 + 256), 0);
    assert_int_equal(id_at(BASE + 8192), 2);
    add(BASE + 4096, 512, 3);
    assert_int_equal(id_at(BASE + 4096 + 256), 3);
}

static void count_gone(void *context, const struct spw_extent *e)
{
    *(uint64_t *)context += e->id;
}

/* An allocation where others were says that their end was missed. */
static void replaces_what_it_overlaps(void **state)
{
    uint64_t gone = 0;
    add(BASE, MIB, 1);
    add(BASE + 3 * MIB, 4 * MIB, 10);
    add(BASE + 9 * MIB, MIB, 100);
    assert_non_null(spw_extents_add(&x, BASE + MIB / 2, 3 * MIB, count_gone, &gone));
    assert_int_equal(gone, 11);
    assert_int_equal(x.count, 2);
    assert_int_equal(id_at(BASE + 5 * MIB), 0);
    assert_int_equal(id_at(BASE + 9 * MIB), 100);
}

/* An address that no device gives is refused. */
static void refuses_impossible_addresses(void **state)
{
    assert_null(spw_extents_add(&x, UINT64_MAX - 10, 5, NULL, NULL));
    assert_null(spw_extents_add(&x, (uint64_t)1 << 48, 5, NULL, NULL));
    assert_null(spw_extents_add(&x, BASE, UINT64_MAX, NULL, NULL));
    assert_int_equal(id_at(UINT64_MAX), 0);
}

/* No bytes still have an address of their own. */
static void takes_empty_ones(void **state)
{
    add(BASE, 0, 7);
    assert_int_equal(id_at(BASE), 7);
    assert_int_equal(id_at(BASE + 1), 0);
}

/* A thousand random additions and removals answer as a plain list does. */
static void agrees_with_a_plain_list(void **state)
{
    static struct spw_extent *list[256];
    unsigned count = 0;
    uint64_t seed = 12345;
    for (unsigned step = 0; step < 20000; step++) {
        seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
        uint64_t at = BASE + (seed >> 33) % (64 * MIB), bytes = (seed >> 13) % (seed & 64 ? 6 * MIB : 4096) + 1;
        bool overlaps = false;
        for (unsigned i = 0; i < count; i++)
            overlaps |= at < list[i]->start + list[i]->bytes && list[i]->start < at + bytes;
        if (!overlaps && count < 256) {
            list[count++] = add(at, bytes, step + 1);
        } else if (count) {
            unsigned which = (unsigned)(seed >> 40) % count;
            spw_extents_remove(&x, list[which]);
            list[which] = list[--count];
        }
        uint64_t probe = BASE + (seed >> 20) % (70 * MIB), expected = 0;
        for (unsigned i = 0; i < count; i++)
            if (probe >= list[i]->start && probe < list[i]->start + list[i]->bytes)
                expected = list[i]->id;
        assert_int_equal(id_at(probe), expected);
        assert_int_equal(x.count, count);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(finds_interior_addresses, begin),
        cmocka_unit_test_setup(tells_small_neighbours_apart, begin),
        cmocka_unit_test_setup(forgets_what_was_removed, begin),
        cmocka_unit_test_setup(forgets_what_it_found_lately, begin),
        cmocka_unit_test_setup(replaces_what_it_overlaps, begin),
        cmocka_unit_test_setup(refuses_impossible_addresses, begin),
        cmocka_unit_test_setup(takes_empty_ones, begin),
        cmocka_unit_test_setup(agrees_with_a_plain_list, begin),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    spw_extents_clear(&x);
    return failed;
}
