/* test-touched.c - SIMGPU_TOUCHED: the pages that kernels read and write, and nothing else about them changes. */
#include "device.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { PAGE = 4096 };

/* move(from, to): reads a byte, where there is an address to read from, and writes one, where there is one to write to. */
struct move_params {
    const volatile unsigned char *from;
    volatile unsigned char *to;
};

static void run_move(const struct simgpu_launch *launch, const void *params)
{
    const struct move_params *p = params;
    (void)launch;
    unsigned char byte = p->from ? *p->from : 7;
    if (p->to)
        *p->to = byte;
}

static const struct simgpu_param move_layout[] = {{0, 8, SIMGPU_PARAM_POINTER | SIMGPU_PARAM_CONST},
                                                  {8, 8, SIMGPU_PARAM_POINTER}};
static const struct simgpu_kernel move_kernel = {"move", 2, 16, move_layout, run_move, NULL, 0};
static const struct simgpu_kernel *const kernels[] = {&move_kernel};
static const struct simgpu_image image = {SIMGPU_IMAGE_HEADER, 1, 0, kernels, NULL};
static CUfunction move;
static char path[64];

/* The path is another in each child: it is told before the device starts. */
static void start(void)
{
    CUmodule moving;
    snprintf(path, sizeof path, "/tmp/simgpu-touched-%d", (int)getpid());
    setenv("SIMGPU_TOUCHED", "/tmp/simgpu-touched-%p", 1);
    device_start();
    OK(cuModuleLoadData(&moving, &image));
    OK(cuModuleGetFunction(&move, moving, "move"));
}

static CUdeviceptr new_memory(size_t bytes)
{
    CUdeviceptr p;
    OK(cuMemAlloc(&p, bytes));
    return p;
}

static void launch_move(CUdeviceptr from, CUdeviceptr to, CUstream stream)
{
    void *params[] = {&from, &to};
    OK(cuLaunchKernel(move, 1, 1, 1, 1, 1, 1, 0, stream, params, NULL));
}

/* The file's line of that number, from 1; NULL: there are fewer. */
static const char *line(int number)
{
    static char text[4096];
    char *got = NULL;
    FILE *f = fopen(path, "re");
    assert_non_null(f);
    for (int i = 0; i < number; i++)
        got = fgets(text, sizeof text, f);
    fclose(f);
    return got;
}

static void finish(void)
{
    unlink(path);
}

/* That line says that these pages, 0: none, were read and written. */
static void expect(int number, CUdeviceptr read, CUdeviceptr written)
{
    char reads[64] = "\"reads\": []", writes[64] = "\"writes\": []";
    const char *got = line(number);
    assert_non_null(got);
    if (read)
        snprintf(reads, sizeof reads, "\"reads\": [[%llu, 4096]]", read & ~(CUdeviceptr)(PAGE - 1));
    if (written)
        snprintf(writes, sizeof writes, "\"writes\": [[%llu, 4096]]", written & ~(CUdeviceptr)(PAGE - 1));
    assert_non_null(strstr(got, writes));
#if defined __x86_64__ /* elsewhere what was written counts as read as well */
    assert_non_null(strstr(got, reads));
#endif
}

CHILD_TEST(what_a_kernel_reads_and_writes_is_told_page_by_page)
{
    start();
    CUdeviceptr a = new_memory(4 * PAGE), b = new_memory(4 * PAGE);
    launch_move(a + PAGE, b + 2 * PAGE - 1, NULL); /* the first byte of a page, the last of another */
    launch_move(a + 4 * PAGE - 1, 0, NULL);
    launch_move(0, b, NULL);
    launch_move(0, 0, NULL);
    launch_move(a, a + 1, NULL);
    OK(cuCtxSynchronize());
    expect(1, a + PAGE, b + PAGE);
    expect(2, a + 3 * PAGE, 0);
    expect(3, 0, b);
    expect(4, 0, 0);
    expect(5, a, a);
    assert_null(line(6));
    finish();
}

CHILD_TEST(a_launch_is_told_by_number_device_and_name)
{
    start();
    CUdeviceptr a = new_memory(PAGE);
    OK(cuMemsetD8(a, 1, 1)); /* the first operation */
    launch_move(a, 0, NULL);
    OK(cuCtxSynchronize());
    assert_non_null(
        strstr(line(1), "{\"launch\": 1, \"operation\": 2, \"graph_launch\": 0, \"device\": 0, \"kernel\": \"move\", "));
    finish();
}

CHILD_TEST(neighbouring_pages_are_one_range)
{
    char wanted[64];
    start();
    CUdeviceptr a = new_memory(8 * PAGE);
    OK(launch_add(guessed, a + PAGE, 2 * PAGE / 4, 1, NULL));
    OK(cuCtxSynchronize());
    snprintf(wanted, sizeof wanted, "\"writes\": [[%llu, %d]]", a + PAGE, 2 * PAGE);
    assert_non_null(strstr(line(1), wanted));
    finish();
}

CHILD_TEST(the_bytes_are_what_they_are_without)
{
    unsigned char bytes[2] = {0};
    start();
    CUdeviceptr a = new_memory(PAGE), b = new_memory(PAGE);
    OK(cuMemsetD8(a, 42, PAGE));
    launch_move(a + 5, b + 9, NULL);
    OK(cuMemcpyDtoH(bytes, b + 8, 2));
    assert_int_equal(bytes[0], 0xCB);
    assert_int_equal(bytes[1], 42);
    finish();
}

CHILD_TEST(memory_that_a_stream_or_a_handle_gave_is_watched_too)
{
    start();
    CUstream s = new_stream();
    CUdeviceptr mapped = new_mapping(GRANULE, NULL), pooled;
    OK(cuMemAllocAsync(&pooled, 100, s));
    launch_move(mapped + GRANULE - 1, pooled + 99, s);
    OK(cuStreamSynchronize(s));
    expect(1, mapped + GRANULE - 1, pooled);
    finish();
}

CHILD_TEST(another_device_is_told_as_such, "SIMGPU_DEVICES", "2")
{
    CUcontext other;
    start();
    CUdeviceptr a = new_memory(PAGE);
    OK(cuDevicePrimaryCtxRetain(&other, 1));
    OK(cuCtxSetCurrent(other));
    CUmodule there;
    OK(cuModuleLoadData(&there, &image));
    OK(cuModuleGetFunction(&move, there, "move"));
    CUdeviceptr b = new_memory(PAGE);
    launch_move(0, b, NULL);
    OK(cuCtxSynchronize());
    expect(1, 0, b);
    assert_non_null(strstr(line(1), "\"device\": 1"));
    OK(cuCtxSetCurrent(context));
    OK(cuMemsetD8(a, 1, PAGE));
    finish();
}

CHILD_TEST(a_kernel_of_a_graph_is_told_with_the_launch_of_the_graph)
{
    CUgraph graph;
    CUgraphExec exec;
    start();
    CUstream s = new_stream();
    CUdeviceptr a = new_memory(PAGE);
    OK(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_RELAXED));
    launch_move(a, 0, s);
    OK(cuStreamEndCapture(s, &graph));
    OK(cuGraphInstantiate(&exec, graph, 0));
    OK(cuGraphLaunch(exec, s));
    launch_move(a, 0, s);
    OK(cuGraphLaunch(exec, s));
    OK(cuStreamSynchronize(s));
    assert_non_null(strstr(line(1), "\"graph_launch\": 1,"));
    assert_non_null(strstr(line(2), "\"graph_launch\": 0,"));
    assert_non_null(strstr(line(3), "\"graph_launch\": 2,"));
    finish();
}

/* What lies behind the addresses of devices, by the system's own account. */
static void mappings(char *text, size_t size)
{
    char one[512];
    FILE *f = fopen("/proc/self/maps", "re");
    size_t length = 0;
    assert_non_null(f);
    while (fgets(one, sizeof one, f))
        if (strstr(one, "simgpu-device"))
            length += (size_t)snprintf(text + length, size - length, "%s", one);
    fclose(f);
    assert_true(length > 0 && length < size);
}

static CUdeviceptr new_read_only(void)
{
    CUmemAccessDesc access = {{CU_MEM_LOCATION_TYPE_DEVICE, 0}, CU_MEM_ACCESS_FLAGS_PROT_READ};
    CUdeviceptr p = new_mapping(GRANULE, NULL);
    OK(cuMemSetAccess(p, GRANULE, &access, 1));
    return p;
}

CHILD_TEST(afterwards_every_page_is_as_open_as_it_was)
{
    static char before[8192], after[8192];
    start();
    CUdeviceptr a = new_memory(8 * PAGE), b = new_read_only(), c = new_mapping(GRANULE, NULL);
    new_memory(PAGE);
    mappings(before, sizeof before);
    launch_move(b + PAGE, a + 3 * PAGE, NULL);
    launch_move(a + 6 * PAGE, c + 100 * PAGE, NULL);
    OK(cuCtxSynchronize());
    mappings(after, sizeof after);
    assert_string_equal(before, after);
    finish();
}

/* ---- what a kernel may not touch ---- */

/* `from` and `to` are a fault, of which a line tells no page, and behind which all is as it was. */
static void expect_fault(CUdeviceptr from, CUdeviceptr to)
{
    static char before[8192], after[8192];
    mappings(before, sizeof before);
    launch_move(from, to, NULL);
    assert_int_equal(cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
    mappings(after, sizeof after);
    assert_string_equal(before, after);
    expect(1, 0, 0);
    finish();
}

CHILD_TEST(a_page_behind_an_allocation_is_still_a_fault)
{
    start();
    CUdeviceptr a = new_memory(PAGE + 1);
    new_memory(PAGE);
    expect_fault(a + 2 * PAGE, 0);
}

CHILD_TEST(freed_memory_is_still_a_fault)
{
    start();
    CUdeviceptr a = new_memory(PAGE);
    new_memory(PAGE);
    OK(cuMemFree(a));
    expect_fault(0, a);
}

CHILD_TEST(memory_that_may_only_be_read_is_still_a_fault_when_written)
{
    start();
    expect_fault(0, new_read_only());
}

CHILD_TEST(a_write_after_a_read_is_still_a_fault_in_memory_that_may_only_be_read)
{
    start();
    CUdeviceptr a = new_read_only();
    launch_move(a, a + 1, NULL);
    assert_int_equal(cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
    expect(1, a, 0);
    finish();
}

CHILD_TEST(a_mapping_without_access_is_still_a_fault)
{
    CUmemAccessDesc none = {{CU_MEM_LOCATION_TYPE_DEVICE, 0}, CU_MEM_ACCESS_FLAGS_PROT_NONE};
    start();
    CUdeviceptr a = new_mapping(GRANULE, NULL);
    new_memory(PAGE);
    OK(cuMemSetAccess(a, GRANULE, &none, 1));
    expect_fault(a, 0);
}

CHILD_TEST(a_file_that_cannot_be_written_is_refused, "SIMGPU_TOUCHED", "/nowhere/touched")
{
    assert_int_equal(cuInit(0), CUDA_ERROR_INVALID_VALUE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_a_kernel_reads_and_writes_is_told_page_by_page),
        cmocka_unit_test(a_launch_is_told_by_number_device_and_name),
        cmocka_unit_test(neighbouring_pages_are_one_range),
        cmocka_unit_test(the_bytes_are_what_they_are_without),
        cmocka_unit_test(memory_that_a_stream_or_a_handle_gave_is_watched_too),
        cmocka_unit_test(another_device_is_told_as_such),
        cmocka_unit_test(a_kernel_of_a_graph_is_told_with_the_launch_of_the_graph),
        cmocka_unit_test(afterwards_every_page_is_as_open_as_it_was),
        cmocka_unit_test(a_page_behind_an_allocation_is_still_a_fault),
        cmocka_unit_test(freed_memory_is_still_a_fault),
        cmocka_unit_test(memory_that_may_only_be_read_is_still_a_fault_when_written),
        cmocka_unit_test(a_write_after_a_read_is_still_a_fault_in_memory_that_may_only_be_read),
        cmocka_unit_test(a_mapping_without_access_is_still_a_fault),
        cmocka_unit_test(a_file_that_cannot_be_written_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
