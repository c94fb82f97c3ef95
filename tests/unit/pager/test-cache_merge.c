/* test-cache_merge.c - allocations out of cached blocks of other sizes: as they are mapped, in the order of the stream, and
 * whatever fails. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "devices.h"
#include "driver.h"
#include "engine.h"
#include "failing-memory.h"
#include "fake-device.h"
#include "lock.h"
#include "mover.h"
#include "mempool_stats.h"
#include "reclaim.h"
#include "unlocked.h"

enum { GRANULE = 4096 };

static CUcontext context;
static struct spw_device *device;
static CUstream s, t;

static void begin(unsigned budget)
{
    spw_ledger_reset();
    spw_mover_reset();
    spw_devices_reset();
    spw_streams_reset();
    spw_reclaim_pressed = false;
    fake_start(GRANULE, 1024 * GRANULE, (uint64_t)budget * GRANULE, 16 << 20);
    device = spw_device_current(&context);
    assert_non_null(device);
    s = fake_stream();
    t = fake_stream();
}

static struct spw_stream *record(CUstream stream)
{
    spw_lock();
    struct spw_stream *r = spw_stream_of_locked(stream);
    spw_unlock();
    return r;
}

static CUdeviceptr allocate(unsigned granules, CUstream stream)
{
    CUdeviceptr a = 0;
    int r = spw_allocate(device, (size_t)granules * GRANULE, record(stream), context, spw_mempool_stats_of_locked(NULL), &a);
    return r == 0 ? a : 0;
}

/* A kernel that fills it, or one that expects it to be filled. */
static int use(CUdeviceptr a, unsigned granules, CUstream stream, unsigned char value, bool fill)
{
    struct spw_op op = {.handle = stream, .hits = &a, .count = 1, .room = 1, .name = "a kernel"};
    int r = spw_op_begin(&op);
    if (r < 0)
        return r;
    (void)(fill ? fake_fill : fake_expect)(stream, a, (size_t)granules * GRANULE, value);
    spw_op_end(&op);
    return 0;
}

static CUdeviceptr allocate_and_fill(unsigned granules, CUstream stream, unsigned char value)
{
    CUdeviceptr a = allocate(granules, stream);
    assert_int_equal(use(a, granules, stream, value, true), 0);
    return a;
}

static void release(CUdeviceptr a, CUstream stream)
{
    assert_int_equal(spw_free(a, record(stream)), 0);
}

static bool has_memory(CUdeviceptr a)
{
    spw_lock();
    struct spw_object *o = spw_object_at_locked(a);
    spw_unlock();
    return !(o->attention & SPW_ABSENT);
}

/* As after a call that waits for the stream. */
static void everything_is_done(CUstream stream)
{
    assert_int_equal(spw_driver.cuStreamSynchronize(stream), CUDA_SUCCESS);
    spw_note_stream_done(record(stream), record(stream)->begun);
}

/* Blocks lie where the table says and have what they say, and all of it is what was made. */
static void check(void)
{
    uint64_t granules = 0, cached = 0;
    spw_lock();
    for (uint32_t i = 0; i < device->block_count; i++) {
        struct spw_block *b = device->blocks[i];
        assert_true(spw_block_check_locked(b));
        assert_int_equal(b->index, i);
        for (uint32_t k = 0; k < b->granules; k++)
            assert_ptr_equal(device->table[b->first + k], &b->object);
        granules += b->memory.granules;
        cached += b->object.attention & SPW_FREE ? spw_block_mapped_bytes(device, b) : 0;
    }
    assert_int_equal(cached, device->free_bytes);
    assert_int_equal(granules * GRANULE + device->handles.pooled_bytes, device->handles.made_bytes);
    spw_unlock();
}

static void freed_neighbours_serve_a_larger_tensor_as_they_are_mapped(void **state)
{
    begin(12);
    CUdeviceptr a = allocate_and_fill(3, s, 1), b = allocate_and_fill(5, s, 2), c = allocate_and_fill(4, s, 3);
    unsigned maps = fake_counts()->maps;
    release(a, s);
    release(b, s);
    CUdeviceptr larger = allocate_and_fill(8, s, 4);
    assert_int_equal(use(larger, 8, s, 4, false), 0);
    assert_int_equal(use(c, 4, s, 3, false), 0);
    fake_run_all();
    assert_int_equal(fake_counts()->maps, maps);
    assert_int_equal(fake_counts()->unmaps, 0);
    check();
}

static void parts_of_a_freed_tensor_serve_smaller_ones_where_its_pieces_end(void **state)
{
    enum { P = SPW_PIECE_GRANULES };
    begin(2 * P + 6);
    CUdeviceptr large = allocate_and_fill(2 * P + 6, s, 1);
    release(large, s);
    unsigned maps = fake_counts()->maps;
    CUdeviceptr middle = allocate_and_fill(P, s, 2), end = allocate_and_fill(P + 6, s, 3);
    assert_int_equal(use(middle, P, s, 2, false), 0);
    assert_int_equal(use(end, P + 6, s, 3, false), 0);
    fake_run_all();
    assert_int_equal(fake_counts()->maps, maps);
    check();
}

static void the_least_is_left_over(void **state)
{
    begin(40);
    CUdeviceptr large = allocate_and_fill(20, s, 1), between = allocate_and_fill(2, s, 2),
                exact = allocate_and_fill(12, s, 3), behind = allocate_and_fill(4, s, 4), last = allocate_and_fill(2, s, 5);
    release(large, s);
    release(exact, s);
    release(behind, s);
    assert_int_equal(allocate(16, s), exact);
    assert_int_equal(allocate(20, s), large);
    (void)between;
    (void)last;
    check();
}

static void what_another_stream_may_still_use_is_left_to_it(void **state)
{
    begin(8);
    CUdeviceptr a = allocate_and_fill(4, t, 1), b = allocate_and_fill(4, t, 2);
    release(a, t);
    release(b, t);
    CUdeviceptr early = allocate(8, s);
    assert_false(has_memory(early));
    release(early, s);
    check();
    fake_run_all();
}

static void who_uses_a_part_may_use_the_whole(void **state)
{
    begin(8);
    CUdeviceptr a = allocate_and_fill(4, s, 1), b = allocate_and_fill(4, s, 2);
    release(a, s);
    everything_is_done(s);
    assert_int_equal(use(b, 4, s, 3, true), 0);
    release(b, s);
    CUdeviceptr whole = allocate(8, s);
    assert_int_equal(whole, a);
    spw_lock();
    assert_false(spw_uses_seen_done_locked(&spw_object_at_locked(whole)->uses));
    spw_unlock();
    fake_run_all();
}

static struct spw_memory pieces(uint32_t first, uint32_t count)
{
    struct spw_memory m = {0};
    for (uint32_t i = 0; i < count; i++) {
        struct spw_memory one = {.handle = first + i, .count = 1, .granules = 1};
        assert_int_equal(spw_memory_join(&m, &one), 0);
        assert_int_equal(one.count, 0);
    }
    return m;
}

static void expect_pieces(const struct spw_memory *m, uint32_t first, uint32_t count)
{
    assert_int_equal(m->count, count);
    assert_int_equal(m->granules, count);
    for (uint32_t i = 0; i < count; i++)
        assert_int_equal(spw_memory_piece(m, i).handle, first + i);
}

static void pieces_move_all_or_none(void **state)
{
    for (uint32_t x = 1; x < 12; x++)
        for (uint32_t y = 1; y < 12; y++)
            for (long n = 0; n < 4; n++) {
                long blocks = memory_blocks();
                struct spw_memory a = pieces(1, x), b = pieces(1 + x, y), rest = {0};
                memory_fails_after(n);
                int r = spw_memory_join(&a, &b);
                bool failed = memory_is_back();
                assert_int_equal(r < 0, failed);
                expect_pieces(&a, 1, failed ? x : x + y);
                expect_pieces(&b, 1 + x, failed ? y : 0);
                assert_true(!failed || spw_memory_join(&a, &b) == 0);
                memory_fails_after(n);
                r = spw_memory_split(&a, x, &rest);
                failed = memory_is_back();
                assert_int_equal(r < 0, failed);
                expect_pieces(&a, 1, failed ? x + y : x);
                expect_pieces(&rest, 1 + x, failed ? 0 : y);
                if (a.count > 1)
                    free(a.pieces);
                if (rest.count > 1)
                    free(rest.pieces);
                assert_int_equal(memory_blocks(), blocks);
            }
}

static void memory_is_made_as_long_as_the_budget_lasts(void **state)
{
    begin(16);
    CUdeviceptr a = allocate_and_fill(4, s, 1), b = allocate_and_fill(4, s, 2);
    release(a, s);
    release(b, s);
    CUdeviceptr c = allocate(8, s);
    assert_true(c != a && has_memory(c));
    assert_int_equal(device->handles.made_bytes, 16 * GRANULE);
}

static void to_the_pool(CUdeviceptr a)
{
    release(a, s);
    spw_lock();
    struct spw_block *b = spw_block_of(spw_object_at_locked(a));
    spw_block_uncache_this_locked(device, b);
    assert_int_equal(spw_dissolve_block_locked(device, b), 0);
    spw_unlock();
}

/* The pool has as much, but in a piece that is too large. */
static void freed_neighbours_serve_rather_than_that_a_piece_is_made(void **state)
{
    begin(20);
    CUdeviceptr large = allocate(16, s), two = allocate_and_fill(2, s, 1), other = allocate_and_fill(2, s, 2);
    to_the_pool(large);
    release(two, s);
    release(other, s);
    struct fake_counts before = *fake_counts();
    (void)allocate_and_fill(4, s, 3);
    assert_int_equal(fake_counts()->maps, before.maps);
    assert_int_equal(fake_counts()->creates, before.creates);
    fake_run_all();
    check();
}

/* A piece would have to be made all the same. */
static void a_cached_block_that_would_serve_little_stays(void **state)
{
    begin(18);
    CUdeviceptr large = allocate(16, s), one = allocate_and_fill(1, s, 1), other = allocate_and_fill(1, s, 2);
    to_the_pool(large);
    release(one, s);
    everything_is_done(s);
    unsigned unmaps = fake_counts()->unmaps;
    (void)allocate_and_fill(8, s, 3);
    assert_int_equal(fake_counts()->unmaps, unmaps);
    assert_int_equal(device->free_bytes, GRANULE);
    assert_int_equal(use(other, 1, s, 2, false), 0);
    fake_run_all();
    check();
}

/* Tensors of all sizes come and go on two streams, in a budget that is short now and then. */
static void go_at_random(unsigned seed, unsigned rounds, long fails_after)
{
    enum { TENSORS = 12, MOST = 24, BUDGET = 96 };
    struct {
        CUdeviceptr address;
        unsigned granules;
        CUstream stream;
        bool filled;
    } tensors[TENSORS] = {0};
    begin(BUDGET);
    srand(seed);
    if (fails_after >= 0)
        memory_fails_once_after(fails_after);
    for (unsigned i = 0; i < rounds; i++) {
        unsigned k = (unsigned)rand() % TENSORS, granules = 1 + (unsigned)rand() % MOST;
        CUstream stream = rand() % 4 ? s : t;
        if (tensors[k].address) {
            if (tensors[k].filled)
                (void)use(tensors[k].address, tensors[k].granules, tensors[k].stream, (unsigned char)k, false);
            release(tensors[k].address, tensors[k].stream);
            tensors[k].address = 0;
        } else {
            tensors[k].address = allocate(granules, stream);
            tensors[k].granules = granules;
            tensors[k].stream = stream;
            tensors[k].filled = tensors[k].address && use(tensors[k].address, granules, stream, (unsigned char)k, true) == 0;
        }
        if (i % 8 == 0)
            check();
    }
    (void)memory_is_back();
    fake_run_all();
    check();
}

static void whatever_comes_and_goes_the_bytes_are_the_owners(void **state)
{
    for (unsigned seed = 1; seed <= 40; seed++)
        go_at_random(seed, 400, -1);
}

static void an_allocation_of_ours_that_fails_costs_only_the_occasion(void **state)
{
    for (long n = 0; n < 150; n++)
        go_at_random(7, 120, n);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(freed_neighbours_serve_a_larger_tensor_as_they_are_mapped),
        cmocka_unit_test(parts_of_a_freed_tensor_serve_smaller_ones_where_its_pieces_end),
        cmocka_unit_test(the_least_is_left_over),
        cmocka_unit_test(what_another_stream_may_still_use_is_left_to_it),
        cmocka_unit_test(who_uses_a_part_may_use_the_whole),
        cmocka_unit_test(pieces_move_all_or_none),
        cmocka_unit_test(memory_is_made_as_long_as_the_budget_lasts),
        cmocka_unit_test(freed_neighbours_serve_rather_than_that_a_piece_is_made),
        cmocka_unit_test(a_cached_block_that_would_serve_little_stays),
        cmocka_unit_test(whatever_comes_and_goes_the_bytes_are_the_owners),
        cmocka_unit_test(an_allocation_of_ours_that_fails_costs_only_the_occasion),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
