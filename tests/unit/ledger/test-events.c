/* test-events.c - events are made where there are none, counted, lent by context and read in the order of their ends. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>

#include "ask.h"
#include "driver.h"
#include "events.h"
#include "fake-device.h"
#include "ledger.h"

struct timed {
    struct spw_event_pair events;
    int number;
};

static struct spw_event_pool pool;
static CUstream stream;
static const CUcontext a = (CUcontext)(uintptr_t)0xa0, b = (CUcontext)(uintptr_t)0xb0;

static int begin(void **state)
{
    spw_ledger_reset();
    fake_start(4096, 1 << 20, 1 << 20, 1 << 20);
    stream = fake_stream();
    pool = (struct spw_event_pool){.element_bytes = sizeof(struct timed)};
    return 0;
}

static int end(void **state)
{
    spw_event_pool_drop(&pool, NULL, true);
    assert_int_equal(spw_events_held(), 0);
    assert_int_equal(fake_counts()->events, 0);
    return 0;
}

static struct timed *make(CUcontext context, int number)
{
    struct timed *t = (struct timed *)spw_event_pool_make(&pool, context);
    assert_non_null(t);
    assert_int_equal(t->number, 0);
    t->number = number;
    return t;
}

static void record(CUevent event)
{
    assert_int_equal(spw_driver.cuEventRecord(event, stream), CUDA_SUCCESS);
}

static void ended(CUcontext context, int number)
{
    struct timed *t = make(context, number);
    record(t->events.begin);
    record(t->events.end);
    spw_event_pool_ended(&pool, &t->events);
}

/* The number of what ended first and is read now; 0: nothing. */
static int next(void)
{
    struct spw_event_pair *p = spw_event_pool_next(&pool);
    int number = p ? ((struct timed *)p)->number : 0;
    if (p)
        spw_event_pool_give(&pool, p);
    return number;
}

static void an_event_is_made_once_and_counted_until_it_goes(void **state)
{
    CUevent event = NULL;
    assert_int_equal(spw_event_make(&event, CU_EVENT_DEFAULT), 0);
    const CUevent made = event;
    assert_int_equal(spw_event_make(&event, CU_EVENT_DEFAULT), 0);
    assert_ptr_equal(event, made);
    assert_int_equal(spw_events_held(), 1);
    spw_event_drop(&event, true);
    spw_event_drop(&event, true);
    assert_null(event);
    assert_int_equal(spw_events_held(), 0);
    assert_int_equal(fake_counts()->events, 0);
}

static void what_is_only_forgotten_stays_with_the_driver(void **state)
{
    CUevent event = NULL;
    assert_int_equal(spw_event_make(&event, CU_EVENT_DEFAULT), 0);
    CUevent kept = event;
    spw_event_drop(&event, false);
    assert_int_equal(spw_events_held(), 0);
    assert_int_equal(fake_counts()->events, 1);
    assert_int_equal(spw_driver.cuEventDestroy_v2(kept), CUDA_SUCCESS);
}

static void an_event_that_is_refused_is_none(void **state)
{
    CUevent event = NULL;
    fake_fail("cuEventCreate", 1, CUDA_ERROR_OUT_OF_MEMORY, false);
    assert_int_equal(spw_event_make(&event, CU_EVENT_DEFAULT), -ENOMEM);
    assert_null(event);
    assert_int_equal(spw_events_held(), 0);
}

static void a_pair_of_which_half_is_refused_is_completed_later(void **state)
{
    struct spw_event_pair pair = {0};
    fake_fail("cuEventCreate", 2, CUDA_ERROR_OUT_OF_MEMORY, false);
    assert_false(spw_event_pair_make(&pair));
    assert_int_equal(spw_events_held(), 1);
    assert_true(spw_event_pair_make(&pair));
    assert_int_equal(spw_events_held(), 2);
    spw_event_pair_drop(&pair, true);
}

static void a_new_pair_of_which_half_is_refused_leaves_nothing(void **state)
{
    fake_fail("cuEventCreate", 2, CUDA_ERROR_OUT_OF_MEMORY, false);
    assert_null(spw_event_pool_make(&pool, a));
    assert_int_equal(spw_events_held(), 0);
    assert_int_equal(fake_counts()->events, 0);
}

static void elapsed_time_needs_both_events(void **state)
{
    struct timed *t = make(a, 1);
    double us;
    record(t->events.begin);
    fake_run_all();
    assert_false(spw_event_elapsed_us(t->events.begin, t->events.end, &us));
    record(t->events.end);
    fake_run_all();
    assert_true(spw_event_elapsed_us(t->events.begin, t->events.end, &us));
    assert_true(us >= 0);
    spw_event_pool_give(&pool, &t->events);
}

static void an_idle_pair_is_lent_to_its_own_context_only(void **state)
{
    struct timed *t = make(a, 1);
    assert_null(spw_event_pool_take(&pool, a));
    spw_event_pool_give(&pool, &t->events);
    assert_null(spw_event_pool_take(&pool, b));
    assert_ptr_equal(spw_event_pool_find(&pool, a), t);
    assert_ptr_equal(spw_event_pool_take(&pool, a), t);
    assert_null(spw_event_pool_find(&pool, a));
    spw_event_pool_give(&pool, &t->events);
}

static void what_ended_is_read_in_order_once_the_device_is_there(void **state)
{
    ended(a, 1);
    ended(b, 2);
    assert_int_equal(next(), 0);
    fake_run_all();
    ended(a, 3);
    assert_int_equal(next(), 1);
    assert_int_equal(next(), 2);
    assert_int_equal(next(), 0);
    fake_run_all();
    assert_int_equal(next(), 3);
    assert_int_equal(next(), 0);
    ended(b, 4);
    fake_run_all();
    assert_int_equal(next(), 4);
}

static void with_a_context_go_its_pairs_and_no_others(void **state)
{
    for (int number = 1; number <= 6; number++)
        ended(number % 2 ? a : b, number);
    spw_event_pool_give(&pool, &make(b, 7)->events);
    spw_event_pool_give(&pool, &make(a, 8)->events);
    spw_event_pool_drop(&pool, b, true);
    assert_null(spw_event_pool_find(&pool, b));
    assert_int_equal(spw_events_held(), 8);
    ended(a, 9);
    fake_run_all();
    const int left[] = {1, 3, 5, 9, 0};
    for (int i = 0; i < 5; i++)
        assert_int_equal(next(), left[i]);
}

static void what_ended_last_may_go_and_others_end_after_it(void **state)
{
    ended(a, 1);
    ended(b, 2);
    spw_event_pool_drop(&pool, b, true);
    ended(a, 3);
    fake_run_all();
    assert_int_equal(next(), 1);
    assert_int_equal(next(), 3);
}

static void a_pool_of_single_events_makes_one_each(void **state)
{
    pool.single = true;
    spw_event_pool_give(&pool, spw_event_pool_make(&pool, a));
    assert_int_equal(spw_events_held(), 1);
    assert_null(spw_event_pool_find(&pool, a)->end);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(an_event_is_made_once_and_counted_until_it_goes, begin, end),
        cmocka_unit_test_setup(what_is_only_forgotten_stays_with_the_driver, begin),
        cmocka_unit_test_setup_teardown(an_event_that_is_refused_is_none, begin, end),
        cmocka_unit_test_setup_teardown(a_pair_of_which_half_is_refused_is_completed_later, begin, end),
        cmocka_unit_test_setup_teardown(a_new_pair_of_which_half_is_refused_leaves_nothing, begin, end),
        cmocka_unit_test_setup_teardown(elapsed_time_needs_both_events, begin, end),
        cmocka_unit_test_setup_teardown(an_idle_pair_is_lent_to_its_own_context_only, begin, end),
        cmocka_unit_test_setup_teardown(what_ended_is_read_in_order_once_the_device_is_there, begin, end),
        cmocka_unit_test_setup_teardown(with_a_context_go_its_pairs_and_no_others, begin, end),
        cmocka_unit_test_setup_teardown(what_ended_last_may_go_and_others_end_after_it, begin, end),
        cmocka_unit_test_setup_teardown(a_pool_of_single_events_makes_one_each, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
