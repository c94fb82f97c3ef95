/* test-share.c - time in which operations of several streams go on at once counts once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>
#include <errno.h>

#include "failing-memory.h"
#include "model_parts.h"

static struct model_op at(uint64_t start_ns, uint64_t duration_ns)
{
    return (struct model_op){.timed = true, .start_ns = start_ns, .duration_ns = duration_ns};
}

static void one_after_the_other_each_takes_its_time(void **state)
{
    struct model_op ops[] = {at(0, 10), at(10, 5), at(20, 7)};
    assert_int_equal(model_share_time(ops, 3), 0);
    for (int i = 0; i < 3; i++)
        assert_int_equal(ops[i].share_ns, ops[i].duration_ns);
}

/* In whatever order they were submitted. */
static void what_goes_on_at_once_counts_for_the_one_that_began_first(void **state)
{
    struct model_op ops[] = {at(5, 10), at(0, 10), at(6, 2), at(15, 1)};
    assert_int_equal(model_share_time(ops, 4), 0);
    assert_int_equal(ops[0].share_ns, 5);
    assert_int_equal(ops[1].share_ns, 10);
    assert_int_equal(ops[2].share_ns, 0);
    assert_int_equal(ops[3].share_ns, 1);
}

static void all_shares_together_are_the_time_in_which_anything_goes_on(void **state)
{
    enum { OPS = 60, MOST = 500 };
    for (unsigned seed = 1; seed <= 200; seed++) {
        struct model_op ops[OPS];
        bool busy[MOST + 50] = {false};
        uint64_t sum = 0, expected = 0;
        srand(seed);
        for (int i = 0; i < OPS; i++) {
            ops[i] = at((uint64_t)rand() % MOST, (uint64_t)rand() % 20);
            for (uint64_t k = 0; k < ops[i].duration_ns; k++)
                busy[ops[i].start_ns + k] = true;
        }
        assert_int_equal(model_share_time(ops, OPS), 0);
        for (int i = 0; i < OPS; i++) {
            assert_true(ops[i].share_ns <= ops[i].duration_ns);
            sum += ops[i].share_ns;
        }
        for (int i = 0; i < MOST + 50; i++)
            expected += busy[i];
        assert_int_equal(sum, expected);
    }
}

static void a_failed_allocation_is_told(void **state)
{
    struct model_op op = at(0, 1);
    memory_fails_after(0);
    const int r = model_share_time(&op, 1);
    assert_true(memory_is_back());
    assert_int_equal(r, -ENOMEM);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_after_the_other_each_takes_its_time),
        cmocka_unit_test(what_goes_on_at_once_counts_for_the_one_that_began_first),
        cmocka_unit_test(all_shares_together_are_the_time_in_which_anything_goes_on),
        cmocka_unit_test(a_failed_allocation_is_told),
    };
    return cmocka_run_group_tests_name("share", tests, NULL, NULL);
}
