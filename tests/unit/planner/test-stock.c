/* test-stock.c - memory comes back in the order of time, whatever order it is given back in. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "plan/random.h"
#include "plan/stock.h"

enum { CASES = 2000, MOST = 120 };

/* What is given back and has not been taken again, in no order. */
struct slow_stock {
    struct spw_freed freed[MOST];
    size_t count;
    uint64_t left_bytes;
    double from_us, waited_us;
};

static bool take_slowly(struct slow_stock *slow, uint64_t bytes)
{
    slow->waited_us = 0;
    while (slow->left_bytes < bytes) {
        size_t earliest = 0;
        if (slow->count == 0)
            return false;
        for (size_t i = 1; i < slow->count; i++)
            if (slow->freed[i].at_us < slow->freed[earliest].at_us)
                earliest = i;
        slow->waited_us = slow->freed[earliest].at_us;
        slow->from_us = slow->waited_us > slow->from_us ? slow->waited_us : slow->from_us;
        slow->left_bytes += slow->freed[earliest].bytes;
        slow->freed[earliest] = slow->freed[--slow->count];
    }
    slow->left_bytes -= bytes;
    return true;
}

/* Times of several rows that go up, of which there are more than a stock has rows; no two are the same. */
static double some_time(double rows_us[4], uint64_t *random)
{
    double *row_us = &rows_us[spw_random_below(random, 4)];
    return *row_us += 10 * spw_random_fraction(random);
}

static void hold(struct spw_stock *stock, uint64_t seed)
{
    uint64_t random = seed;
    double rows_us[4] = {0, 5, 100, 20};
    struct slow_stock slow = {.left_bytes = 1 + spw_random_below(&random, 100)};
    uint64_t out_bytes = 0;
    spw_stock_begin(stock);
    stock->bytes = slow.left_bytes;
    for (size_t i = 0; i < MOST; i++) {
        uint64_t bytes = 1 + spw_random_below(&random, 30);
        if (spw_random_below(&random, 2) && out_bytes >= bytes) {
            const double at_us = some_time(rows_us, &random);
            out_bytes -= bytes;
            spw_stock_give_back(stock, at_us, bytes);
            slow.freed[slow.count++] = (struct spw_freed){at_us, bytes};
            continue;
        }
        const bool is_there = take_slowly(&slow, bytes);
        assert_int_equal(spw_stock_take(stock, bytes), is_there ? 0 : -ENOSPC);
        assert_true(stock->from_us == slow.from_us && stock->waited_us == slow.waited_us);
        if (!is_there)
            return;
        out_bytes += bytes;
    }
}

static void what_comes_back_first_is_handed_out_first(void **state)
{
    struct spw_stock *stock = *state;
    for (uint64_t seed = 1; seed <= CASES; seed++)
        hold(stock, seed);
}

static void what_comes_back_at_one_instant_is_there_at_once(void **state)
{
    struct spw_stock *stock = *state;
    spw_stock_begin(stock);
    stock->bytes = 10;
    assert_int_equal(spw_stock_take(stock, 10), 0);
    for (int i = 0; i < 4; i++)
        spw_stock_give_back(stock, 7, 2);
    assert_int_equal(spw_stock_take(stock, 8), 0);
    assert_true(stock->from_us == 7 && stock->waited_us == 7);
    assert_int_equal(spw_stock_take(stock, 1), -ENOSPC);
}

static int make(void **state)
{
    struct spw_stock *stock = calloc(1, sizeof *stock);
    assert_non_null(stock);
    assert_non_null(stock->heap = calloc(MOST, sizeof *stock->heap));
    for (int i = 0; i < SPW_FREED_ROWS; i++)
        assert_non_null(stock->rows[i].list = calloc(MOST, sizeof *stock->heap));
    *state = stock;
    return 0;
}

static int end(void **state)
{
    struct spw_stock *stock = *state;
    free(stock->heap);
    for (int i = 0; i < SPW_FREED_ROWS; i++)
        free(stock->rows[i].list);
    free(stock);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_comes_back_first_is_handed_out_first, make, end),
        cmocka_unit_test_setup_teardown(what_comes_back_at_one_instant_is_there_at_once, make, end),
    };
    return cmocka_run_group_tests_name("stock", tests, NULL, NULL);
}
