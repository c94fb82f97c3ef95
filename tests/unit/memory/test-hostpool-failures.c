/* test-hostpool-failures.c - a pool of host memory in a world that answers no, now and then or from some call on: no byte is
 * lost. */
#include "host-world.h"

#include <errno.h>
#include <string.h>

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
            pool_check(pool);
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
        pool_check(pool);
    }
}

/* In a loop, the n-th call of any kind (or all from the n-th to the m-th on) answers no. */
static void fails_at_every_call(int length)
{
    int n = 0;
    do {
        assert_int_equal(world_begin(NULL), 0);
        world.fail_first = ++n;
        world.fail_last = n + length - 1;
        struct spw_hostpool *pool = NULL;
        int r = spw_hostpool_create(&world_ops, &world, 840 * MIB, &pool);
        assert_true(r == 0 || (r == -ENOMEM && pool == NULL));
        if (r == 0)
            live_through(pool);
        spw_hostpool_destroy(pool);
        assert_int_equal(world_end(NULL), 0);
    } while (world.all_calls >= n && n < 1000);
    assert_in_range(n, 40, 999); /* the last run met no failure, and there was much that could have failed */
}

static void any_one_call_may_fail(void **state)
{
    fails_at_every_call(1);
    assert_int_equal(world_begin(NULL), 0);
}

static void any_two_calls_may_fail(void **state)
{
    fails_at_every_call(2);
    assert_int_equal(world_begin(NULL), 0);
}

static void all_calls_may_fail_from_any_on(void **state)
{
    fails_at_every_call(100000);
    assert_int_equal(world_begin(NULL), 0);
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
            pool_check(pool);
    }
    memset(world.refuses, 0, sizeof(world.refuses));
    spw_hostpool_destroy(pool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_A_WORLD(any_one_call_may_fail),
        IN_A_WORLD(any_two_calls_may_fail),
        IN_A_WORLD(all_calls_may_fail_from_any_on),
        IN_A_WORLD(random_tensors_keep_their_bytes),
    };
    return cmocka_run_group_tests_name("hostpool-failures", tests, NULL, NULL);
}
