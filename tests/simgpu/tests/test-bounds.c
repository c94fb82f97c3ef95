/* test-bounds.c - SIMGPU_BOUNDS: what a kernel touches and has not declared is found, to the byte where it writes. */
#include "device.h"

#include <string.h>

enum { PAGE = 4096, BYTES = 4 * PAGE };

/* Writes a byte and reads another; declares 16 bytes from each of two other addresses on. */
struct stray_params {
    char *to;
    const char *from;
    uint64_t written, read;
};

static volatile char seen;

static void run_stray(const struct simgpu_launch *launch, const void *image)
{
    const struct stray_params *p = image;
    (void)launch;
    if (p->from)
        seen = *p->from;
    if (p->to)
        *p->to = 9;
}

static void describe_stray(const struct simgpu_launch *launch, const void *image, struct simgpu_footprint *ret)
{
    const struct stray_params *p = image;
    (void)launch;
    ret->range_count = 2;
    ret->ranges[0] = (struct simgpu_range){p->written, 16, SIMGPU_WRITES};
    ret->ranges[1] = (struct simgpu_range){p->read, 16, SIMGPU_READS};
}

static const struct simgpu_param layout[] = {
    {0, 8, SIMGPU_PARAM_POINTER}, {8, 8, SIMGPU_PARAM_POINTER | SIMGPU_PARAM_CONST}, {16, 8, 0}, {24, 8, 0}};
static const struct simgpu_kernel stray_kernel = {"stray", 4, 32, layout, run_stray, describe_stray, 0};
static const struct simgpu_kernel careless_kernel = {"careless", 4, 32, layout, run_stray, NULL, 0};
static const struct simgpu_kernel *const kernels[] = {&stray_kernel, &careless_kernel};
static const struct simgpu_image stray_image = {SIMGPU_IMAGE_HEADER, 2, 0, kernels, NULL};

static CUfunction stray, careless;
static CUdeviceptr own, others;

static void start(void)
{
    CUmodule code;
    device_start();
    OK(cuModuleLoadData(&code, &stray_image));
    OK(cuModuleGetFunction(&stray, code, "stray"));
    OK(cuModuleGetFunction(&careless, code, "careless"));
    OK(cuMemAlloc(&own, BYTES));
    OK(cuMemAlloc(&others, BYTES));
    OK(cuMemsetD8(own, 1, BYTES));
    OK(cuMemsetD8(others, 1, BYTES));
}

/* Writes to `to` and reads at `from` (0: does not); declares to write at `own` + 64 and to read at `others` + 64. */
static CUresult launch(CUfunction f, CUdeviceptr to, CUdeviceptr from)
{
    uint64_t written = own + 64, read = others + 64;
    void *params[] = {&to, &from, &written, &read};
    OK(cuLaunchKernel(f, 1, 1, 1, 32, 1, 1, 0, NULL, params, NULL));
    return cuCtxSynchronize();
}

CHILD_TEST(what_is_declared_may_be_touched, "SIMGPU_BOUNDS", "1")
{
    unsigned char byte = 0;
    start();
    OK(launch(stray, own + 64, others + 64));
    OK(launch(stray, own + 64 + 15, others + 64 + 15));
    OK(launch(stray, 0, own + 64)); /* and what is written may be read */
    OK(cuMemcpyDtoH(&byte, own + 64, 1));
    assert_int_equal(byte, 9);
    OK(launch_add(add, own, BYTES / 4, 1, NULL));
    OK(cuMemsetD8(others, 1, BYTES)); /* all is open again */
}

static CUdeviceptr bad_to, bad_from;

static void bad_body(void)
{
    start();
    const CUdeviceptr to = bad_to ? (bad_to & 1 ? own : others) + (bad_to >> 1) : 0;
    const CUdeviceptr from = bad_from ? (bad_from & 1 ? own : others) + (bad_from >> 1) : 0;
    assert_int_equal(launch(stray, to, from), CUDA_ERROR_ILLEGAL_ADDRESS);
}

/* In `own` (1) or the others' (0), so many bytes from the start. */
#define AT(mine, bytes) ((CUdeviceptr)(bytes) << 1 | (mine))

static void what_is_not_declared_may_not(void **state)
{
    static const struct {
        CUdeviceptr to, from;
    } bad[] = {{AT(1, 63), 0}, {AT(1, 80), 0},       {AT(1, PAGE - 1), 0}, {AT(1, PAGE), 0},
               {AT(0, 64), 0}, {AT(0, 3 * PAGE), 0}, {0, AT(1, PAGE)},     {0, AT(0, PAGE)}};
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        bad_to = bad[i].to;
        bad_from = bad[i].from;
        assert_true(in_child(bad_body, "SIMGPU_BOUNDS", "1", NULL));
        assert_non_null(strstr(child_stderr(), "kernel stray"));
        assert_non_null(strstr(child_stderr(), "which it does not declare"));
        assert_int_equal(child_stat("faults"), 1);
    }
}

CHILD_TEST(what_no_device_can_reach_is_the_fault_that_it_is, "SIMGPU_BOUNDS", "1")
{
    start();
    OK(cuMemFree(others));
    assert_int_equal(launch_add(add, others, 4, 1, NULL), CUDA_SUCCESS);
    assert_int_equal(cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
}

CHILD_TEST(who_declares_nothing_is_held_to_nothing, "SIMGPU_BOUNDS", "1")
{
    start();
    OK(launch(careless, own + 2 * PAGE, others + 2 * PAGE));
}

CHILD_TEST(unasked_nobody_looks)
{
    start();
    OK(launch(stray, others + 2 * PAGE, own + 2 * PAGE));
}

static void refused_body(void)
{
    assert_int_equal(cuInit(0), CUDA_ERROR_INVALID_VALUE);
}

static void it_is_not_to_be_had_beside_pages_that_are_told(void **state)
{
    (void)state;
    assert_true(in_child(refused_body, "SIMGPU_BOUNDS", "1", "SIMGPU_TOUCHED", "/dev/null", NULL));
    assert_non_null(strstr(child_stderr(), "SIMGPU_BOUNDS"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_declared_may_be_touched),
        cmocka_unit_test(what_is_not_declared_may_not),
        cmocka_unit_test(what_no_device_can_reach_is_the_fault_that_it_is),
        cmocka_unit_test(who_declares_nothing_is_held_to_nothing),
        cmocka_unit_test(unasked_nobody_looks),
        cmocka_unit_test(it_is_not_to_be_had_beside_pages_that_are_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
