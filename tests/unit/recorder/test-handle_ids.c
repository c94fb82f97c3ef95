/* test-handle_ids.c - handles as numbers, against a plain list. */
#include "handle_ids.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

/* A handle keeps its number; gone and come again it has a new one; another owner's is another. */
static void numbers_stay_and_are_not_used_twice(void **state)
{
    struct spw_handle_ids set = {0};
    bool new_one;
    assert_int_equal(spw_handle_id_find(&set, &set, 0), 0);
    assert_int_equal(spw_handle_id_of(&set, &set, 0, &new_one), 1);
    assert_true(new_one);
    assert_int_equal(spw_handle_id_of(&set, &set, 7, &new_one), 2);
    assert_int_equal(spw_handle_id_of(&set, &set, 0, &new_one), 1);
    assert_false(new_one);
    spw_handle_id_gone(&set, &set, 0);
    assert_int_equal(spw_handle_id_find(&set, &set, 0), 0);
    assert_int_equal(spw_handle_id_find(&set, &set, 7), 2);
    assert_int_equal(spw_handle_id_of(&set, &set, 0, &new_one), 3);
    spw_handle_ids_clear(&set);
    assert_int_equal(spw_handle_id_of(&set, &set, 7, &new_one), 4);
    spw_handle_ids_clear(&set);
}

/* Thousands of random comings and goings answer as a plain list does, neighbours in the table included. */
static void agrees_with_a_plain_list(void **state)
{
    enum { HANDLES = 300 };
    static uint32_t expected[HANDLES];
    struct spw_handle_ids set = {0};
    uint64_t seed = 1;
    uint32_t last = 0;
    for (unsigned step = 0; step < 50000; step++) {
        seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
        unsigned h = (unsigned)(seed >> 40) % HANDLES;
        const void *handle = (const void *)(uintptr_t)(0x5000 + 16 * h);
        bool new_one;
        if (seed >> 33 & 1) {
            spw_handle_id_gone(&set, handle, 0);
            expected[h] = 0;
        } else {
            uint32_t id = spw_handle_id_of(&set, handle, 0, &new_one);
            assert_int_equal(new_one, expected[h] == 0);
            assert_int_equal(id, expected[h] ? expected[h] : last + 1);
            last = id > last ? id : last;
            expected[h] = id;
        }
        unsigned probe = (unsigned)(seed >> 20) % HANDLES;
        assert_int_equal(spw_handle_id_find(&set, (const void *)(uintptr_t)(0x5000 + 16 * probe), 0), expected[probe]);
    }
    spw_handle_ids_clear(&set);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_stay_and_are_not_used_twice),
        cmocka_unit_test(agrees_with_a_plain_list),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
