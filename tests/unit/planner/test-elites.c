/* test-elites.c - the best few of what was found are kept, each once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "search/elites.h"

enum { CHOICES = 5 };

static void add(struct spw_elites *elites, uint8_t value, double cost)
{
    uint8_t choices[CHOICES];
    memset(choices, value, sizeof choices);
    spw_elites_add(elites, choices, cost);
}

static bool holds(const struct spw_elites *elites, uint8_t value)
{
    for (size_t i = 0; i < elites->count; i++)
        if (elites->choices[i][0] == value && elites->choices[i][CHOICES - 1] == value)
            return true;
    return false;
}

static void the_dearest_makes_room(void **state)
{
    struct spw_elites elites;
    assert_int_equal(spw_elites_init(&elites, CHOICES), 0);
    for (uint8_t i = 0; i < SPW_MOST_ELITES; i++)
        add(&elites, i, i == 3 ? 100 : i);
    assert_int_equal(elites.count, SPW_MOST_ELITES);
    add(&elites, 50, 50);
    assert_int_equal(elites.count, SPW_MOST_ELITES);
    assert_true(holds(&elites, 50) && !holds(&elites, 3));
    spw_elites_finish(&elites);
}

static void what_is_dearer_than_all_or_known_is_left(void **state)
{
    struct spw_elites elites;
    assert_int_equal(spw_elites_init(&elites, CHOICES), 0);
    add(&elites, 7, 7);
    add(&elites, 7, 7);
    assert_int_equal(elites.count, 1);
    for (uint8_t i = 1; i < SPW_MOST_ELITES; i++)
        add(&elites, i == 7 ? 70 : i, i);
    add(&elites, 90, 90);
    assert_int_equal(elites.count, SPW_MOST_ELITES);
    assert_true(holds(&elites, 7) && !holds(&elites, 90));
    spw_elites_finish(&elites);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_dearest_makes_room),
        cmocka_unit_test(what_is_dearer_than_all_or_known_is_left),
    };
    return cmocka_run_group_tests_name("elites", tests, NULL, NULL);
}
