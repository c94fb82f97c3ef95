/* test-saved_variables.c - what variables held is saved, and searched for addresses in the order of the stream; where that
 * cannot be, nothing is kept of it. */
#include "carried.h"

#include "outside.h"
#include "saved_variables.h"
#include "stash.h"

enum { PIECE = 64, ROUNDS = 600 };

/* All bytes of the fake's memory that are filled at once are alike, so that is what an address has to look like. */
#define OUTSIDE UINT64_C(0x4242424242424242)

static struct spw_variables *described; /* of up to two pieces */
static CUdeviceptr original, twin;

static int start(void **state)
{
    (void)state;
    begin(256 * BYTES, 16 << 20);
    spw_outside_reset();
    original = allocate(BYTES);
    twin = allocate(BYTES);
    spw_mutex_lock(&device->slow, SPW_LOCK_SLOW);
    spw_lock();
    assert_int_equal(spw_stash_ready_unlocking(device), 0);
    spw_unlock();
    spw_mutex_unlock(&device->slow);
    free(described);
    described = malloc(sizeof(*described) + 2 * sizeof(*described->pieces));
    assert_non_null(described);
    *described = (struct spw_variables){.count = 2, .bytes = 4 * PIECE, .may_hold_addresses = true};
    described->pieces[0] = (struct spw_variable_piece){original, twin, PIECE, 0};
    described->pieces[1] = (struct spw_variable_piece){original + 2 * PIECE + 8, twin + 2 * PIECE + 8, PIECE, 2 * PIECE + 8};
    assert_int_equal(fill_on(s, original, BYTES, 0x41), 0);
    fake_run_all();
    return 0;
}

static int save(struct spw_saved_variables *saved)
{
    spw_lock();
    *saved = (struct spw_saved_variables){0};
    const int r = spw_variables_save_locked(described, device, spw_stream_of_locked(s), saved);
    spw_unlock();
    return r;
}

static enum spw_saved_state settle(struct spw_saved_variables *saved)
{
    spw_lock();
    const enum spw_saved_state state = spw_variables_settle_locked(saved);
    spw_unlock();
    return state;
}

static void give(struct spw_saved_variables *saved)
{
    spw_lock();
    spw_variables_give_locked(saved);
    assert_int_equal(spw_digests_held_locked(device), 0);
    spw_unlock();
}

static void numbers_are_plain_once_they_were_searched(void **state)
{
    struct spw_saved_variables saved;
    assert_int_equal(save(&saved), 0);
    assert_int_equal(settle(&saved), SPW_SAVED_SEARCHED);
    fake_run_all();
    assert_int_equal(settle(&saved), SPW_SAVED_PLAIN);
    assert_int_equal(spw_digests_held_locked(device), 0);
    give(&saved);
}

static void an_address_is_found_wherever_it_lies(void **state)
{
    const CUdeviceptr places[] = {original, original + PIECE - 8, original + 3 * PIECE};
    spw_outside_lies_at(OUTSIDE, 16);
    for (unsigned i = 0; i < 3; i++) {
        struct spw_saved_variables saved;
        assert_int_equal(fill_on(s, original, BYTES, 0x41), 0);
        fake_fill(s, places[i], 8, 0x42);
        assert_int_equal(save(&saved), 0);
        fake_fill(s, original, BYTES, 0x41); /* too late */
        fake_run_all();
        assert_int_equal(settle(&saved), SPW_SAVED_ADDRESSES);
        assert_int_equal(settle(&saved), SPW_SAVED_ADDRESSES);
        give(&saved);
    }
}

/* What lies between them is somebody else's, and so is what the stash held before. */
static void what_is_no_variable_is_not_searched(void **state)
{
    struct spw_saved_variables saved;
    spw_outside_lies_at(OUTSIDE, 16);
    const struct spw_variable_piece first = described->pieces[0];
    fake_fill(s, original, BYTES, 0x42);
    described->count = 1;
    described->pieces[0].bytes = described->bytes;
    for (unsigned i = 0; i < ROUNDS; i++) {
        assert_int_equal(save(&saved), 0);
        fake_run_all();
        assert_int_equal(settle(&saved), SPW_SAVED_ADDRESSES);
        give(&saved);
    }
    described->count = 2;
    described->pieces[0] = first;
    fake_fill(s, original, PIECE, 0x41);
    fake_fill(s, original + 2 * PIECE + 8, PIECE, 0x41);
    for (unsigned i = 0; i < ROUNDS; i++) { /* the same units come again */
        assert_int_equal(save(&saved), 0);
        fake_run_all();
        assert_int_equal(settle(&saved), SPW_SAVED_PLAIN);
        give(&saved);
    }
}

static void variables_without_room_for_an_address_cost_nothing_more(void **state)
{
    struct spw_saved_variables saved;
    described->may_hold_addresses = false;
    const unsigned before = fake_calls();
    assert_int_equal(save(&saved), 0);
    assert_int_equal(fake_calls() - before, 2);
    assert_int_equal(saved.state, SPW_SAVED_PLAIN);
    give(&saved);
}

static void where_something_fails_nothing_is_kept(void **state)
{
    const char *const calls[] = {"cuMemsetD8Async", "cuMemcpyDtoDAsync_v2", "cuLaunchKernel", "cuLaunchKernel"};
    for (unsigned i = 0; i < 4; i++) {
        struct spw_saved_variables saved;
        (void)start(NULL);
        fake_fail(calls[i], i == 3 ? 2 : 1, CUDA_ERROR_UNKNOWN, false);
        assert_true(save(&saved) < 0);
        assert_int_equal(saved.bytes, 0);
        give(&saved);
        uint32_t offset;
        spw_lock();
        assert_int_equal(spw_stash_take_for_long_locked(device, spw_stash_moment_bytes_locked(device), &offset), 0);
        spw_unlock();
    }
}

/* The context goes before the answer has come. */
static void where_there_is_no_answer_nothing_is_known(void **state)
{
    struct spw_saved_variables saved;
    assert_int_equal(save(&saved), 0);
    fake_run_all();
    spw_lock();
    spw_digests_context_gone_locked(context);
    spw_unlock();
    assert_int_equal(settle(&saved), SPW_SAVED_UNKNOWN);
}

#define TEST(name) cmocka_unit_test_setup(name, start)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(numbers_are_plain_once_they_were_searched), TEST(an_address_is_found_wherever_it_lies),
        TEST(what_is_no_variable_is_not_searched),       TEST(variables_without_room_for_an_address_cost_nothing_more),
        TEST(where_something_fails_nothing_is_kept),     TEST(where_there_is_no_answer_nothing_is_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
