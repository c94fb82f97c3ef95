/* test-grow.c - arrays grow with what is in them, or stay as they are. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "failing-memory.h"
#include "grow.h"

struct element {
    uint64_t one, two, three;
};

static void elements_stay_and_new_ones_are_zeroes(void **state)
{
    struct element *list = NULL;
    uint32_t room = 0;
    for (uint32_t count = 0; count < 5000; count++) {
        const uint32_t before = room;
        assert_int_equal(SPW_GROW(list, room, count + 1), 0);
        assert_true(room > count && (room == before || before == count));
        for (uint32_t i = before; i < room; i++)
            assert_true(list[i].one == 0 && list[i].two == 0 && list[i].three == 0);
        list[count] = (struct element){count, ~UINT64_C(0), count};
    }
    for (uint32_t i = 0; i < 5000; i++)
        assert_true(list[i].one == i && list[i].three == i);
    free(list);
}

static void few_growths_make_many_elements(void **state)
{
    char *text = NULL;
    size_t room = 0;
    unsigned grown = 0;
    for (size_t count = 0; count < 1000000; count++) {
        grown += count == room;
        assert_int_equal(SPW_GROW(text, room, count + 1), 0);
    }
    assert_in_range(grown, 10, 40);
    free(text);
}

static void nothing_is_made_for_no_element(void **state)
{
    struct element *list = NULL;
    uint32_t room = 0;
    assert_int_equal(SPW_GROW(list, room, 0), 0);
    assert_null(list);
    assert_int_equal(room, 0);
}

static void without_memory_all_is_as_it_was(void **state)
{
    struct element *list = NULL;
    size_t room = 0;
    assert_int_equal(SPW_GROW(list, room, 1), 0);
    list[0].one = 17;
    struct element *const before = list;
    const size_t had = room;
    memory_fails_after(0);
    assert_int_equal(SPW_GROW(list, room, room + 1), -ENOMEM);
    assert_int_equal(SPW_RESIZE(list, room, 2 * room), -ENOMEM);
    assert_int_equal(SPW_GROW(list, room, room), 0);
    assert_true(memory_is_back());
    assert_ptr_equal(list, before);
    assert_true(room == had && list[0].one == 17);
    free(list);
}

static void sizes_that_cannot_be_counted_are_refused(void **state)
{
    struct element *list = NULL;
    size_t large = 0;
    uint32_t small = 0;
    assert_int_equal(SPW_GROW(list, large, SIZE_MAX / sizeof(*list)), -ENOMEM);
    assert_int_equal(SPW_GROW(list, large, SIZE_MAX), -ENOMEM);
    assert_int_equal(SPW_GROW(list, large, SIZE_MAX / 4), -ENOMEM);
    assert_int_equal(SPW_GROW(list, small, UINT32_MAX), -ENOMEM);
    assert_int_equal(SPW_GROW(list, small, UINT32_MAX / 4 + 1), -ENOMEM);
    assert_int_equal(SPW_GROW(list, small, UINT64_C(1) << 33), -ENOMEM);
    assert_int_equal(SPW_RESIZE(list, 0, SIZE_MAX / 8), -ENOMEM);
    assert_null(list);
    assert_true(large == 0 && small == 0);
}

static void several_arrays_share_a_room(void **state)
{
    struct element *list = NULL;
    char *text = NULL;
    assert_int_equal(SPW_RESIZE(list, 0, 3), 0);
    list[2].two = 5;
    assert_int_equal(SPW_RESIZE(text, 0, 3), 0);
    assert_int_equal(SPW_RESIZE(list, 3, 7), 0);
    assert_int_equal(SPW_RESIZE(text, 3, 7), 0);
    assert_true(list[2].two == 5 && list[3].two == 0 && list[6].three == 0 && text[6] == 0);
    free(list);
    free(text);
    assert_int_equal(memory_blocks(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(elements_stay_and_new_ones_are_zeroes),    cmocka_unit_test(few_growths_make_many_elements),
        cmocka_unit_test(nothing_is_made_for_no_element),           cmocka_unit_test(without_memory_all_is_as_it_was),
        cmocka_unit_test(sizes_that_cannot_be_counted_are_refused), cmocka_unit_test(several_arrays_share_a_room),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
