/* test-hostpool.c - what the pool of pinned host memory promises, in a world that counts, checks and fails on request. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "hostpool.h"

#define KIB ((size_t)1 << 10)
#define MIB ((size_t)1 << 20)
#define GIB ((size_t)1 << 30)

/* ---- the world ---- */

struct piece {
    char *address;
    size_t bytes;
};

struct pieces {
    struct piece at[512];
    size_t count;
};

enum call { MAP, UNMAP, PIN, UNPIN, ALLOC, FREE, AVAILABLE, BOOKKEEPING, CALLS };

static struct world {
    struct pieces mapped, pinned, allocated;
    int calls[CALLS];
    int all_calls;
    int fail_first, fail_last; /* of all_calls, counted from 1; those in between answer no */
    bool refuses[CALLS];
    size_t bookkeeping_bytes; /* mapped by the pool itself */
    bool refuses_policies;    /* mbind answers policy_errno, and what it was asked for is noted */
    int policy_errno, policy;
    unsigned long policy_nodes;
    int64_t available; /* what the world has; less what is mapped and allocated is left */
} world;

static bool fails(enum call call)
{
    world.calls[call]++;
    world.all_calls++;
    return world.refuses[call] || (world.all_calls >= world.fail_first && world.all_calls <= world.fail_last);
}

static void add(struct pieces *pieces, char *address, size_t bytes)
{
    for (size_t i = 0; i < pieces->count; i++)
        assert_true(address + bytes <= pieces->at[i].address || pieces->at[i].address + pieces->at[i].bytes <= address);
    assert_true(pieces->count < sizeof(pieces->at) / sizeof(pieces->at[0]));
    pieces->at[pieces->count++] = (struct piece){address, bytes};
}

static void drop(struct pieces *pieces, char *address, size_t bytes)
{
    for (size_t i = 0; i < pieces->count; i++)
        if (pieces->at[i].address == address) {
            assert_int_equal(pieces->at[i].bytes, bytes);
            pieces->at[i] = pieces->at[--pieces->count];
            return;
        }
    fail_msg("%p was not there", (void *)address);
}

static bool holds(const struct pieces *pieces, const char *address, size_t bytes)
{
    for (size_t i = 0; i < pieces->count; i++)
        if (address >= pieces->at[i].address && address + bytes <= pieces->at[i].address + pieces->at[i].bytes)
            return true;
    return false;
}

static bool meets(const struct pieces *pieces, const char *address, size_t bytes)
{
    for (size_t i = 0; i < pieces->count; i++)
        if (address < pieces->at[i].address + pieces->at[i].bytes && pieces->at[i].address < address + bytes)
            return true;
    return false;
}

static size_t sum(const struct pieces *pieces)
{
    size_t bytes = 0;
    for (size_t i = 0; i < pieces->count; i++)
        bytes += pieces->at[i].bytes;
    return bytes;
}

void *__real_mmap(void *, size_t, int, int, int, off_t);
void *__wrap_mmap(void *, size_t, int, int, int, off_t);
void *__wrap_mmap64(void *, size_t, int, int, int, off_t);
int __real_munmap(void *, size_t);
int __wrap_munmap(void *, size_t);
long __real_syscall(long, ...);
long __wrap_syscall(long, void *, size_t, int, const unsigned long *, unsigned long, unsigned);
void *__real_calloc(size_t, size_t);
void *__wrap_calloc(size_t, size_t);
void *__real_realloc(void *, size_t);
void *__wrap_realloc(void *, size_t);

/* What the pool asks for its own bookkeeping comes here by way of the linker. */
void *__wrap_mmap(void *address, size_t bytes, int protection, int flags, int fd, off_t offset)
{
    if (fails(BOOKKEEPING))
        return MAP_FAILED;
    world.bookkeeping_bytes += bytes;
    return __real_mmap(address, bytes, protection, flags, fd, offset);
}

int __wrap_munmap(void *address, size_t bytes)
{
    world.bookkeeping_bytes -= bytes;
    return __real_munmap(address, bytes);
}

long __wrap_syscall(long number, void *address, size_t bytes, int policy, const unsigned long *nodes, unsigned long count,
                    unsigned flags)
{
    if (!world.refuses_policies)
        return __real_syscall(number, address, bytes, policy, nodes, count, flags);
    world.policy = policy;
    world.policy_nodes = nodes[0];
    errno = world.policy_errno;
    return -1;
}

void *__wrap_mmap64(void *address, size_t bytes, int protection, int flags, int fd, off_t offset)
{
    return __wrap_mmap(address, bytes, protection, flags, fd, offset);
}

void *__wrap_calloc(size_t count, size_t bytes)
{
    return fails(BOOKKEEPING) ? NULL : __real_calloc(count, bytes);
}

void *__wrap_realloc(void *address, size_t bytes)
{
    return fails(BOOKKEEPING) ? NULL : __real_realloc(address, bytes);
}

static char *pages(size_t bytes)
{
    char *address = __real_mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    assert_true(address != MAP_FAILED);
    (void)madvise(address, bytes, MADV_HUGEPAGE); /* quicker to touch */
    return address;
}

static void *world_map(void *ctx, size_t bytes)
{
    assert_ptr_equal(ctx, &world);
    assert_int_equal(bytes % SPW_HOSTPOOL_GRANULE_BYTES, 0);
    if (fails(MAP))
        return NULL;
    char *address = pages(bytes);
    add(&world.mapped, address, bytes);
    return address;
}

static void world_unmap(void *ctx, void *address, size_t bytes)
{
    assert_ptr_equal(ctx, &world);
    world.calls[UNMAP]++;
    assert_false(meets(&world.pinned, address, bytes));
    drop(&world.mapped, address, bytes);
    __real_munmap(address, bytes);
}

static int world_pin(void *ctx, void *address, size_t bytes)
{
    assert_ptr_equal(ctx, &world);
    assert_true(holds(&world.mapped, address, bytes));
    assert_true(bytes > 0 && bytes <= SPW_HOSTPOOL_PIN_BYTES && bytes < GIB);
    if (fails(PIN))
        return -EPERM;
    add(&world.pinned, address, bytes);
    return 0;
}

static int world_unpin(void *ctx, void *address, size_t bytes)
{
    assert_ptr_equal(ctx, &world);
    if (fails(UNPIN))
        return -EIO;
    drop(&world.pinned, address, bytes);
    return 0;
}

static void *world_alloc(void *ctx, size_t bytes)
{
    assert_ptr_equal(ctx, &world);
    if (fails(ALLOC))
        return NULL;
    char *address = pages(bytes);
    add(&world.allocated, address, bytes);
    return address;
}

static void world_free(void *ctx, void *address, size_t bytes)
{
    assert_ptr_equal(ctx, &world);
    world.calls[FREE]++;
    drop(&world.allocated, address, bytes);
    __real_munmap(address, bytes);
}

static int64_t world_available(void *ctx)
{
    assert_ptr_equal(ctx, &world);
    if (fails(AVAILABLE))
        return 0;
    return world.available - (int64_t)(sum(&world.mapped) + sum(&world.allocated));
}

static const struct spw_host_ops ops = {
    .map = world_map,
    .unmap = world_unmap,
    .pin = world_pin,
    .unpin = world_unpin,
    .alloc_pinned = world_alloc,
    .free_pinned = world_free,
    .available = world_available,
};

static int new_world(void **state)
{
    memset(&world, 0, sizeof(world));
    world.available = (int64_t)(1024 * GIB);
    return 0;
}

/* Nothing that the pool asked for is left, but what it could not unpin. */
static int end_of_world(void **state)
{
    world.fail_last = 0;
    if (world.allocated.count > 0 || world.bookkeeping_bytes != 0)
        return -1;
    for (size_t i = 0; i < world.mapped.count; i++) {
        if (!meets(&world.pinned, world.mapped.at[i].address, world.mapped.at[i].bytes))
            return -1;
        __real_munmap(world.mapped.at[i].address, world.mapped.at[i].bytes);
    }
    return 0;
}

static struct spw_hostpool *pool_of(size_t limit_bytes)
{
    struct spw_hostpool *pool;
    assert_int_equal(spw_hostpool_create(&ops, &world, limit_bytes, &pool), 0);
    return pool;
}

static char *taken(struct spw_hostpool *pool, size_t bytes)
{
    void *address;
    assert_int_equal(spw_hostpool_take(pool, bytes, &address), 0);
    return address;
}

static void is_refused(struct spw_hostpool *pool, size_t bytes, const char *refusal)
{
    void *address = &world;
    assert_int_equal(spw_hostpool_take(pool, bytes, &address), -ENOMEM);
    assert_ptr_equal(address, &world);
    assert_string_equal(spw_hostpool_refusal(pool), refusal);
}

static const char by_budget[] = "the host budget";
static const char by_machine[] = "what the machine and its control groups have left";
static const char by_system[] = "the system, which maps no more memory";

static void check(const struct spw_hostpool *pool)
{
    assert_true(spw_hostpool_check(pool));
    assert_int_equal(spw_hostpool_bytes_held(pool), sum(&world.mapped) + sum(&world.allocated));
    assert_int_equal(spw_hostpool_bytes_pinned(pool), sum(&world.pinned) + sum(&world.allocated));
}

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
    char *a = taken(pool, 5 * MIB + 1), *b = taken(pool, 4 * KIB), *c = taken(pool, 1);
    assert_ptr_equal(b, a + 5 * MIB + 4 * KIB);
    assert_ptr_equal(c, b + 4 * KIB);
    assert_int_equal(spw_hostpool_bytes_in_use(pool), 5 * MIB + 12 * KIB);
    size_t held = spw_hostpool_bytes_held(pool);
    assert_in_range(held, 60 * MIB, 64 * MIB);
    assert_int_equal(world.calls[MAP], 1);
    memset(a, 1, 5 * MIB + 1);
    check(pool);
    spw_hostpool_give(pool, a, 5 * MIB + 1);
    spw_hostpool_give(pool, c, 1);
    spw_hostpool_give(pool, b, 4 * KIB);
    spw_hostpool_give(pool, NULL, 4 * KIB);
    assert_int_equal(spw_hostpool_bytes_in_use(pool), 0);
    assert_int_equal(spw_hostpool_bytes_in_use_peak(pool), 5 * MIB + 12 * KIB);
    assert_ptr_equal(taken(pool, held), a);
    assert_int_equal(world.calls[MAP], 1);
    check(pool);
    spw_hostpool_destroy(pool);
}

static void a_larger_tensor_has_a_slab_of_its_size(void **state)
{
    struct spw_hostpool *pool = pool_of(4 * GIB);
    char *a = taken(pool, 200 * MIB + 4 * KIB);
    assert_int_equal(spw_hostpool_bytes_held(pool), 202 * MIB);
    assert_ptr_equal(taken(pool, MIB), a + 200 * MIB + 4 * KIB);
    check(pool);
    spw_hostpool_destroy(pool);
}

/* Few slabs also when there is much: steps grow with the pool. */
static void a_large_pool_grows_in_large_steps(void **state)
{
    struct spw_hostpool *pool = pool_of(100 * GIB);
    for (size_t i = 0; i < 1024; i++)
        (void)taken(pool, 96 * MIB);
    assert_in_range(world.calls[MAP], 100, 350);
    assert_in_range(spw_hostpool_bytes_held(pool), 96 * GIB, 97 * GIB);
    check(pool);
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
        is_refused(pool, 1, by_budget);
        check(pool);
        spw_hostpool_destroy(pool);
    }
}

static void one_tensor_can_have_the_whole_limit(void **state)
{
    struct spw_hostpool *pool = pool_of(3 * GIB + 4 * KIB);
    is_refused(pool, 3 * GIB + 4 * KIB + 1, by_budget);
    assert_int_equal(world.calls[MAP], 0);
    (void)taken(pool, 3 * GIB + 4 * KIB);
    assert_int_equal(spw_hostpool_bytes_held(pool), 3 * GIB + 4 * KIB);
    check(pool);
    spw_hostpool_destroy(pool);
}

static void impossible_requests_are_refused(void **state)
{
    struct spw_hostpool *pool = pool_of(0);
    is_refused(pool, 1, by_budget);
    spw_hostpool_destroy(pool);
    pool = pool_of(SIZE_MAX);
    void *address;
    assert_int_equal(spw_hostpool_take(pool, 0, &address), -EINVAL);
    is_refused(pool, SIZE_MAX, by_budget);
    is_refused(pool, SIZE_MAX - 5000, by_budget);
    is_refused(pool, SIZE_MAX / 2, by_budget);
    is_refused(pool, 2048 * GIB, by_machine);
    assert_int_equal(world.calls[MAP], 0);
    check(pool);
    spw_hostpool_destroy(pool);
}

static void half_a_pair_of_ops_is_refused(void **state)
{
    struct spw_hostpool *pool = NULL;
    struct spw_host_ops broken[6];
    for (int i = 0; i < 6; i++)
        broken[i] = ops;
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
    check(pool);
    spw_hostpool_destroy(pool);
}

static void a_machine_with_next_to_nothing_is_left_alone(void **state)
{
    world.available = (int64_t)(16 * MIB);
    struct spw_hostpool *pool = pool_of(GIB);
    is_refused(pool, 4 * KIB, by_machine);
    world.available = -1;
    is_refused(pool, 4 * KIB, by_machine);
    assert_int_equal(world.calls[MAP], 0);
    world.available = (int64_t)(16 * MIB + 4 * KIB);
    (void)taken(pool, 4 * KIB);
    assert_int_equal(spw_hostpool_bytes_held(pool), 4 * KIB);
    check(pool);
    spw_hostpool_destroy(pool);
}

static void an_unknown_machine_is_bound_by_the_limit_alone(void **state)
{
    struct spw_host_ops knows_nothing = ops;
    knows_nothing.available = NULL;
    struct spw_hostpool *pool;
    assert_int_equal(spw_hostpool_create(&knows_nothing, &world, 100 * MIB, &pool), 0);
    (void)taken(pool, 90 * MIB);
    is_refused(pool, 20 * MIB, by_budget);
    spw_hostpool_destroy(pool);
}

static void a_refused_mapping_is_tried_again_in_the_exact_size(void **state)
{
    struct spw_hostpool *pool = pool_of(GIB);
    world.refuses[ALLOC] = true;
    world.fail_first = world.fail_last = 5; /* 1: pool, 2: available, 3: table of slabs, 4: extents, 5: map */
    (void)taken(pool, MIB);
    assert_int_equal(spw_hostpool_bytes_held(pool), MIB);
    check(pool);
    world.refuses[MAP] = true;
    is_refused(pool, MIB, by_system);
    check(pool);
    spw_hostpool_destroy(pool);
}

/* ---- pinning ---- */

static void large_slabs_are_pinned_in_pieces(void **state)
{
    struct spw_hostpool *pool = pool_of(8 * GIB);
    char *a = taken(pool, GIB + 100 * MIB);
    assert_int_equal(world.pinned.count, 5);
    assert_true(spw_hostpool_is_pinned(pool, a, GIB + 100 * MIB));
    assert_false(spw_hostpool_is_pinned(pool, a, GIB + 100 * MIB + 1));
    assert_false(spw_hostpool_is_pinned(pool, a - 1, 1));
    assert_false(spw_hostpool_is_pinned(pool, &world, 1));
    check(pool);
    spw_hostpool_destroy(pool);
    assert_int_equal(world.pinned.count, 0);
}

static void copies_learn_where_a_pinned_piece_ends(void **state)
{
    struct spw_hostpool *pool = pool_of(8 * GIB);
    char *a = taken(pool, 600 * MIB);
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
    char *a = taken(pool, 600 * MIB);
    assert_int_equal(world.mapped.count, 0);
    assert_int_equal(world.allocated.count, 1);
    assert_true(spw_hostpool_is_pinned(pool, a, 600 * MIB));
    assert_int_equal(spw_hostpool_contiguous_bytes(pool, a), 600 * MIB);
    spw_hostpool_give(pool, a, 600 * MIB);
    check(pool);
    assert_int_equal(spw_hostpool_trim(pool, 0), 600 * MIB);
    assert_int_equal(world.allocated.count, 0);
    spw_hostpool_destroy(pool);
}

static void where_mapping_is_refused_the_driver_is_asked_for_memory(void **state)
{
    world.refuses[MAP] = true;
    struct spw_hostpool *pool = pool_of(4 * GIB);
    char *a = taken(pool, 6 * MIB);
    assert_true(spw_hostpool_is_pinned(pool, a, 6 * MIB));
    check(pool);
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
    char *a = taken(pool, 6 * MIB);
    assert_int_equal(spw_hostpool_bytes_held(pool), 6 * MIB);
    assert_int_equal(spw_hostpool_bytes_pinned(pool), 0);
    assert_false(spw_hostpool_is_pinned(pool, a, 1));
    assert_int_equal(spw_hostpool_contiguous_bytes(pool, a), 6 * MIB);
    is_all_touched(a, 6 * MIB);
    check(pool);
    spw_hostpool_destroy(pool);
}

static void without_any_way_to_pin_memory_is_pageable(void **state)
{
    struct spw_host_ops plain = {.map = world_map, .unmap = world_unmap};
    struct spw_hostpool *pool;
    assert_int_equal(spw_hostpool_create(&plain, &world, 64 * MIB, &pool), 0);
    char *a = taken(pool, 6 * MIB);
    assert_false(spw_hostpool_is_pinned(pool, a, 1));
    assert_int_equal(world.calls[MAP], 1);
    spw_hostpool_destroy(pool);
}

static void a_pin_refused_halfway_leaves_nothing_pinned(void **state)
{
    struct spw_hostpool *pool = pool_of(4 * GIB);
    world.fail_first = world.fail_last = 8; /* the third pin: see above, then 6 and 7 are the first two */
    char *a = taken(pool, 600 * MIB);
    assert_int_equal(world.calls[PIN], 3);
    assert_int_equal(world.calls[UNPIN], 2);
    assert_int_equal(world.pinned.count, 0);
    assert_true(holds(&world.allocated, a, 600 * MIB));
    check(pool);
    spw_hostpool_destroy(pool);
}

static void pinned_memory_is_preferred_to_pageable(void **state)
{
    struct spw_hostpool *pool = pool_of(64 * MIB);
    world.refuses[PIN] = world.refuses[ALLOC] = true;
    char *pageable = taken(pool, 8 * MIB);
    world.refuses[PIN] = false;
    char *pinned = taken(pool, 2 * MIB);
    assert_true(spw_hostpool_is_pinned(pool, pinned, 8 * MIB));
    spw_hostpool_give(pool, pageable, 4 * MIB); /* an exact fit, and still second choice */
    assert_ptr_equal(taken(pool, 4 * MIB), pinned + 2 * MIB);
    assert_ptr_equal(taken(pool, 4 * MIB), pageable);
    check(pool);
    spw_hostpool_destroy(pool);
}

/* ---- giving back ---- */

static void a_tensor_goes_where_it_leaves_least_over(void **state)
{
    struct spw_hostpool *pool = pool_of(64 * MIB);
    char *a = taken(pool, 8 * MIB), *b = taken(pool, 8 * MIB), *c = taken(pool, 8 * MIB);
    spw_hostpool_give(pool, a, 8 * MIB);
    spw_hostpool_give(pool, b + 2 * MIB, 3 * MIB);
    spw_hostpool_give(pool, c, 4 * MIB);
    assert_ptr_equal(taken(pool, 3 * MIB), b + 2 * MIB);
    assert_ptr_equal(taken(pool, 3 * MIB), c);
    assert_ptr_equal(taken(pool, 3 * MIB), a);
    assert_int_equal(world.calls[MAP], 3);
    check(pool);
    spw_hostpool_destroy(pool);
}

static void steady_steps_call_nobody(void **state)
{
    struct spw_hostpool *pool = pool_of(GIB);
    char *tensors[40];
    int calls = 0;
    for (int step = 0; step < 20; step++) {
        for (size_t i = 0; i < 40; i++)
            tensors[i] = taken(pool, (1 + i * 7 % 13) * MIB + i * 4 * KIB);
        for (size_t i = 40; i-- > 0;)
            spw_hostpool_give(pool, tensors[i], (1 + i * 7 % 13) * MIB + i * 4 * KIB);
        if (step == 0)
            calls = world.all_calls;
        assert_int_equal(world.all_calls, calls);
    }
    assert_int_equal(world.calls[UNMAP], 0);
    check(pool);
    spw_hostpool_destroy(pool);
}

static void only_empty_slabs_are_trimmed_and_no_more_than_asked(void **state)
{
    struct spw_hostpool *pool = pool_of(64 * MIB);
    char *slabs[6];
    for (int i = 0; i < 6; i++)
        slabs[i] = taken(pool, 8 * MIB);
    for (int i = 0; i < 5; i++)
        spw_hostpool_give(pool, slabs[i], 8 * MIB);
    assert_int_equal(spw_hostpool_trim(pool, 48 * MIB), 0);
    assert_int_equal(spw_hostpool_trim(pool, 33 * MIB), 16 * MIB);
    assert_int_equal(spw_hostpool_trim(pool, 0), 24 * MIB);
    assert_int_equal(spw_hostpool_trim(pool, 0), 0);
    assert_int_equal(spw_hostpool_bytes_held(pool), 8 * MIB);
    memset(slabs[5], 1, 8 * MIB);
    check(pool);
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
            slabs[i] = taken(pool, 8 * MIB);
        for (int i = 1; i < 6; i++)
            spw_hostpool_give(pool, slabs[i], 8 * MIB);
        int unmapped = world.calls[UNMAP];
        is_refused(pool, 41 * MIB, by == 0 ? by_budget : by_machine);
        assert_int_equal(world.calls[UNMAP], unmapped);
        (void)taken(pool, 40 * MIB);
        assert_int_equal(spw_hostpool_bytes_held(pool), 48 * MIB);
        check(pool);
        spw_hostpool_destroy(pool);
    }
}

/* A slab that can't be unpinned is not unmapped, since the device may know its pages: it stays and serves. */
static void a_slab_that_cannot_be_unpinned_stays(void **state)
{
    struct spw_hostpool *pool = pool_of(4 * GIB);
    char *a = taken(pool, 700 * MIB);
    spw_hostpool_give(pool, a, 700 * MIB);
    world.fail_first = world.fail_last = world.all_calls + 2; /* the second of three pieces */
    assert_int_equal(spw_hostpool_trim(pool, 0), 0);
    assert_int_equal(spw_hostpool_bytes_pinned(pool), 512 * MIB);
    assert_ptr_equal(taken(pool, 700 * MIB), a);
    assert_true(spw_hostpool_is_pinned(pool, a, 512 * MIB));
    assert_false(spw_hostpool_is_pinned(pool, a, 512 * MIB + 1));
    assert_int_equal(spw_hostpool_contiguous_bytes(pool, a + 512 * MIB), 188 * MIB);
    check(pool);
    spw_hostpool_give(pool, a, 700 * MIB);
    assert_int_equal(spw_hostpool_trim(pool, 0), 700 * MIB);
    spw_hostpool_destroy(pool);
}

static void a_wrong_give_changes_nothing_and_is_counted(void **state)
{
    static char elsewhere[4096];
    for (int i = 0; i < 4; i++) {
        struct spw_hostpool *pool = pool_of(64 * MIB);
        char *a = taken(pool, 4 * MIB);
        char *const wrong[] = {elsewhere, a + 4 * MIB, a, a + 8 * MIB};
        spw_hostpool_give(pool, wrong[i], i == 2 ? SIZE_MAX : 4 * MIB);
        assert_int_equal(spw_hostpool_bytes_in_use(pool), 4 * MIB);
        assert_false(spw_hostpool_check(pool));
        spw_hostpool_destroy(pool);
    }
}

/* ---- everything fails once ---- */

struct tensor {
    char *address;
    size_t bytes;
};

static void mark(const struct tensor *t, size_t number)
{
    t->address[0] = t->address[t->bytes - 1] = (char)number;
    t->address[t->bytes / 2] = (char)~number;
}

static void is_marked(const struct tensor *t, size_t number)
{
    char want = (char)number, want_middle = (char)~number;
    assert_true(t->address[t->bytes / 2] == want_middle);
    if (t->bytes > 2)
        assert_true(t->address[0] == want && t->address[t->bytes - 1] == want);
}

/* Grows, is refused, trims, makes room, pins in pieces. Every tensor that was had keeps its bytes, whatever fails. */
static void live_through(struct spw_hostpool *pool)
{
    static const size_t sizes[] = {5 * MIB, 300 * MIB, 8 * MIB + 1, 12 * KIB, 520 * MIB,
                                   100,     60 * MIB,  270 * MIB,   610 * MIB};
    enum { COUNT = sizeof(sizes) / sizeof(sizes[0]) };
    struct tensor tensors[COUNT];

    for (size_t round = 0; round < 2; round++) {
        for (size_t i = 0; i < COUNT; i++) {
            void *address = NULL;
            int r = spw_hostpool_take(pool, sizes[i], &address);
            assert_true(r == 0 || r == -ENOMEM);
            assert_true((r == 0) == (address != NULL));
            tensors[i] = (struct tensor){address, sizes[i]};
            if (address != NULL)
                mark(&tensors[i], i);
            check(pool);
            if (i % 3 == 2) {
                size_t gone = i - 1;
                if (tensors[gone].address != NULL)
                    is_marked(&tensors[gone], gone);
                spw_hostpool_give(pool, tensors[gone].address, tensors[gone].bytes);
                tensors[gone].address = NULL;
            }
        }
        for (size_t i = 0; i < COUNT; i++) {
            if (tensors[i].address != NULL)
                is_marked(&tensors[i], i);
            spw_hostpool_give(pool, tensors[i].address, tensors[i].bytes);
        }
        assert_int_equal(spw_hostpool_bytes_in_use(pool), 0);
        (void)spw_hostpool_trim(pool, round == 0 ? 100 * MIB : 0);
        check(pool);
    }
}

/* In a loop, the n-th call of any kind (or all from the n-th to the m-th on) answers no. */
static void fails_at_every_call(int length)
{
    int n = 0;
    do {
        assert_int_equal(new_world(NULL), 0);
        world.fail_first = ++n;
        world.fail_last = n + length - 1;
        struct spw_hostpool *pool = NULL;
        int r = spw_hostpool_create(&ops, &world, 840 * MIB, &pool);
        assert_true(r == 0 || (r == -ENOMEM && pool == NULL));
        if (r == 0)
            live_through(pool);
        spw_hostpool_destroy(pool);
        assert_int_equal(end_of_world(NULL), 0);
    } while (world.all_calls >= n && n < 1000);
    assert_in_range(n, 40, 999); /* the last run met no failure, and there was much that could have failed */
}

static void any_one_call_may_fail(void **state)
{
    fails_at_every_call(1);
    assert_int_equal(new_world(NULL), 0);
}

static void any_two_calls_may_fail(void **state)
{
    fails_at_every_call(2);
    assert_int_equal(new_world(NULL), 0);
}

static void all_calls_may_fail_from_any_on(void **state)
{
    fails_at_every_call(100000);
    assert_int_equal(new_world(NULL), 0);
}

/* Under random refusals tensors never overlap and no byte of them changes. */
static void random_tensors_keep_their_bytes(void **state)
{
    enum { SLOTS = 64 };
    struct spw_hostpool *pool = pool_of(200 * MIB);
    struct tensor tensors[SLOTS] = {{NULL, 0}};
    size_t in_use = 0;
    uint64_t random = 1;
    for (int step = 0; step < 6000; step++) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        size_t slot = (random >> 33) % SLOTS, scale = (size_t)1 << (random >> 40) % 24;
        struct tensor *t = &tensors[slot];
        world.refuses[ALLOC] = (random >> 50) % 4 == 0;
        world.refuses[PIN] = (random >> 53) % 4 == 0;
        world.refuses[UNPIN] = (random >> 56) % 8 == 0;
        if (t->address != NULL) {
            is_marked(t, slot);
            spw_hostpool_give(pool, t->address, t->bytes);
            in_use -= (t->bytes + 4095) / 4096 * 4096;
            t->address = NULL;
        }
        void *address;
        size_t bytes = 1 + (random >> 20) % scale;
        if (spw_hostpool_take(pool, bytes, &address) == 0) {
            *t = (struct tensor){address, bytes};
            mark(t, slot);
            in_use += (bytes + 4095) / 4096 * 4096;
        }
        if (step % 500 == 0)
            (void)spw_hostpool_trim(pool, 64 * MIB);
        assert_int_equal(spw_hostpool_bytes_in_use(pool), in_use);
        if (step % 16 == 0)
            check(pool);
    }
    memset(world.refuses, 0, sizeof(world.refuses));
    spw_hostpool_destroy(pool);
}

/* ---- the system's side ---- */

static void the_system_maps_aligned_memory_that_children_do_not_have(void **state)
{
    struct spw_host_system system = {.numa_node = -1, .huge_pages = true};
    const size_t sizes[] = {4 * KIB, 2 * MIB - 4 * KIB, 2 * MIB, 6 * MIB + 4 * KIB};
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        char *address = spw_host_system_map(&system, sizes[i]);
        assert_non_null(address);
        assert_int_equal((uintptr_t)address % (sizes[i] >= 2 * MIB ? 2 * MIB : 4 * KIB), 0);
        memset(address, 1, sizes[i]);
        pid_t child = fork();
        if (child == 0)
            _exit(msync(address, sizes[i], MS_ASYNC) < 0 && errno == ENOMEM ? 0 : 1);
        int status;
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
        spw_host_system_unmap(&system, address, sizes[i]);
        assert_true(msync(address, sizes[i], MS_ASYNC) < 0 && errno == ENOMEM);
    }
    assert_null(spw_host_system_map(&system, SIZE_MAX - 4095));
    world.refuses[BOOKKEEPING] = true;
    assert_null(spw_host_system_map(&system, 4 * KIB));
}

static void memory_is_bound_to_a_node_where_that_is_possible(void **state)
{
    struct spw_host_system system = {.numa_node = 0};
    char *address = spw_host_system_map(&system, 4 * MIB);
    assert_non_null(address);
    assert_int_equal(spw_host_system_bind(address, 4 * MIB, 0), 0);
    assert_int_equal(spw_host_system_bind(address, 4 * MIB, -1), 0);
    assert_int_equal(spw_host_system_bind(address, 4 * MIB, 1024), -EINVAL);
    memset(address, 1, 4 * MIB);
    spw_host_system_unmap(&system, address, 4 * MIB);

    system.numa_node = 1000; /* no such node: the memory then lies anywhere */
    address = spw_host_system_map(&system, 4 * MIB);
    assert_non_null(address);
    memset(address, 1, 4 * MIB);
    spw_host_system_unmap(&system, address, 4 * MIB);
}

/* A sandbox without memory policies is no error; a node that doesn't exist is one. */
static void missing_memory_policies_are_no_error(void **state)
{
    char byte;
    world.refuses_policies = true;
    world.policy_errno = ENOSYS;
    assert_int_equal(spw_host_system_bind(&byte, 1, 5), 0);
    assert_int_equal(world.policy, 1); /* MPOL_PREFERRED */
    assert_int_equal(world.policy_nodes, 1 << 5);
    world.policy_errno = EPERM;
    assert_int_equal(spw_host_system_bind(&byte, 1, 5), 0);
    world.policy_errno = EINVAL;
    assert_int_equal(spw_host_system_bind(&byte, 1, 5), -EINVAL);
}

static void a_pool_on_the_system_works(void **state)
{
    struct spw_host_system system = {.numa_node = 0, .huge_pages = true};
    const struct spw_host_ops on_system = {
        .map = spw_host_system_map, .unmap = spw_host_system_unmap, .available = spw_host_system_available};
    struct spw_hostpool *pool;
    assert_true(spw_host_system_available(&system) > 0);
    assert_int_equal(spw_hostpool_create(&on_system, &system, 16 * MIB, &pool), 0);
    memset(taken(pool, 3 * MIB), 1, 3 * MIB);
    assert_true(spw_hostpool_check(pool));
    spw_hostpool_destroy(pool);
}

#define IN_A_WORLD(test) cmocka_unit_test_setup_teardown(test, new_world, end_of_world)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_A_WORLD(a_new_pool_holds_nothing),
        IN_A_WORLD(tensors_share_a_slab_in_exact_sizes),
        IN_A_WORLD(a_larger_tensor_has_a_slab_of_its_size),
        IN_A_WORLD(a_large_pool_grows_in_large_steps),
        IN_A_WORLD(the_whole_limit_can_be_had_and_no_more),
        IN_A_WORLD(one_tensor_can_have_the_whole_limit),
        IN_A_WORLD(impossible_requests_are_refused),
        IN_A_WORLD(half_a_pair_of_ops_is_refused),
        IN_A_WORLD(the_machine_keeps_a_reserve),
        IN_A_WORLD(a_machine_with_next_to_nothing_is_left_alone),
        IN_A_WORLD(an_unknown_machine_is_bound_by_the_limit_alone),
        IN_A_WORLD(a_refused_mapping_is_tried_again_in_the_exact_size),
        IN_A_WORLD(large_slabs_are_pinned_in_pieces),
        IN_A_WORLD(copies_learn_where_a_pinned_piece_ends),
        IN_A_WORLD(where_pinning_is_refused_the_driver_is_asked_for_memory),
        IN_A_WORLD(where_mapping_is_refused_the_driver_is_asked_for_memory),
        IN_A_WORLD(where_both_are_refused_memory_is_pageable),
        IN_A_WORLD(without_any_way_to_pin_memory_is_pageable),
        IN_A_WORLD(a_pin_refused_halfway_leaves_nothing_pinned),
        IN_A_WORLD(pinned_memory_is_preferred_to_pageable),
        IN_A_WORLD(a_tensor_goes_where_it_leaves_least_over),
        IN_A_WORLD(steady_steps_call_nobody),
        IN_A_WORLD(only_empty_slabs_are_trimmed_and_no_more_than_asked),
        IN_A_WORLD(empty_slabs_make_room_for_a_large_tensor),
        IN_A_WORLD(a_slab_that_cannot_be_unpinned_stays),
        IN_A_WORLD(a_wrong_give_changes_nothing_and_is_counted),
        IN_A_WORLD(any_one_call_may_fail),
        IN_A_WORLD(any_two_calls_may_fail),
        IN_A_WORLD(all_calls_may_fail_from_any_on),
        IN_A_WORLD(random_tensors_keep_their_bytes),
        IN_A_WORLD(the_system_maps_aligned_memory_that_children_do_not_have),
        IN_A_WORLD(memory_is_bound_to_a_node_where_that_is_possible),
        IN_A_WORLD(missing_memory_policies_are_no_error),
        IN_A_WORLD(a_pool_on_the_system_works),
    };
    return cmocka_run_group_tests_name("hostpool", tests, NULL, NULL);
}
