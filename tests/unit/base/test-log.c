/* test-log.c - lines arrive whole, in the place asked for, and only those that were asked for. */
#include "log.h"
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

static char path[] = "/tmp/spillway-test-log-XXXXXX";
static char text[8192];

/* What the log file holds; empties it. */
static const char *logged(void)
{
    FILE *file = fopen(path, "r");
    size_t length = file ? fread(text, 1, sizeof(text) - 1, file) : 0;
    text[length] = 0;
    if (file)
        fclose(file);
    assert_int_equal(truncate(path, 0), 0);
    return text;
}

static void a_line_has_a_prefix_and_an_end(void **state)
{
    spw_log_setup(SPW_LOG_WARN, path);
    spw_warn("%d of %s", 3, "four");
    assert_string_equal(logged(), "spillway: 3 of four\n");
}

static void only_what_was_asked_for_is_said(void **state)
{
    spw_log_setup(SPW_LOG_INFO, path);
    spw_warn("w");
    spw_info("i");
    spw_debug("d");
    assert_string_equal(logged(), "spillway: w\nspillway: i\n");
    assert_true(spw_log_enabled(SPW_LOG_INFO));
    assert_false(spw_log_enabled(SPW_LOG_DEBUG));
    spw_log_setup(SPW_LOG_QUIET, path);
    spw_warn("w");
    spw_log(SPW_LOG_QUIET, "q");
    assert_string_equal(logged(), "");
}

static void a_long_line_is_cut_but_ends(void **state)
{
    char longer[5000];
    memset(longer, 'x', sizeof(longer));
    longer[sizeof(longer) - 1] = 0;
    spw_log_setup(SPW_LOG_WARN, path);
    spw_warn("%s", longer);
    const char *line = logged();
    size_t length = strlen(line);
    assert_in_range(length, 1000, 2048);
    assert_int_equal(line[length - 1], '\n');
    assert_int_equal(line[length - 2], 'x');
}

static void a_warning_can_be_given_once(void **state)
{
    spw_log_setup(SPW_LOG_WARN, path);
    int said = 0, other = 0;
    for (int i = 0; i < 3; i++)
        spw_warn_once(&said, "once");
    spw_warn_once(&other, "another");
    assert_string_equal(logged(), "spillway: once\nspillway: another\n");
}

static void the_same_amount_is_told_of_once_and_a_larger_one_always(void **state)
{
    spw_log_setup(SPW_LOG_WARN, path);
    struct spw_log_threshold told = {0};
    for (int i = 0; i < 100; i++)
        spw_warn_of(&told, 5, "five");
    spw_warn_of(&told, 7, "seven");
    spw_warn_of(&told, 5, "five");
    assert_string_equal(logged(), "spillway: five\nspillway: seven\nspillway: five\n");
    for (int i = 0; i < 100; i++)
        (void)spw_log_is_worth(&told, i % 2 + 1);
    assert_false(spw_log_is_worth(&told, 6));
    assert_true(spw_log_is_worth(&told, 8));
}

static void errno_stays(void **state)
{
    spw_log_setup(SPW_LOG_WARN, path);
    errno = EDOM;
    spw_warn("%s", "x");
    assert_int_equal(errno, EDOM);
    logged();
}

static int make_file(void **state)
{
    int fd = mkstemp(path);
    return fd < 0 ? -1 : close(fd);
}

static int remove_file(void **state)
{
    return unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_line_has_a_prefix_and_an_end),
        cmocka_unit_test(only_what_was_asked_for_is_said),
        cmocka_unit_test(a_long_line_is_cut_but_ends),
        cmocka_unit_test(a_warning_can_be_given_once),
        cmocka_unit_test(the_same_amount_is_told_of_once_and_a_larger_one_always),
        cmocka_unit_test(errno_stays),
    };
    return cmocka_run_group_tests(tests, make_file, remove_file);
}
