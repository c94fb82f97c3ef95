/* test-stored_words.c - words in the order of their places: found, replaced, moved; and what the recorder makes of copies.
 */
#include "stored_words.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <cmocka.h>
#include <errno.h>
#include <string.h>

#include "pointer_map.h"

static struct spw_stored_words w;

static int begin(void **state)
{
    free(w.list);
    w = (struct spw_stored_words){0};
    return 0;
}

static void put(uint64_t place, uint64_t member)
{
    const struct spw_stored_word one = {place, member};
    assert_int_equal(spw_stored_words_replace(&w, place, place + 8, &one, 1, UINT32_MAX), 0);
}

static void assert_places(const uint64_t *places, uint32_t count)
{
    assert_int_equal(w.count, count);
    for (uint32_t i = 0; i < count; i++)
        assert_int_equal(w.list[i].place, places[i]);
}

static void words_lie_in_order_of_their_places(void **state)
{
    put(80, 1);
    put(0, 2);
    put(40, 3);
    assert_places((uint64_t[]){0, 40, 80}, 3);
    assert_int_equal(spw_stored_words_at(&w, 0), 0);
    assert_int_equal(spw_stored_words_at(&w, 1), 1);
    assert_int_equal(spw_stored_words_at(&w, 81), 3);
}

static void what_is_written_in_part_is_gone(void **state)
{
    put(0, 1);
    put(8, 2);
    put(16, 3);
    assert_int_equal(spw_stored_words_replace(&w, 7, 9, NULL, 0, UINT32_MAX), 0);
    assert_places((uint64_t[]){16}, 1);
    put(20, 4);
    assert_places((uint64_t[]){20}, 1);
}

static void where_there_are_too_many_the_old_is_gone_and_nothing_added(void **state)
{
    const struct spw_stored_word two[] = {{0, 1}, {8, 2}};
    put(0, 9);
    put(40, 9);
    assert_int_equal(spw_stored_words_replace(&w, 0, 16, two, 2, 2), -ENOBUFS);
    assert_places((uint64_t[]){40}, 1);
    assert_int_equal(spw_stored_words_replace(&w, 0, 16, two, 2, 3), 0);
    assert_places((uint64_t[]){0, 8, 40}, 3);
}

static void what_is_copied_whole_is_moved(void **state)
{
    uint32_t count;
    for (uint64_t i = 0; i < 4; i++)
        put(16 * i, 100 + i);
    struct spw_stored_word *list = spw_stored_words_moved(&w, 1000, 1, 16 + 16 + 7, &count);
    assert_int_equal(count, 2);
    assert_int_equal(list[0].place, 1015);
    assert_int_equal(list[0].member, 101);
    assert_int_equal(list[1].place, 1031);
    free(list);
    assert_null(spw_stored_words_moved(&w, 1000, 0, 7, &count));
    assert_int_equal(count, 0);
}

static void count_one(void *context, uint64_t target)
{
    ++*(unsigned *)context;
}

/* Half an address, copied by itself, is none. */
static void the_recorder_takes_half_a_word_for_none(void **state)
{
    struct spw_extent from = {.bytes = 64}, to = {.bytes = 64};
    unsigned count = 0;
    spw_pointer_map_add(&from, 8, 1234);
    spw_pointer_map_copy(&to, 0, &from, 0, 12);
    spw_pointer_map_each(&to, count_one, &count);
    assert_int_equal(count, 0);
    spw_pointer_map_copy(&to, 0, &from, 0, 16);
    spw_pointer_map_each(&to, count_one, &count);
    assert_int_equal(count, 1);
    assert_true(spw_pointer_map_any());
    spw_pointer_map_forget_all(&to);
    spw_pointer_map_forget_all(&from);
    assert_false(spw_pointer_map_any());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(words_lie_in_order_of_their_places, begin),
        cmocka_unit_test_setup(what_is_written_in_part_is_gone, begin),
        cmocka_unit_test_setup(where_there_are_too_many_the_old_is_gone_and_nothing_added, begin),
        cmocka_unit_test_setup(what_is_copied_whole_is_moved, begin),
        cmocka_unit_test(the_recorder_takes_half_a_word_for_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
