/* test-host_gaps.c - room on the host that is not in one place: what lies there moves together before a tensor is refused
 * for it, and what is being copied stays. */
#include "carried.h"
#include "idle-follower.h"

/* What the program has freed leaves gaps there: there is room on the host, though not in one place. */
/* promise: host-budget */
static void gaps_on_the_host_are_closed_before_a_victim_is_refused(void **state)
{
    CUdeviceptr a[4];
    begin(2 * BYTES, 4 * BYTES);
    for (unsigned i = 0; i < 4; i++) {
        a[i] = allocate(BYTES);
        fill(a[i], (unsigned char)(i + 1));
        leave(a[i]);
        fake_run_all();
    }
    assert_int_equal(spw_free(a[0], NULL), 0);
    assert_int_equal(spw_free(a[2], NULL), 0);
    const CUdeviceptr large = allocate(2 * BYTES);
    assert_int_equal(fill_on(s, large, 2 * BYTES, 5), 0);
    expect(a[1], 2); /* for which the large one goes */
    expect(a[3], 4);
    assert_int_equal(expect_on(s, large, 2 * BYTES, 5), 0);
    fake_run_all();
    check_blocks();
}

/* What a copy that has not run is to read stays where it is; what lies still makes room. */
static void what_is_being_copied_stays_where_it_is_on_the_host(void **state)
{
    CUdeviceptr a[4];
    begin(3 * BYTES, 5 * BYTES);
    for (unsigned i = 0; i < 4; i++) {
        a[i] = allocate(BYTES);
        fill(a[i], (unsigned char)(i + 1));
        leave(a[i]);
        fake_run_all();
    }
    assert_int_equal(spw_free(a[0], NULL), 0);
    assert_int_equal(spw_free(a[2], NULL), 0);
    const CUdeviceptr large = allocate(2 * BYTES), next = allocate(2 * BYTES);
    assert_int_equal(fill_on(s, large, 2 * BYTES, 5), 0);
    fake_run_all();
    expect(a[1], 2);
    const void *read = block_at(a[1])->host_copy, *idle = block_at(a[3])->host_copy;
    /* For which the large one goes, and the last of the others moves. */
    assert_int_equal(fill_on(s, next, 2 * BYTES, 6), 0);
    assert_ptr_equal(block_at(a[1])->host_copy, read);
    assert_ptr_not_equal(block_at(a[3])->host_copy, idle);
    assert_int_equal(spw_free(next, NULL), 0);
    expect(a[3], 4);
    fake_run_all();
    assert_int_equal(expect_on(s, large, 2 * BYTES, 5), 0);
    fake_run_all();
    check_blocks();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gaps_on_the_host_are_closed_before_a_victim_is_refused),
        cmocka_unit_test(what_is_being_copied_stays_where_it_is_on_the_host),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
