/* test-seek_losses.c - which words account for what a look has found: those that lead to what is there, or to where nothing
 * has ever been; not those that lead to what is gone. On the fake device. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>

#include "alloc.h"
#include "devices.h"
#include "engine.h"
#include "fake-device.h"
#include "lock.h"
#include "mover.h"
#include "outside.h"
#include "seek_losses.h"
#include "unlocked.h"

enum { GRANULE = 4096, PART = 1 << 14, WORDS = PART / 8, PARTS = 3 };
static const CUdeviceptr HOST = UINT64_C(0x7f1200000000);

static CUcontext context;
static struct spw_device *device;
static CUstream stream;
static CUdeviceptr table, other; /* of PARTS parts; a tensor */
static CUdeviceptr word[PARTS * WORDS];
static struct spw_seek_answer answer;

static struct spw_stream *record(void)
{
    spw_lock();
    struct spw_stream *r = spw_stream_of_locked(stream);
    spw_unlock();
    return r;
}

static CUdeviceptr allocate(size_t bytes)
{
    CUdeviceptr a = 0;
    assert_int_equal(spw_allocate(device, bytes, record(), context, spw_mempool_stats_of_locked(NULL), &a), 0);
    return a;
}

static int begin(void **state)
{
    spw_ledger_reset();
    spw_mover_reset();
    spw_devices_reset();
    spw_streams_reset();
    spw_outside_reset();
    fake_start(GRANULE, 64 * GRANULE, 64 * GRANULE, 16 << 20);
    device = spw_device_current(&context);
    stream = fake_stream();
    table = allocate(PARTS * PART);
    other = allocate(GRANULE);
    for (size_t i = 0; i < PARTS * WORDS; i++)
        word[i] = i;
    answer = (struct spw_seek_answer){0};
    return device ? 0 : -1;
}

/* The words are read in two stretches, the first of them of so many. */
static bool has_lost_behind(const struct spw_seek_answer *told, size_t first)
{
    struct spw_seek_losses losses;
    spw_seek_losses_begin(&losses, told, table, PARTS * PART);
    spw_lock();
    spw_seek_losses_read_locked(&losses, table, word, first);
    spw_seek_losses_read_locked(&losses, table + 8 * first, word + first, PARTS * WORDS - first);
    spw_unlock();
    return spw_seek_losses_end(&losses);
}

static bool has_lost(void)
{
    return has_lost_behind(&answer, 0);
}

static void where_nothing_was_found_nothing_is_lost(void **state)
{
    assert_false(has_lost());
}

static void what_was_found_and_is_not_there_is_lost(void **state)
{
    for (int i = 0; i < PARTS; i++) {
        answer = (struct spw_seek_answer){0};
        answer.part[i] = 1;
        assert_true(has_lost());
    }
}

static void an_address_in_another_part_does_not_account_for_it(void **state)
{
    answer.part[1] = 1;
    word[WORDS - 1] = word[2 * WORDS] = other;
    assert_true(has_lost());
    word[WORDS] = other;
    assert_false(has_lost());
}

static void what_leads_to_something_alive_is_there(void **state)
{
    answer.part[0] = answer.part[2] = 1;
    word[WORDS - 1] = other + GRANULE - 1;
    word[2 * WORDS + 5] = table + 1; /* to the table itself */
    assert_false(has_lost());
}

static void what_leads_to_what_was_freed_is_lost(void **state)
{
    answer.part[0] = 1;
    word[7] = other;
    assert_false(has_lost());
    assert_int_equal(spw_free(other, record()), 0);
    assert_true(has_lost());
}

static void what_leads_to_where_nothing_ever_was_is_chance(void **state)
{
    answer.part[0] = 1;
    word[7] = other + GRANULE;
    assert_false(has_lost());
    (void)allocate(GRANULE); /* there */
    assert_false(has_lost());
    word[7] += GRANULE;
    assert_false(has_lost());
}

static void what_lies_among_memory_that_is_not_ours_is_there(void **state)
{
    answer.part[1] = 1;
    word[WORDS + 1] = HOST + 5;
    assert_true(has_lost());
    spw_outside_lies_at(HOST, 64);
    assert_false(has_lost());
    word[WORDS + 1] = HOST + 64;
    assert_true(has_lost());
}

static void a_part_that_is_read_in_two_stretches_is_one(void **state)
{
    answer.part[1] = 1;
    word[WORDS + 3] = other;
    for (size_t first = WORDS - 1; first < 2 * WORDS; first += 2)
        assert_false(has_lost_behind(&answer, first));
    word[WORDS + 3] = 0;
    for (size_t first = WORDS - 1; first < 2 * WORDS; first += 2)
        assert_true(has_lost_behind(&answer, first));
}

static void without_an_answer_every_part_counts_as_one_with_an_address(void **state)
{
    word[0] = word[WORDS] = other;
    assert_true(has_lost_behind(NULL, 0));
    word[3 * WORDS - 1] = other;
    assert_false(has_lost_behind(NULL, 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(where_nothing_was_found_nothing_is_lost, begin),
        cmocka_unit_test_setup(what_was_found_and_is_not_there_is_lost, begin),
        cmocka_unit_test_setup(an_address_in_another_part_does_not_account_for_it, begin),
        cmocka_unit_test_setup(what_leads_to_something_alive_is_there, begin),
        cmocka_unit_test_setup(what_leads_to_what_was_freed_is_lost, begin),
        cmocka_unit_test_setup(what_leads_to_where_nothing_ever_was_is_chance, begin),
        cmocka_unit_test_setup(what_lies_among_memory_that_is_not_ours_is_there, begin),
        cmocka_unit_test_setup(a_part_that_is_read_in_two_stretches_is_one, begin),
        cmocka_unit_test_setup(without_an_answer_every_part_counts_as_one_with_an_address, begin),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
