/* test-plan_follower-memory.c - where memory runs out while a device is watched, recorded, planned or followed, the
 * program's bytes stay what they were. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "op.h"
#include "failing-memory.h"
#include "logged.h"
#include "plan_stats.h"
#include "training-loop.h"

#define SHORT ((uint64_t)LOOP_TENSORS * LOOP_BYTES * 6 / 10)

static struct training_loop loop;

/* What the engine itself cannot do without is not what is tried here: what is refused is asked for again. Where there is
 * no plan for want of memory, a line says so. */
static void each_allocation_may_fail_once(void **state)
{
    unsigned tried = 0, planned = 0;
    log_into_file(SPW_LOG_INFO);
    for (long n = 0;; n += 1 + n / 2) {
        loop_start(&loop, SHORT, SPW_PLAN_WAIT);
        spw_log_setup(SPW_LOG_INFO, logged_path);
        loop.is_patient = true;
        memory_fails_once_after(n);
        loop_steps(&loop, 8);
        const bool has_failed = memory_is_back();
        loop_steps(&loop, 22);
        loop.refused = 0;
        loop_check(&loop);
        planned += spw_plan_stats[0].planned_iterations > 0;
        if (!has_failed)
            break;
        tried++;
    }
    assert_int_equal(lines_with("no memory left"), 1); /* and is not repeated */
    assert_true(lines_with("cannot be planned") > 0);
    log_as_before();
    assert_true(tried > 15);
    assert_int_equal(planned, tried + 1); /* it was found again, whatever failed */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_allocation_may_fail_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
