/* test-engine.c - allocation, eviction and return of tensors on the fake device: bytes stay what they were, the budget
 * holds. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "devices.h"
#include "driver.h"
#include "engine.h"
#include "fake-device.h"
#include "lock.h"
#include "mover.h"
#include "pin.h"
#include "pinning.h"
#include "pointer_tables.h"
#include "fast_path.h"
#include "reclaim.h"
#include "slab.h"
#include "unlocked.h"

#define GRANULE 4096u
#define KIB     1024u

static CUcontext context;
static struct spw_device *device;

static void begin(uint64_t budget, uint64_t host_budget)
{
    spw_ledger_reset();
    spw_mover_reset();
    spw_devices_reset();
    spw_streams_reset();
    spw_reclaim_pressed = false;
    fake_start(GRANULE, 128 << 20, budget, host_budget);
    device = spw_device_current(&context);
    assert_non_null(device);
}

static CUdeviceptr allocate(size_t bytes, CUstream stream)
{
    CUdeviceptr a = 0;
    spw_lock();
    struct spw_stream *s = stream ? spw_stream_of_locked(stream) : NULL;
    spw_unlock();
    assert_int_equal(spw_allocate(device, bytes, s, context, spw_mempool_stats_of_locked(NULL), &a), 0);
    return a;
}

static int touch(CUstream stream, CUdeviceptr *list, unsigned n, unsigned read_only, struct spw_op *op)
{
    *op = (struct spw_op){.handle = stream, .hits = list, .count = n, .room = n, .read_only = read_only, .name = "a kernel"};
    return spw_op_begin(op);
}

static int fill(CUstream stream, CUdeviceptr a, size_t bytes, unsigned char value)
{
    struct spw_op op;
    int r = touch(stream, &a, 1, 0, &op);
    if (r < 0)
        return r;
    fake_fill(stream, a, bytes, value);
    spw_op_end(&op);
    return 0;
}

static int expect(CUstream stream, CUdeviceptr a, size_t bytes, unsigned char value)
{
    struct spw_op op;
    int r = touch(stream, &a, 1, 1, &op);
    if (r < 0)
        return r;
    fake_expect(stream, a, bytes, value);
    spw_op_end(&op);
    return 0;
}

static void check_blocks(void)
{
    spw_lock();
    for (uint32_t i = 0; i < device->block_count; i++)
        assert_true(spw_block_check_locked(device->blocks[i]));
    spw_unlock();
}

/* Twice the budget's worth of tensors keeps its bytes, and the device never holds more than the budget. */
/* promise: addresses-stay */
/* promise: budget-at-run-time */
static void tensors_survive_a_budget_of_half_their_size(void **state)
{
    enum { N = 16, BYTES = 64 * KIB };
    begin(N * BYTES / 2, 16 << 20);
    CUstream s = fake_stream();
    CUdeviceptr a[N];
    for (unsigned i = 0; i < N; i++) {
        a[i] = allocate(BYTES, s);
        assert_int_equal(fill(s, a[i], BYTES, (unsigned char)(i + 1)), 0);
    }
    for (int round = 0; round < 3; round++)
        for (unsigned i = 0; i < N; i++)
            assert_int_equal(expect(s, a[i], BYTES, (unsigned char)(i + 1)), 0);
    fake_run_all();
    assert_true(fake_counts()->made_bytes_peak <= N * BYTES / 2);
    assert_true(fake_counts()->copies_out > 0 && fake_counts()->copies_in > 0);
    check_blocks();
}

/* Within the budget nothing is copied, nothing is unmapped. */
/* promise: free-when-it-fits */
static void nothing_moves_when_everything_fits(void **state)
{
    enum { N = 8, BYTES = 64 * KIB };
    begin(N * BYTES, 16 << 20);
    CUstream s = fake_stream();
    for (int step = 0; step < 5; step++) {
        CUdeviceptr a[N];
        for (unsigned i = 0; i < N; i++) {
            a[i] = allocate(BYTES, s);
            assert_int_equal(fill(s, a[i], BYTES, (unsigned char)step), 0);
        }
        for (unsigned i = 0; i < N; i++)
            assert_int_equal(spw_free(a[i], spw_stream_of_locked(s)), 0);
    }
    fake_run_all();
    assert_int_equal(fake_counts()->copies_out + fake_counts()->copies_in + fake_counts()->unmaps, 0);
    assert_int_equal(fake_counts()->creates, N);
    assert_int_equal(fake_counts()->events, 0);
}

/* A tensor that came back and was only read since goes again without a copy. */
static void a_clean_tensor_is_not_copied_out_again(void **state)
{
    enum { BYTES = 64 * KIB };
    begin(BYTES, 16 << 20);
    CUstream s = fake_stream();
    CUdeviceptr a = allocate(BYTES, s), b = allocate(BYTES, s);
    assert_int_equal(fill(s, a, BYTES, 1), 0);
    assert_int_equal(fill(s, b, BYTES, 2), 0);   /* a goes out */
    assert_int_equal(expect(s, a, BYTES, 1), 0); /* b goes out */
    unsigned out = fake_counts()->copies_out;
    assert_int_equal(expect(s, b, BYTES, 2), 0);
    assert_int_equal(expect(s, a, BYTES, 1), 0);
    fake_run_all();
    assert_int_equal(fake_counts()->copies_out, out);
    assert_true(spw_moved.dropped_count >= 2);
}

/* What was never written is not copied out: its contents are undefined. */
static void an_unwritten_tensor_is_dropped_without_a_copy(void **state)
{
    enum { BYTES = 64 * KIB };
    begin(BYTES, 16 << 20);
    CUstream s = fake_stream();
    (void)allocate(BYTES, s);
    CUdeviceptr b = allocate(BYTES, s);
    assert_int_equal(fill(s, b, BYTES, 7), 0);
    assert_int_equal(expect(s, b, BYTES, 7), 0);
    fake_run_all();
    assert_int_equal(fake_counts()->copies_out, 0);
}

/* One operation's working set beyond the budget is refused, and everything is as it was. */
/* promise: budget-at-run-time */
static void a_working_set_beyond_the_budget_is_out_of_memory(void **state)
{
    enum { BYTES = 64 * KIB };
    struct spw_op op;
    begin(2 * BYTES, 16 << 20);
    CUstream s = fake_stream();
    CUdeviceptr a[3];
    for (unsigned i = 0; i < 3; i++) {
        a[i] = allocate(BYTES, s);
        assert_int_equal(fill(s, a[i], BYTES, (unsigned char)(i + 1)), 0);
    }
    assert_int_equal(touch(s, a, 3, 0, &op), -ENOMEM);
    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(expect(s, a[i], BYTES, (unsigned char)(i + 1)), 0);
    fake_run_all();
    check_blocks();
}

/* Without host memory to evict to, the operation fails cleanly, and allocations beyond both budgets are refused. */
static void host_budget_is_kept(void **state)
{
    enum { BYTES = 64 * KIB };
    begin(2 * BYTES, 2 * BYTES);
    CUstream s = fake_stream();
    CUdeviceptr a = allocate(BYTES, s), b = allocate(BYTES, s), c = allocate(BYTES, s), d;
    assert_int_equal(spw_allocate(device, BYTES, NULL, context, spw_mempool_stats_of_locked(NULL), &d), -ENOMEM);
    assert_int_equal(fill(s, a, BYTES, 1), 0);
    assert_int_equal(fill(s, b, BYTES, 2), 0);
    assert_int_equal(fill(s, c, BYTES, 3), 0);
    assert_int_equal(expect(s, a, BYTES, 1), 0);
    assert_int_equal(expect(s, b, BYTES, 2), 0);
    fake_run_all();
    check_blocks();
}

/* Memory freed in the order of one stream and used on another is ordered after its former users. */
static void reuse_on_another_stream_waits(void **state)
{
    enum { BYTES = 64 * KIB };
    begin(BYTES, 16 << 20);
    CUstream s = fake_stream(), t = fake_stream();
    CUdeviceptr a = allocate(BYTES, s);
    assert_int_equal(fill(s, a, BYTES, 1), 0);
    fake_expect(s, a, BYTES, 1);
    assert_int_equal(spw_free(a, spw_stream_of_locked(s)), 0);
    CUdeviceptr b = allocate(BYTES, t);
    assert_int_equal(a, b);
    assert_int_equal(fill(t, b, BYTES, 2), 0);
    fake_run_all();
    assert_int_equal(expect(t, b, BYTES, 2), 0); /* nothing of s came after it */
    fake_run_all();
}

/* Small allocations share slabs and are never moved; freed ones are used again. */
static void small_allocations_live_in_slabs(void **state)
{
    begin(1 << 20, 16 << 20);
    CUstream s = fake_stream();
    CUdeviceptr a[100];
    for (int round = 0; round < 10; round++) {
        for (unsigned i = 0; i < 100; i++) {
            a[i] = allocate(100 + i, s);
            assert_int_equal(a[i] % 256, 0);
            for (unsigned k = 0; k < i; k++)
                assert_int_not_equal(a[i], a[k]);
            assert_int_equal(fill(s, a[i], 100 + i, (unsigned char)i), 0);
        }
        for (unsigned i = 0; i < 100; i++)
            assert_int_equal(expect(s, a[i], 100 + i, (unsigned char)i), 0);
        for (unsigned i = 0; i < 100; i++)
            assert_int_equal(spw_free(a[i], spw_stream_of_locked(s)), 0);
    }
    fake_run_all();
    assert_int_equal(device->live_bytes, 0);
    assert_true(fake_counts()->made_bytes <= 128 * KIB);
}

/* Room is made for an operation whose parameters still name a small allocation that was given back, the last of its slab. */
static void an_empty_slab_that_an_operation_names_stays(void **state)
{
    enum { BYTES = 64 * KIB };
    begin(1 << 20, 16 << 20);
    const size_t rest = (1 << 20) - spw_slab_bytes(device, 100);
    CUstream s = fake_stream();
    CUdeviceptr a = allocate(BYTES, s), named[] = {allocate(100, s), a};
    struct spw_op op;
    assert_int_equal(fill(s, a, BYTES, 1), 0);
    CUdeviceptr b = allocate(rest, s);
    assert_int_equal(fill(s, b, rest, 2), 0);
    assert_int_equal(spw_free(named[0], spw_stream_of_locked(s)), 0);
    const uint64_t slabs = spw_slab_total_bytes_locked(device);
    assert_true(slabs > 0);
    assert_int_equal(touch(s, named, 2, 0, &op), 0);
    assert_int_equal(spw_slab_total_bytes_locked(device), slabs);
    fake_expect(s, a, BYTES, 1);
    spw_op_end(&op);
    fake_run_all();
    assert_int_equal(expect(s, b, rest, 2), 0);
    fake_run_all();
}

/* Freeing something that is not the start of a live allocation says so and changes nothing. */
static void wrong_frees_are_refused(void **state)
{
    begin(1 << 20, 16 << 20);
    CUstream s = fake_stream();
    CUdeviceptr a = allocate(64 * KIB, s), small = allocate(100, s);
    assert_int_equal(spw_free(a + 4096, NULL), -EINVAL);
    assert_int_equal(spw_free(small + 8, NULL), -EINVAL);
    assert_int_equal(spw_free(a, NULL), 0);
    assert_int_equal(spw_free(a, NULL), -EINVAL);
    assert_int_equal(spw_free(small, NULL), 0);
    assert_int_equal(spw_free(small, NULL), -EINVAL);
    assert_int_equal(spw_free(0x1234, NULL), -ENOENT);
}

/* An operation that cannot be parsed touches everything; what does not fit is refused. */
static void an_unparsed_launch_makes_everything_resident(void **state)
{
    enum { BYTES = 64 * KIB };
    struct spw_op op = {.name = "a kernel", .everything = true};
    begin(3 * BYTES, 16 << 20);
    CUstream s = fake_stream();
    CUdeviceptr a[3];
    for (unsigned i = 0; i < 3; i++) {
        a[i] = allocate(BYTES, s);
        assert_int_equal(fill(s, a[i], BYTES, (unsigned char)i), 0);
    }
    CUdeviceptr more = allocate(BYTES, s);
    assert_int_equal(fill(s, more, BYTES, 9), 0);
    op.handle = s;
    assert_int_equal(spw_op_begin(&op), -ENOMEM);
    assert_int_equal(spw_free(more, spw_stream_of_locked(s)), 0);
    assert_int_equal(spw_op_begin(&op), 0);
    for (unsigned i = 0; i < 3; i++)
        fake_expect(s, a[i], BYTES, (unsigned char)i);
    spw_op_end(&op);
    fake_run_all();
}

/* However many that are, and whatever room its caller has for their addresses. */
static void a_launch_brings_in_what_its_table_leads_to_and_no_more(void **state)
{
    enum { N = 600, BYTES = 64 * KIB };
    CUdeviceptr *a = malloc(2 * N * sizeof(*a)), table;
    begin(N * BYTES + 64 * KIB, 128 << 20);
    CUstream s = fake_stream();
    struct spw_op op;
    spw_pointer_tables_reset();
    table = allocate(N * sizeof(*a), s);
    for (unsigned i = 0; i < 2 * N; i++) {
        a[i] = allocate(BYTES, s);
        assert_int_equal(fill(s, a[i], BYTES, (unsigned char)i), 0);
    }
    spw_pointer_tables_learn(table, a, N * sizeof(*a), &spw_pinning);
    assert_int_equal(touch(s, &table, 1, 0, &op), 0);
    assert_false(op.everything);
    assert_int_equal(op.reached, 1 + N);
    for (unsigned i = 0; i < N; i++)
        fake_expect(s, a[i], BYTES, (unsigned char)i);
    spw_op_end(&op);
    fake_run_all();
    assert_true(fake_counts()->made_bytes_peak <= N * BYTES + 64 * KIB);
    free(op.long_hits);
    free(a);
    spw_pointer_tables_reset();
}

/* What is pinned stays, and its bytes are in place at once. */
static void a_pinned_tensor_is_never_evicted(void **state)
{
    enum { BYTES = 64 * KIB };
    begin(2 * BYTES, 16 << 20);
    CUstream s = fake_stream();
    CUdeviceptr a = allocate(BYTES, s), b = allocate(BYTES, s), c = allocate(BYTES, s);
    assert_int_equal(fill(s, a, BYTES, 1), 0);
    assert_int_equal(fill(s, b, BYTES, 2), 0);
    assert_int_equal(fill(s, c, BYTES, 3), 0);
    spw_pin_address(a, "the test says so");
    CUstream t = fake_stream();
    fake_expect(t, a, BYTES, 1);
    assert_int_equal(spw_driver.cuStreamSynchronize(t), CUDA_SUCCESS);
    unsigned in = fake_counts()->copies_in;
    for (int i = 0; i < 4; i++) {
        assert_int_equal(expect(s, b, BYTES, 2), 0);
        assert_int_equal(expect(s, c, BYTES, 3), 0);
        fake_expect(s, a, BYTES, 1); /* nobody asks: it is there */
    }
    fake_run_all();
    assert_true(fake_counts()->copies_in > in);
}

static const char *const fallible[] = {
    "cuMemCreate",          "cuMemMap",          "cuMemSetAccess",       "cuMemUnmap",           "cuMemRelease",
    "cuMemHostRegister_v2", "cuMemHostAlloc",    "cuStreamCreate",       "cuEventCreate",        "cuEventRecord",
    "cuEventSynchronize",   "cuStreamWaitEvent", "cuMemcpyDtoHAsync_v2", "cuMemcpyHtoDAsync_v2", "cuStreamSynchronize",
    "cuCtxSynchronize"};

/* A program under pressure; the first failure that it is told ends it, as it would end a real one. */
static void run_under_pressure(void)
{
    enum { N = 6, BYTES = 64 * KIB };
    CUstream s = fake_stream();
    CUdeviceptr a[N];
    struct spw_stream *record;
    spw_lock();
    record = spw_stream_of_locked(s);
    spw_unlock();
    for (unsigned i = 0; i < N; i++)
        if (spw_allocate(device, BYTES + i % 2 * GRANULE, record, context, spw_mempool_stats_of_locked(NULL), &a[i]) < 0 ||
            fill(s, a[i], BYTES, (unsigned char)(i + 1)) < 0)
            return;
    for (int round = 0; round < 2; round++)
        for (unsigned i = 0; i < N; i++)
            if (expect(s, a[i], BYTES, (unsigned char)(i + 1)) < 0)
                return;
    for (unsigned i = 0; i < N; i++)
        if (spw_free(a[i], record) < 0)
            return;
}

static void with_failure(const char *name, unsigned n, bool for_good)
{
    begin(200 * KIB, 16 << 20);
    fake_fail(name, n, CUDA_ERROR_UNKNOWN, for_good);
    run_under_pressure();
    fake_fail("", 0, 0, false);
    fake_run_all();
    assert_true(fake_counts()->made_bytes_peak <= 200 * KIB);
    check_blocks();
}

/* Memory that got no access and that the driver then refused to unmap is not handed to another tensor, which would be a
 * second one on the same memory; later its own tensor gets it. */
static void memory_that_cannot_be_unmapped_is_nobody_elses(void **state)
{
    for (unsigned n = 1; n <= 8; n++) {
        begin(200 * KIB, 16 << 20);
        fake_fail("cuMemSetAccess", n, CUDA_ERROR_UNKNOWN, true);
        fake_fail_too("cuMemUnmap");
        run_under_pressure();
        fake_fail("", 0, 0, false);
        fake_run_all();
        check_blocks();
        run_under_pressure();
        fake_run_all();
        assert_true(fake_counts()->made_bytes_peak <= 200 * KIB);
        check_blocks();
    }
}

/* A tensor longer than one piece of a copy comes back whole. */
static void a_tensor_of_many_pieces_comes_back_whole(void **state)
{
    enum { BYTES = 40 << 20 };
    begin(BYTES, 100 << 20);
    CUstream s = fake_stream();
    CUdeviceptr a = allocate(BYTES, s), b = allocate(BYTES, s);
    assert_int_equal(fill(s, a, BYTES, 1), 0);
    assert_int_equal(fill(s, b, BYTES, 2), 0);
    assert_int_equal(expect(s, a, BYTES, 1), 0);
    assert_int_equal(expect(s, b, BYTES, 2), 0);
    fake_run_all();
    assert_true(fake_counts()->copies_out >= 3 + 3);
}

/* A slot freed in the order of one stream and used on another is ordered after its former users. */
static void a_slot_reused_on_another_stream_waits(void **state)
{
    begin(1 << 20, 16 << 20);
    CUstream s = fake_stream(), t = fake_stream();
    enum { MOST = 1024 };
    CUdeviceptr a[MOST];
    unsigned n = 0;
    do { /* one slab, until it is full */
        a[n] = allocate(100, s);
        assert_int_equal(fill(s, a[n], 100, 1), 0);
        fake_expect(s, a[n], 100, 1);
    } while (++n < spw_slab_bytes(device, 100) / 256);
    for (unsigned i = 0; i < n; i++)
        assert_int_equal(spw_free(a[i], spw_stream_of_locked(s)), 0);
    CUdeviceptr b = allocate(100, t);
    assert_true(b >= a[0] && b <= a[n - 1]);
    assert_int_equal(fill(t, b, 100, 2), 0);
    fake_run_all();
    assert_int_equal(expect(t, b, 100, 2), 0); /* nothing of s came after it */
    fake_run_all();
}

/* Each driver call of ours fails once, at each place, and for good: no byte changes, nothing runs on missing memory. */
/* promise: nothing-on-missing-memory */
static void a_failing_driver_call_changes_no_byte(void **state)
{
    for (unsigned i = 0; i < sizeof(fallible) / sizeof(fallible[0]); i++)
        for (unsigned n = 1; n <= 6; n++) {
            with_failure(fallible[i], n, false);
            with_failure(fallible[i], n, true);
        }
}

/* ---- what a launch is recognised by ---- */

static uint64_t key_of(unsigned grid, unsigned block, unsigned shared_bytes)
{
    const struct spw_launch launch = {(CUfunction)(uintptr_t)0x1000, {grid, 1, 1}, {block, 1, 1}, shared_bytes, 0, NULL};
    const struct spw_signature signature = spw_launch_signature(&launch);
    return spw_signature_key(&signature);
}

static void launches_of_another_geometry_are_others(void **state)
{
    (void)state;
    assert_int_equal(key_of(64, 256, 0), key_of(64, 256, 0));
    assert_int_not_equal(key_of(256, 256, 0), key_of(512, 512, 0));
    assert_int_not_equal(key_of(64, 256, 0), key_of(256, 64, 0));
    assert_int_not_equal(key_of(64, 256, 0), key_of(64, 256, 1024));
    assert_int_not_equal(key_of(256, 256, 256), key_of(512, 512, 256));
}

/* `test-engine eager` runs them on the eager device. */
int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tensors_survive_a_budget_of_half_their_size),
        cmocka_unit_test(nothing_moves_when_everything_fits),
        cmocka_unit_test(a_clean_tensor_is_not_copied_out_again),
        cmocka_unit_test(an_unwritten_tensor_is_dropped_without_a_copy),
        cmocka_unit_test(a_working_set_beyond_the_budget_is_out_of_memory),
        cmocka_unit_test(host_budget_is_kept),
        cmocka_unit_test(reuse_on_another_stream_waits),
        cmocka_unit_test(small_allocations_live_in_slabs),
        cmocka_unit_test(an_empty_slab_that_an_operation_names_stays),
        cmocka_unit_test(wrong_frees_are_refused),
        cmocka_unit_test(an_unparsed_launch_makes_everything_resident),
        cmocka_unit_test(a_launch_brings_in_what_its_table_leads_to_and_no_more),
        cmocka_unit_test(a_pinned_tensor_is_never_evicted),
        cmocka_unit_test(a_tensor_of_many_pieces_comes_back_whole),
        cmocka_unit_test(a_slot_reused_on_another_stream_waits),
        cmocka_unit_test(a_failing_driver_call_changes_no_byte),
        cmocka_unit_test(memory_that_cannot_be_unmapped_is_nobody_elses),
        cmocka_unit_test(launches_of_another_geometry_are_others),
    };
    fake_eager(argc > 1 && strcmp(argv[1], "eager") == 0);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
