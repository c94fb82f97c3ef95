/* test-opaque-tables.c - kernels that find their tensors by addresses in memory, which the program has had copied there. */
#include "opaque_fixture.h"

enum { FEW = 3 };

/* The table on the device: addresses that are written, then those that are read. */
static CUdeviceptr table_of(const CUdeviceptr *to, const CUdeviceptr *from)
{
    static CUdeviceptr host[2 * FEW];
    CUdeviceptr at;
    memcpy(host, to, FEW * sizeof *to);
    memcpy(host + FEW, from, FEW * sizeof *from);
    OK(cuMemAlloc(&at, sizeof host));
    assert_int_equal(tell_made(at, sizeof host), 0);
    assert_int_equal(tell_written(at, sizeof host, (uintptr_t)host), 0);
    OK(cuMemcpyHtoD(at, host, sizeof host));
    return at;
}

static void follow(CUdeviceptr at)
{
    CUdeviceptr middle = at + FEW * 8, end = at + 2 * FEW * 8;
    launch_on(function("tabled"), 4, (void *[]){&at, &middle, &end}, true);
}

static void make(CUdeviceptr *to, CUdeviceptr *from, int first)
{
    for (int i = 0; i < FEW; i++) {
        to[i] = fresh(BYTES, 0xEE);
        from[i] = tensor(BYTES, first + i);
    }
}

CHILD_TEST(what_the_table_leads_to_is_read_and_written_wherever_it_lies)
{
    CUdeviceptr to[FEW], from[FEW], others[FEW], same[FEW];
    start();
    make(to, from, 1);
    (void)tensor(BYTES, 9);
    make(others, same, 1);
    follow(table_of(to, from));
    follow(table_of(others, same));
    for (int i = 0; i < FEW; i++) {
        assert_int_not_equal(digest(to[i], BYTES), digest(fresh(BYTES, 0xEE), BYTES));
        assert_int_equal(digest(to[i], BYTES), digest(others[i], BYTES));
        assert_int_equal(digest(from[i], BYTES), digest(tensor(BYTES, 1 + i), BYTES));
    }
    make(others, same, 1);
    poke(same[FEW - 1] + BYTES - 1, 77);
    follow(table_of(others, same));
    assert_int_not_equal(digest(others[0], BYTES), digest(to[0], BYTES));
}

CHILD_TEST(what_it_leads_to_counts_as_written)
{
    CUdeviceptr to[FEW], from[FEW], sums[2];
    start();
    for (int i = 0; i < 2; i++) {
        make(to, from, 1 + i);
        follow(table_of(to, from));
        sums[i] = fresh(BYTES, 0);
        sum(sums[i], to[0], to[1], 7);
    }
    assert_int_not_equal(digest(sums[0], BYTES), digest(sums[1], BYTES));
}

/* Nobody knows what a table holds that was written on the device. */
CHILD_TEST(a_table_that_was_not_copied_from_the_host_leads_nowhere)
{
    CUdeviceptr to[FEW], from[FEW];
    start();
    make(to, from, 1);
    const CUdeviceptr at = table_of(to, from);
    assert_int_equal(tell_written(at, 8, 0), 0);
    follow(at);
    assert_int_equal(digest(to[0], BYTES), digest(fresh(BYTES, 0xEE), BYTES));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_the_table_leads_to_is_read_and_written_wherever_it_lies),
        cmocka_unit_test(what_it_leads_to_counts_as_written),
        cmocka_unit_test(a_table_that_was_not_copied_from_the_host_leads_nowhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
