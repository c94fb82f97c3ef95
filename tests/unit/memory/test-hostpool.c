/* test-hostpool.c - how much a pool of pinned host memory hands out, and where: exact sizes, and what its limit and the
 * machine leave it. */
/* promise: host-budget */
#include "host-world.h"

#include <errno.h>
#include <string.h>

/* ---- sizes and places ---- */

static void a_new_pool_holds_nothing(void **state)
{
    struct spw_hostpool *pool = pool_of(GIB);
    assert_int_equal(world.calls[MAP] + world.calls[AVAILABLE], 0);
    assert_int_equal(spw_hostpool_bytes_held(pool), 0);
    assert_int_equal(spw_hostpool_bytes_pinned(pool), 0);
    assert_int_equal(spw_hostpool_limit(pool), GIB);
    assert_string_equal(spw_hostpool_refusal(pool), "");
    assert_int_equal(spw_hostpool_trim(pool, 0), 0);
    spw_hostpool_destroy(pool);
    spw_hostpool_destroy(NULL);
}

/* Sizes are rounded up to 4 KiB and to nothing coarser; neighbours lie side by side in one slab. */
static void tensors_share_a_slab_in_exact_sizes(void **state)
{
    struct spw_hostpool *pool = pool_of(GIB);
    char *a = pool_taken(pool, 5 * MIB + 1), *b = pool_taken(pool, 4 * KIB), *c = pool_taken(pool, 1);
    assert_ptr_equal(b, a + 5 * MIB + 4 * KIB);
    assert_ptr_equal(c, b + 4 * KIB);
    assert_int_equal(spw_hostpool_bytes_in_use(pool), 5 * MIB + 12 * KIB);
    size_t held = spw_hostpool_bytes_held(pool);
    assert_in_range(held, 60 * MIB, 64 * MIB);
    assert_int_equal(world.calls[MAP], 1);
    memset(a, 1, 5 * MIB + 1);
    pool_check(pool);
    spw_hostpool_give(pool, a, 5 * MIB + 1);
    spw_hostpool_give(pool, c, 1);
    spw_hostpool_give(pool, b, 4 * KIB);
    spw_hostpool_give(pool, NULL, 4 * KIB);
    assert_int_equal(spw_hostpool_bytes_in_use(pool), 0);
    assert_int_equal(spw_hostpool_bytes_in_use_peak(pool), 5 * MIB + 12 * KIB);
    assert_ptr_equal(pool_taken(pool, held), a);
    assert_int_equal(world.calls[MAP], 1);
    pool_check(pool);
    spw_hostpool_destroy(pool);
}

static void a_larger_tensor_has_a_slab_of_its_size(void **state)
{
    struct spw_hostpool *pool = pool_of(4 * GIB);
    char *a = pool_taken(pool, 200 * MIB + 4 * KIB);
    assert_int_equal(spw_hostpool_bytes_held(pool), 202 * MIB);
    assert_ptr_equal(pool_taken(pool, MIB), a + 200 * MIB + 4 * KIB);
    pool_check(pool);
    spw_hostpool_destroy(pool);
}

/* Few slabs also when there is much: steps grow with the pool. */
static void a_large_pool_grows_in_large_steps(void **state)
{
    struct spw_hostpool *pool = pool_of(100 * GIB);
    for (size_t i = 0; i < 1024; i++)
        (void)pool_taken(pool, 96 * MIB);
    assert_in_range(world.calls[MAP], 100, 350);
    assert_in_range(spw_hostpool_bytes_held(pool), 96 * GIB, 97 * GIB);
    pool_check(pool);
    spw_hostpool_destroy(pool);
}

/* To the last page, though steps and huge pages don't divide the limit. */
static void the_whole_limit_can_be_had_and_no_more(void **state)
{
    const size_t limits[] = {4 * KIB, 100 * KIB, 2 * MIB, 7 * MIB + 12 * KIB, 100 * MIB + 100 * KIB};
    for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
        struct spw_hostpool *pool = pool_of(limits[i] + 100);
        size_t had = 0, piece = limits[i] > MIB ? 100 * KIB : 4 * KIB;
        void *address;
        while (spw_hostpool_take(pool, piece, &address) == 0)
            had += piece;
        while (spw_hostpool_take(pool, 4 * KIB, &address) == 0)
            had += 4 * KIB;
        assert_int_equal(had, limits[i]);
        assert_int_equal(spw_hostpool_bytes_in_use(pool), limits[i]);
        pool_refuses(pool, 1, by_budget);
        pool_check(pool);
        spw_hostpool_destroy(pool);
    }
}

/* A rest beside the last slab would be too small for what a slab with that rest has room for. */
static void what_is_left_of_the_limit_is_part_of_the_last_slab(void **state)
{
    struct spw_hostpool *pool = pool_of(5 * MIB);
    (void)pool_taken(pool, 2 * MIB);
    (void)pool_taken(pool, 1536 * KIB);
    (void)pool_taken(pool, 1536 * KIB);
    assert_int_equal(world.calls[MAP], 2);
    assert_int_equal(spw_hostpool_bytes_held(pool), 5 * MIB);
    pool_check(pool);
    spw_hostpool_destroy(pool);
}

static void what_is_moved_closes_gaps_and_keeps_its_bytes(void **state)
{
    struct spw_hostpool *pool = pool_of(2 * MIB);
    char *a = pool_taken(pool, 256 * KIB), *b = pool_taken(pool, 512 * KIB), *c = pool_taken(pool, 256 * KIB);
    char *d = pool_taken(pool, MIB);
    memset(b, 2, 512 * KIB);
    memset(d, 4, MIB);
    spw_hostpool_give(pool, a, 256 * KIB);
    spw_hostpool_give(pool, c, 256 * KIB);
    pool_refuses(pool, 512 * KIB, by_budget);
    assert_ptr_equal(spw_hostpool_move(pool, b, 512 * KIB), a);
    assert_ptr_equal(spw_hostpool_move(pool, d, MIB), a + 512 * KIB);
    for (size_t i = 0; i < 512 * KIB + MIB; i++)
        assert_int_equal(a[i], i < 512 * KIB ? 2 : 4);
    assert_ptr_equal(spw_hostpool_move(pool, a, 512 * KIB), a);
    assert_ptr_equal(pool_taken(pool, 512 * KIB), a + 512 * KIB + MIB);
    pool_check(pool);
    spw_hostpool_destroy(pool);
}

static void one_tensor_can_have_the_whole_limit(void **state)
{
    struct spw_hostpool *pool = pool_of(3 * GIB + 4 * KIB);
    pool_refuses(pool, 3 * GIB + 4 * KIB + 1, by_budget);
    assert_int_equal(world.calls[MAP], 0);
    (void)pool_taken(pool, 3 * GIB + 4 * KIB);
    assert_int_equal(spw_hostpool_bytes_held(pool), 3 * GIB + 4 * KIB);
    pool_check(pool);
    spw_hostpool_destroy(pool);
}

static void impossible_requests_are_refused(void **state)
{
    struct spw_hostpool *pool = pool_of(0);
    pool_refuses(pool, 1, by_budget);
    spw_hostpool_destroy(pool);
    pool = pool_of(SIZE_MAX);
    void *address;
    assert_int_equal(spw_hostpool_take(pool, 0, &address), -EINVAL);
    pool_refuses(pool, SIZE_MAX, by_budget);
    pool_refuses(pool, SIZE_MAX - 5000, by_budget);
    pool_refuses(pool, SIZE_MAX / 2, by_budget);
    pool_refuses(pool, 2048 * GIB, by_machine);
    assert_int_equal(world.calls[MAP], 0);
    pool_check(pool);
    spw_hostpool_destroy(pool);
}

static void half_a_pair_of_ops_is_refused(void **state)
{
    struct spw_hostpool *pool = NULL;
    struct spw_host_ops broken[6];
    for (int i = 0; i < 6; i++)
        broken[i] = world_ops;
    broken[0].map = NULL;
    broken[1].unmap = NULL;
    broken[2].pin = NULL;
    broken[3].unpin = NULL;
    broken[4].alloc_pinned = NULL;
    broken[5].free_pinned = NULL;
    for (int i = 0; i < 6; i++)
        assert_int_equal(spw_hostpool_create(&broken[i], &world, GIB, &pool), -EINVAL);
    assert_null(pool);
}

/* ---- what the machine has left ---- */

/* The pool stops while the machine still has its reserve, long before the limit. */
static void the_machine_keeps_a_reserve(void **state)
{
    world.available = (int64_t)GIB;
    struct spw_hostpool *pool = pool_of(100 * GIB);
    void *address;
    while (spw_hostpool_take(pool, 10 * MIB, &address) == 0)
        ;
    assert_string_equal(spw_hostpool_refusal(pool), by_machine);
    assert_in_range(spw_hostpool_bytes_held(pool), GIB - GIB / 16, GIB - GIB / 32);
    pool_check(pool);
    spw_hostpool_destroy(pool);
}

static void a_machine_with_next_to_nothing_is_left_alone(void **state)
{
    world.available = (int64_t)(16 * MIB);
    struct spw_hostpool *pool = pool_of(GIB);
    pool_refuses(pool, 4 * KIB, by_machine);
    world.available = -1;
    pool_refuses(pool, 4 * KIB, by_machine);
    assert_int_equal(world.calls[MAP], 0);
    world.available = (int64_t)(16 * MIB + 4 * KIB);
    (void)pool_taken(pool, 4 * KIB);
    assert_int_equal(spw_hostpool_bytes_held(pool), 4 * KIB);
    pool_check(pool);
    spw_hostpool_destroy(pool);
}

static void an_unknown_machine_is_bound_by_the_limit_alone(void **state)
{
    struct spw_host_ops knows_nothing = world_ops;
    knows_nothing.available = NULL;
    struct spw_hostpool *pool;
    assert_int_equal(spw_hostpool_create(&knows_nothing, &world, 100 * MIB, &pool), 0);
    (void)pool_taken(pool, 90 * MIB);
    pool_refuses(pool, 20 * MIB, by_budget);
    spw_hostpool_destroy(pool);
}

static void a_refused_mapping_is_tried_again_in_the_exact_size(void **state)
{
    struct spw_hostpool *pool = pool_of(GIB);
    world.refuses[ALLOC] = true;
    world.fail_first = world.fail_last = 5; /* 1: pool, 2: available, 3: table of slabs, 4: extents, 5: map */
    (void)pool_taken(pool, MIB);
    assert_int_equal(spw_hostpool_bytes_held(pool), MIB);
    pool_check(pool);
    world.refuses[MAP] = true;
    pool_refuses(pool, MIB, by_system);
    pool_check(pool);
    spw_hostpool_destroy(pool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_A_WORLD(a_new_pool_holds_nothing),
        IN_A_WORLD(tensors_share_a_slab_in_exact_sizes),
        IN_A_WORLD(a_larger_tensor_has_a_slab_of_its_size),
        IN_A_WORLD(a_large_pool_grows_in_large_steps),
        IN_A_WORLD(the_whole_limit_can_be_had_and_no_more),
        IN_A_WORLD(what_is_left_of_the_limit_is_part_of_the_last_slab),
        IN_A_WORLD(what_is_moved_closes_gaps_and_keeps_its_bytes),
        IN_A_WORLD(one_tensor_can_have_the_whole_limit),
        IN_A_WORLD(impossible_requests_are_refused),
        IN_A_WORLD(half_a_pair_of_ops_is_refused),
        IN_A_WORLD(the_machine_keeps_a_reserve),
        IN_A_WORLD(a_machine_with_next_to_nothing_is_left_alone),
        IN_A_WORLD(an_unknown_machine_is_bound_by_the_limit_alone),
        IN_A_WORLD(a_refused_mapping_is_tried_again_in_the_exact_size),
    };
    return cmocka_run_group_tests_name("hostpool", tests, NULL, NULL);
}
