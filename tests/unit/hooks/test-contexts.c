/* test-contexts.c - a context that goes takes nothing of others with it, and leaves nothing. */
#include "carried.h"
#include "contexts.h"

/* A tensor of other memory's context loses its copy streams on the way, not its bytes. */
static void a_context_that_goes_takes_no_bytes_of_others_along(void **state)
{
    CUcontext other = (CUcontext)(uintptr_t)0xd0;
    for (int stage = 0; stage < 3; stage++) {
        CUdeviceptr first = 0;
        begin(4 * BYTES, 16 << 20);
        assert_int_equal(spw_allocate(device, BYTES, NULL, other, spw_mempool_stats_of_locked(NULL), &first), 0);
        fill(first, 9);
        leave(first); /* the copy streams are the other context's */
        CUdeviceptr a = allocate(BYTES);
        fill(a, 1);
        leave(a);
        if (stage > 0) {
            let_run();
            pump();
        }
        if (stage > 1)
            restore(a);
        let_run();
        spw_context_free(other);
        check_blocks();
        pump();
        restore(a);
        expect_on(s, a, BYTES, 1);
        fill(a, 2);
        leave(a);
        let_run();
        pump();
        assert_int_equal(attention(a), SPW_EVICTED);
        expect(a, 2);
        fake_run_all();
        check_blocks();
    }
}

/* The copies of a context that is gone are complete, whatever the numbers of the next copy streams. */
static void the_numbers_of_streams_that_are_gone_mean_nothing(void **state)
{
    CUcontext other = (CUcontext)(uintptr_t)0xd0;
    CUdeviceptr first = 0;
    begin(4 * BYTES, 16 << 20);
    assert_int_equal(spw_allocate(device, BYTES, NULL, other, spw_mempool_stats_of_locked(NULL), &first), 0);
    CUdeviceptr a = allocate(BYTES), b = allocate(BYTES);
    for (unsigned char i = 0; i < 9; i++) {
        fill(first, i);
        leave(first);
        fill(a, i);
        leave(a);
        let_run();
        pump();
        restore(a);
        expect(a, i);
    }
    let_run();
    spw_context_free(other);
    for (int i = 0; i < 4; i++) /* these take the records of the streams that are gone */
        assert_int_equal(expect_on(fake_stream(), a, BYTES, 8), 0);
    let_run();
    fill(b, 1);
    leave(b); /* makes copy streams */
    leave(a);
    assert_int_equal(attention(a), SPW_EVICTING);
    expect(a, 8);
    assert_int_equal(attention(a), 0); /* nothing copies it */
    fill(a, 9);
    expect(b, 1);
    fake_run_all();
}

/* `test-transfers eager` runs them on the eager device. */
int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_context_that_goes_takes_no_bytes_of_others_along),
        cmocka_unit_test(the_numbers_of_streams_that_are_gone_mean_nothing),
    };
    fake_eager(argc > 1 && strcmp(argv[1], "eager") == 0);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
