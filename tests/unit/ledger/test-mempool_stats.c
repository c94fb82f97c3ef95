/* test-mempool_stats.c - each pool has a book of its own for as long as it exists, and one with a limit keeps it. */
#include "mempool_stats.h"
#include "unlocked.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

enum { MANY = 200 };

static CUmemoryPool handle(unsigned number)
{
    return (CUmemoryPool)(uintptr_t)(0x1000 + number);
}

static struct spw_mempool_stats *book(unsigned number)
{
    return spw_mempool_stats_of_locked(handle(number));
}

static void a_pool_keeps_its_book_whoever_is_asked_for_meanwhile(void **state)
{
    spw_mempool_open_locked(handle(1), 0);
    spw_mempool_open_locked(handle(2), 0);
    spw_mempool_stats_add(book(1), 100);
    spw_mempool_stats_add(book(2), 30);
    assert_int_equal(book(1)->used, 100);
    assert_int_equal(book(2)->used, 30);
    assert_int_equal(spw_mempool_stats_of_locked(NULL)->used, 0);
    book(1)->used = book(2)->used = 0;
    spw_mempool_close_locked(handle(1));
    spw_mempool_close_locked(handle(2));
}

static void a_limit_counts_what_is_used_now(void **state)
{
    spw_mempool_open_locked(handle(3), 300);
    assert_true(spw_mempool_has_room(book(3), 300));
    assert_false(spw_mempool_has_room(book(3), 301));
    spw_mempool_stats_add(book(3), 200);
    assert_true(spw_mempool_has_room(book(3), 100));
    assert_false(spw_mempool_has_room(book(3), 101));
    assert_false(spw_mempool_has_room(book(3), SIZE_MAX));
    book(3)->used = 0;
    assert_true(spw_mempool_has_room(book(3), 300));
    spw_mempool_close_locked(handle(3));
}

static void a_pool_without_a_limit_always_has_room(void **state)
{
    spw_mempool_open_locked(handle(4), 0);
    assert_true(spw_mempool_has_room(book(4), SIZE_MAX));
    spw_mempool_close_locked(handle(4));
}

static void a_handle_that_comes_again_begins_a_new_book_while_the_old_memory_lives_on(void **state)
{
    spw_mempool_open_locked(handle(5), 500);
    struct spw_mempool_stats *old = book(5);
    spw_mempool_stats_add(old, 400);
    spw_mempool_close_locked(handle(5));
    spw_mempool_open_locked(handle(5), 0);
    assert_ptr_not_equal(book(5), old);
    assert_int_equal(book(5)->used, 0);
    assert_int_equal(book(5)->used_high, 0);
    assert_true(spw_mempool_has_room(book(5), 501));
    assert_int_equal(old->used, 400);
    old->used = 0;
    spw_mempool_close_locked(handle(5));
}

static void pools_that_come_and_go_never_use_up_the_books(void **state)
{
    for (unsigned i = 10; i < 10 + MANY; i++) {
        spw_mempool_open_locked(handle(i), 0);
        spw_mempool_stats_add(book(i), 7);
        assert_int_equal(book(i)->used, 7);
        book(i)->used = 0;
        spw_mempool_close_locked(handle(i));
    }
}

/* Last: these stay open. */
static void more_pools_at_a_time_than_books_share_one_and_have_no_limit(void **state)
{
    for (unsigned i = 1000; i < 1000 + MANY; i++)
        spw_mempool_open_locked(handle(i), 50);
    assert_false(spw_mempool_has_room(book(1000), 51));
    assert_ptr_equal(book(1000 + MANY - 1), spw_mempool_stats_of_locked(NULL));
    assert_true(spw_mempool_has_room(book(1000 + MANY - 1), 51));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_pool_keeps_its_book_whoever_is_asked_for_meanwhile),
        cmocka_unit_test(a_limit_counts_what_is_used_now),
        cmocka_unit_test(a_pool_without_a_limit_always_has_room),
        cmocka_unit_test(a_handle_that_comes_again_begins_a_new_book_while_the_old_memory_lives_on),
        cmocka_unit_test(pools_that_come_and_go_never_use_up_the_books),
        cmocka_unit_test(more_pools_at_a_time_than_books_share_one_and_have_no_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
