/* test-rebuild.c - which operations it takes to make something again, of a few that were kept of blocks X, Y, Z and a slot.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "rebuild.h"
#include "slab.h"

enum { OPS = 24, TOUCHES = 4 };

static struct spw_recorded_op ops[OPS];
static struct spw_recorded_op_touch touches[OPS][TOUCHES];
static unsigned count;
static uint64_t clock_now;
static struct spw_block blocks[3];
static struct spw_slot slot;
static struct spw_recorded_op *maker[3]; /* of each block: what wrote to it last, all before being known */
static uint64_t version[3];
static struct spw_rebuild rebuild;

enum { X, Y, Z, SLOT };

static struct spw_recorded_op *begin_op(void)
{
    struct spw_recorded_op *op = &ops[count];
    *op = (struct spw_recorded_op){.order = count, .touches = touches[count]};
    count++;
    return op;
}

static struct spw_recorded_op_touch *touch(struct spw_recorded_op *op, unsigned what, uint8_t access)
{
    struct spw_recorded_op_touch *t = &op->touches[op->touch_count++];
    *t = (struct spw_recorded_op_touch){.access = access};
    t->block = what == SLOT ? NULL : &blocks[what];
    t->what = what == SLOT ? &slot.content : &blocks[what].content;
    t->before = t->after = what == SLOT ? 0 : version[what];
    return t;
}

static void reads(struct spw_recorded_op *op, unsigned what)
{
    (void)touch(op, what, SPW_RECORDED_OP_READS);
}

/* Nothing was written there before. */
static void makes(struct spw_recorded_op *op, unsigned what)
{
    struct spw_recorded_op_touch *t = touch(op, what, SPW_RECORDED_OP_WRITES);
    t->whole = true;
    t->after = version[what] = ++clock_now;
    maker[what] = op;
}

static void updates(struct spw_recorded_op *op, unsigned what)
{
    struct spw_recorded_op_touch *t = touch(op, what, SPW_RECORDED_OP_READS | SPW_RECORDED_OP_WRITES);
    if (what == SLOT)
        return;
    t->previous = maker[what];
    t->after = version[what] = ++clock_now;
    maker[what] = op;
}

static int begin(void **state)
{
    (void)state;
    count = 0;
    clock_now = 0;
    memset(touches, 0, sizeof(touches));
    memset(maker, 0, sizeof(maker));
    memset(version, 0, sizeof(version));
    return 0;
}

static void expect_ops(unsigned n, const unsigned *expected)
{
    assert_int_equal(rebuild.op_count, n);
    for (unsigned i = 0; i < n; i++)
        assert_ptr_equal(rebuild.ops[i], &ops[expected[i]]);
}
#define EXPECT_OPS(...) expect_ops(sizeof((unsigned[]){__VA_ARGS__}) / sizeof(unsigned), (unsigned[]){__VA_ARGS__})

static void expect_part(unsigned what, unsigned writers, uint64_t holds)
{
    const struct spw_rebuild_part *p = spw_rebuild_part_of(&rebuild, &blocks[what].content);
    assert_non_null(p);
    assert_int_equal(p->writers, writers);
    assert_int_equal(p->version, holds);
}

static void what_was_fresh_takes_its_one_writer(void **state)
{
    (void)state;
    struct spw_recorded_op *op = begin_op();
    reads(op, X);
    makes(op, Y);
    updates(op, SLOT);
    assert_true(spw_rebuild_find(op, &rebuild));
    EXPECT_OPS(0);
    expect_part(X, 0, 0);
    expect_part(Y, 1, 1);
    assert_int_equal(rebuild.part_count, 2);
    assert_true(spw_rebuild_touches(&rebuild, &slot.content));
    assert_false(spw_rebuild_touches(&rebuild, &blocks[Z].content));
}

/* A memset, a scatter and an activation in place. */
static void what_was_updated_takes_all_writers_in_their_order(void **state)
{
    (void)state;
    makes(begin_op(), Y);
    struct spw_recorded_op *scatter = begin_op();
    reads(scatter, X);
    updates(scatter, Y);
    (void)begin_op(); /* something else */
    struct spw_recorded_op *activation = begin_op();
    updates(activation, Y);
    assert_true(spw_rebuild_find(activation, &rebuild));
    EXPECT_OPS(0, 1, 3);
    expect_part(Y, 3, 3);
    expect_part(X, 0, 0);
    assert_true(spw_rebuild_find(scatter, &rebuild));
    EXPECT_OPS(0, 1);
}

static void an_unknown_content_cannot_be_made(void **state)
{
    (void)state;
    struct spw_recorded_op *op = begin_op();
    updates(op, Y);
    makes(op, Z);
    assert_false(spw_rebuild_find(op, &rebuild)); /* Z neither: Y would be updated twice */
}

/* An accumulating output beside a new one: what made it so far runs as well. */
static void another_output_takes_its_writers_along(void **state)
{
    (void)state;
    makes(begin_op(), Y);
    struct spw_recorded_op *op = begin_op();
    updates(op, Y);
    makes(op, Z);
    assert_true(spw_rebuild_find(op, &rebuild));
    EXPECT_OPS(0, 1);
    expect_part(Y, 2, 2);
    expect_part(Z, 1, 3);
}

/* Y = f(X), then X is updated with Y: X of then is made on the way. */
static void what_is_updated_later_is_made_as_it_was_first(void **state)
{
    (void)state;
    makes(begin_op(), X);
    struct spw_recorded_op *y = begin_op();
    reads(y, X);
    makes(y, Y);
    struct spw_recorded_op *op = begin_op();
    reads(op, Y);
    updates(op, X);
    assert_true(spw_rebuild_find(op, &rebuild));
    EXPECT_OPS(0, 2);
    expect_part(X, 2, 3);
    expect_part(Y, 0, 2);
    assert_true(spw_rebuild_find(y, &rebuild)); /* whether X is at that version the ledger knows */
    EXPECT_OPS(1);
}

static void what_was_read_and_then_overwritten_cannot_be_read_again(void **state)
{
    (void)state;
    struct spw_recorded_op *first = begin_op();
    reads(first, X);
    makes(first, Y);
    struct spw_recorded_op *second = begin_op();
    makes(second, X); /* a memset of all of it */
    updates(second, Y);
    assert_false(spw_rebuild_find(second, &rebuild));
}

static void between_two_updates_it_is_what_the_first_left(void **state)
{
    (void)state;
    makes(begin_op(), X);
    makes(begin_op(), Y);
    struct spw_recorded_op *op = begin_op();
    reads(op, X);
    updates(op, Y);
    struct spw_recorded_op *last = begin_op();
    updates(last, X);
    updates(last, Y);
    assert_true(spw_rebuild_find(last, &rebuild));
    EXPECT_OPS(0, 1, 2, 3);
    touches[2][0].before = 77; /* it read X at another time than between 0 and 3 */
    assert_false(spw_rebuild_find(last, &rebuild));
}

static void somebody_else_at_that_address_is_not_meant(void **state)
{
    (void)state;
    makes(begin_op(), Y);
    struct spw_recorded_op *op = begin_op();
    updates(op, Y);
    touches[0][0].serial = 5;
    assert_false(spw_rebuild_find(op, &rebuild));
}

static void other_contexts_and_too_many_writers_are_refused(void **state)
{
    (void)state;
    makes(begin_op(), Y);
    for (unsigned i = 1; i < OPS; i++)
        updates(begin_op(), Y);
    assert_true(spw_rebuild_find(&ops[OPS - 1], &rebuild));
    assert_int_equal(rebuild.op_count, OPS);
    assert_true((int)OPS <= (int)SPW_REBUILD_OPS);
    ops[3].context = (CUcontext)0x10;
    assert_false(spw_rebuild_find(&ops[OPS - 1], &rebuild));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup(name, begin)
    const struct CMUnitTest tests[] = {
        TEST(what_was_fresh_takes_its_one_writer),
        TEST(what_was_updated_takes_all_writers_in_their_order),
        TEST(an_unknown_content_cannot_be_made),
        TEST(another_output_takes_its_writers_along),
        TEST(what_is_updated_later_is_made_as_it_was_first),
        TEST(what_was_read_and_then_overwritten_cannot_be_read_again),
        TEST(between_two_updates_it_is_what_the_first_left),
        TEST(somebody_else_at_that_address_is_not_meant),
        TEST(other_contexts_and_too_many_writers_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
