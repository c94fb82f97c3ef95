/* test-lock_witness.c - locks in a wrong order, and functions called without their lock, end a debug build with a message.
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

#undef SPW_DEBUG_CHECKS
#define SPW_DEBUG_CHECKS /* in this file at least */
#include "lock.h"

static pthread_mutex_t slow[2] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER}, leaf = PTHREAD_MUTEX_INITIALIZER;

/* Runs `act` in a child; true when it was aborted with a message that has `words` in it. */
static bool aborts_saying(void (*act)(void), const char *words)
{
    char said[4096] = "";
    size_t count = 0;
    int pipe_ends[2], status;
    assert_int_equal(pipe(pipe_ends), 0);
    const pid_t child = fork();
    if (child == 0) {
        dup2(pipe_ends[1], STDERR_FILENO);
        close(pipe_ends[0]);
        signal(SIGABRT, SIG_DFL);
        act();
        _exit(0);
    }
    close(pipe_ends[1]);
    for (ssize_t n = 1; n > 0 && count<sizeof(said) - 1; count += n> 0 ? (size_t)n : 0)
        n = read(pipe_ends[0], said + count, sizeof(said) - 1 - count);
    close(pipe_ends[0]);
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT && strstr(said, words);
}

static bool is_fine(void (*act)(void))
{
    int status;
    const pid_t child = fork();
    if (child == 0) {
        act();
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static void add_one_locked(int *number)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    ++*number;
}

static void in_order(void)
{
    int number = 0;
    for (int i = 0; i < 2; i++) {
        spw_mutex_lock(&slow[0], SPW_LOCK_SLOW);
        spw_mutex_lock(&slow[1], SPW_LOCK_SLOW);
        spw_lock();
        spw_mutex_lock(&leaf, SPW_LOCK_LEAF);
        spw_mutex_unlock(&leaf);
        add_one_locked(&number);
        spw_unlock();
        spw_lock(); /* let go of in between */
        spw_mutex_unlock(&slow[0]);
        spw_mutex_unlock(&slow[1]);
        spw_unlock();
    }
}

static void slow_after_engine(void)
{
    spw_lock();
    spw_mutex_lock(&slow[0], SPW_LOCK_SLOW);
}

static void slow_backwards(void)
{
    spw_mutex_lock(&slow[1], SPW_LOCK_SLOW);
    spw_mutex_lock(&slow[0], SPW_LOCK_SLOW);
}

static void twice(void)
{
    spw_lock();
    spw_lock();
}

static void engine_in_leaf(void)
{
    spw_mutex_lock(&leaf, SPW_LOCK_LEAF);
    spw_lock();
}

static void tried_in_leaf(void)
{
    spw_mutex_lock(&leaf, SPW_LOCK_LEAF);
    if (spw_try_lock())
        spw_unlock();
    if (spw_mutex_try_lock(&slow[0], SPW_LOCK_SLOW))
        spw_mutex_unlock(&slow[0]);
    spw_mutex_unlock(&leaf);
}

static void without_lock(void)
{
    int number = 0;
    add_one_locked(&number);
}

static void after_lock(void)
{
    int number = 0;
    spw_lock();
    spw_unlock();
    add_one_locked(&number);
}

static void unlock_of_another(void)
{
    spw_unlock();
}

static void without_lock_but_excused(void)
{
    spw_lock_witness_take_all_for_held();
    without_lock();
    unlock_of_another();
}

static void locks_in_the_order_of_ranks_are_fine(void **state)
{
    assert_true(is_fine(in_order));
}

static void a_wrong_order_is_found(void **state)
{
    assert_true(aborts_saying(slow_after_engine, "\"slow\" is not taken after one of rank \"engine\""));
    assert_true(aborts_saying(slow_backwards, "\"slow\" is not taken after one of rank \"slow\""));
    assert_true(aborts_saying(twice, "\"engine\" is not taken after one of rank \"engine\""));
    assert_true(aborts_saying(engine_in_leaf, "\"engine\" is not taken after one of rank \"leaf\""));
}

/* Who does not wait for a lock cannot be waiting for ever. */
static void a_lock_that_is_only_tried_has_no_order(void **state)
{
    assert_true(is_fine(tried_in_leaf));
}

static void a_missing_lock_is_found(void **state)
{
    assert_true(aborts_saying(without_lock, "test-lock_witness.c"));
    assert_true(aborts_saying(without_lock, "add_one_locked(): \"spw_lock_witness_holds(&spw_engine_lock)\" does not hold"));
    assert_true(aborts_saying(after_lock, "the caller holds the lock"));
    assert_true(aborts_saying(unlock_of_another, "who lets go of a lock holds it"));
}

static void a_test_may_have_locks_taken_for_held(void **state)
{
    assert_true(is_fine(without_lock_but_excused));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(locks_in_the_order_of_ranks_are_fine),   cmocka_unit_test(a_wrong_order_is_found),
        cmocka_unit_test(a_lock_that_is_only_tried_has_no_order), cmocka_unit_test(a_missing_lock_is_found),
        cmocka_unit_test(a_test_may_have_locks_taken_for_held),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
