/* test-opaque-launches.c - launches of lists, launches that are made once more, and the file that has the layouts of machine
 * code. */
#include "opaque_fixture.h"

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

static const char *const unreadable[][2] = {{"no_bytes", "bytes"}, {"no_shared", "shared"}, {"outside", "params"},
                                            {"beyond", "uses"},    {"unheard", "uses"},     {"halved", "uses"},
                                            {"endless", "uses"},   {"wrong_lists", "uses"}, {"wrong_blocks", "uses"},
                                            {"far_part", "uses"},  {"never_seen", NULL}};

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
