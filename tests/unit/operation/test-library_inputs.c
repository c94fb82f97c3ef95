/* test-library_inputs.c - which of a launch's addresses are inputs of the library's call that the thread is in. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <pthread.h>

#include "library_inputs.h"

static const struct spw_library_inputs outer = {{0x1000, 0x2000}}, inner = {{0x3000, 0, 0x4000}};

static void an_input_is_exactly_that_address(void **state)
{
    const CUdeviceptr hits[] = {0x2000, 0x1010, 0x1000, 0, 0xff0};
    assert_int_equal(spw_library_inputs_among(hits, 5), 0);
    const struct spw_library_inputs around = spw_library_inputs_enter(&outer);
    assert_int_equal(spw_library_inputs_among(hits, 5), 5);
    assert_int_equal(spw_library_inputs_among(hits, 1), 1);
    spw_library_inputs_leave(&around);
    assert_int_equal(spw_library_inputs_among(hits, 5), 0);
}

static void a_call_inside_another_has_inputs_of_its_own(void **state)
{
    const CUdeviceptr hits[] = {0x1000, 0x3000, 0x4000};
    const struct spw_library_inputs none = spw_library_inputs_enter(&outer), around = spw_library_inputs_enter(&inner);
    assert_int_equal(spw_library_inputs_among(hits, 3), 6);
    spw_library_inputs_leave(&around);
    assert_int_equal(spw_library_inputs_among(hits, 3), 1);
    spw_library_inputs_leave(&none);
}

static void *look(void *hit)
{
    return (void *)(uintptr_t)spw_library_inputs_among(hit, 1);
}

static void a_call_of_another_thread_says_nothing(void **state)
{
    CUdeviceptr hit = 0x1000;
    pthread_t thread;
    void *seen;
    const struct spw_library_inputs none = spw_library_inputs_enter(&outer);
    assert_int_equal(pthread_create(&thread, NULL, look, &hit), 0);
    assert_int_equal(pthread_join(thread, &seen), 0);
    assert_null(seen);
    spw_library_inputs_leave(&none);
}

static void hits_beyond_sixty_four_are_told_nothing_of(void **state)
{
    CUdeviceptr hits[70];
    for (int i = 0; i < 70; i++)
        hits[i] = 0x1000;
    const struct spw_library_inputs none = spw_library_inputs_enter(&outer);
    assert_true(spw_library_inputs_among(hits, 70) == UINT64_MAX);
    spw_library_inputs_leave(&none);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_input_is_exactly_that_address),
        cmocka_unit_test(a_call_inside_another_has_inputs_of_its_own),
        cmocka_unit_test(a_call_of_another_thread_says_nothing),
        cmocka_unit_test(hits_beyond_sixty_four_are_told_nothing_of),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
