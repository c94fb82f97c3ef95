/* test-hostpool-pinning.c - what of a pool of host memory is pinned, and what becomes of it where that is refused. */
#include "host-world.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static void large_slabs_are_pinned_in_pieces(void **state)
{
    struct spw_hostpool *pool = pool_of(8 * GIB);
    char *a = pool_taken(pool, GIB + 100 * MIB);
    assert_int_equal(world.pinned.count, 5);
    assert_true(spw_hostpool_is_pinned(pool, a, GIB + 100 * MIB));
    assert_false(spw_hostpool_is_pinned(pool, a, GIB + 100 * MIB + 1));
    assert_false(spw_hostpool_is_pinned(pool, a - 1, 1));
    assert_false(spw_hostpool_is_pinned(pool, &world, 1));
    pool_check(pool);
    spw_hostpool_destroy(pool);
    assert_int_equal(world.pinned.count, 0);
}

static void copies_learn_where_a_pinned_piece_ends(void **state)
{
    struct spw_hostpool *pool = pool_of(8 * GIB);
    char *a = pool_taken(pool, 600 * MIB);
    assert_int_equal(spw_hostpool_contiguous_bytes(pool, a), 256 * MIB);
    assert_int_equal(spw_hostpool_contiguous_bytes(pool, a + 256 * MIB - 1), 1);
    assert_int_equal(spw_hostpool_contiguous_bytes(pool, a + 256 * MIB), 256 * MIB);
    assert_int_equal(spw_hostpool_contiguous_bytes(pool, a + 512 * MIB), 88 * MIB);
    assert_int_equal(spw_hostpool_contiguous_bytes(pool, a + 600 * MIB), 0);
    assert_int_equal(spw_hostpool_contiguous_bytes(pool, &world), 0);
    spw_hostpool_destroy(pool);
}

static void where_pinning_is_refused_the_driver_is_asked_for_memory(void **state)
{
    world.refuses[PIN] = true;
    struct spw_hostpool *pool = pool_of(4 * GIB);
    char *a = pool_taken(pool, 600 * MIB);
    assert_int_equal(world.mapped.count, 0);
    assert_int_equal(world.allocated.count, 1);
    assert_true(spw_hostpool_is_pinned(pool, a, 600 * MIB));
    assert_int_equal(spw_hostpool_contiguous_bytes(pool, a), 600 * MIB);
    spw_hostpool_give(pool, a, 600 * MIB);
    pool_check(pool);
    assert_int_equal(spw_hostpool_trim(pool, 0), 600 * MIB);
    assert_int_equal(world.allocated.count, 0);
    spw_hostpool_destroy(pool);
}

static void where_mapping_is_refused_the_driver_is_asked_for_memory(void **state)
{
    world.refuses[MAP] = true;
    struct spw_hostpool *pool = pool_of(4 * GIB);
    char *a = pool_taken(pool, 6 * MIB);
    assert_true(spw_hostpool_is_pinned(pool, a, 6 * MIB));
    pool_check(pool);
    spw_hostpool_destroy(pool);
}

static void is_all_touched(char *address, size_t bytes)
{
    static unsigned char resident[16 * MIB / (4 * KIB)];
    size_t count = bytes / (size_t)sysconf(_SC_PAGESIZE);
    assert_true(count <= sizeof(resident));
    assert_int_equal(mincore(address, bytes, resident), 0);
    for (size_t i = 0; i < count; i++)
        assert_true(resident[i] & 1);
}

/* Slower but right; and touched, so that what the machine says to have left next is true. */
static void where_both_are_refused_memory_is_pageable(void **state)
{
    world.refuses[PIN] = world.refuses[ALLOC] = true;
    struct spw_hostpool *pool = pool_of(64 * MIB);
    char *a = pool_taken(pool, 6 * MIB);
    assert_int_equal(spw_hostpool_bytes_held(pool), 6 * MIB);
    assert_int_equal(spw_hostpool_bytes_pinned(pool), 0);
    assert_false(spw_hostpool_is_pinned(pool, a, 1));
    assert_int_equal(spw_hostpool_contiguous_bytes(pool, a), 6 * MIB);
    is_all_touched(a, 6 * MIB);
    pool_check(pool);
    spw_hostpool_destroy(pool);
}

static void without_any_way_to_pin_memory_is_pageable(void **state)
{
    struct spw_host_ops plain = {.map = world_ops.map, .unmap = world_ops.unmap};
    struct spw_hostpool *pool;
    assert_int_equal(spw_hostpool_create(&plain, &world, 64 * MIB, &pool), 0);
    char *a = pool_taken(pool, 6 * MIB);
    assert_false(spw_hostpool_is_pinned(pool, a, 1));
    assert_int_equal(world.calls[MAP], 1);
    spw_hostpool_destroy(pool);
}

static void a_pin_refused_halfway_leaves_nothing_pinned(void **state)
{
    struct spw_hostpool *pool = pool_of(4 * GIB);
    world.fail_first = world.fail_last = 8; /* the third pin: see above, then 6 and 7 are the first two */
    char *a = pool_taken(pool, 600 * MIB);
    assert_int_equal(world.calls[PIN], 3);
    assert_int_equal(world.calls[UNPIN], 2);
    assert_int_equal(world.pinned.count, 0);
    assert_true(pieces_hold(&world.allocated, a, 600 * MIB));
    pool_check(pool);
    spw_hostpool_destroy(pool);
}

static void pinned_memory_is_preferred_to_pageable(void **state)
{
    struct spw_hostpool *pool = pool_of(64 * MIB);
    world.refuses[PIN] = world.refuses[ALLOC] = true;
    char *pageable = pool_taken(pool, 8 * MIB);
    world.refuses[PIN] = false;
    char *pinned = pool_taken(pool, 2 * MIB);
    assert_true(spw_hostpool_is_pinned(pool, pinned, 8 * MIB));
    spw_hostpool_give(pool, pageable, 4 * MIB); /* an exact fit, and still second choice */
    assert_ptr_equal(pool_taken(pool, 4 * MIB), pinned + 2 * MIB);
    assert_ptr_equal(pool_taken(pool, 4 * MIB), pageable);
    pool_check(pool);
    spw_hostpool_destroy(pool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_A_WORLD(large_slabs_are_pinned_in_pieces),
        IN_A_WORLD(copies_learn_where_a_pinned_piece_ends),
        IN_A_WORLD(where_pinning_is_refused_the_driver_is_asked_for_memory),
        IN_A_WORLD(where_mapping_is_refused_the_driver_is_asked_for_memory),
        IN_A_WORLD(where_both_are_refused_memory_is_pageable),
        IN_A_WORLD(without_any_way_to_pin_memory_is_pageable),
        IN_A_WORLD(a_pin_refused_halfway_leaves_nothing_pinned),
        IN_A_WORLD(pinned_memory_is_preferred_to_pageable),
    };
    return cmocka_run_group_tests_name("hostpool-pinning", tests, NULL, NULL);
}
