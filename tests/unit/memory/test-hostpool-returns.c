/* test-hostpool-returns.c - what comes back to a pool of host memory is handed out again, or given to the system. */
#include "host-world.h"

#include <string.h>

static void a_tensor_goes_where_it_leaves_least_over(void **state)
{
    struct spw_hostpool *pool = pool_of(64 * MIB);
    char *a = pool_taken(pool, 8 * MIB), *b = pool_taken(pool, 8 * MIB), *c = pool_taken(pool, 8 * MIB);
    spw_hostpool_give(pool, a, 8 * MIB);
    spw_hostpool_give(pool, b + 2 * MIB, 3 * MIB);
    spw_hostpool_give(pool, c, 4 * MIB);
    assert_ptr_equal(pool_taken(pool, 3 * MIB), b + 2 * MIB);
    assert_ptr_equal(pool_taken(pool, 3 * MIB), c);
    assert_ptr_equal(pool_taken(pool, 3 * MIB), a);
    assert_int_equal(world.calls[MAP], 3);
    pool_check(pool);
    spw_hostpool_destroy(pool);
}

static void steady_steps_call_nobody(void **state)
{
    struct spw_hostpool *pool = pool_of(GIB);
    char *tensors[40];
    int calls = 0;
    for (int step = 0; step < 20; step++) {
        for (size_t i = 0; i < 40; i++)
            tensors[i] = pool_taken(pool, (1 + i * 7 % 13) * MIB + i * 4 * KIB);
        for (size_t i = 40; i-- > 0;)
            spw_hostpool_give(pool, tensors[i], (1 + i * 7 % 13) * MIB + i * 4 * KIB);
        if (step == 0)
            calls = world.all_calls;
        assert_int_equal(world.all_calls, calls);
    }
    assert_int_equal(world.calls[UNMAP], 0);
    pool_check(pool);
    spw_hostpool_destroy(pool);
}

static void only_empty_slabs_are_trimmed_and_no_more_than_asked(void **state)
{
    struct spw_hostpool *pool = pool_of(64 * MIB);
    char *slabs[6];
    for (int i = 0; i < 6; i++)
        slabs[i] = pool_taken(pool, 8 * MIB);
    for (int i = 0; i < 5; i++)
        spw_hostpool_give(pool, slabs[i], 8 * MIB);
    assert_int_equal(spw_hostpool_trim(pool, 48 * MIB), 0);
    assert_int_equal(spw_hostpool_trim(pool, 33 * MIB), 16 * MIB);
    assert_int_equal(spw_hostpool_trim(pool, 0), 24 * MIB);
    assert_int_equal(spw_hostpool_trim(pool, 0), 0);
    assert_int_equal(spw_hostpool_bytes_held(pool), 8 * MIB);
    memset(slabs[5], 1, 8 * MIB);
    pool_check(pool);
    spw_hostpool_destroy(pool);
}

/* Six empty slabs of 8 MiB fill the limit: for one tensor of 40 MiB most of them have to go. */
static void empty_slabs_make_room_for_a_large_tensor(void **state)
{
    for (int by = 0; by < 2; by++) {
        size_t limit = by == 0 ? 48 * MIB : 64 * MIB;
        world.available = by == 0 ? (int64_t)GIB : (int64_t)(64 * MIB);
        struct spw_hostpool *pool = pool_of(limit);
        char *slabs[6];
        for (int i = 0; i < 6; i++)
            slabs[i] = pool_taken(pool, 8 * MIB);
        for (int i = 1; i < 6; i++)
            spw_hostpool_give(pool, slabs[i], 8 * MIB);
        int unmapped = world.calls[UNMAP];
        pool_refuses(pool, 41 * MIB, by == 0 ? by_budget : by_machine);
        assert_int_equal(world.calls[UNMAP], unmapped);
        (void)pool_taken(pool, 40 * MIB);
        assert_int_equal(spw_hostpool_bytes_held(pool), 48 * MIB);
        pool_check(pool);
        spw_hostpool_destroy(pool);
    }
}

/* A slab that can't be unpinned is not unmapped, since the device may know its pages: it stays and serves. */
static void a_slab_that_cannot_be_unpinned_stays(void **state)
{
    struct spw_hostpool *pool = pool_of(4 * GIB);
    char *a = pool_taken(pool, 700 * MIB);
    spw_hostpool_give(pool, a, 700 * MIB);
    world.fail_first = world.fail_last = world.all_calls + 2; /* the second of three pieces */
    assert_int_equal(spw_hostpool_trim(pool, 0), 0);
    assert_int_equal(spw_hostpool_bytes_pinned(pool), 512 * MIB);
    assert_ptr_equal(pool_taken(pool, 700 * MIB), a);
    assert_true(spw_hostpool_is_pinned(pool, a, 512 * MIB));
    assert_false(spw_hostpool_is_pinned(pool, a, 512 * MIB + 1));
    assert_int_equal(spw_hostpool_contiguous_bytes(pool, a + 512 * MIB), 188 * MIB);
    pool_check(pool);
    spw_hostpool_give(pool, a, 700 * MIB);
    assert_int_equal(spw_hostpool_trim(pool, 0), 700 * MIB);
    spw_hostpool_destroy(pool);
}

static void a_wrong_give_changes_nothing_and_is_counted(void **state)
{
    static char elsewhere[4096];
    for (int i = 0; i < 4; i++) {
        struct spw_hostpool *pool = pool_of(64 * MIB);
        char *a = pool_taken(pool, 4 * MIB);
        char *const wrong[] = {elsewhere, a + 4 * MIB, a, a + 8 * MIB};
        spw_hostpool_give(pool, wrong[i], i == 2 ? SIZE_MAX : 4 * MIB);
        assert_int_equal(spw_hostpool_bytes_in_use(pool), 4 * MIB);
        assert_false(spw_hostpool_check(pool));
        spw_hostpool_destroy(pool);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_A_WORLD(a_tensor_goes_where_it_leaves_least_over),
        IN_A_WORLD(steady_steps_call_nobody),
        IN_A_WORLD(only_empty_slabs_are_trimmed_and_no_more_than_asked),
        IN_A_WORLD(empty_slabs_make_room_for_a_large_tensor),
        IN_A_WORLD(a_slab_that_cannot_be_unpinned_stays),
        IN_A_WORLD(a_wrong_give_changes_nothing_and_is_counted),
    };
    return cmocka_run_group_tests_name("hostpool-returns", tests, NULL, NULL);
}
