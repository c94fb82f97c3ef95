/* test-lasting.c - what is allocated where something knows an address stays, whatever it is and wherever it begins. */
#include "moved.h"

#include "cached_blocks.h"
#include "failing-memory.h"
#include "lasting.h"
#include "pinning.h"
#include "pointer_tables.h"
#include "slab.h"

static const char why[] = "the test says so";

static int try_to_allocate(size_t bytes, CUdeviceptr *ret)
{
    spw_lock();
    struct spw_stream *stream = spw_stream_of_locked(s);
    spw_unlock();
    return spw_allocate(device, bytes, stream, context, spw_mempool_stats_of_locked(NULL), ret);
}

static CUdeviceptr allocate(size_t bytes)
{
    CUdeviceptr a = 0;
    assert_int_equal(try_to_allocate(bytes, &a), 0);
    return a;
}

static void release(CUdeviceptr a)
{
    spw_lock();
    struct spw_stream *stream = spw_stream_of_locked(s);
    spw_unlock();
    assert_int_equal(spw_free(a, stream), 0);
}

/* What else there is takes all the room. */
static void press(unsigned tensors)
{
    CUdeviceptr crowd[8];
    for (unsigned i = 0; i < tensors; i++)
        fill(crowd[i] = allocate(BYTES), 9);
    for (unsigned i = 0; i < tensors; i++)
        fill(crowd[i], 9);
    for (unsigned i = 0; i < tensors; i++)
        release(crowd[i]);
}

/* Its addresses are free again, and not only cached. */
static void release_for_good(CUdeviceptr a)
{
    assert_int_equal(spw_free(a, NULL), 0);
    spw_lock();
    struct spw_block *slab = spw_slab_remove_empty_locked(device);
    if (slab)
        spw_block_cache_locked(device, slab);
    spw_cached_blocks_trim_locked(device, 0);
    spw_unlock();
}

static bool is_pinned(CUdeviceptr a)
{
    spw_lock();
    const bool is = spw_object_pinned(spw_object_at_locked(a));
    spw_unlock();
    return is;
}

/* A graph reads it: nothing says so. */
static void expect_there(CUdeviceptr a, unsigned char value)
{
    assert_true(is_pinned(a));
    fake_run_all();
    fake_expect(s, a, BYTES, value);
    fake_run_all();
}

static void what_is_allocated_at_an_address_that_lasts_stays(void **state)
{
    begin(3 * BYTES);
    CUdeviceptr a = allocate(BYTES);
    spw_pin_lasting(a, why);
    for (unsigned char i = 1; i < 4; i++) {
        release(a);
        assert_int_equal(allocate(BYTES), a);
        fill(a, i);
        press(4);
        expect_there(a, i);
    }
}

static void a_pin_without_that_ends_with_the_allocation(void **state)
{
    begin(3 * BYTES);
    CUdeviceptr a = allocate(BYTES), b = allocate(BYTES);
    spw_pin_lasting(b, why);
    spw_pin_address(a, why);
    release(a);
    assert_int_equal(allocate(BYTES), a);
    assert_false(is_pinned(a));
}

/* Two tensors side by side make one, and one makes two. */
static void so_does_what_begins_elsewhere(void **state)
{
    begin(4 * BYTES);
    CUdeviceptr low = allocate(BYTES), high = allocate(BYTES);
    assert_int_equal(high, low + BYTES);
    fill(low, 1);
    fill(high, 1);
    spw_pin_lasting(high + BYTES / 2, why);
    fill(allocate(BYTES), 1);
    fill(allocate(BYTES), 1); /* memory is short */
    release(low);
    release(high);
    CUdeviceptr wide = allocate(2 * BYTES);
    assert_int_equal(wide, low);
    assert_true(is_pinned(wide));
    release(wide);
    assert_int_equal(allocate(BYTES), low);
    assert_false(is_pinned(low)); /* where no address is known */
    assert_int_equal(allocate(BYTES), high);
    assert_true(is_pinned(high));
}

/* Of the whole allocation that an address is in: a kernel touches all of it. */
static void so_do_the_parts_of_what_an_address_was_in(void **state)
{
    begin(4 * BYTES);
    CUdeviceptr wide = allocate(2 * BYTES);
    spw_pin_lasting(wide, why);
    release_for_good(wide);
    assert_int_equal(allocate(BYTES), wide);
    assert_int_equal(allocate(BYTES), wide + BYTES);
    assert_true(is_pinned(wide) && is_pinned(wide + BYTES));
}

static void so_does_what_was_not_there_when_the_address_was_told(void **state)
{
    begin(3 * BYTES);
    CUdeviceptr a = allocate(BYTES);
    release(a);
    spw_pin_lasting(a, why);
    assert_int_equal(allocate(BYTES), a);
    fill(a, 5);
    press(4);
    expect_there(a, 5);
}

static void what_a_graph_reaches_through_a_table_stays(void **state)
{
    begin(3 * BYTES);
    spw_pointer_tables_reset();
    CUdeviceptr table = allocate(BYTES), a = allocate(BYTES);
    spw_pointer_tables_learn(table, &a, sizeof(a), &spw_pinning);
    spw_pointer_tables_pin(why, &spw_pinning);
    release(a);
    assert_int_equal(allocate(BYTES), a);
    fill(a, 6);
    press(4);
    expect_there(a, 6);
    spw_pointer_tables_reset();
}

static void a_slab_has_addresses_that_last_as_well(void **state)
{
    enum { SMALL = 256 };
    begin(3 * BYTES);
    CUdeviceptr a = allocate(SMALL);
    spw_pin_lasting(a, why);
    release_for_good(a);
    assert_int_equal(allocate(SMALL), a);
    assert_true(is_pinned(a));
}

/* Nothing of it stays behind: what else is allocated has room. */
static void an_allocation_that_would_have_to_stay_and_cannot_is_refused(void **state)
{
    begin(3 * BYTES);
    CUdeviceptr a = allocate(2 * BYTES), c = allocate(2 * BYTES + 4096), b = 0;
    spw_pin_lasting(a, why);
    release_for_good(a);
    fill(c, 1);
    spw_pin_address(c, why);
    assert_int_equal(try_to_allocate(2 * BYTES, &b), -ENOMEM);
    assert_int_equal(device->live_count, 1);
    assert_int_equal(device->live_bytes, 2 * BYTES + 4096);
    release_for_good(c);
    assert_int_equal(allocate(2 * BYTES), a);
}

static void without_memory_for_it_any_address_lasts(void **state)
{
    begin(3 * BYTES);
    CUdeviceptr a = allocate(BYTES), b = allocate(BYTES);
    memory_fails_once_after(0);
    spw_pin_lasting(a, why);
    assert_true(memory_is_back());
    release(b);
    assert_int_equal(allocate(BYTES), b);
    assert_true(is_pinned(b));
}

/* `test-lasting eager` runs them on the eager device. */
int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_allocated_at_an_address_that_lasts_stays),
        cmocka_unit_test(a_pin_without_that_ends_with_the_allocation),
        cmocka_unit_test(so_does_what_begins_elsewhere),
        cmocka_unit_test(so_do_the_parts_of_what_an_address_was_in),
        cmocka_unit_test(so_does_what_was_not_there_when_the_address_was_told),
        cmocka_unit_test(what_a_graph_reaches_through_a_table_stays),
        cmocka_unit_test(a_slab_has_addresses_that_last_as_well),
        cmocka_unit_test(an_allocation_that_would_have_to_stay_and_cannot_is_refused),
        cmocka_unit_test(without_memory_for_it_any_address_lasts),
    };
    fake_eager(argc > 1 && strcmp(argv[1], "eager") == 0);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
