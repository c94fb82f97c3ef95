/* test-recorder.c - what noted calls become in a trace; the driver and the trace's writer are the test's own. */
#include "recorded.h"

/* ---- calls as their wrappers make them ---- */

static void free_it(unsigned n)
{
    spw_note_begin(NULL, NULL, false);
    spw_recorder_free(ADDRESS(n), false);
    spw_note_end();
}

/* ---- what is tested ---- */

/* The first record says who was traced, before anything happens. */
static void begins_with_the_process(void **state)
{
    assert_int_equal(kept_count, 1);
    assert_int_equal(kept[0].record.kind, SPW_RECORD_PROCESS);
    assert_int_equal(kept[0].record.process.pid, getpid());
}

static void assert_hint(unsigned index, uint64_t op)
{
    unsigned n = 0;
    for (unsigned i = 0; i < kept_count; i++)
        if (kept[i].record.kind == SPW_RECORD_MARK && kept[i].record.mark.kind == SPW_MARK_HINT && n++ == index) {
            assert_int_equal(kept[i].record.mark.op, op);
            return;
        }
    fail_msg("there is no hint %u", index);
}

static enum spw_record_kind last_but(unsigned n)
{
    return kept[kept_count - 1 - n].record.kind;
}

/* What the program says itself stands where it was said, before what is allocated for the operation that it speaks of. */
static void a_hint_stands_where_it_was_said(void **state)
{
    launch(STREAM(0), 0, NULL, 0);
    spw_record_hint();
    allocate(0, 4096);
    assert_int_equal(last_but(0), SPW_RECORD_ALLOC);
    assert_hint(0, 1);
    launch(STREAM(0), 0, NULL, 0);
    spw_record_hint();
    assert_hint(1, 2);
    assert_int_equal(last_but(0), SPW_RECORD_MARK);
}

/* A program may begin its first range before its first call of the driver. */
static void a_hint_before_the_start_counts_as_said_at_it(void **state)
{
    end(state);
    spw_record_hint();
    begin(state);
    assert_hint(0, 0);
    assert_int_equal(count(SPW_RECORD_MARK), 1);
    end(state);
    begin(state);
    assert_int_equal(count(SPW_RECORD_MARK), 0);
}

/* The kernel that the user named is a hint, right before each of its launches that is carried out. */
static void a_kernel_that_was_named_is_a_hint(void **state)
{
    static struct spw_settings settings;
    settings = *spw_settings_get();
    strcpy(settings.hint_kernel, "econ");
    spw_recorder_stop();
    spw_recorder_reset();
    spw_settings_use(&settings);
    kept_count = 0;
    assert_int_equal(spw_recorder_start(), 0);
    launch(STREAM(0), 0, NULL, 0);
    launch(STREAM(0), 1, NULL, 0);
    assert_int_equal(last_but(1), SPW_RECORD_MARK);
    assert_hint(0, 1);
    launch(STREAM(0), 1, NULL, 0);
    assert_hint(1, 2);
    assert_int_equal(count(SPW_RECORD_MARK), 2);
}

/* A launch names its kernel once and the allocations that its parameters point into, with offsets, in order. */
static void writes_what_a_launch_touches(void **state)
{
    allocate(0, 1 << 20);
    allocate(1, 100);
    launch(STREAM(0), 0, (CUdeviceptr[]){ADDRESS(1) + 64, ADDRESS(0), ADDRESS(1) + 100, 5}, 4);
    launch(STREAM(0), 0, NULL, 0);
    struct kept *k = find(SPW_RECORD_OP, 0);
    assert_int_equal(k->record.op.touch_count, 2);
    assert_int_equal(k->touches[0].alloc, 2);
    assert_int_equal(k->touches[0].offset, 64);
    assert_int_equal(k->touches[1].alloc, 1);
    assert_int_equal(k->record.op.grid[2], 3);
    assert_int_equal(k->record.op.block[0], 4);
    assert_int_equal(k->record.op.shared_bytes, 7);
    assert_int_equal(count(SPW_RECORD_FUNCTION), 1);
    assert_string_equal(find(SPW_RECORD_FUNCTION, 0)->text, "first");
    assert_int_equal(find(SPW_RECORD_OP, 1)->record.op.function, k->record.op.function);
}

/* What lies in a structure where nobody fills it in is not what its kernel touches; what leads nowhere marks such a place.
 */
static void leaves_out_what_the_stack_had(void **state)
{
    _Atomic uint8_t notes[11] = {0};
    const struct spw_layout layout = {.known = true, .places = notes};
    struct spw_scan_doubted doubted;
    spw_scan_doubted_init(&doubted);
    doubted.layout = &layout;
    doubted.first = 1;
    doubted.end = 4;
    doubted.places[1] = 8, doubted.places[2] = 9, doubted.places[3] = 10;
    doubted.bits[0] = 1 << 2;
    allocate(0, 4096);
    allocate(1, 4096);
    allocate(2, 4096);
    launch_doubting(STREAM(0), 0, (CUdeviceptr[]){ADDRESS(9), ADDRESS(1) + 64, ADDRESS(0), ADDRESS(2) + 4096}, 4, &doubted);
    struct kept *k = find(SPW_RECORD_OP, 0);
    assert_int_equal(k->record.op.touch_count, 1);
    assert_int_equal(k->touches[0].alloc, 2);
    assert_int_equal(k->touches[0].offset, 64);
    assert_false(k->record.op.everything);
    assert_int_equal(notes[10], SPW_PLACE_DOUBTED); /* the first is no structure's */
    assert_int_equal(notes[8] | notes[9], 0);

    free_it(1);
    doubted.bits[0] = 0;
    launch_doubting(STREAM(0), 0, (CUdeviceptr[]){ADDRESS(2), ADDRESS(1), ADDRESS(0)}, 3, &doubted);
    k = find(SPW_RECORD_OP, 1);
    assert_int_equal(k->record.op.touch_count, 2);
    assert_int_equal(k->touches[0].alloc, 3);
    assert_int_equal(k->touches[1].alloc, 1);
    assert_int_equal(notes[8], SPW_PLACE_DOUBTED);
    assert_int_equal(notes[9], 0);
}

/* It is touched, but operations are not recognised by it. */
static void tells_what_comes_and_goes_from_the_rest(void **state)
{
    _Atomic uint8_t notes[11] = {[9] = SPW_PLACE_EMPTY};
    const struct spw_layout layout = {.known = true, .places = notes};
    struct spw_scan_doubted doubted;
    spw_scan_doubted_init(&doubted);
    doubted.layout = &layout;
    doubted.first = 0;
    doubted.end = 3;
    doubted.places[0] = 8, doubted.places[1] = 9, doubted.places[2] = 10;
    for (unsigned i = 0; i < 3; i++)
        allocate(i, 4096);
    launch_doubting(STREAM(0), 0, (CUdeviceptr[]){ADDRESS(0), ADDRESS(1), ADDRESS(2)}, 3, &doubted);
    struct kept *k = find(SPW_RECORD_OP, 0);
    assert_int_equal(k->record.op.touch_count, 3);
    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(k->touches[i].access, SPW_ACCESS_BOTH | (i == 1 ? SPW_ACCESS_LOOSE : 0));
}

static void writes_all_that_a_launch_without_structures_touches(void **state)
{
    struct spw_scan_doubted doubted;
    spw_scan_doubted_init(&doubted);
    allocate(0, 4096);
    allocate(1, 4096);
    launch_doubting(STREAM(0), 0, (CUdeviceptr[]){ADDRESS(1), ADDRESS(9), ADDRESS(0) + 8}, 3, &doubted);
    launch_doubting(STREAM(0), 0, NULL, -5, &doubted);
    struct kept *k = find(SPW_RECORD_OP, 0);
    assert_int_equal(k->record.op.touch_count, 2);
    assert_int_equal(k->touches[0].alloc, 2);
    assert_int_equal(k->touches[1].offset, 8);
    assert_true(find(SPW_RECORD_OP, 1)->record.op.everything);
}

/* What could not be read may touch anything, and says so. */
static void says_that_a_launch_may_touch_everything(void **state)
{
    launch(STREAM(0), 0, NULL, -5);
    assert_true(find(SPW_RECORD_OP, 0)->record.op.everything);
    assert_int_equal(find(SPW_RECORD_OP, 0)->record.op.touch_count, 0);
}

/* Freed memory is touched no more; what the driver then puts there is another allocation. */
static void tells_successive_allocations_apart(void **state)
{
    allocate(0, 4096);
    free_it(0);
    launch(STREAM(0), 0, (CUdeviceptr[]){ADDRESS(0)}, 1);
    allocate(0, 8192);
    launch(STREAM(0), 0, (CUdeviceptr[]){ADDRESS(0)}, 1);
    assert_int_equal(find(SPW_RECORD_FREE, 0)->record.free.id, 1);
    assert_int_equal(find(SPW_RECORD_OP, 0)->record.op.touch_count, 0);
    assert_int_equal(find(SPW_RECORD_OP, 1)->touches[0].alloc, 2);
}

/* A second free of the same address, or of one inside, frees nothing. */
static void ignores_what_is_not_the_start_of_an_allocation(void **state)
{
    allocate(0, 4096);
    spw_note_begin(NULL, NULL, false);
    spw_recorder_free(ADDRESS(0) + 8, false);
    spw_note_end();
    assert_int_equal(count(SPW_RECORD_FREE), 0);
    free_it(0);
    free_it(0);
    assert_int_equal(count(SPW_RECORD_FREE), 1);
}

/* The direction of a copy that does not say it is in its ends: pinned host memory is the host's. */
static void tells_the_direction_of_a_copy_by_its_ends(void **state)
{
    static char host[64];
    allocate(0, 4096);
    allocate(1, 4096);
    spw_note_begin(NULL, NULL, false);
    spw_recorder_alloc(SPW_ALLOC_HOST, ADDRESS(2), 4096);
    spw_note_end();
    copy(ADDRESS(0), ADDRESS(1), 10);
    copy(ADDRESS(0), (CUdeviceptr)(uintptr_t)host, 10);
    copy((CUdeviceptr)(uintptr_t)host, ADDRESS(0), 10);
    copy(ADDRESS(2), ADDRESS(0), 10);
    copy(ADDRESS(2), (CUdeviceptr)(uintptr_t)host, 0);
    const enum spw_op_kind kinds[] = {SPW_OP_COPY_D2D, SPW_OP_COPY_H2D, SPW_OP_COPY_D2H, SPW_OP_COPY_D2H, SPW_OP_COPY_H2H};
    for (unsigned i = 0; i < 5; i++)
        assert_int_equal(find(SPW_RECORD_OP, i)->record.op.kind, kinds[i]);
    assert_int_equal(find(SPW_RECORD_OP, 3)->record.op.touch_count, 2); /* pinned memory is an allocation too */
}

/* A table of addresses that was copied in leads a launch to what it points to, until it is overwritten. */
static void follows_pointers_that_were_copied_in(void **state)
{
    CUdeviceptr table[3] = {7, ADDRESS(1) + 16, ADDRESS(2)};
    for (unsigned i = 0; i < 3; i++)
        allocate(i, 4096);
    copy(ADDRESS(0) + 8, (CUdeviceptr)(uintptr_t)table, sizeof(table));
    launch(STREAM(0), 0, (CUdeviceptr[]){ADDRESS(0)}, 1);
    struct kept *k = find(SPW_RECORD_OP, 1);
    assert_int_equal(k->record.op.touch_count, 3);
    assert_int_equal(k->touches[1].alloc, 2);
    assert_int_equal(k->touches[1].offset, 16);
    assert_int_equal(k->touches[2].alloc, 3);
    spw_note_begin(NULL, NULL, false);
    spw_record_overwritten(ADDRESS(0) + 16, 8);
    spw_note_end();
    launch(STREAM(0), 0, (CUdeviceptr[]){ADDRESS(0)}, 1);
    assert_int_equal(find(SPW_RECORD_OP, 2)->record.op.touch_count, 2);
}

/* Such a table goes along when it is copied on the device, and a circle of them ends. */
static void follows_pointers_that_were_copied_over(void **state)
{
    CUdeviceptr first = ADDRESS(1), second = ADDRESS(0);
    for (unsigned i = 0; i < 3; i++)
        allocate(i, 4096);
    copy(ADDRESS(0), (CUdeviceptr)(uintptr_t)&first, sizeof(first));
    copy(ADDRESS(1) + 8, (CUdeviceptr)(uintptr_t)&second, sizeof(second));
    copy(ADDRESS(2), ADDRESS(0), 4096);
    launch(STREAM(0), 0, (CUdeviceptr[]){ADDRESS(2)}, 1);
    struct kept *k = find(SPW_RECORD_OP, 3);
    assert_int_equal(k->record.op.touch_count, 4); /* 2 -> 1 -> 0 -> 1 again, which is not followed again */
    assert_int_equal(k->touches[1].alloc, 2);
    assert_int_equal(k->touches[2].alloc, 1);
}

/* So it does inside of an allocation, onto a part of itself. */
static void follows_pointers_that_were_copied_within_an_allocation(void **state)
{
    CUdeviceptr table[2] = {ADDRESS(1), ADDRESS(2)};
    for (unsigned i = 0; i < 3; i++)
        allocate(i, 4096);
    copy(ADDRESS(0), (CUdeviceptr)(uintptr_t)table, sizeof(table));
    copy(ADDRESS(0) + 8, ADDRESS(0), sizeof(table));
    spw_note_begin(NULL, NULL, false);
    spw_record_overwritten(ADDRESS(0), 8);
    spw_note_end();
    launch(STREAM(0), 0, (CUdeviceptr[]){ADDRESS(0)}, 1);
    struct kept *k = find(SPW_RECORD_OP, 2);
    assert_int_equal(k->record.op.touch_count, 3);
    assert_int_equal(k->touches[1].alloc, 2);
    assert_int_equal(k->touches[2].alloc, 3);
}

/* Addresses lie at whole words of the device, wherever in a word the copy begins. */
static void follows_pointers_in_a_copy_that_begins_inside_a_word(void **state)
{
    struct {
        uint32_t padding, changed;
        CUdeviceptr address;
    } source = {.address = ADDRESS(1)};
    allocate(0, 4096);
    allocate(1, 4096);
    copy(ADDRESS(0) + 12, (CUdeviceptr)(uintptr_t)&source.changed, sizeof(source) - 4);
    launch(STREAM(0), 0, (CUdeviceptr[]){ADDRESS(0)}, 1);
    assert_int_equal(find(SPW_RECORD_OP, 1)->touches[1].alloc, 2);
}

static void make_variable(unsigned n)
{
    spw_note_begin(NULL, NULL, false);
    spw_record_alloc_once(SPW_ALLOC_GLOBAL, ADDRESS(n), 64);
    spw_note_end();
}

/* What a module's variable points to is touched by each launch, told of the variable or not, until it points there no more.
 */
static void follows_pointers_in_variables(void **state)
{
    CUdeviceptr address = ADDRESS(0), no_address = 0;
    allocate(0, 4096);
    make_variable(1);
    allocate(2, 4096);
    launch(STREAM(0), 0, NULL, 0);
    copy(ADDRESS(2), (CUdeviceptr)(uintptr_t)&address, sizeof(address)); /* not a variable: no launch knows of it */
    copy(ADDRESS(1) + 16, (CUdeviceptr)(uintptr_t)&address, sizeof(address));
    launch(STREAM(0), 0, NULL, 0);
    copy(ADDRESS(1) + 16, (CUdeviceptr)(uintptr_t)&no_address, sizeof(no_address));
    launch(STREAM(0), 0, NULL, 0);
    struct kept *k = find(SPW_RECORD_OP, 3);
    assert_int_equal(find(SPW_RECORD_OP, 0)->record.op.touch_count, 0);
    assert_int_equal(k->record.op.touch_count, 2);
    assert_int_equal(k->touches[0].alloc, 2);
    assert_int_equal(k->touches[1].alloc, 1);
    assert_int_equal(find(SPW_RECORD_OP, 5)->record.op.touch_count, 0);
}

/* Where such variables are too many to be remembered, launches may touch everything. */
static void says_that_variables_are_too_many(void **state)
{
    CUdeviceptr address = ADDRESS(0);
    allocate(0, 4096);
    for (unsigned n = 1; n <= 65; n++) {
        make_variable(n);
        copy(ADDRESS(n), (CUdeviceptr)(uintptr_t)&address, sizeof(address));
        if (n >= 64)
            launch(STREAM(0), 0, NULL, 0);
    }
    assert_false(find(SPW_RECORD_OP, 64)->record.op.everything);
    assert_true(find(SPW_RECORD_OP, 66)->record.op.everything);
}

/* A stream is asked about once; a default stream is another one in another context. */
static void tells_streams_apart(void **state)
{
    launch(STREAM(2), 0, NULL, 0);
    launch(STREAM(2), 0, NULL, 0);
    assert_int_equal(questions, 2); /* one about the stream, one about the function */
    launch(STREAM(1), 0, NULL, 0);
    launch(NULL, 0, NULL, 0);
    current = CONTEXT(1);
    spw_record_context_changed();
    launch(NULL, 0, NULL, 0);
    launch(CU_STREAM_LEGACY, 0, NULL, 0);
    assert_int_equal(count(SPW_RECORD_STREAM), 4);
    assert_int_equal(find(SPW_RECORD_STREAM, 0)->record.stream.priority, -2);
    assert_int_equal(find(SPW_RECORD_STREAM, 1)->record.stream.device, 1);
    assert_true(find(SPW_RECORD_STREAM, 2)->record.stream.legacy);
    assert_int_equal(find(SPW_RECORD_OP, 4)->record.op.stream, find(SPW_RECORD_OP, 5)->record.op.stream);
    assert_int_not_equal(find(SPW_RECORD_OP, 3)->record.op.stream, find(SPW_RECORD_OP, 4)->record.op.stream);
    assert_int_equal(count(SPW_RECORD_DEVICE), 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(begins_with_the_process),
        TEST(a_hint_stands_where_it_was_said),
        TEST(a_hint_before_the_start_counts_as_said_at_it),
        TEST(a_kernel_that_was_named_is_a_hint),
        TEST(writes_what_a_launch_touches),
        TEST(leaves_out_what_the_stack_had),
        TEST(tells_what_comes_and_goes_from_the_rest),
        TEST(writes_all_that_a_launch_without_structures_touches),
        TEST(says_that_a_launch_may_touch_everything),
        TEST(tells_successive_allocations_apart),
        TEST(ignores_what_is_not_the_start_of_an_allocation),
        TEST(tells_the_direction_of_a_copy_by_its_ends),
        TEST(follows_pointers_that_were_copied_in),
        TEST(follows_pointers_that_were_copied_over),
        TEST(follows_pointers_that_were_copied_within_an_allocation),
        TEST(follows_pointers_in_a_copy_that_begins_inside_a_word),
        TEST(follows_pointers_in_variables),
        TEST(says_that_variables_are_too_many),
        TEST(tells_streams_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
