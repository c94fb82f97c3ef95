/* test-nvtx.c - ranges of the name are heard in whatever way they begin, and programs get the answers that NVTX promises. */
#include "nvtx.h"
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>
#include <cmocka.h>

#include "recorder.h"

static unsigned hints;

void spw_record_hint(void)
{
    hints++;
}

/* ---- NVTX: the program's side of it */

enum { SLOTS = 16 };

static void nothing(void)
{
}

static spw_nvtx_function *core[SLOTS], *domains[SLOTS];
static spw_nvtx_slot core_slots[SLOTS + 1], domain_slots[SLOTS + 1];
static unsigned core_count, domain_count;
static struct spw_nvtx_callbacks callbacks;

static int module_of(int module, spw_nvtx_slot **ret_slots, unsigned *ret_count)
{
    *ret_slots = module == SPW_NVTX_CORE ? core_slots : domain_slots;
    *ret_count = module == SPW_NVTX_CORE ? core_count : domain_count;
    return (module == SPW_NVTX_CORE && core_count) || (module == SPW_NVTX_DOMAINS && domain_count);
}

static const void *get_table(uint32_t table)
{
    return table == SPW_NVTX_TABLE_CALLBACKS ? &callbacks : NULL;
}

static int begin(void **state)
{
    for (unsigned i = 1; i < SLOTS; i++) {
        core[i] = domains[i] = nothing;
        core_slots[i] = &core[i];
        domain_slots[i] = &domains[i];
    }
    core_count = domain_count = SLOTS;
    callbacks = (struct spw_nvtx_callbacks){.struct_bytes = sizeof(callbacks), .module = module_of};
    unsetenv("NVTX_INJECTION64_PATH");
    hints = 0;
    spw_nvtx_reset();
    return 0;
}

static int listen(const char *name)
{
    setenv("SPILLWAY_MODE", "trace", 1);
    setenv("SPILLWAY_ITERATION_RANGE", name, 1);
    return InitializeInjectionNvtx2(get_table);
}

/* ---- calls as the headers make them */

static int push_a(const char *text)
{
    return ((int (*)(const char *))core[SPW_NVTX_RANGE_PUSH_A])(text);
}

static int push_w(const wchar_t *text)
{
    return ((int (*)(const wchar_t *))core[SPW_NVTX_RANGE_PUSH_W])(text);
}

static int pop(void)
{
    return ((int (*)(void))core[SPW_NVTX_RANGE_POP])();
}

static struct spw_nvtx_event event(int kind, const void *message)
{
    return (struct spw_nvtx_event){
        .version = 3, .bytes = sizeof(struct spw_nvtx_event), .message_kind = kind, .message = message};
}

static int push_ex(struct spw_nvtx_event e)
{
    return ((int (*)(const struct spw_nvtx_event *))core[SPW_NVTX_RANGE_PUSH_EX])(&e);
}

static uint64_t start_a(const char *text)
{
    return ((uint64_t(*)(const char *))core[SPW_NVTX_RANGE_START_A])(text);
}

static uint64_t start_w(const wchar_t *text)
{
    return ((uint64_t(*)(const wchar_t *))core[SPW_NVTX_RANGE_START_W])(text);
}

static uint64_t start_ex(struct spw_nvtx_event e)
{
    return ((uint64_t(*)(const struct spw_nvtx_event *))core[SPW_NVTX_RANGE_START_EX])(&e);
}

static void *make_domain(const char *name)
{
    return ((void *(*)(const char *))domains[SPW_NVTX_DOMAIN_CREATE_A])(name);
}

static void *make_wide_domain(const wchar_t *name)
{
    return ((void *(*)(const wchar_t *))domains[SPW_NVTX_DOMAIN_CREATE_W])(name);
}

static int push_in(void *domain, struct spw_nvtx_event e)
{
    return ((int (*)(void *, const struct spw_nvtx_event *))domains[SPW_NVTX_DOMAIN_RANGE_PUSH_EX])(domain, &e);
}

static int pop_in(void *domain)
{
    return ((int (*)(void *))domains[SPW_NVTX_DOMAIN_RANGE_POP])(domain);
}

static uint64_t start_in(void *domain, struct spw_nvtx_event e)
{
    return ((uint64_t(*)(void *, const struct spw_nvtx_event *))domains[SPW_NVTX_DOMAIN_RANGE_START_EX])(domain, &e);
}

static void *register_a(void *domain, const char *text)
{
    return ((void *(*)(void *, const char *))domains[SPW_NVTX_DOMAIN_REGISTER_A])(domain, text);
}

static void *register_w(void *domain, const wchar_t *text)
{
    return ((void *(*)(void *, const wchar_t *))domains[SPW_NVTX_DOMAIN_REGISTER_W])(domain, text);
}

/* ---- what is tested */

/* Nobody named a range, or nothing is traced: NVTX is told to do without us, and keeps what it had. */
static void nothing_is_taken_where_nobody_asked(void **state)
{
    static const struct {
        const char *mode, *range;
    } ways[] = {{NULL, NULL}, {"trace", NULL}, {NULL, "step"}, {"swap", "step"}, {"off", "step"}, {"trace", ""}};
    for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
        begin(state);
        unsetenv("SPILLWAY_MODE");
        unsetenv("SPILLWAY_ITERATION_RANGE");
        if (ways[i].mode)
            setenv("SPILLWAY_MODE", ways[i].mode, 1);
        if (ways[i].range)
            setenv("SPILLWAY_ITERATION_RANGE", ways[i].range, 1);
        spw_nvtx_offer();
        assert_null(getenv("NVTX_INJECTION64_PATH"));
        assert_int_equal(InitializeInjectionNvtx2(get_table), 0);
        for (unsigned s = 1; s < SLOTS; s++)
            assert_true(core[s] == nothing && domains[s] == nothing);
    }
}

/* Marks, names of threads and the like stay NVTX's own. */
static void only_ranges_texts_and_domains_are_taken(void **state)
{
    assert_int_equal(listen("step"), 1);
    for (unsigned s = 1; s < SLOTS; s++) {
        assert_int_equal(core[s] != nothing, (s >= SPW_NVTX_RANGE_START_EX && s <= SPW_NVTX_RANGE_START_W) ||
                                                 (s >= SPW_NVTX_RANGE_PUSH_EX && s <= SPW_NVTX_RANGE_POP));
        assert_int_equal(domains[s] != nothing, s == 2 || s == 4 || s == 5 || (s >= 10 && s <= 13));
    }
}

/* Each way to begin a range is heard with the name, in letters of any kind, and with no other. */
static void a_range_of_the_name_is_heard_in_every_way(void **state)
{
    static const char name[] = "Schritt \xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80";
    static const wchar_t wide[] = L"Schritt \u00e4\u20ac\U0001f600";
    assert_int_equal(listen(name), 1);
    void *domain = make_domain("mine"), *wide_domain = make_wide_domain(L"yours");
    for (int right = 0; right < 2; right++) {
        const char *a = right ? name : "Schritt";
        const wchar_t *w = right ? wide : L"Schritt \u00e4\u20ac\U0001f600!";
        push_a(a);
        push_w(w);
        start_a(a);
        start_w(w);
        const struct spw_nvtx_event events[] = {event(SPW_NVTX_TEXT, a), event(SPW_NVTX_WIDE, w),
                                                event(SPW_NVTX_REGISTERED, register_a(domain, a)),
                                                event(SPW_NVTX_REGISTERED, register_w(NULL, w))};
        for (int i = 0; i < 4; i++) {
            push_ex(events[i]);
            start_ex(events[i]);
            push_in(domain, events[i]);
            start_in(wide_domain, events[i]);
            push_in(NULL, events[i]);
        }
        assert_int_equal(hints, right ? 4 + 4 * 5 : 0);
    }
}

/* What is no text, or comes from a header that knows none yet, is no name. */
static void events_without_a_name_are_let_by(void **state)
{
    assert_int_equal(listen("step"), 1);
    struct spw_nvtx_event old = event(SPW_NVTX_TEXT, "step");
    old.bytes = sizeof(old) - 8;
    push_a(NULL);
    push_w(NULL);
    push_ex(event(SPW_NVTX_TEXT, NULL));
    push_ex(event(0, "step"));
    push_ex(event(SPW_NVTX_REGISTERED, NULL));
    push_ex(old);
    ((int (*)(const void *))core[SPW_NVTX_RANGE_PUSH_EX])(NULL);
    assert_int_equal(hints, 0);
}

/* Names with a number in them. */
static void a_star_at_the_end_stands_for_anything(void **state)
{
    assert_int_equal(listen("step *"), 1);
    push_a("step 17");
    push_a("step ");
    push_w(L"step 18");
    push_ex(event(SPW_NVTX_REGISTERED, register_a(NULL, "step 19")));
    assert_int_equal(hints, 4);
    push_a("step");
    push_w(L"a step 1");
    assert_int_equal(hints, 4);
    begin(state);
    assert_int_equal(listen("*"), 1);
    push_a("*");
    push_a("x");
    assert_int_equal(hints, 1);
}

static void *push_elsewhere(void *domain)
{
    return (void *)(intptr_t)(push_a("x") * 10 + push_in(domain, event(SPW_NVTX_TEXT, "x")));
}

/* A range's depth counts from 0 in each thread and each domain; of what is not counted NVTX says that it is not. */
static void depths_are_those_of_thread_and_domain(void **state)
{
    pthread_t thread;
    void *said, *domain;
    assert_int_equal(listen("step"), 1);
    domain = make_domain("mine");
    assert_int_equal(push_a("a"), 0);
    assert_int_equal(push_w(L"step"), 1);
    assert_int_equal(push_in(domain, event(SPW_NVTX_TEXT, "b")), 0);
    assert_int_equal(push_in(NULL, event(SPW_NVTX_TEXT, "c")), 2);
    assert_int_equal(push_in(domain, event(SPW_NVTX_TEXT, "d")), 1);
    assert_int_equal(pthread_create(&thread, NULL, push_elsewhere, domain), 0);
    pthread_join(thread, &said);
    assert_int_equal((intptr_t)said, 0);
    assert_int_equal(pop(), 2);
    assert_int_equal(pop_in(domain), 1);
    assert_int_equal(pop_in(NULL), 1);
    assert_int_equal(pop(), 0);
    assert_true(pop() < 0);
    assert_int_equal(pop_in(domain), 0);
    for (int i = 0; i < 40; i++)
        domain = make_domain("one of many");
    assert_non_null(domain);
    assert_int_equal(push_in(domain, event(SPW_NVTX_TEXT, "step")), SPW_NVTX_NOT_TRACKED);
    assert_int_equal(pop_in(domain), SPW_NVTX_NOT_TRACKED);
    assert_int_equal(hints, 2);
}

static void ranges_that_end_by_number_have_their_own(void **state)
{
    assert_int_equal(listen("step"), 1);
    const uint64_t numbers[] = {start_a("a"), start_w(L"step"), start_ex(event(SPW_NVTX_TEXT, "step")),
                                start_in(NULL, event(0, NULL))};
    for (int i = 0; i < 4; i++)
        for (int k = 0; k < i; k++)
            assert_true(numbers[i] && numbers[k] && numbers[i] != numbers[k]);
}

/* An older NVTX has fewer calls, or slots that are empty; nothing is written beyond. */
static void an_nvtx_with_fewer_calls_gets_what_it_has(void **state)
{
    core_count = SPW_NVTX_RANGE_PUSH_W;
    domain_count = 0;
    core_slots[SPW_NVTX_RANGE_PUSH_EX] = NULL;
    assert_int_equal(listen("step"), 1);
    push_a("step");
    assert_int_equal(hints, 1);
    assert_true(core[SPW_NVTX_RANGE_PUSH_EX] == nothing && core[SPW_NVTX_RANGE_PUSH_W] == nothing);
    assert_true(domains[SPW_NVTX_DOMAIN_RANGE_PUSH_EX] == nothing);
    begin(state);
    callbacks.struct_bytes = sizeof(size_t);
    assert_int_equal(listen("step"), 0);
}

/* In mode trace, with a range to listen for, the variable is ours unless it is somebody else's. */
static void the_variable_is_set_where_nobody_has(void **state)
{
    setenv("SPILLWAY_MODE", "trace", 1);
    setenv("SPILLWAY_ITERATION_RANGE", "step", 1);
    spw_nvtx_offer();
    assert_non_null(getenv("NVTX_INJECTION64_PATH"));
    assert_int_equal(getenv("NVTX_INJECTION64_PATH")[0], '/');
    setenv("NVTX_INJECTION64_PATH", "/opt/profiler.so", 1);
    spw_nvtx_offer();
    assert_string_equal(getenv("NVTX_INJECTION64_PATH"), "/opt/profiler.so");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(nothing_is_taken_where_nobody_asked, begin),
        cmocka_unit_test_setup(only_ranges_texts_and_domains_are_taken, begin),
        cmocka_unit_test_setup(a_range_of_the_name_is_heard_in_every_way, begin),
        cmocka_unit_test_setup(events_without_a_name_are_let_by, begin),
        cmocka_unit_test_setup(a_star_at_the_end_stands_for_anything, begin),
        cmocka_unit_test_setup(depths_are_those_of_thread_and_domain, begin),
        cmocka_unit_test_setup(ranges_that_end_by_number_have_their_own, begin),
        cmocka_unit_test_setup(an_nvtx_with_fewer_calls_gets_what_it_has, begin),
        cmocka_unit_test_setup(the_variable_is_set_where_nobody_has, begin),
    };
    return cmocka_run_group_tests_name("nvtx", tests, NULL, NULL);
}
