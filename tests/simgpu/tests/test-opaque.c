/* test-opaque.c - what a kernel writes whose machine code is not carried out: a function of what it is given. */
#include "opaque_fixture.h"

CHILD_TEST(the_same_program_has_the_same_results_wherever_its_tensors_lie)
{
    uint64_t results[2];
    start();
    for (int i = 0; i < 2; i++) {
        (void)tensor(4096 * (size_t)(i + 1), 0);
        CUdeviceptr b = tensor(BYTES, 2), a = tensor(BYTES, 1), to = fresh(BYTES, i);
        if (i) /* in the other order */
            a = tensor(BYTES, 1);
        sum(to, a, b, 7);
        results[i] = digest(to, BYTES);
        assert_int_equal(digest(a, BYTES), digest(tensor(BYTES, 1), BYTES));
    }
    assert_int_equal(results[0], results[1]);
}

CHILD_TEST(every_byte_of_what_it_writes_is_written)
{
    unsigned char copy[2][999];
    start();
    CUdeviceptr a = tensor(64, 1);
    for (int i = 0; i < 2; i++) {
        CUdeviceptr to = fresh(999, i ? 0xFF : 0);
        sum(to, a, a, 7);
        OK(cuMemcpyDtoH(copy[i], to, 999));
    }
    assert_memory_equal(copy[0], copy[1], 999);
    for (int i = 0; i + 1 < 999; i += 2) {
        assert_in_range(copy[0][i + 1], 0x3c, 0x3d);
        if (i >= 16)
            assert_memory_not_equal(copy[0], copy[0] + i, 16);
    }
}

CHILD_TEST(another_byte_is_another_result_at_the_ends_and_on_every_page)
{
    start();
    CUdeviceptr a = tensor(BYTES, 1), b = tensor(BYTES, 2), to = fresh(BYTES, 0);
    sum(to, a, b, 7);
    const uint64_t before = digest(to, BYTES);
    const CUdeviceptr ends[] = {a, a + BYTES - 1, b, b + BYTES - 1};
    for (int i = 0; i < 4; i++) {
        to = fresh(BYTES, 0);
        poke(ends[i], 9);
        sum(to, a, b, 7);
        assert_int_not_equal(digest(to, BYTES), before);
        poke(ends[i], i < 2 ? 1 : 2);
    }
    for (unsigned page = 0; page < BYTES; page += 4096) {
        to = fresh(BYTES, 0);
        OK(cuMemsetD8(a + page, 9, BYTES - page < 4096 ? BYTES - page : 4096));
        sum(to, a, b, 7);
        assert_int_not_equal(digest(to, BYTES), before);
        OK(cuMemsetD8(a + page, 1, BYTES - page < 4096 ? BYTES - page : 4096));
    }
    to = fresh(BYTES, 0);
    sum(to, a, b, 7);
    assert_int_equal(digest(to, BYTES), before);
}

CHILD_TEST(another_number_place_or_grid_is_another_result)
{
    uint64_t results[5];
    start();
    CUdeviceptr a = tensor(BYTES, 1), b = tensor(BYTES, 2), to[5];
    for (int i = 0; i < 5; i++)
        to[i] = fresh(BYTES, 0);
    sum(to[0], a, b, 7);
    sum(to[1], a, b, 8);
    sum(to[2], b, a, 7);
    sum(to[3], a + 4, b, 7);
    int seven = 7;
    launch_on(function("sum"), 5, (void *[]){&to[4], &a, &b, &seven}, true);
    for (int i = 0; i < 5; i++)
        results[i] = digest(to[i], BYTES);
    for (int i = 0; i < 5; i++)
        for (int j = 0; j < i; j++)
            assert_int_not_equal(results[i], results[j]);
}

CHILD_TEST(what_was_written_before_is_changed_in_place)
{
    uint64_t results[2];
    start();
    CUfunction grow = function("grow");
    for (int i = 0; i < 2; i++) {
        CUdeviceptr x = fresh(BYTES, i);
        launch_on(grow, 1, (void *[]){&x}, true); /* does not see the rubbish */
        results[i] = digest(x, BYTES);
        launch_on(grow, 1, (void *[]){&x}, true);
        assert_int_not_equal(digest(x, BYTES), results[i]);
        poke(x, i);
        launch_on(grow, 1, (void *[]){&x}, true); /* sees what became of it */
        if (i)
            assert_int_not_equal(digest(x, BYTES), results[0]);
    }
    assert_int_equal(results[0], results[1]);
}

/* As with the workspace of a sort, of which a set clears some counters, and nobody says who fills the rest. */
CHILD_TEST(what_nobody_has_written_of_a_tensor_is_not_read)
{
    enum { SET = 100, AT = 4096 + 8 };
    uint64_t results[3];
    start();
    for (int i = 0; i < 3; i++) {
        CUdeviceptr x = fresh(BYTES, i), to = fresh(BYTES, 0);
        OK(cuMemsetD8(x + AT, 7, SET));
        assert_int_equal(tell_written(x + AT, SET / 2, 0), 0);
        assert_int_equal(tell_written(x + AT + SET / 2, SET - SET / 2, 0), 0);
        if (i == 2)
            poke(x + BYTES - 1, 9); /* nobody's */
        sum(to, x, x, 7);
        results[i] = digest(to, BYTES);
        launch_on(function("grow"), 1, (void *[]){&x}, true);
        results[i] ^= digest(x, BYTES);
        OK(cuMemFree(x));
    }
    assert_int_equal(results[0], results[1]);
    assert_int_equal(results[0], results[2]);
}

/* Short enough to be looked at byte by byte. */
CHILD_TEST(of_a_short_tensor_each_byte_counts_that_was_written)
{
    uint64_t results[4];
    start();
    for (int i = 0; i < 4; i++) {
        CUdeviceptr x = fresh(16, i == 1 ? 0x55 : 0), to = fresh(BYTES, 0);
        assert_int_equal(tell_written(x + 3, 2, 0), 0);
        poke(x + 3, i == 2 ? 9 : 1);
        poke(x + 4, i == 3 ? 9 : 1);
        sum(to, x, x, 7);
        results[i] = digest(to, BYTES);
    }
    assert_int_equal(results[0], results[1]);
    assert_int_not_equal(results[0], results[2]);
    assert_int_not_equal(results[0], results[3]);
}

CHILD_TEST(what_is_allocated_anew_is_written_by_nobody)
{
    uint64_t results[2];
    start();
    CUdeviceptr x = tensor(BYTES, 1), to;
    for (int i = 0; i < 2; i++) {
        assert_int_equal(tell_gone(x), 0);
        assert_int_equal(tell_made(x, BYTES), 0);
        OK(cuMemsetD8(x, (unsigned char)i, BYTES));
        assert_int_equal(tell_written(x, 16, 0), 0);
        OK(cuMemsetD8(x, 3, 16));
        sum(to = fresh(BYTES, 0), x, x, 7);
        results[i] = digest(to, BYTES);
    }
    assert_int_equal(results[0], results[1]);
}

/* What `sum` makes of a tensor of that size with one byte changed. */
static uint64_t sum_with(CUdeviceptr a, size_t bytes, size_t changed)
{
    CUdeviceptr to = fresh(BYTES, 0);
    poke(a + changed, 9);
    sum(to, a, a, 7);
    poke(a + changed, 1);
    assert_true(changed < bytes);
    return digest(to, BYTES);
}

CHILD_TEST(a_byte_tells_in_tensors_of_any_size_at_their_ends)
{
    static const size_t sizes[] = {1, 7, 31, 32, 33, 4096, 2 * 4096, 2 * 4096 + 8};
    start();
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        CUdeviceptr a = tensor(sizes[i], 1), to = fresh(BYTES, 0);
        sum(to, a, a, 7);
        const uint64_t before = digest(to, BYTES);
        assert_int_not_equal(sum_with(a, sizes[i], 0), before);
        assert_int_not_equal(sum_with(a, sizes[i], sizes[i] - 1), before);
        assert_int_not_equal(sum_with(a, sizes[i], sizes[i] / 2), sizes[i] < 32 ? before : 0);
    }
}

CHILD_TEST(the_first_page_tells_beside_its_first_bytes)
{
    start();
    CUdeviceptr a = tensor(BYTES, 1), first = fresh(BYTES, 0), second = fresh(BYTES, 0);
    sum(first, a, a, 7);
    OK(cuMemsetD8(a + 16, 9, 4096 - 16));
    sum(second, a, a, 7);
    assert_int_not_equal(digest(first, BYTES), digest(second, BYTES));
}

CHILD_TEST(what_is_made_where_others_were_ends_them)
{
    start();
    CUdeviceptr whole = tensor(BYTES, 1), to = fresh(BYTES, 0);
    assert_int_equal(tell_made(whole, 4096), 0); /* nobody said that the whole was given back */
    assert_int_equal(tell_made(whole + 4096, BYTES - 4096), 0);
    launch_on(function("grow"), 1, (void *[]){&whole}, true);
    const uint64_t rest = digest(whole + 4096, BYTES - 4096);
    assert_int_equal(rest, digest(tensor(BYTES - 4096, 1), BYTES - 4096));
    launch_on(function("grow"), 1, (void *[]){&to}, true);
    assert_int_not_equal(digest(whole, 4096), digest(to, 4096)); /* of another size */
}

static void part(CUdeviceptr to, struct rows written, CUdeviceptr from, struct rows read)
{
    launch_on(function("part"), 1, (void *[]){&to, &from, &(struct rows[2]){written, read}}, true);
}

static const struct rows row = {512, 1, 0, 1, 0}, four_rows = {8, 2, 32, 2, 128};

static unsigned char *bytes_of(CUdeviceptr p)
{
    static unsigned char copy[BYTES];
    OK(cuMemcpyDtoH(copy, p, sizeof copy));
    return copy;
}

CHILD_TEST(of_a_part_these_rows_are_written_and_no_other_byte)
{
    static const unsigned starts[] = {40, 72, 168, 200};
    start();
    CUdeviceptr to = tensor(BYTES, 0xAA), from = tensor(BYTES, 1);
    part(to + 40, four_rows, from, row);
    const unsigned char *bytes = bytes_of(to);
    for (unsigned i = 0; i < BYTES; i++) {
        bool inside = false;
        for (int r = 0; r < 4; r++)
            inside |= i >= starts[r] && i < starts[r] + 8;
        if (!inside)
            assert_int_equal(bytes[i], 0xAA);
        else if (i % 2)
            assert_in_range(bytes[i], 0x3c, 0x3d);
    }
    part(to + 40, four_rows, from, row); /* now the same, from what it was given alone */
    const uint64_t first = digest(to, BYTES);
    OK(cuMemsetD8(to + 40, 0x77, 8));
    part(to + 40, four_rows, from, row);
    assert_int_equal(digest(to, BYTES), first);
}

CHILD_TEST(of_a_part_these_rows_are_read_and_no_other_byte)
{
    uint64_t results[4];
    start();
    CUdeviceptr from = tensor(BYTES, 1);
    for (int i = 0; i < 4; i++) {
        CUdeviceptr to = fresh(BYTES, 0);
        if (i == 1)
            OK(cuMemsetD8(from + 48, 9, 24)); /* between two rows */
        if (i == 2)
            poke(from + 200, 9);
        if (i == 3)
            poke(from + 207, 9);
        part(to, row, from + 40, four_rows);
        results[i] = digest(to, 512);
    }
    assert_int_equal(results[0], results[1]);
    assert_int_not_equal(results[1], results[2]);
    assert_int_not_equal(results[2], results[3]);
}

CHILD_TEST(of_a_part_the_bytes_count_that_were_written)
{
    uint64_t results[3];
    start();
    for (int i = 0; i < 3; i++) {
        CUdeviceptr x = fresh(BYTES, i), to = fresh(BYTES, 0), from = tensor(BYTES, 1);
        part(x + 64, row, from, row); /* that is all that anybody writes */
        if (i == 2)
            poke(x + 64 + 511, 9);
        sum(to, x, x, 7);
        part(to, row, x, (struct rows){64 + 512, 1, 0, 1, 0});
        results[i] = digest(to, 512);
    }
    assert_int_equal(results[0], results[1]);
    assert_int_not_equal(results[0], results[2]);
}

CHILD_TEST(a_part_of_no_bytes_is_nothing_and_one_of_too_many_the_whole)
{
    start();
    CUdeviceptr to = tensor(BYTES, 0xAA), from = tensor(BYTES, 1);
    const uint64_t before = digest(to, BYTES);
    part(to, (struct rows){0, 4, 8, 1, 0}, from, (struct rows){0});
    part(to, (struct rows){8, 0, 8, 1, 0}, from, (struct rows){8, 1, 0, 0, 0});
    assert_int_equal(digest(to, BYTES), before);
    part(to, row, from, (struct rows){8, UINT64_MAX / 2, 32, 2, 128});
    const uint64_t first = digest(to, BYTES);
    poke(from + BYTES - 1, 9);
    part(to, row, from, (struct rows){8, UINT64_MAX / 2, 32, 2, 128});
    assert_int_not_equal(digest(to, BYTES), first);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_same_program_has_the_same_results_wherever_its_tensors_lie),
        cmocka_unit_test(every_byte_of_what_it_writes_is_written),
        cmocka_unit_test(another_byte_is_another_result_at_the_ends_and_on_every_page),
        cmocka_unit_test(a_byte_tells_in_tensors_of_any_size_at_their_ends),
        cmocka_unit_test(the_first_page_tells_beside_its_first_bytes),
        cmocka_unit_test(what_is_made_where_others_were_ends_them),
        cmocka_unit_test(another_number_place_or_grid_is_another_result),
        cmocka_unit_test(what_was_written_before_is_changed_in_place),
        cmocka_unit_test(what_nobody_has_written_of_a_tensor_is_not_read),
        cmocka_unit_test(of_a_short_tensor_each_byte_counts_that_was_written),
        cmocka_unit_test(what_is_allocated_anew_is_written_by_nobody),
        cmocka_unit_test(of_a_part_these_rows_are_written_and_no_other_byte),
        cmocka_unit_test(of_a_part_these_rows_are_read_and_no_other_byte),
        cmocka_unit_test(of_a_part_the_bytes_count_that_were_written),
        cmocka_unit_test(a_part_of_no_bytes_is_nothing_and_one_of_too_many_the_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
