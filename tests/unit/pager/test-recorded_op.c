/* test-recorded_op.c - what operations take that are kept: 10 000 launches of a training step stay within 64 MiB of real
 * memory, and whatever is kept, no more is ever taken. */
#include "carried.h"
#include <malloc.h>

#include "counters.h"
#include "layout.h"
#include "recorded_op.h"
#include "versions.h"
#include "launch_class.h"

enum { LAUNCHES = 10000, TENSORS = 48, WORDS = 4096 };

static CUdeviceptr tensors[TENSORS];
static struct spw_recorded_op *kept[LAUNCHES];
static enum spw_replay_verdict why_not; /* anything be kept that is not */

static CUresult no_name(const char **name, CUfunction f)
{
    return CUDA_ERROR_NOT_SUPPORTED;
}

static int begin_keeping(void **state)
{
    (void)state;
    begin(64 * BYTES, 16 << 20);
    spw_driver.cuFuncGetName = no_name;
    spw_recorded_ops_reset();
    spw_versions_reset();
    spw_launch_classes_reset();
    spw_lock();
    spw_versions_keep_locked(true);
    spw_unlock();
    for (unsigned i = 0; i < TENSORS; i++)
        tensors[i] = allocate(BYTES);
    memset(kept, 0, sizeof(kept));
    why_not = SPW_REPLAY_TOO_LARGE;
    return 0;
}

/* One launch with so many bytes of parameters, all of them values but the addresses of `count` tensors. NULL: it is not
 * kept. */
static struct spw_recorded_op *keep(uint32_t number, size_t bytes, unsigned count)
{
    static uint16_t words[WORDS];
    static struct spw_param params[WORDS];
    static uint64_t image[WORDS];
    static void *values[WORDS];
    const unsigned all = (unsigned)(bytes / 8);
    const bool is_structure = all > 64; /* nobody writes down so many parameters */
    CUdeviceptr hits[TENSORS];
    for (unsigned i = 0; i < all; i++) {
        words[i] = (uint16_t)i;
        params[i] = (struct spw_param){(uint32_t)(8 * i), is_structure ? (uint32_t)bytes : 8};
        values[i] = &image[i];
        image[i] = i < count ? tensors[(number + i) % TENSORS] : number;
    }
    for (unsigned i = 0; i < count; i++)
        hits[i] = image[i];
    const struct spw_layout layout = {.known = true,
                                      .param_count = is_structure ? 1 : all,
                                      .word_count = all,
                                      .image_bytes = (uint32_t)bytes,
                                      .words = words,
                                      .params = params};
    struct spw_call_args submission = {.kind = SPW_SUBMIT_LAUNCH};
    submission.launch.function = (CUfunction)(uintptr_t)0x100;
    submission.launch.layout = &layout;
    submission.launch.params = values;
    struct spw_op op = {.handle = s,
                        .hits = hits,
                        .count = count,
                        .room = TENSORS,
                        .function = submission.launch.function,
                        .name = "a kernel",
                        .submission = &submission};
    enum spw_replay_verdict why;
    assert_int_equal(spw_op_begin(&op), 0);
    spw_lock();
    op.wish = number + 1;
    struct spw_recorded_op *recorded_op = spw_recorded_op_make_locked(&op, &why);
    assert_int_equal(why, recorded_op ? SPW_REPLAYABLE : why_not);
    spw_unlock();
    spw_op_end(&op);
    if (number % 256 == 0)
        let_run();
    return recorded_op;
}

static void let_all_go(void)
{
    spw_lock();
    for (unsigned i = 0; i < LAUNCHES; i++)
        spw_recorded_op_let_go(kept[i]);
    spw_unlock();
    memset(kept, 0, sizeof(kept));
    assert_int_equal(spw_recorded_op_counts.bytes, 0);
    assert_int_equal(spw_recorded_op_counts.alive, 0);
}

/* Of a hundred launches ninety have some words of parameters and up to four tensors, nine three times as much, and one is an
 * optimizer that takes many tensors in 4 KiB of parameters. */
static struct spw_recorded_op *keep_usual(uint32_t number)
{
    const unsigned kind = number % 100;
    return kind == 0 ? keep(number, 4096, TENSORS) : kind < 10 ? keep(number, 256, 12) : keep(number, 80, 4);
}

static size_t heap_bytes(void)
{
    return mallinfo2().uordblks + mallinfo2().hblkhd;
}

static void ten_thousand_launches_take_less_than_they_may(void **state)
{
    const size_t before = heap_bytes();
    for (uint32_t i = 0; i < LAUNCHES; i++) {
        kept[i] = keep_usual(i);
        assert_non_null(kept[i]);
    }
    const size_t taken = heap_bytes() - before;
    print_message("# 10000 usual launches: %zu bytes counted, %zu taken, %zu for each\n",
                  (size_t)spw_recorded_op_counts.bytes, taken, (size_t)spw_recorded_op_counts.bytes / LAUNCHES);
    assert_true(spw_recorded_op_counts.bytes <= SPW_RECORDED_OPS_MAX_BYTES / 4);
    assert_true(taken <= spw_recorded_op_counts.bytes + (64 << 10)); /* nothing is hidden from the count */
    assert_true(spw_recorded_op_counts.refused_for_room == 0);
    let_all_go();
}

/* Each with as many bytes of parameters as a launch could have for many years, and eight tensors. */
static void ten_thousand_launches_with_four_kilobytes_of_parameters_fit(void **state)
{
    for (uint32_t i = 0; i < LAUNCHES; i++) {
        kept[i] = keep(i, 4096, 8);
        assert_non_null(kept[i]);
    }
    print_message("# 10000 launches with 4 KiB of parameters: %zu bytes\n", (size_t)spw_recorded_op_counts.bytes);
    assert_true(spw_recorded_op_counts.bytes <= SPW_RECORDED_OPS_MAX_BYTES);
    let_all_go();
}

/* With as many as a launch can have now they do not: then no more is kept, until something is let go of. */
static void what_does_not_fit_is_not_kept(void **state)
{
    const size_t before = heap_bytes();
    unsigned refused = 0;
    for (uint32_t i = 0; i < LAUNCHES; i++) {
        kept[i] = keep(i, 32768, 8);
        refused += !kept[i];
        assert_true(spw_recorded_op_counts.bytes <= SPW_RECORDED_OPS_MAX_BYTES);
    }
    assert_true(refused > LAUNCHES / 2);
    assert_int_equal(spw_recorded_op_counts.refused_for_room, refused);
    assert_true(spw_recorded_op_counts.bytes > SPW_RECORDED_OPS_MAX_BYTES - 2 * 32768);
    assert_true(heap_bytes() - before <= SPW_RECORDED_OPS_MAX_BYTES + (64 << 10));
    spw_lock();
    spw_recorded_op_let_go(kept[7]);
    spw_unlock();
    kept[7] = keep(7, 32768, 8);
    assert_non_null(kept[7]);
    let_all_go();
}

/* What a kernel reads and writes through one, no parameter tells. */
static void once_there_are_textures_or_surfaces_nothing_is_kept(void **state)
{
    const enum spw_call calls[] = {SPW_CALL_cuTexObjectCreate, SPW_CALL_cuSurfObjectCreate};
    why_not = SPW_REPLAY_HIDDEN_STATE;
    for (unsigned i = 0; i < 2; i++) {
        kept[0] = keep(0, 80, 4);
        assert_non_null(kept[0]);
        spw_counts[calls[i]].calls = 1;
        assert_null(keep(1, 80, 4));
        spw_counts[calls[i]].calls = 0;
        let_all_go();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(ten_thousand_launches_take_less_than_they_may, begin_keeping),
        cmocka_unit_test_setup(ten_thousand_launches_with_four_kilobytes_of_parameters_fit, begin_keeping),
        cmocka_unit_test_setup(what_does_not_fit_is_not_kept, begin_keeping),
        cmocka_unit_test_setup(once_there_are_textures_or_surfaces_nothing_is_kept, begin_keeping),
    };
    return cmocka_run_group_tests_name("reruns", tests, NULL, NULL);
}
