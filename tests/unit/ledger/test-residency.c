/* test-residency.c - a block goes from state to state along the arrows of residency.h, and along no others in a debug build.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lock.h"
#include "residency.h"

enum { BESIDE = SPW_COPYING | SPW_LOOKED }; /* bits that are not of the state */

static struct spw_block block;

static int begin(void **state)
{
    block = (struct spw_block){.granules = 2, .object.attention = SPW_EMPTY | BESIDE};
    spw_lock();
    return 0;
}

static int end(void **state)
{
    spw_unlock();
    return 0;
}

static void become(enum spw_residency state)
{
    spw_block_become_locked(&block, state);
    assert_int_equal(spw_block_residency(&block), state);
    assert_int_equal(block.object.attention & BESIDE, BESIDE);
}

static void attach(void)
{
    block.memory.granules = block.granules;
    become(SPW_RESIDENCY_RESIDENT);
}

static void a_block_leaves_with_a_copy_and_comes_back(void **state)
{
    char copy;
    attach();
    become(SPW_RESIDENCY_EVICTING);
    block.host_copy = &copy;
    block.host_copy_valid = true;
    block.memory.granules = 0;
    become(SPW_RESIDENCY_EVICTED);
    attach();
    become(SPW_RESIDENCY_RESTORING);
    spw_block_arrived_locked(&block);
    assert_int_equal(spw_block_residency(&block), SPW_RESIDENCY_RESIDENT);
    assert_int_equal(block.object.attention, BESIDE);
}

static void what_stays_is_what_it_was_before_it_began_to_leave(void **state)
{
    attach();
    become(SPW_RESIDENCY_RESTORING);
    become(SPW_RESIDENCY_EVICTING);
    spw_block_stay_locked(&block);
    assert_int_equal(spw_block_residency(&block), SPW_RESIDENCY_RESTORING);
    become(SPW_RESIDENCY_EVICTING);
    spw_block_arrived_locked(&block);
    assert_int_equal(spw_block_residency(&block), SPW_RESIDENCY_EVICTING);
    spw_block_stay_locked(&block);
    assert_int_equal(spw_block_residency(&block), SPW_RESIDENCY_RESIDENT);
}

/* It is as if nothing had been on its way. */
static void who_has_no_memory_has_nothing_in_flight(void **state)
{
    attach();
    become(SPW_RESIDENCY_RESTORING);
    become(SPW_RESIDENCY_EVICTING);
    become(SPW_RESIDENCY_EMPTY);
    assert_int_equal(block.object.attention, SPW_EMPTY | BESIDE);
}

#ifdef SPW_DEBUG_CHECKS
static bool aborts(enum spw_residency state)
{
    int status;
    const pid_t child = fork();
    if (child == 0) {
        (void)close(STDERR_FILENO);
        (void)signal(SIGABRT, SIG_DFL);
        spw_block_become_locked(&block, state);
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
}

static void what_is_no_arrow_or_does_not_hold_is_found(void **state)
{
    assert_true(aborts(SPW_RESIDENCY_RESTORING)); /* without memory */
    assert_true(aborts(SPW_RESIDENCY_EVICTED));   /* bytes that never were */
    assert_true(aborts(SPW_RESIDENCY_RESIDENT));  /* an arrow, but there is no memory yet */
    attach();
    assert_true(aborts(SPW_RESIDENCY_EVICTED)); /* there is no copy */
    assert_true(aborts(SPW_RESIDENCY_DROPPED)); /* nothing can make it */
    assert_false(aborts(SPW_RESIDENCY_EVICTING));
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_block_leaves_with_a_copy_and_comes_back, begin, end),
        cmocka_unit_test_setup_teardown(what_stays_is_what_it_was_before_it_began_to_leave, begin, end),
        cmocka_unit_test_setup_teardown(who_has_no_memory_has_nothing_in_flight, begin, end),
#ifdef SPW_DEBUG_CHECKS
        cmocka_unit_test_setup_teardown(what_is_no_arrow_or_does_not_hold_is_found, begin, end),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
