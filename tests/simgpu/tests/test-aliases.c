/* test-aliases.c - SIMGPU_ALIASES: at which of its addresses memory may be used that lies behind several. */
#include "device.h"

#include <string.h>

enum { BYTES = 1024 };

/* move(to, from, count, changes): touches `count` bytes at each of two addresses, where there is one; at the former it
 * writes, and reads before where it changes what is there. */
struct move_params {
    char *to;
    const char *from;
    uint32_t count, changes;
};

static volatile char seen;

static void run_move(const struct simgpu_launch *launch, const void *image)
{
    const struct move_params *p = image;
    (void)launch;
    for (uint32_t i = 0; i < p->count; i++) {
        if (p->from)
            seen = p->from[i];
        if (p->to)
            p->to[i] = (char)(p->changes ? p->to[i] + 1 : 1);
    }
}

static void describe_move(const struct simgpu_launch *launch, const void *image, struct simgpu_footprint *ret)
{
    const struct move_params *p = image;
    (void)launch;
    if (p->to)
        ret->ranges[ret->range_count++] = (struct simgpu_range){(uint64_t)(uintptr_t)p->to, p->count,
                                                                p->changes ? SIMGPU_READS | SIMGPU_WRITES : SIMGPU_WRITES};
    if (p->from)
        ret->ranges[ret->range_count++] = (struct simgpu_range){(uint64_t)(uintptr_t)p->from, p->count, SIMGPU_READS};
}

static const struct simgpu_param layout[] = {
    {0, 8, SIMGPU_PARAM_POINTER}, {8, 8, SIMGPU_PARAM_POINTER | SIMGPU_PARAM_CONST}, {16, 4, 0}, {20, 4, 0}};
static const struct simgpu_kernel move_kernel = {"move", 4, 24, layout, run_move, describe_move, 0};
static const struct simgpu_kernel vague_kernel = {"vague", 4, 24, layout, run_move, NULL, 0};
static const struct simgpu_kernel *const kernels[] = {&move_kernel, &vague_kernel};
static const struct simgpu_image image = {SIMGPU_IMAGE_HEADER, 2, 0, kernels, NULL};

static CUfunction move, vague;
static CUmemGenericAllocationHandle handle;
static CUdeviceptr older, newer, other; /* the first two are of the same memory */
static CUstream stream;
static void *pinned;

static void start(void)
{
    CUmodule code;
    device_start();
    OK(cuModuleLoadData(&code, &image));
    OK(cuModuleGetFunction(&move, code, "move"));
    OK(cuModuleGetFunction(&vague, code, "vague"));
    older = new_mapping(GRANULE, &handle);
    newer = new_alias(handle);
    other = new_mapping(GRANULE, NULL);
    stream = new_stream();
    pinned = new_pinned(GRANULE, 1);
}

static void launch(CUfunction f, CUdeviceptr to, CUdeviceptr from, uint32_t count, uint32_t changes)
{
    void *params[] = {&to, &from, &count, &changes};
    OK(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, stream, params, NULL));
}

static void write_at(CUdeviceptr to, uint32_t count)
{
    launch(move, to, 0, count, 0);
}

static void read_at(CUdeviceptr from, uint32_t count)
{
    launch(move, 0, from, count, 0);
}

static void copy_out(CUdeviceptr from, size_t bytes)
{
    OK(cuMemcpyDtoHAsync(pinned, from, bytes, stream));
}

/* ---- at the newest only ---- */

static void use_two_addresses(void)
{
    start();
    OK(cuMemsetD8Async(newer, 1, 64, stream));
    OK(cuMemsetD8Async(older, 1, 64, stream));
    (void)cuCtxSynchronize();
}

static void an_old_address_is_found_where_none_is_to_be_used(void **state)
{
    (void)state;
    assert_true(in_child(use_two_addresses, "SIMGPU_ALIASES", "all", NULL));
    assert_int_equal(child_stat("ordering_errors"), 0);
    assert_true(in_child(use_two_addresses, "SIMGPU_ALIASES", "newest", NULL));
    assert_int_equal(child_stat("ordering_errors"), 1);
    assert_int_equal(child_stat("peak_mapped_bytes"), 2 * GRANULE);
}

/* ---- where it was written last: what must be found ---- */

/* One error, in these words. */
static void expect_error(void (*body)(void), const char *words)
{
    assert_true(in_child(body, "SIMGPU_ALIASES", "written", NULL));
    assert_int_equal(child_stat("ordering_errors"), 1);
    assert_non_null(strstr(child_stderr(), words));
    assert_non_null(strstr(child_stderr(), "which was written last at another address of the same memory (0x"));
    assert_true(in_child(body, "SIMGPU_ALIASES", "all", "SIMGPU_ORDER", "report", NULL));
    assert_int_equal(child_stat("ordering_errors"), 0);
}

/* Where all addresses may be used, nothing is the matter. */
static void expect_failed_context(void)
{
    const char *aliases = getenv("SIMGPU_ALIASES");
    assert_int_equal(cuCtxSynchronize(),
                     aliases && strcmp(aliases, "written") == 0 ? CUDA_ERROR_LAUNCH_FAILED : CUDA_SUCCESS);
}

#define FOUND_TEST(name, words) \
    static void name##_body(void); \
    static void name(void **state) \
    { \
        (void)state; \
        expect_error(name##_body, words); \
    } \
    static void name##_body(void)

FOUND_TEST(a_kernel_that_reads_what_was_written_at_the_newer_address_is_found, "ordering error: move (operation")
{
    start();
    write_at(older, BYTES);
    write_at(newer, BYTES);
    read_at(older, BYTES);
    expect_failed_context();
}

FOUND_TEST(so_is_one_at_the_newer_address, "ordering error: move (operation")
{
    start();
    write_at(older, BYTES);
    read_at(newer, BYTES);
    expect_failed_context();
}

FOUND_TEST(one_byte_of_another_address_is_enough_for_a_kernel, "ordering error: move (operation")
{
    start();
    write_at(older, BYTES);
    write_at(newer + BYTES / 2, 1);
    read_at(older, BYTES);
    expect_failed_context();
}

FOUND_TEST(what_lies_before_a_part_that_was_written_anew_is_not_forgotten, "ordering error: move (operation")
{
    start();
    write_at(older, 4 * BYTES);
    write_at(newer + BYTES, BYTES);
    read_at(newer, BYTES);
    expect_failed_context();
}

FOUND_TEST(nor_is_what_lies_behind_it, "ordering error: move (operation")
{
    start();
    write_at(older, 4 * BYTES);
    write_at(newer + BYTES, BYTES);
    read_at(newer + 2 * BYTES, BYTES);
    expect_failed_context();
}

FOUND_TEST(a_kernel_that_changes_what_was_written_elsewhere_reads_it, "ordering error: move (operation")
{
    start();
    write_at(newer, BYTES);
    launch(move, older, 0, BYTES, 1);
    expect_failed_context();
}

FOUND_TEST(what_the_host_has_seen_complete_is_not_forgotten, "ordering error: move (operation")
{
    start();
    write_at(older, BYTES);
    OK(cuMemcpyHtoDAsync(newer, pinned, BYTES, stream));
    OK(cuCtxSynchronize());
    for (unsigned i = 0; i < 2000; i++) /* many regions, and all of the past */
        OK(cuMemsetD8Async(other + 512 * i, 1, 1, stream));
    OK(cuCtxSynchronize());
    for (unsigned i = 0; i < 2000; i++)
        OK(cuMemsetD8Async(other + 512 * i + 256, 1, 1, stream));
    OK(cuCtxSynchronize());
    read_at(older, BYTES);
    expect_failed_context();
}

FOUND_TEST(a_copy_whose_bytes_were_all_written_elsewhere_is_found, "ordering error: cuMemcpyDtoHAsync")
{
    start();
    OK(cuMemsetD8Async(newer, 1, BYTES / 2, stream));
    OK(cuMemsetD8Async(newer + BYTES / 2, 2, BYTES / 2, stream));
    copy_out(older, BYTES);
    expect_failed_context();
}

FOUND_TEST(so_is_one_on_the_device_which_writes_over_what_it_reads, "ordering error: cuMemcpyDtoDAsync")
{
    start();
    write_at(newer, BYTES);
    OK(cuMemcpyDtoDAsync(newer, older, BYTES, stream));
    expect_failed_context();
}

FOUND_TEST(what_was_written_at_an_address_that_is_unmapped_is_found, "ordering error: move (operation")
{
    start();
    write_at(older, BYTES);
    write_at(newer, BYTES);
    OK(cuStreamSynchronize(stream));
    OK(cuMemUnmap(newer, GRANULE));
    read_at(older, BYTES);
    expect_failed_context();
}

/* The memory lives on behind its handle. */
FOUND_TEST(so_it_is_where_the_memory_was_mapped_nowhere_meanwhile, "ordering error: move (operation")
{
    start();
    write_at(older, BYTES);
    OK(cuStreamSynchronize(stream));
    OK(cuMemUnmap(older, GRANULE));
    OK(cuMemUnmap(newer, GRANULE));
    read_at(new_alias(handle), BYTES);
    expect_failed_context();
}

/* ---- what is right ---- */

static void expect_clean(void)
{
    OK(cuCtxSynchronize());
}

#define CLEAN_TEST(name) CHILD_TEST(name, "SIMGPU_ALIASES", "written")

CLEAN_TEST(an_older_address_can_be_used_again_when_it_was_written_anew)
{
    start();
    for (int i = 0; i < 3; i++) {
        write_at(older, BYTES);
        launch(move, other, older, BYTES, 0);
        launch(move, older, 0, BYTES, 1);
        copy_out(older, BYTES);
        OK(cuMemcpyHtoDAsync(newer, pinned, BYTES, stream));
        read_at(newer, BYTES);
        copy_out(newer, BYTES);
    }
    expect_clean();
}

CLEAN_TEST(what_nobody_has_written_can_be_read_anywhere)
{
    start();
    read_at(older, BYTES);
    launch(move, newer, 0, BYTES, 1);
    read_at(older + BYTES, BYTES);
    copy_out(older + BYTES, BYTES);
    expect_clean();
}

CLEAN_TEST(the_part_that_was_written_anew_can_be_read)
{
    start();
    write_at(older, 4 * BYTES);
    write_at(newer + BYTES, BYTES);
    read_at(newer + BYTES, BYTES);
    read_at(older, BYTES);
    read_at(older + 2 * BYTES, 2 * BYTES);
    expect_clean();
}

CLEAN_TEST(a_copy_may_come_upon_bytes_of_another_address_beside_its_own)
{
    start();
    write_at(older, 4 * BYTES);
    write_at(newer + BYTES, BYTES);
    copy_out(newer, 4 * BYTES);
    copy_out(older, 2 * BYTES);
    OK(cuMemcpyDtoDAsync(other, newer + BYTES - 1, 2, stream));
    copy_out(newer + BYTES, BYTES);
    expect_clean();
}

/* Rows of a copy are one range: that of the second row is all another's. */
CLEAN_TEST(so_may_a_copy_of_rows)
{
    start();
    write_at(older, 4 * BYTES);
    write_at(newer, BYTES);
    CUDA_MEMCPY2D rows = {.srcMemoryType = CU_MEMORYTYPE_DEVICE,
                          .srcDevice = newer,
                          .srcPitch = 2 * BYTES,
                          .dstMemoryType = CU_MEMORYTYPE_HOST,
                          .dstHost = pinned,
                          .dstPitch = BYTES,
                          .WidthInBytes = BYTES,
                          .Height = 2};
    OK(cuMemcpy2DAsync(&rows, stream));
    expect_clean();
}

CLEAN_TEST(a_kernel_whose_ranges_are_guessed_is_not_known_to_read)
{
    start();
    write_at(newer, BYTES);
    launch(vague, 0, older, BYTES, 0);
    launch(vague, older, 0, BYTES, 1);
    expect_clean();
}

CLEAN_TEST(what_may_have_been_written_at_either_address_can_be_read_at_both)
{
    start();
    write_at(older, BYTES);
    launch(vague, newer, 0, BYTES, 0);
    read_at(newer, BYTES);
    read_at(older, BYTES);
    expect_clean();
}

CLEAN_TEST(memory_that_is_made_anew_was_written_nowhere)
{
    start();
    write_at(older, GRANULE);
    OK(cuStreamSynchronize(stream));
    OK(cuMemUnmap(newer, GRANULE));
    OK(cuMemUnmap(older, GRANULE));
    OK(cuMemRelease(handle));
    CUdeviceptr p = new_mapping(GRANULE, &handle); /* where the former lay */
    read_at(p, BYTES);
    read_at(new_alias(handle), BYTES);
    expect_clean();
}

CLEAN_TEST(the_same_address_may_be_mapped_to_its_memory_again)
{
    CUmemAccessDesc access = {{CU_MEM_LOCATION_TYPE_DEVICE, 0}, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    start();
    write_at(older, BYTES);
    OK(cuStreamSynchronize(stream));
    OK(cuMemUnmap(older, GRANULE));
    OK(cuMemMap(older, GRANULE, 0, handle, 0));
    OK(cuMemSetAccess(older, GRANULE, &access, 1));
    read_at(older, BYTES);
    expect_clean();
}

#define HEAD ".version 6.0\n.target sm_50\n.address_size 64\n.visible .entry "
#define WORD ".param .u64 "

static CUfunction kernel_of_the_library(const char *text, const char *name)
{
    CUmodule code;
    CUfunction f;
    OK(cuModuleLoadData(&code, text));
    OK(cuModuleGetFunction(&f, code, name));
    return f;
}

CLEAN_TEST(kernels_of_the_library_may_read_what_is_nobodys)
{
    start();
    CUfunction hash = kernel_of_the_library(HEAD "spillway_hash(" WORD "a, " WORD "b, " WORD "c) { ret; }", "spillway_hash");
    CUfunction seek = kernel_of_the_library(HEAD "spillway_seek(" WORD "a, " WORD "b, " WORD "c, " WORD "d, " WORD "e, " WORD
                                                 "f, " WORD "g, " WORD "h) { ret; }",
                                            "spillway_seek");
    uint64_t bytes = BYTES, low = 1, extent = 1, other_low = 0, other_extent = 0, shift = 14;
    void *to_hash[] = {&older, &bytes, &other},
         *to_seek[] = {&older, &bytes, &low, &extent, &other_low, &other_extent, &shift, &other};
    write_at(newer, BYTES);
    OK(cuLaunchKernel(hash, 1, 1, 1, 32, 1, 1, 0, stream, to_hash, NULL));
    OK(cuLaunchKernel(seek, 1, 1, 1, 32, 1, 1, 0, stream, to_seek, NULL));
    expect_clean();
}

static void start_badly(void)
{
    assert_int_equal(cuInit(0), CUDA_ERROR_INVALID_VALUE);
}

static void another_value_is_refused(void **state)
{
    (void)state;
    assert_true(in_child(start_badly, "SIMGPU_ALIASES", "oldest", NULL));
    assert_non_null(strstr(child_stderr(), "SIMGPU_ALIASES=oldest is refused; accepted: all, newest, written"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_old_address_is_found_where_none_is_to_be_used),
        cmocka_unit_test(a_kernel_that_reads_what_was_written_at_the_newer_address_is_found),
        cmocka_unit_test(so_is_one_at_the_newer_address),
        cmocka_unit_test(one_byte_of_another_address_is_enough_for_a_kernel),
        cmocka_unit_test(what_lies_before_a_part_that_was_written_anew_is_not_forgotten),
        cmocka_unit_test(nor_is_what_lies_behind_it),
        cmocka_unit_test(a_kernel_that_changes_what_was_written_elsewhere_reads_it),
        cmocka_unit_test(what_the_host_has_seen_complete_is_not_forgotten),
        cmocka_unit_test(a_copy_whose_bytes_were_all_written_elsewhere_is_found),
        cmocka_unit_test(so_is_one_on_the_device_which_writes_over_what_it_reads),
        cmocka_unit_test(what_was_written_at_an_address_that_is_unmapped_is_found),
        cmocka_unit_test(so_it_is_where_the_memory_was_mapped_nowhere_meanwhile),
        cmocka_unit_test(an_older_address_can_be_used_again_when_it_was_written_anew),
        cmocka_unit_test(what_nobody_has_written_can_be_read_anywhere),
        cmocka_unit_test(the_part_that_was_written_anew_can_be_read),
        cmocka_unit_test(a_copy_may_come_upon_bytes_of_another_address_beside_its_own),
        cmocka_unit_test(so_may_a_copy_of_rows),
        cmocka_unit_test(a_kernel_whose_ranges_are_guessed_is_not_known_to_read),
        cmocka_unit_test(what_may_have_been_written_at_either_address_can_be_read_at_both),
        cmocka_unit_test(memory_that_is_made_anew_was_written_nowhere),
        cmocka_unit_test(the_same_address_may_be_mapped_to_its_memory_again),
        cmocka_unit_test(kernels_of_the_library_may_read_what_is_nobodys),
        cmocka_unit_test(another_value_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
