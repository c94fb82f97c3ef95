/* test-settings.c - what is understood as a setting, what is refused, and what a budget comes to on a device. */
#include "settings.h"
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#define GIB (UINT64_C(1) << 30)

static const struct spw_setting *setting(const char *option)
{
    for (size_t i = 0; i < spw_setting_count; i++)
        if (!strcmp(spw_setting_table[i].option, option))
            return &spw_setting_table[i];
    fail_msg("no setting %s", option);
    return NULL;
}

static struct spw_settings accepted(const char *option, const char *value)
{
    struct spw_settings settings;
    char message[512] = "";
    spw_settings_default(&settings);
    if (spw_setting_take(setting(option), value, &settings, message, sizeof(message)) < 0)
        fail_msg("%s", message);
    return settings;
}

static void assert_refused(const char *option, const char *value)
{
    struct spw_settings settings;
    char message[1024] = "";
    spw_settings_default(&settings);
    if (spw_setting_take(setting(option), value, &settings, message, sizeof(message)) != -EINVAL)
        fail_msg("--%s=%s was taken", option, value);
    assert_non_null(strstr(message, setting(option)->variable));
    assert_non_null(strstr(message, value));
    assert_non_null(strstr(message, setting(option)->accepted));
}

static void recomputation_is_on_unless_it_is_turned_off(void **state)
{
    struct spw_settings settings;
    spw_settings_default(&settings);
    assert_true(settings.recompute);
    assert_int_equal(settings.verify_every, 64);
    assert_true(accepted("recompute", "on").recompute);
    assert_false(accepted("recompute", "off").recompute);
    assert_int_equal(accepted("verify", "1").verify_every, 1);
    assert_int_equal(accepted("verify", "1000000").verify_every, 1000000);
    static const char *const no_words[] = {"", "yes", "wait", "offf", "On"}, *const no_numbers[] = {"",        "0",   "-1",
                                                                                                    "1000001", "8.0", "all"};
    for (size_t i = 0; i < sizeof(no_words) / sizeof(no_words[0]); i++)
        assert_refused("recompute", no_words[i]);
    for (size_t i = 0; i < sizeof(no_numbers) / sizeof(no_numbers[0]); i++)
        assert_refused("verify", no_numbers[i]);
}

/* ---- amounts ---- */

static void amounts_are_bytes_with_binary_units(void **state)
{
    assert_int_equal(accepted("host-budget", "1").host_budget.bytes, 1);
    assert_int_equal(accepted("budget", "8589934592").budget.every.bytes, 8 * GIB);
    assert_int_equal(accepted("budget", "8G").budget.every.bytes, 8 * GIB);
    assert_int_equal(accepted("budget", "8GiB").budget.every.bytes, 8 * GIB);
    assert_int_equal(accepted("budget", "512M").budget.every.bytes, GIB / 2);
    assert_int_equal(accepted("host-budget", "3KiB").host_budget.bytes, 3072);
    assert_int_equal(accepted("budget", "2T").budget.every.bytes, 2048 * GIB);
    assert_int_equal(accepted("host-budget", "100B").host_budget.bytes, 100);
}

static void amounts_may_have_a_fraction(void **state)
{
    assert_int_equal(accepted("budget", "1.5G").budget.every.bytes, GIB + GIB / 2);
    assert_int_equal(accepted("budget", "0.25GiB").budget.every.bytes, GIB / 4);
}

static void amounts_may_be_a_share(void **state)
{
    struct spw_amount amount = accepted("budget", "62.5%").budget.every;
    assert_int_equal(amount.kind, SPW_AMOUNT_PERCENT);
    assert_true(amount.percent == 62.5);
    assert_int_equal(accepted("host-budget", "100%").host_budget.kind, SPW_AMOUNT_PERCENT);
}

static void amounts_that_are_not_clear_are_refused(void **state)
{
    static const char *const values[] = {
        "",    "12Q", "0",    "0G",  "-1",  "+1", "150%", "0%",  "100.1%", "-5%",  "8GB", "8g",  " 8G",    "8G ",
        "8 G", "1e9", "0x10", "inf", "nan", "G",  "%",    ".5G", "1.G",    "1,5G", "8G8", "0.1", "1.2.3G",
    };
    for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
        assert_refused("budget", values[i]);
        assert_refused("host-budget", values[i]);
    }
}

static void amounts_that_do_not_fit_are_refused(void **state)
{
    assert_refused("budget", "18446744073709551616");
    assert_refused("budget", "18446744073709551615"); /* fits 64 bits, but no sum with it would */
    assert_refused("budget", "99999999999T");
    assert_int_equal(accepted("budget", "9223372036854775807").budget.every.bytes, INT64_MAX);
}

/* ---- budgets ---- */

static void each_device_may_have_its_own(void **state)
{
    struct spw_settings s = accepted("budget", "0=8G,3=60%,1G");
    assert_int_equal(spw_settings_budget_bytes(&s, 0, 16 * GIB, 15 * GIB), 8 * GIB);
    assert_int_equal(spw_settings_budget_bytes(&s, 3, 10 * GIB, 9 * GIB), 6 * GIB);
    assert_int_equal(spw_settings_budget_bytes(&s, 1, 16 * GIB, 15 * GIB), GIB);
}

static void a_budget_of_a_few_bytes_is_a_forgotten_unit(void **state)
{
    assert_refused("budget", "8");
    assert_refused("budget", "0=8G,1=16");
    assert_refused("budget", "3KiB");
    assert_int_equal(accepted("budget", "4KiB").budget.every.bytes, 4096);
}

static void a_budget_is_said_once_per_device(void **state)
{
    assert_refused("budget", "8G,9G");
    assert_refused("budget", "0=8G,0=9G");
    assert_refused("budget", "64=8G");
    assert_refused("budget", "=8G");
    assert_refused("budget", "0=");
    assert_refused("budget", "x=8G");
    assert_refused("budget", "1.5=8G");
    assert_refused("budget", "0=1=8G");
    assert_refused("budget", "8G,");
    assert_refused("budget", ",8G");
}

static void without_a_budget_the_free_memory_is_it(void **state)
{
    struct spw_settings s;
    spw_settings_default(&s);
    assert_int_equal(spw_settings_budget_bytes(&s, 0, 16 * GIB, 15 * GIB), 15 * GIB);
}

static void a_budget_is_never_more_than_the_device(void **state)
{
    struct spw_settings s = accepted("budget", "100G");
    assert_int_equal(spw_settings_budget_bytes(&s, 0, 16 * GIB, 15 * GIB), 16 * GIB);
    assert_int_equal(spw_settings_budget_bytes(&s, 1000, 16 * GIB, 15 * GIB), 16 * GIB);
}

/* ---- the others ---- */

static void words_are_taken_as_they_are_written(void **state)
{
    assert_int_equal(accepted("mode", "trace").mode, SPW_MODE_TRACE);
    assert_int_equal(accepted("mode", "off").mode, SPW_MODE_OFF);
    assert_true(accepted("mode", "trace").trace && !accepted("mode", "swap").trace && !accepted("mode", "off").trace);
    assert_true(accepted("mode", "swap+trace").trace);
    assert_int_equal(accepted("mode", "swap+trace").mode, SPW_MODE_SWAP);
    assert_refused("mode", "trace+swap");
    assert_refused("mode", "");
    assert_refused("mode", "Swap");
    assert_refused("mode", "swap ");
}

static void the_log_may_name_a_file(void **state)
{
    assert_int_equal(accepted("log", "debug").log_level, SPW_LOG_DEBUG);
    struct spw_settings s = accepted("log", "quiet:/tmp/a:b");
    assert_int_equal(s.log_level, SPW_LOG_QUIET);
    assert_string_equal(s.log_file, "/tmp/a:b");
    assert_refused("log", "loud");
    assert_refused("log", "warn:");
    assert_refused("log", ":file");
    assert_refused("log", "warning");
}

static void small_is_automatic_or_up_to_one_gibibyte(void **state)
{
    assert_int_equal(accepted("small", "auto").small_bytes, 0);
    assert_int_equal(accepted("small", "1M").small_bytes, 1 << 20);
    assert_int_equal(accepted("small", "1G").small_bytes, GIB);
    assert_refused("small", "0");
    assert_refused("small", "1.1G");
    assert_refused("small", "50%");
}

static void the_driver_is_an_absolute_path_that_can_be_read(void **state)
{
    assert_string_equal(accepted("driver", "/proc/self/exe").driver, "/proc/self/exe");
    assert_refused("driver", "libcuda.so.1");
    assert_refused("driver", "/no/such/file");
    assert_refused("driver", "");
}

static void names_of_files_are_filled_in(void **state)
{
    char expected[64];
    snprintf(expected, sizeof(expected), "s.7.%d.100%%.json", (int)getpid());
    setenv("RANK", "7", 1);
    assert_string_equal(accepted("summary", "s.%r.%p.100%%.json").summary, expected);
    setenv("RANK", "../7", 1); /* not a number: not believed */
    assert_string_equal(accepted("summary", "%r").summary, "0");
    unsetenv("RANK");
    assert_refused("summary", "%q");
    assert_refused("summary", "a%");
    assert_refused("summary", "");
}

static void paths_that_are_too_long_are_refused(void **state)
{
    char path[SPW_SETTINGS_PATH + 8];
    memset(path, 'a', sizeof(path));
    path[sizeof(path) - 1] = 0;
    struct spw_settings s;
    char message[64];
    spw_settings_default(&s);
    assert_int_equal(spw_setting_take(setting("summary"), path, &s, message, sizeof(message)), -EINVAL);
    path[SPW_SETTINGS_PATH - 1] = 0;
    assert_int_equal(spw_setting_take(setting("summary"), path, &s, message, sizeof(message)), 0);
}

/* ---- the environment ---- */

extern char **environ;

static void the_environment_is_read(void **state)
{
    char *variables[] = {"HOME=/", "SPILLWAY_BUDGET=8G", "SPILLWAYX=1", "SPILLWAY_MODE=trace", NULL};
    struct spw_settings s;
    char message[256] = "";
    environ = variables;
    assert_int_equal(spw_settings_read(&s, message, sizeof(message)), 0);
    assert_int_equal(s.budget.every.bytes, 8 * GIB);
    assert_int_equal(s.mode, SPW_MODE_TRACE);
}

static void an_unknown_variable_is_refused_with_the_nearest_name(void **state)
{
    static const char *const pairs[][2] = {
        {"SPILLWAY_BUGDET=1", "nearest is SPILLWAY_BUDGET"},
        {"SPILLWAY_HOSTBUDGET=1", "nearest is SPILLWAY_HOST_BUDGET"},
        {"SPILLWAY_LOGS=1", "nearest is SPILLWAY_LOG"},
        {"SPILLWAY_=1", "not a setting; accepted: SPILLWAY_BUDGET, SPILLWAY_MODE,"},
        {"SPILLWAY_FOO=1", "not a setting; accepted: SPILLWAY_BUDGET, SPILLWAY_MODE,"},
        {"SPILLWAY_BUGDET=1", "accepted: SPILLWAY_BUDGET, SPILLWAY_MODE,"},
    };
    for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
        char *variables[] = {(char *)pairs[i][0], NULL};
        struct spw_settings s;
        char message[256] = "";
        environ = variables;
        assert_int_equal(spw_settings_read(&s, message, sizeof(message)), -EINVAL);
        assert_non_null(strstr(message, pairs[i][0]));
        assert_non_null(strstr(message, pairs[i][1]));
    }
}

static void the_first_complaint_is_told_and_the_log_level_still_known(void **state)
{
    char *variables[] = {"SPILLWAY_BUDGET=12Q", "SPILLWAY_MODE=fast", "SPILLWAY_LOG=quiet", NULL};
    struct spw_settings s;
    char message[512] = "";
    environ = variables;
    assert_int_equal(spw_settings_read(&s, message, sizeof(message)), -EINVAL);
    assert_non_null(strstr(message, "SPILLWAY_BUDGET=12Q is refused; accepted: bytes"));
    assert_int_equal(s.log_level, SPW_LOG_QUIET);
}

static void a_long_unknown_name_is_no_trouble(void **state)
{
    char variable[4096] = "SPILLWAY_";
    memset(variable + 9, 'X', sizeof(variable) - 12);
    strcpy(variable + sizeof(variable) - 4, "=1");
    char *variables[] = {variable, NULL};
    struct spw_settings s;
    char message[256] = "";
    environ = variables;
    assert_int_equal(spw_settings_read(&s, message, sizeof(message)), -EINVAL);
    assert_int_equal(strlen(message), sizeof(message) - 1);
}

static void names_of_hints_are_not_empty_and_not_endless(void **state)
{
    char name[SPW_SETTINGS_HINT + 1];
    memset(name, 'n', sizeof(name));
    name[SPW_SETTINGS_HINT] = 0;
    for (int kernel = 0; kernel < 2; kernel++) {
        const char *option = kernel ? "iteration-kernel" : "iteration-range";
        assert_refused(option, "");
        assert_refused(option, name);
        const struct spw_settings s = accepted(option, name + 1);
        assert_string_equal(kernel ? s.hint_kernel : s.hint_range, name + 1);
        assert_string_equal(kernel ? s.hint_range : s.hint_kernel, "");
    }
}

/* An iteration begins in one way; who names two is asked which. */
static void two_hints_are_refused_together(void **state)
{
    char *variables[] = {"SPILLWAY_ITERATION_KERNEL=embed", "SPILLWAY_ITERATION_RANGE=step", NULL};
    struct spw_settings s;
    char message[512] = "";
    environ = variables;
    assert_int_equal(spw_settings_read(&s, message, sizeof(message)), -EINVAL);
    assert_non_null(strstr(message, "SPILLWAY_ITERATION_KERNEL=embed"));
    assert_non_null(strstr(message, "SPILLWAY_ITERATION_RANGE=step"));
    environ = variables + 1;
    assert_int_equal(spw_settings_read(&s, message, sizeof(message)), 0);
    assert_string_equal(s.hint_range, "step");
}

/* Every line of the table says all that help and messages need. */
static void every_setting_explains_itself(void **state)
{
    for (size_t i = 0; i < spw_setting_count; i++) {
        const struct spw_setting *s = &spw_setting_table[i];
        assert_int_equal(strncmp(s->variable, "SPILLWAY_", 9), 0);
        assert_true(*s->option && *s->value && *s->fallback && *s->accepted && *s->help && s->parse);
        assert_null(strchr(s->help, '|')); /* the README's table */
        assert_null(strchr(s->accepted, '|'));
    }
}

static char **own_environment;

static int keep_environment(void **state)
{
    own_environment = environ;
    return 0;
}

static int restore_environment(void **state)
{
    environ = own_environment;
    return 0;
}

int main(void)
{
#define WITH_ENVIRONMENT(f) cmocka_unit_test_setup_teardown(f, keep_environment, restore_environment)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(recomputation_is_on_unless_it_is_turned_off),
        cmocka_unit_test(amounts_are_bytes_with_binary_units),
        cmocka_unit_test(amounts_may_have_a_fraction),
        cmocka_unit_test(amounts_may_be_a_share),
        cmocka_unit_test(amounts_that_are_not_clear_are_refused),
        cmocka_unit_test(amounts_that_do_not_fit_are_refused),
        cmocka_unit_test(each_device_may_have_its_own),
        cmocka_unit_test(a_budget_of_a_few_bytes_is_a_forgotten_unit),
        cmocka_unit_test(a_budget_is_said_once_per_device),
        cmocka_unit_test(without_a_budget_the_free_memory_is_it),
        cmocka_unit_test(a_budget_is_never_more_than_the_device),
        cmocka_unit_test(words_are_taken_as_they_are_written),
        cmocka_unit_test(the_log_may_name_a_file),
        cmocka_unit_test(small_is_automatic_or_up_to_one_gibibyte),
        cmocka_unit_test(the_driver_is_an_absolute_path_that_can_be_read),
        cmocka_unit_test(names_of_files_are_filled_in),
        cmocka_unit_test(paths_that_are_too_long_are_refused),
        cmocka_unit_test(names_of_hints_are_not_empty_and_not_endless),
        WITH_ENVIRONMENT(two_hints_are_refused_together),
        WITH_ENVIRONMENT(the_environment_is_read),
        WITH_ENVIRONMENT(an_unknown_variable_is_refused_with_the_nearest_name),
        WITH_ENVIRONMENT(the_first_complaint_is_told_and_the_log_level_still_known),
        WITH_ENVIRONMENT(a_long_unknown_name_is_no_trouble),
        cmocka_unit_test(every_setting_explains_itself),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
