/* test-transfers-random.c - plans that ask for anything at any time, held against a model, while the driver's calls fail. */
#include "modelled.h"
#include "deferred_unmap.h"
#include "unlocked.h"

enum { TENSORS = 14 };

static bool changes_hands; /* memory may, before it is out of use */

static void allow(bool allowed)
{
    spw_lock();
    spw_unmap_allow_deferral_locked(device, allowed);
    spw_unlock();
}

static void model_use(unsigned i)
{
    CUstream stream = any(3) ? s : t;
    if (!follow_last(i, stream))
        return;
    if (model[i].written && any(2)) {
        model_expect_on(stream, i);
    } else {
        unsigned char value = (unsigned char)any(256);
        if (fill_on(stream, model[i].a, model[i].bytes, value) < 0)
            return;
        model[i].value = value;
        model[i].written = true;
        model[i].last = stream;
    }
}

/* Freed in the order of its last stream, as a caching allocator does, or after everything is complete. */
static void model_free(unsigned i)
{
    spw_lock();
    struct spw_stream *record = model[i].last ? spw_stream_of_locked(model[i].last) : NULL;
    spw_unlock();
    assert_int_equal(spw_free(model[i].a, record), 0);
    model[i].a = 0;
}

static void model_step(void)
{
    unsigned i = any(TENSORS), what = any(100);
    if (changes_hands)
        allow(any(20) != 0);
    if (!model[i].a) {
        model_allocate(i, any_size());
        return;
    }
    if (what < 35)
        model_use(i);
    else if (what < 55)
        (void)under_locks(spw_transfer_evict_locked, model[i].a);
    else if (what < 75)
        (void)under_locks(spw_transfer_prefetch_locked, model[i].a);
    else if (what < 88)
        pump();
    else if (what < 94)
        model_free(i);
    else if (what < 97)
        (void)spw_driver.cuStreamSynchronize(any(2) ? s : t);
    else
        (void)spw_driver.cuStreamSynchronize(device->mover && device->mover->out ? device->mover->out->handle : s);
    check_blocks();
}

static void model_begin(uint64_t budget, uint64_t host_budget, uint32_t first)
{
    begin(budget, host_budget);
    model_reset(first);
}

static void model_end(uint64_t budget, bool lacks)
{
    model_expect_all(lacks);
    check_blocks();
    assert_true(fake_counts()->made_bytes_peak <= budget);
    for (unsigned i = 0; i < TENSORS; i++)
        if (model[i].a)
            assert_int_equal(spw_free(model[i].a, NULL), 0);
    allow(false);
    pump();
    assert_true(spw_transfer_is_idle(device));
    for (uint32_t i = 0; i < device->block_count; i++)
        assert_int_equal(device->blocks[i]->way, SPW_QUEUE_NONE);
}

/* Whatever a plan asks for and whenever, each tensor has the bytes that were written last. */
static void random_plans_change_no_byte(void **state)
{
    enum { SEEDS = 100, STEPS = 200 };
    for (uint32_t first = 1; first <= SEEDS; first++) {
        uint64_t budget = (first % 3 + 4) * BYTES;
        bool tight = first % 4 == 0;
        model_begin(budget, tight ? 10 * BYTES : 16 << 20, first);
        for (int step = 0; step < STEPS; step++)
            model_step();
        model_end(budget, tight);
    }
}

static const char *const fallible[] = {
    "cuMemCreate",          "cuMemMap",          "cuMemSetAccess",       "cuMemUnmap",           "cuMemRelease",
    "cuMemHostRegister_v2", "cuMemHostAlloc",    "cuStreamCreate",       "cuEventCreate",        "cuEventRecord",
    "cuEventSynchronize",   "cuStreamWaitEvent", "cuMemcpyDtoHAsync_v2", "cuMemcpyHtoDAsync_v2", "cuStreamSynchronize",
    "cuCtxSynchronize"};

/* The same while each driver call fails once, at each place, and for a while: an operation may be refused, no byte changes.
 */
static void failing_calls_change_no_byte_of_a_plan(void **state)
{
    enum { STEPS = 40, BUDGET = 4 * BYTES };
    for (unsigned i = 0; i < sizeof(fallible) / sizeof(fallible[0]); i++)
        for (unsigned n = 1; n <= 10; n++)
            for (int for_good = 0; for_good < 2; for_good++) {
                model_begin(BUDGET, 16 << 20, n * 31 + i);
                fake_fail(fallible[i], n, CUDA_ERROR_UNKNOWN, for_good);
                for (int step = 0; step < STEPS; step++)
                    model_step();
                fake_fail("", 0, 0, false);
                for (int step = 0; step < STEPS; step++)
                    model_step();
                model_end(BUDGET, strcmp(fallible[i], "cuMemRelease") == 0);
            }
}

static void memory_that_changes_hands_changes_no_byte(void **state)
{
    changes_hands = true;
    random_plans_change_no_byte(state);
    assert_true(spw_unmap_counts.early_count > 500);
    changes_hands = false;
}

static void failing_calls_change_no_byte_of_what_changes_hands(void **state)
{
    changes_hands = true;
    failing_calls_change_no_byte_of_a_plan(state);
    changes_hands = false;
}

/* `test-transfers-random eager` runs them on the eager device. */
int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_plans_change_no_byte),
        cmocka_unit_test(failing_calls_change_no_byte_of_a_plan),
        cmocka_unit_test(memory_that_changes_hands_changes_no_byte),
        cmocka_unit_test(failing_calls_change_no_byte_of_what_changes_hands),
    };
    fake_eager(argc > 1 && strcmp(argv[1], "eager") == 0);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
