/* test-slots.c - classes of small sizes, and the slabs that allocations come to. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "plan/slots.h"

static void a_class_holds_its_sizes_and_loses_a_fifth_at_most(void **state)
{
    for (size_t bytes = 1; bytes < 1 << 20; bytes += bytes / 50 + 1) {
        const size_t slot = spw_slot_class_bytes(spw_slot_class(bytes));
        assert_true(slot >= bytes && (slot < 1280 ? slot < bytes + 256 : slot * 4 <= bytes * 5 + 1024));
        assert_int_equal(spw_slot_class(slot), spw_slot_class(bytes));
    }
}

static void slots_that_were_given_back_are_taken_again(void **state)
{
    struct spw_slots slots = {.granule_bytes = 4096};
    const unsigned class = spw_slots_take(&slots, 4096);
    for (int i = 1; i < 16; i++)
        assert_int_equal(spw_slots_take(&slots, 4000), class);
    assert_int_equal(slots.bytes, 65536);
    spw_slots_give(&slots, class);
    (void)spw_slots_take(&slots, 3900);
    assert_int_equal(slots.bytes, 65536);
    (void)spw_slots_take(&slots, 4096);
    assert_int_equal(slots.bytes, 2 * 65536);
}

static void where_a_granule_is_large_many_sizes_share_the_first_slab(void **state)
{
    struct spw_slots slots = {.granule_bytes = 2 << 20};
    for (size_t bytes = 256; bytes <= 4096; bytes += 256)
        (void)spw_slots_take(&slots, bytes);
    assert_int_equal(slots.bytes, 2 << 20);
    (void)spw_slots_take(&slots, 32768); /* too large for it */
    assert_int_equal(slots.bytes, 4 << 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_class_holds_its_sizes_and_loses_a_fifth_at_most),
        cmocka_unit_test(slots_that_were_given_back_are_taken_again),
        cmocka_unit_test(where_a_granule_is_large_many_sizes_share_the_first_slab),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
