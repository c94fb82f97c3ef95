/* test-stand_ins.c - where calls of another library's functions go: each caller's is looked up once. */
#include "stand_ins.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <cmocka.h>

enum { PAGE = 4096, BASE = 0x1000000 }; /* of callers that are in no library */

static const struct spw_other_library library = {"/libnobody-has-it", "nobody's library"};
static unsigned looked_up;
static char functions[4 * SPW_CALL_SITES]; /* stand for functions: found one after the other */

void *__wrap_spw_lookups_of_loader(void *handle, const char *name);
void *__wrap_spw_lookups_of_loader(void *handle, const char *name)
{
    return &functions[looked_up++];
}

static void *real_of(struct spw_call_sites *known, uintptr_t caller)
{
    return spw_stand_in_real(&library, known, "call", (const void *)caller);
}

static void callers_that_share_a_place_are_looked_up_once_each(void **state)
{
    struct spw_call_sites known = {{NULL}};
    const uintptr_t one = BASE, other = BASE + PAGE * SPW_CALL_SITES;
    looked_up = 0;
    void *first = real_of(&known, one), *second = real_of(&known, other);
    assert_ptr_not_equal(first, second);
    for (int i = 0; i < 3; i++) {
        assert_ptr_equal(real_of(&known, one), first);
        assert_ptr_equal(real_of(&known, other), second);
    }
    assert_int_equal(looked_up, 2);
}

/* No two libraries have a part of one page. */
static void callers_of_one_page_are_looked_up_together(void **state)
{
    struct spw_call_sites known = {{NULL}};
    looked_up = 0;
    void *first = real_of(&known, BASE + 8);
    assert_ptr_equal(real_of(&known, BASE + PAGE - 1), first);
    assert_int_equal(looked_up, 1);
}

static void callers_for_which_there_is_no_place_are_looked_up_each_time_and_take_nobody_elses(void **state)
{
    struct spw_call_sites known = {{NULL}};
    looked_up = 0;
    for (unsigned i = 0; i < SPW_CALL_SITES; i++)
        assert_ptr_equal(real_of(&known, BASE + i * PAGE), &functions[i]);
    for (unsigned i = 0; i < 2; i++)
        assert_ptr_equal(real_of(&known, BASE + SPW_CALL_SITES * PAGE), &functions[SPW_CALL_SITES + i]);
    for (unsigned i = 0; i < SPW_CALL_SITES; i++)
        assert_ptr_equal(real_of(&known, BASE + i * PAGE), &functions[i]);
    assert_int_equal(looked_up, SPW_CALL_SITES + 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(callers_that_share_a_place_are_looked_up_once_each),
        cmocka_unit_test(callers_of_one_page_are_looked_up_together),
        cmocka_unit_test(callers_for_which_there_is_no_place_are_looked_up_each_time_and_take_nobody_elses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
