/* test-library_inputs.c - which of a launch's addresses are inputs of the library's call that the thread is in. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <pthread.h>

#include "call_args.h"
#include "content.h"
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

/* ---- the workspace ---- */

static const struct spw_library_inputs working = {{0x1000}, .workspace = 0x8000, .workspace_bytes = 0x100};

static struct spw_call_args set_at(CUdeviceptr to, size_t words)
{
    return (struct spw_call_args){
        .kind = SPW_SUBMIT_SET, .set = {.to = to, .width = words, .rows = 1, .value = (uint32_t)words, .element_bytes = 4}};
}

static void the_first_launch_depends_on_what_the_call_has_set(void **state)
{
    const CUdeviceptr hits[] = {0x1000, 0x8000, 0x80ff, 0x8100, 0x7fff}, elsewhere[] = {0x9000};
    const struct spw_call_args launch = {.kind = SPW_SUBMIT_LAUNCH}, one = set_at(0x8010, 1), two = set_at(0x80f8, 2);
    const struct spw_library_inputs none = spw_library_inputs_enter(&working);
    spw_library_workspace_used(&one, &one.set.to, 1);
    spw_library_workspace_used(&two, &two.set.to, 1);
    spw_library_workspace_used(&launch, elsewhere, 1);
    assert_int_equal(spw_library_workspace_among(hits, 5, 0), 6);
    const struct spw_library_inputs *call = spw_library_with_workspace();
    assert_int_equal(call->set_count, 2);
    assert_int_equal(call->sets[0].to, 0x8010);
    assert_int_equal(call->sets[1].count, 2);
    assert_int_equal(call->sets[1].value, 2);
    spw_library_workspace_used(&launch, hits, 5);
    assert_null(spw_library_with_workspace()); /* what it left there the next one may read */
    assert_int_equal(spw_library_workspace_among(hits, 5, 0), 0);
    spw_library_inputs_leave(&none);
    assert_null(spw_library_with_workspace());
}

static void what_cannot_be_done_again_ends_it(void **state)
{
    const struct spw_call_args beyond = set_at(0x80fc, 2), copy = {.kind = SPW_SUBMIT_COPY}, plain = set_at(0x8000, 1);
    struct spw_call_args rows = set_at(0x8000, 1);
    rows.set.rows = 2;
    const struct spw_call_args *const each[] = {&beyond, &copy, &rows, NULL};
    const CUdeviceptr hit = 0x8080;
    for (unsigned i = 0; i < 4; i++) {
        const struct spw_library_inputs none = spw_library_inputs_enter(&working);
        spw_library_workspace_used(each[i], &hit, 1);
        assert_null(spw_library_with_workspace());
        spw_library_inputs_leave(&none);
    }
    const struct spw_library_inputs none = spw_library_inputs_enter(&working);
    for (unsigned i = 0; i < SPW_LIBRARY_SETS; i++)
        spw_library_workspace_used(&plain, &hit, 1);
    assert_non_null(spw_library_with_workspace());
    spw_library_workspace_used(&plain, &hit, 1); /* one more than is remembered */
    assert_null(spw_library_with_workspace());
    spw_library_inputs_leave(&none);
}

static void a_number_that_looks_like_an_address_there_ends_it_for_the_launch(void **state)
{
    const CUdeviceptr hits[] = {0x8000, 0x1000, 0x8040};
    const struct spw_library_inputs none = spw_library_inputs_enter(&working);
    assert_int_equal(spw_library_workspace_among(hits, 3, 0), 5);
    assert_int_equal(spw_library_workspace_among(hits, 3, 1), 0);
    assert_int_equal(spw_library_workspace_among(hits, 2, 1), 1);
    spw_library_inputs_leave(&none);
}

/* What the call has set before nobody has noted. */
static void a_call_that_began_in_another_epoch_has_no_workspace(void **state)
{
    const CUdeviceptr hit = 0x8000;
    const struct spw_library_inputs none = spw_library_inputs_enter(&working);
    spw_version_epoch++;
    assert_null(spw_library_with_workspace());
    assert_int_equal(spw_library_workspace_among(&hit, 1, 0), 0);
    spw_library_inputs_leave(&none);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_input_is_exactly_that_address),
        cmocka_unit_test(a_call_inside_another_has_inputs_of_its_own),
        cmocka_unit_test(a_call_of_another_thread_says_nothing),
        cmocka_unit_test(hits_beyond_sixty_four_are_told_nothing_of),
        cmocka_unit_test(the_first_launch_depends_on_what_the_call_has_set),
        cmocka_unit_test(what_cannot_be_done_again_ends_it),
        cmocka_unit_test(a_number_that_looks_like_an_address_there_ends_it_for_the_launch),
        cmocka_unit_test(a_call_that_began_in_another_epoch_has_no_workspace),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
