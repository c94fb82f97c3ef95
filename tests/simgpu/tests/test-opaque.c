/* test-opaque.c - what a kernel writes whose machine code is not carried out: a function of what it is given. */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "../program.h"
#include "device.h"

enum { BYTES = 3 * 4096 + 100, LISTED = 4 };

static const char table[] =
    "simgpu-layouts 1 for a test\n"
    "sum bytes=28 shared=0 registers=32 params=0:8,8:8,16:8,24:4 uses=0:8:writes,8:8:reads,16:8:reads,24:4:value\n"
    "grow bytes=8 shared=0 registers=32 params=0:8 uses=0:8:writes\n"
    "some bytes=40 shared=16 registers=32 params=0:40 uses=0:32:words/1\n"
    "apart bytes=40 shared=0 registers=32 params=0:40 uses=0:32:addresses/1\n"
    "unsaid bytes=16 shared=0 registers=32 params=0:16 uses=0:16:addresses/0\n"
    "many bytes=72 shared=0 registers=32 params=0:72 uses=0:64:tensors/2/4/2/64/1\n"
    "wide bytes=72 shared=0 registers=32 params=0:72 uses=0:64:tensors/2/4/2/64/2\n"
    "along bytes=72 shared=0 registers=32 params=0:72 uses=0:64:tensors/2/4/2/x\n"
    "rows bytes=72 shared=0 registers=32 params=0:72 uses=0:64:tensors/2/4/2/y\n"
    "costly bytes=16 shared=0 registers=32 params=0:8,8:8 uses=0:8:writes,8:8:flops\n"
    "part bytes=96 shared=0 registers=32 params=0:8,8:8,16:80 uses=0:8:overwrites/16,8:8:reads/56,16:80:value\n"
    "far_part bytes=48 shared=0 registers=32 params=0:8,8:40 uses=0:8:reads/16\n"
    "no_bytes shared=0 registers=32 params=- uses=-\n"
    "no_shared bytes=8 registers=32 params=0:8 uses=-\n"
    "outside bytes=8 shared=0 registers=32 params=4:8 uses=-\n"
    "beyond bytes=8 shared=0 registers=32 params=0:8 uses=4:8:value\n"
    "unheard bytes=8 shared=0 registers=32 params=0:8 uses=0:8:eats\n"
    "halved bytes=8 shared=0 registers=32 params=0:8 uses=0:4:reads\n"
    "wrong_lists bytes=72 shared=0 registers=32 params=0:72 uses=0:64:tensors/2/5/2/64/1\n"
    "wrong_blocks bytes=72 shared=0 registers=32 params=0:72 uses=0:64:tensors/2/4/2/72/1\n"
    "nothing bytes=0 shared=0 registers=32 params=- uses=-\n";

static CUmodule code;
static simgpu_tensor_made *tell_made;
static simgpu_tensor_gone *tell_gone;
static simgpu_tensor_written *tell_written;
static simgpu_launch_coming *tell_coming;

static void *ask(const char *name)
{
    CUdriverProcAddressQueryResult status;
    void *call = NULL;
    OK(cuGetProcAddress(name, &call, CUDA_VERSION, CU_GET_PROC_ADDRESS_DEFAULT, &status));
    assert_int_equal(status, CU_GET_PROC_ADDRESS_SUCCESS);
    return call;
}

static void start(void)
{
    device_start();
    OK(cuModuleLoadData(&code, table));
    tell_made = (simgpu_tensor_made *)ask("simgpu_tensor_made");
    tell_gone = (simgpu_tensor_gone *)ask("simgpu_tensor_gone");
    tell_written = (simgpu_tensor_written *)ask("simgpu_tensor_written");
    tell_coming = (simgpu_launch_coming *)ask("simgpu_launch_coming");
}

static CUfunction function(const char *name)
{
    CUfunction f;
    OK(cuModuleGetFunction(&f, code, name));
    return f;
}

/* Memory with something in it, as a program has it that was told of it. */
static CUdeviceptr tensor(size_t bytes, int byte)
{
    CUdeviceptr p;
    OK(cuMemAlloc(&p, bytes));
    OK(cuMemsetD8(p, (unsigned char)byte, bytes));
    assert_int_equal(tell_made(p, bytes), 0);
    assert_int_equal(tell_written(p, bytes, 0), 0);
    return p;
}

/* The same, and nobody has written to it as far as the program knows. */
static CUdeviceptr fresh(size_t bytes, int rubbish)
{
    CUdeviceptr p;
    OK(cuMemAlloc(&p, bytes));
    OK(cuMemsetD8(p, (unsigned char)rubbish, bytes));
    assert_int_equal(tell_made(p, bytes), 0);
    return p;
}

static void launch_on(CUfunction f, unsigned blocks, void **params, bool announced)
{
    const unsigned grid[] = {blocks, 1, 1}, block[] = {32, 1, 1};
    if (announced)
        assert_int_equal(tell_coming(f, grid, block, params), 0);
    OK(cuLaunchKernel(f, blocks, 1, 1, 32, 1, 1, 0, NULL, params, NULL));
    OK(cuCtxSynchronize());
}

static void sum(CUdeviceptr to, CUdeviceptr a, CUdeviceptr b, int number)
{
    launch_on(function("sum"), 4, (void *[]){&to, &a, &b, &number}, true);
}

static uint64_t digest(CUdeviceptr p, size_t bytes)
{
    static unsigned char copy[1 << 16];
    uint64_t digest = 1;
    assert_true(bytes <= sizeof copy);
    OK(cuMemcpyDtoH(copy, p, bytes));
    for (size_t i = 0; i < bytes; i++)
        digest = (digest ^ copy[i]) * 0x100000001b3u;
    return digest;
}

static void poke(CUdeviceptr p, int byte)
{
    unsigned char value = (unsigned char)byte;
    OK(cuMemcpyHtoD(p, &value, 1));
}

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

struct rows {
    uint64_t row_bytes, rows, pitch, slices, slice_pitch;
};

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

struct some {
    CUdeviceptr to, from;
    uint64_t number, more, padding;
};

static uint64_t some(const char *name, struct some s)
{
    launch_on(function(name), 1, (void *[]){&s}, true);
    return digest(s.to, BYTES);
}

CHILD_TEST(words_are_addresses_where_they_lead_to_tensors_and_numbers_elsewhere)
{
    start();
    CUdeviceptr from = tensor(BYTES, 1);
    const uint64_t first = some("some", (struct some){fresh(BYTES, 0), from, 1, 2, 3});
    assert_int_equal(some("some", (struct some){fresh(BYTES, 0), from, 1, 2, 4}), first); /* no use names the padding */
    assert_int_not_equal(some("some", (struct some){fresh(BYTES, 0), from, 2, 2, 3}), first);
    assert_int_not_equal(some("some", (struct some){fresh(BYTES, 0), from, from, 2, 3}), first);
    assert_int_equal(digest(from, BYTES), digest(tensor(BYTES, 1), BYTES));

    const uint64_t apart = some("apart", (struct some){fresh(BYTES, 0), from, 1, 2, 3});
    assert_int_equal(some("apart", (struct some){fresh(BYTES, 0), from, 9, 9, 9}), apart);
    poke(from, 9);
    assert_int_not_equal(some("apart", (struct some){fresh(BYTES, 0), from, 1, 2, 3}), apart);
}

CHILD_TEST(where_nothing_is_known_to_be_written_the_youngest_is)
{
    start();
    CUdeviceptr old = tensor(BYTES, 1), young = tensor(BYTES, 1);
    const uint64_t before = digest(old, BYTES);
    struct {
        CUdeviceptr a, b;
    } both = {young, old};
    launch_on(function("unsaid"), 1, (void *[]){&both}, true);
    assert_int_equal(digest(old, BYTES), before);
    assert_int_not_equal(digest(young, BYTES), before);
    both.a = old;
    both.b = young = tensor(BYTES, 1);
    launch_on(function("unsaid"), 1, (void *[]){&both}, true);
    assert_int_equal(digest(old, BYTES), before);
    assert_int_not_equal(digest(young, BYTES), before);
}

struct many {
    CUdeviceptr lists[2][LISTED];
    unsigned char blocks[8];
};

static void launch_many(const char *name, unsigned rows, struct many *m)
{
    void *params[] = {m};
    const unsigned grid[] = {3, rows, 1}, block[] = {32, 1, 1};
    for (int list = 0; list < 2; list++)
        for (int i = 0; i < LISTED; i++)
            m->lists[list][i] = tensor(BYTES, 1);
    assert_int_equal(tell_coming(function(name), grid, block, params), 0);
    OK(cuLaunchKernel(function(name), 3, rows, 1, 32, 1, 1, 0, NULL, params, NULL));
    OK(cuCtxSynchronize());
}

/* Which of them the launch wrote, one bit each; it may write the second list only. */
static unsigned written_by(const char *name, unsigned rows, struct many m)
{
    unsigned written = 0;
    launch_many(name, rows, &m);
    const uint64_t before = digest(tensor(BYTES, 1), BYTES);
    for (unsigned i = 0; i < LISTED; i++) {
        assert_int_equal(digest(m.lists[0][i], BYTES), before);
        written |= (digest(m.lists[1][i], BYTES) != before) << i;
    }
    return written;
}

CHILD_TEST(of_lists_only_those_count_that_a_block_works_on)
{
    start();
    /* The fourth block's number is rubbish. */
    assert_int_equal(written_by("many", 1, (struct many){.blocks = {0, 2, 2, 1}}), 1 << 0 | 1 << 2);
    assert_int_equal(written_by("wide", 1, (struct many){.blocks = {1, 0, 3, 0, 1, 0, 2, 0}}), 1 << 1 | 1 << 3);
    assert_int_equal(written_by("wide", 1, (struct many){.blocks = {1, 1, 0, 2, 3, 0}}), 1 << 3); /* beyond the lists */
    assert_int_equal(written_by("along", 1, (struct many){.blocks = {3, 3}}), 1 << 0 | 1 << 1 | 1 << 2);
    assert_int_equal(written_by("rows", 2, (struct many){.blocks = {3, 3}}), 1 << 0 | 1 << 1);
}

CHILD_TEST(what_a_list_is_given_tells_in_each_of_its_tensors)
{
    struct many m = {.blocks = {0, 2, 2}};
    start();
    launch_many("many", 1, &m);
    assert_int_not_equal(digest(m.lists[1][0], BYTES), digest(m.lists[1][2], BYTES));
}

CHILD_TEST(a_launch_made_once_more_does_what_the_first_did)
{
    start();
    CUdeviceptr a = tensor(BYTES, 1), b = tensor(BYTES, 2), to = fresh(BYTES, 0);
    int number = 7;
    void *params[] = {&to, &a, &b, &number};
    launch_on(function("sum"), 4, params, true);
    const uint64_t first = digest(to, BYTES);
    assert_int_equal(tell_gone(a), 0); /* the program is through with it, who launches again is not */
    assert_int_equal(tell_made(a, 4096), 0);
    OK(cuMemsetD8(to, 0x55, BYTES)); /* nor does the program know of this */
    launch_on(function("sum"), 4, params, false);
    assert_int_equal(digest(to, BYTES), first);
    launch_on(function("sum"), 4, params, true);
    assert_int_not_equal(digest(to, BYTES), first);
}

/* Whoever makes it may have left out what nobody looks at. */
CHILD_TEST(a_launch_made_once_more_is_known_by_what_counts)
{
    start();
    struct {
        CUdeviceptr words[4], unused;
    } s = {{fresh(BYTES, 0), tensor(BYTES, 1), 3, 4}, 5};
    launch_on(function("some"), 1, (void *[]){&s}, true);
    const uint64_t first = digest(s.words[0], BYTES);
    s.unused = 0;
    launch_on(function("some"), 1, (void *[]){&s}, false);
    assert_int_equal(digest(s.words[0], BYTES), first);
    s.words[3] = 0;
    launch_on(function("some"), 1, (void *[]){&s}, false);
    assert_int_not_equal(digest(s.words[0], BYTES), first);
}

CHILD_TEST(a_launch_of_lists_made_once_more_is_known_by_what_blocks_work_on)
{
    start();
    struct many m = {.blocks = {0, 2, 2}};
    for (int i = 0; i < LISTED; i++) {
        m.lists[0][i] = tensor(BYTES, 1);
        m.lists[1][i] = fresh(BYTES, 0);
    }
    launch_on(function("many"), 3, (void *[]){&m}, true);
    const uint64_t first = digest(m.lists[1][2], BYTES);
    m.lists[0][1] = m.lists[1][3] = m.blocks[4] = 0;
    launch_on(function("many"), 3, (void *[]){&m}, false);
    assert_int_equal(digest(m.lists[1][2], BYTES), first);
    m.lists[0][2] = m.lists[0][0];
    launch_on(function("many"), 3, (void *[]){&m}, false);
    assert_int_not_equal(digest(m.lists[1][2], BYTES), first);
}

CHILD_TEST(what_nobody_announced_is_the_same_launch_while_its_tensors_are_there_or_gone)
{
    start();
    CUdeviceptr a = tensor(BYTES, 1), to = fresh(BYTES, 0);
    int number = 7;
    void *params[] = {&to, &a, &a, &number};
    launch_on(function("sum"), 4, params, false);
    const uint64_t first = digest(to, BYTES);
    OK(cuMemsetD8(to, 0x55, BYTES)); /* was not read the first time, since nobody had written it */
    launch_on(function("sum"), 4, params, false);
    assert_int_equal(digest(to, BYTES), first);
    assert_int_equal(tell_gone(a), 0);
    assert_int_equal(tell_gone(to), 0);
    OK(cuMemsetD8(to, 0x55, BYTES));
    launch_on(function("sum"), 4, params, false);
    assert_int_equal(digest(to, BYTES), first);
}

CHILD_TEST(what_nobody_announced_is_another_launch_with_other_tensors_at_the_addresses)
{
    start();
    CUdeviceptr x = fresh(BYTES, 0);
    void *params[] = {&x};
    launch_on(function("grow"), 1, params, false);
    const uint64_t all = digest(x, BYTES);
    for (int again = 0; again < 2; again++) { /* as a step does after a step, with the same sizes as before */
        assert_int_equal(tell_gone(x), 0);
        assert_int_equal(tell_made(x, 4096), 0);
        OK(cuMemsetD8(x, 0x55, BYTES));
        launch_on(function("grow"), 1, params, false);
        assert_int_equal(digest(x + 4096, BYTES - 4096), digest(tensor(BYTES - 4096, 0x55), BYTES - 4096));
    }
    assert_int_equal(tell_made(x, BYTES), 0);
    launch_on(function("grow"), 1, params, false);
    assert_int_equal(digest(x, BYTES), all);
}

CHILD_TEST(what_nobody_announced_writes_what_the_next_launch_reads)
{
    start();
    CUdeviceptr a = fresh(BYTES, 0), to = fresh(BYTES, 0), other = fresh(BYTES, 0);
    launch_on(function("grow"), 1, (void *[]){&a}, false);
    sum(to, a, a, 7);
    poke(a, 9);
    sum(other, a, a, 7);
    assert_int_not_equal(digest(to, BYTES), digest(other, BYTES));
}

CHILD_TEST(without_word_of_the_program_blocks_are_its_tensors)
{
    CUdeviceptr a, to;
    int number = 7;
    device_start();
    OK(cuModuleLoadData(&code, table));
    OK(cuMemAlloc(&a, BYTES));
    OK(cuMemAlloc(&to, BYTES));
    OK(cuMemsetD8(a, 1, BYTES));
    OK(cuMemsetD8(to, 1, BYTES));
    const uint64_t before = digest(a, BYTES);
    launch_on(function("sum"), 1, (void *[]){&to, &a, &a, &number}, false);
    assert_int_equal(digest(a, BYTES), before);
    assert_int_not_equal(digest(to, BYTES), before);
}

static double took(CUfunction f, void **params)
{
    CUevent begin = new_event(), end = new_event();
    float ms;
    OK(cuEventRecord(begin, NULL));
    launch_on(f, 1, params, true);
    OK(cuEventRecord(end, NULL));
    OK(cuEventSynchronize(end));
    OK(cuEventElapsedTime(&ms, begin, end));
    return (double)ms;
}

CHILD_TEST(it_takes_the_time_of_its_bytes_or_of_its_operations)
{
    start();
    CUdeviceptr small = fresh(MIB, 0), large = fresh(64 * MIB, 0);
    double none = 0, most = 1e13;
    const double less = took(function("costly"), (void *[]){&small, &none});
    assert_true(took(function("costly"), (void *[]){&large, &none}) > 5 * less);
    assert_true(took(function("costly"), (void *[]){&small, &most}) > 100 * less);
}

static void disordered_body(void)
{
    start();
    CUdeviceptr x = tensor(BYTES, 1);
    OK(cuCtxSynchronize());
    void *params[] = {&x};
    CUstream stream = new_stream();
    unsigned char *host = new_pinned(BYTES, 0);
    const unsigned grid[] = {1, 1, 1}, block[] = {32, 1, 1};
    OK(tell_coming(function("grow"), grid, block, params));
    OK(cuLaunchKernel(function("grow"), 1, 1, 1, 32, 1, 1, 0, stream, params, NULL));
    (void)cuMemcpyDtoHAsync(host, x, BYTES, new_stream());
    assert_int_not_equal(cuCtxSynchronize(), CUDA_SUCCESS);
}

static void what_it_touches_must_be_ordered(void **state)
{
    (void)state;
    assert_true(in_child(disordered_body, NULL));
    assert_int_equal(child_stat("ordering_errors"), 1);
}

CHILD_TEST(what_is_known_of_it_is_told)
{
    size_t offset, size;
    const char *name;
    int shared;
    CUfunction f;
    start();
    OK(cuFuncGetParamInfo(function("sum"), 3, &offset, &size));
    assert_int_equal(offset, 24);
    assert_int_equal(size, 4);
    assert_int_equal(cuFuncGetParamInfo(function("sum"), 4, &offset, &size), CUDA_ERROR_INVALID_VALUE);
    OK(cuFuncGetName(&name, function("sum")));
    assert_string_equal(name, "sum");
    OK(cuFuncGetAttribute(&shared, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, function("some")));
    assert_int_equal(shared, 16);
    launch_on(function("nothing"), 1, NULL, true);
    OK(cuModuleGetFunction(&f, code, "sum"));
}

static const char *const unreadable[][2] = {
    {"no_bytes", "bytes"}, {"no_shared", "shared"}, {"outside", "params"},    {"beyond", "uses"},   {"unheard", "uses"},
    {"halved", "uses"},    {"wrong_lists", "uses"}, {"wrong_blocks", "uses"}, {"far_part", "uses"}, {"never_seen", NULL}};

static void unreadable_body(void)
{
    CUfunction f;
    start();
    for (size_t i = 0; i < sizeof unreadable / sizeof *unreadable; i++)
        for (int twice = 0; twice < 2; twice++)
            assert_int_equal(cuModuleGetFunction(&f, code, unreadable[i][0]), CUDA_ERROR_NOT_FOUND);
}

static void what_has_no_layout_is_named_once_and_not_launched(void **state)
{
    char line[128];
    (void)state;
    assert_true(in_child(unreadable_body, NULL));
    for (size_t i = 0; i < sizeof unreadable / sizeof *unreadable; i++) {
        if (unreadable[i][1])
            snprintf(line, sizeof line, "the layout of kernel %s can't be read: its %s are", unreadable[i][0],
                     unreadable[i][1]);
        else
            snprintf(line, sizeof line, "kernel %s has no layout (SIMGPU_LAYOUTS names no table)", unreadable[i][0]);
        const char *there = strstr(child_stderr(), line);
        assert_non_null(there);
        assert_null(strstr(there + 1, line));
    }
}

/* ---- the file ---- */

static char path[] = "/tmp/simgpu-layouts-XXXXXX", names_path[] = "/tmp/simgpu-launched-XXXXXX",
            digests_path[] = "/tmp/simgpu-digests-XXXXXX";
static const unsigned machine_code[] = {0xba55ed50, 0, 0, 0, 0, 0, 0, 0};

static int make_file(void **state)
{
    (void)state;
    int fd = mkstemp(path), names = mkstemp(names_path), digests = mkstemp(digests_path);
    ssize_t written = fd < 0 ? -1 : write(fd, table, sizeof table - 1);
    return names < 0 || close(names) < 0 || digests < 0 || close(digests) < 0 || close(fd) < 0 ||
           written != (ssize_t)sizeof table - 1;
}

static int remove_file(void **state)
{
    (void)state;
    return unlink(path) < 0 || unlink(names_path) < 0 || unlink(digests_path) < 0;
}

static void file_body(void)
{
    start();
    OK(cuModuleUnload(code));
    OK(cuModuleLoadData(&code, machine_code));
    for (int i = 0; i < 2; i++) {
        CUdeviceptr a = tensor(BYTES, 1), to = fresh(BYTES, 0);
        sum(to, a, a, 7);
        assert_int_not_equal(digest(to, BYTES), digest(a, BYTES));
    }
}

static void read_text(const char *from, char *text, size_t room)
{
    FILE *file = fopen(from, "re");
    assert_non_null(file);
    text[fread(text, 1, room - 1, file)] = 0;
    fclose(file);
}

static void machine_code_has_the_layouts_of_the_file(void **state)
{
    char text[1024];
    (void)state;
    assert_true(
        in_child(file_body, "SIMGPU_LAYOUTS", path, "SIMGPU_LAUNCHED", names_path, "SIMGPU_DIGESTS", digests_path, NULL));
    read_text(names_path, text, sizeof text);
    assert_string_equal(text, "sum\n");

    char given[2][17], read[2][17], what[2][32];
    read_text(digests_path, text, sizeof text);
    assert_int_equal(sscanf(text, "sum given %16s read %16s %31[^\n] sum given %16s read %16s %31[^\n]", given[0], read[0],
                            what[0], given[1], read[1], what[1]),
                     6);
    assert_string_equal(given[0], given[1]);
    assert_string_equal(read[0], read[1]);
    assert_string_equal(what[0], what[1]);
    assert_string_equal(what[0], "w12388 r12388");
}

CHILD_TEST(without_the_file_machine_code_is_no_image)
{
    start();
    assert_int_equal(cuModuleLoadData(&code, machine_code), CUDA_ERROR_INVALID_IMAGE);
}

static void no_file_body(void)
{
    assert_int_equal(cuInit(0), CUDA_ERROR_INVALID_VALUE);
}

static void a_file_that_is_not_there_is_named(void **state)
{
    (void)state;
    assert_true(in_child(no_file_body, "SIMGPU_LAYOUTS", "/nowhere/layouts", NULL));
    assert_non_null(strstr(child_stderr(), "SIMGPU_LAYOUTS"));
    assert_non_null(strstr(child_stderr(), "/nowhere/layouts"));
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
        cmocka_unit_test(words_are_addresses_where_they_lead_to_tensors_and_numbers_elsewhere),
        cmocka_unit_test(where_nothing_is_known_to_be_written_the_youngest_is),
        cmocka_unit_test(of_lists_only_those_count_that_a_block_works_on),
        cmocka_unit_test(what_a_list_is_given_tells_in_each_of_its_tensors),
        cmocka_unit_test(a_launch_made_once_more_does_what_the_first_did),
        cmocka_unit_test(a_launch_made_once_more_is_known_by_what_counts),
        cmocka_unit_test(a_launch_of_lists_made_once_more_is_known_by_what_blocks_work_on),
        cmocka_unit_test(what_nobody_announced_is_the_same_launch_while_its_tensors_are_there_or_gone),
        cmocka_unit_test(what_nobody_announced_is_another_launch_with_other_tensors_at_the_addresses),
        cmocka_unit_test(what_nobody_announced_writes_what_the_next_launch_reads),
        cmocka_unit_test(without_word_of_the_program_blocks_are_its_tensors),
        cmocka_unit_test(it_takes_the_time_of_its_bytes_or_of_its_operations),
        cmocka_unit_test(what_it_touches_must_be_ordered),
        cmocka_unit_test(what_is_known_of_it_is_told),
        cmocka_unit_test(what_has_no_layout_is_named_once_and_not_launched),
        cmocka_unit_test(machine_code_has_the_layouts_of_the_file),
        cmocka_unit_test(without_the_file_machine_code_is_no_image),
        cmocka_unit_test(a_file_that_is_not_there_is_named),
    };
    return cmocka_run_group_tests(tests, make_file, remove_file);
}
