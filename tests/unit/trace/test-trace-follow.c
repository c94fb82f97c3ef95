/* test-trace-follow.c - what of a trace's records an operation is recognised by. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "follow.h"

enum { WEIGHTS = 18, STEPS = 12 };

struct tracing {
    struct spw_trace_follow *follow;
    uint64_t ids, ops;
    uint32_t function;
    struct spw_iteration_place place; /* of the latest operation */
};

static uint64_t allocate(struct tracing *t, uint64_t bytes)
{
    const struct spw_record_alloc a = {.id = ++t->ids, .bytes = bytes, .kind = SPW_ALLOC_ASYNC};
    assert_int_equal(spw_follow_alloc(t->follow, &a), 0);
    return a.id;
}

/* A kernel on a weight, and on what a word of its parameters looks like. */
static void launch(struct tracing *t, uint64_t weight, uint64_t weight_bytes, struct spw_touch other, uint64_t other_bytes)
{
    const struct spw_touch touches[] = {{.alloc = weight, .access = SPW_ACCESS_BOTH}, other};
    const struct spw_iteration_touch told[] = {{.alloc = weight, .bytes = weight_bytes},
                                               {.alloc = other.alloc, .bytes = other_bytes, .offset = other.offset}};
    const struct spw_record_op op = {.kind = SPW_OP_LAUNCH,
                                     .function = t->function,
                                     .grid = {1, 1, 1},
                                     .block = {32, 1, 1},
                                     .touch_count = 2,
                                     .touches = touches};
    assert_int_equal(spw_follow_op(t->follow, t->ops++, &op, told, &t->place), 0);
}

/* Steps in which each kernel touches something else every time, at that place in it. */
static enum spw_iteration_sure find(uint64_t offset, enum spw_access access)
{
    struct tracing t = {0};
    uint64_t weights[WEIGHTS], others[STEPS];
    assert_int_equal(spw_follow_create(SPW_FOLLOW_BY_ALL, 1 << 12, &t.follow), 0);
    for (unsigned w = 0; w < WEIGHTS; w++)
        weights[w] = allocate(&t, 4096 * (w + 1));
    for (unsigned i = 0; i < STEPS; i++)
        others[i] = allocate(&t, 512 * (i + 1));
    for (unsigned step = 0; step < STEPS; step++)
        for (unsigned w = 0; w < WEIGHTS; w++)
            launch(&t, weights[w], 4096 * (w + 1),
                   (struct spw_touch){.alloc = others[step], .offset = offset, .access = access}, 512 * (step + 1));
    const enum spw_iteration_sure sure = t.place.sure;
    spw_follow_destroy(t.follow);
    return sure;
}

static void an_operation_is_recognised_by_all_addresses_that_are_those_of_numbers(void **state)
{
    assert_int_equal(find(0, SPW_ACCESS_BOTH), SPW_ITERATION_NO);
    assert_int_equal(find(4 * 1001, SPW_ACCESS_BOTH), SPW_ITERATION_NO);
}

/* A type in the lowest byte, and the rest never written: 0x000000040ab63006. */
static void none_by_what_looks_like_an_address_and_is_none_of_a_number(void **state)
{
    assert_int_equal(find(11940358, SPW_ACCESS_BOTH), SPW_ITERATION_SURE);
    assert_int_equal(find(11940355, SPW_ACCESS_BOTH), SPW_ITERATION_SURE);
    assert_int_equal(find(0, SPW_ACCESS_BOTH | SPW_ACCESS_LOOSE), SPW_ITERATION_SURE);
}

static void by_kernels_whatever_the_sizes_are(void **state)
{
    const enum spw_follow_by ways[] = {SPW_FOLLOW_BY_ALL, SPW_FOLLOW_BY_KERNELS};
    for (int way = 0; way < 2; way++) {
        struct tracing t = {0};
        uint64_t operations;
        assert_int_equal(spw_follow_create(ways[way], 1 << 12, &t.follow), 0);
        for (unsigned f = 0; f < WEIGHTS; f++)
            assert_int_equal(spw_follow_function(t.follow, f, (char[]){(char)('a' + f), 0}), 0);
        const uint64_t weight = allocate(&t, 4096);
        for (unsigned step = 0; step < STEPS; step++)
            for (t.function = 0; t.function < WEIGHTS; t.function++) {
                const uint64_t bytes = 512 * (1 + (step * step + t.function) % 97), made = allocate(&t, bytes);
                launch(&t, weight, 4096, (struct spw_touch){.alloc = made, .access = SPW_ACCESS_BOTH}, bytes);
                assert_int_equal(spw_follow_free(t.follow, made), 0);
            }
        assert_int_equal(t.place.sure, way ? SPW_ITERATION_SURE : SPW_ITERATION_NO);
        assert_int_equal(spw_follow_seen(t.follow, &operations) >= SPW_FOLLOW_OFTEN, way);
        spw_follow_destroy(t.follow);
    }
}

static void kernels_alone_have_to_explain_half_as_much_again(void **state)
{
    assert_true(spw_follow_explains_more(600, 0));
    assert_true(spw_follow_explains_more(606, 400));
    assert_false(spw_follow_explains_more(600, 400));
    assert_false(spw_follow_explains_more(0, 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_operation_is_recognised_by_all_addresses_that_are_those_of_numbers),
        cmocka_unit_test(none_by_what_looks_like_an_address_and_is_none_of_a_number),
        cmocka_unit_test(by_kernels_whatever_the_sizes_are),
        cmocka_unit_test(kernels_alone_have_to_explain_half_as_much_again),
    };
    return cmocka_run_group_tests_name("trace-follow", tests, NULL, NULL);
}
