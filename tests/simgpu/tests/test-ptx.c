/* test-ptx.c - PTX text is a device program where each kernel in it has a twin, with the same parameters. */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "device.h"

#define HEAD      "// a comment, .entry nothing(\n  .version 6.0 /* .entry */\n.target sm_50\n.address_size 64\n"
#define HASH(...) HEAD ".visible .entry spillway_hash(" __VA_ARGS__ ")\n.maxntid 256, 1, 1\n{ ret; }\n"

static const char plain[] = HASH("\n.param .u64 a,\n.param .u64 b,\n.param .u64 c\n");

static CUresult load(const char *text)
{
    CUmodule m;
    CUresult r = cuModuleLoadData(&m, text);
    if (r == CUDA_SUCCESS)
        OK(cuModuleUnload(m));
    return r;
}

CHILD_TEST(text_is_taken_whose_kernels_have_twins)
{
    device_start();
    OK(load(plain));
    OK(load(HASH(".param .u64 .ptr .global .align 16 a, .param .b64 b, .param .align 8 .b8 c[8]")));
    OK(load(HEAD ".func helper() { ret; }\n"));
}

CHILD_TEST(text_is_refused_whose_kernels_have_none)
{
    device_start();
    assert_int_equal(load(HEAD ".entry unheard_of() { ret; }"), CUDA_ERROR_INVALID_PTX);
    assert_int_equal(load(HEAD ".entry spillway_hash_2(.param .u64 a, .param .u64 b, .param .u64 c) { ret; }"),
                     CUDA_ERROR_INVALID_PTX);
    assert_int_equal(load(HASH(".param .u64 a, .param .u64 b, .param .u64 c") ".entry another() { ret; }"),
                     CUDA_ERROR_INVALID_PTX);
}

CHILD_TEST(text_is_refused_whose_parameters_are_not_its_twins)
{
    device_start();
    assert_int_equal(load(HASH(".param .u64 a, .param .u64 b")), CUDA_ERROR_INVALID_PTX);
    assert_int_equal(load(HASH(".param .u64 a, .param .u32 b, .param .u64 c")), CUDA_ERROR_INVALID_PTX);
    assert_int_equal(load(HASH(".param .u64 a, .param .u64 b, .param .u64 c, .param .u64 d")), CUDA_ERROR_INVALID_PTX);
    assert_int_equal(load(HASH(".param .u64 a, .param .align 16 .b8 b[8], .param .u64 c")), CUDA_ERROR_INVALID_PTX);
    assert_int_equal(load(HASH(".param .u64 a, .param .b8 b[16")), CUDA_ERROR_INVALID_PTX);
    assert_int_equal(load(HASH(".param .u64 a, .param .u64 b, .param .u64 c,")), CUDA_ERROR_INVALID_PTX);
    assert_int_equal(load(HASH(".param .u64 a, u64 b, .param .u64 c")), CUDA_ERROR_INVALID_PTX);
    assert_int_equal(load(HASH("")), CUDA_ERROR_INVALID_PTX);
    assert_int_equal(load(HEAD ".entry spillway_hash"), CUDA_ERROR_INVALID_PTX);
}

CHILD_TEST(what_is_no_text_is_an_invalid_image)
{
    static const char nothing[8];
    device_start();
    assert_int_equal(load(nothing), CUDA_ERROR_INVALID_IMAGE);
    assert_int_equal(load("something else that is longer than a magic number"), CUDA_ERROR_INVALID_IMAGE);
    assert_int_equal(load(".version 6.0\n.entry spillway_hash() {}"), CUDA_ERROR_INVALID_PTX); /* no .target */
    assert_int_equal(load((const char *)8), CUDA_ERROR_INVALID_IMAGE);
    assert_int_equal(load(NULL), CUDA_ERROR_INVALID_VALUE);
}

CHILD_TEST(text_that_runs_into_memory_that_is_not_there_is_refused)
{
    device_start();
    CUdeviceptr p = new_mapping(GRANULE, NULL);
    char *end = (char *)(uintptr_t)p + GRANULE;
    memset(end - 5000, ' ', 5000);
    memcpy(end - 5000, plain, sizeof plain - 1);
    assert_int_equal(load(end - 5000), CUDA_ERROR_INVALID_IMAGE);
    end[-1] = 0;
    OK(load(end - 5000));
}

CHILD_TEST(its_parameters_are_told_as_they_stand_there)
{
    CUmodule m;
    CUlibrary l;
    CUfunction f;
    CUkernel k;
    size_t offset, size;
    const char *name;
    char *text = strdup(plain); /* may go when it is loaded */
    device_start();
    OK(cuModuleLoadData(&m, text));
    OK(cuLibraryLoadData(&l, text, NULL, NULL, 0, NULL, NULL, 0));
    memset(text, 'x', strlen(text));
    free(text);
    OK(cuModuleGetFunction(&f, m, "spillway_hash"));
    assert_int_equal(cuModuleGetFunction(&f, m, "add"), CUDA_ERROR_NOT_FOUND);
    OK(cuLibraryGetKernel(&k, l, "spillway_hash"));
    for (size_t i = 0; i < 3; i++) {
        OK(cuFuncGetParamInfo(f, i, &offset, &size));
        assert_int_equal(offset, i * 8);
        assert_int_equal(size, 8);
        OK(cuKernelGetParamInfo(k, i, &offset, &size));
        assert_int_equal(offset, i * 8);
        assert_int_equal(size, 8);
    }
    assert_int_equal(cuFuncGetParamInfo(f, 3, &offset, &size), CUDA_ERROR_INVALID_VALUE);
    OK(cuFuncGetName(&name, f));
    assert_string_equal(name, "spillway_hash");
    OK(cuModuleUnload(m));
    OK(cuLibraryUnload(l));
}

static CUresult launch(CUfunction f, CUdeviceptr address, uint64_t bytes, CUdeviceptr slot, CUstream stream)
{
    void *params[] = {&address, &bytes, &slot};
    return cuLaunchKernel(f, 4, 1, 1, 256, 1, 1, 0, stream, params, NULL);
}

static CUfunction get_hash(void)
{
    CUmodule m;
    CUfunction f;
    OK(cuModuleLoadData(&m, plain));
    OK(cuModuleGetFunction(&f, m, "spillway_hash"));
    return f;
}

CHILD_TEST(a_twin_costs_the_bytes_that_it_reads, "SIMGPU_PROFILE", "a100-40g", "SIMGPU_SCALE_BYTES", "100")
{
    float ms, more_ms;
    device_start();
    CUfunction f = get_hash();
    CUdeviceptr p = new_mapping(4 * GRANULE, NULL);
    CUevent events[3] = {new_event(), new_event(), new_event()};
    CUstream s = new_stream();
    OK(cuEventRecord(events[0], s));
    OK(launch(f, p, 1 * GRANULE, p + 3 * GRANULE, s));
    OK(cuEventRecord(events[1], s));
    OK(launch(f, p, 3 * GRANULE, p + 3 * GRANULE, s));
    OK(cuEventRecord(events[2], s));
    OK(cuStreamSynchronize(s));
    OK(cuEventElapsedTime(&ms, events[0], events[1]));
    OK(cuEventElapsedTime(&more_ms, events[1], events[2]));
    assert_true(more_ms > 2.8f * ms && more_ms < 3.2f * ms);
}

static void write_beside(size_t offset)
{
    device_start();
    CUfunction f = get_hash();
    CUdeviceptr p = new_mapping(2 * GRANULE, NULL);
    OK(launch(f, p, 1000, p + GRANULE, new_stream()));
    OK(cuMemsetD8Async(p + offset, 1, 1, new_stream()));
    (void)cuCtxSynchronize();
}

static void write_into_what_it_reads(void)
{
    write_beside(999);
}

static void write_into_its_slot(void)
{
    write_beside(GRANULE + 15);
}

static void write_past_both(void)
{
    write_beside(1000);
}

static void a_twin_says_exactly_what_it_touches(void **state)
{
    assert_true(in_child(write_into_what_it_reads, "SIMGPU_ORDER", "report", NULL));
    assert_true(child_stat("ordering_errors") == 1);
    assert_true(in_child(write_into_its_slot, "SIMGPU_ORDER", "report", NULL));
    assert_true(child_stat("ordering_errors") == 1);
    assert_true(in_child(write_past_both, "SIMGPU_ORDER", "report", NULL));
    assert_true(child_stat("ordering_errors") == 0);
}

/* The kernel that looks for addresses reads the word of before or of after. */
static void write_what_is_looked_at(void)
{
    static const char text[] =
        HEAD ".visible .entry spillway_seek(.param .u64 a, .param .u64 b, .param .u64 c, .param .u64 d, "
             ".param .u64 e, .param .u64 f, .param .u64 g, .param .u64 h) { ret; }";
    CUmodule m;
    CUfunction f;
    device_start();
    OK(cuModuleLoadData(&m, text));
    OK(cuModuleGetFunction(&f, m, "spillway_seek"));
    CUdeviceptr p = new_mapping(2 * GRANULE, NULL), answer = p + GRANULE;
    uint64_t bytes = 1024, low = 1, extent = 1, other_low = 0, other_extent = 0, shift = 14;
    void *params[] = {&p, &bytes, &low, &extent, &other_low, &other_extent, &shift, &answer};
    OK(cuLaunchKernel(f, 1, 1, 1, 256, 1, 1, 0, new_stream(), params, NULL));
    OK(cuMemsetD8Async(p, 1, 1, new_stream()));
    OK(cuCtxSynchronize());
}

static void a_look_is_no_error_beside_a_write(void **state)
{
    assert_true(in_child(write_what_is_looked_at, "SIMGPU_ORDER", "report", NULL));
    assert_true(child_stat("ordering_errors") == 0);
}

/* As programmatic dependent launch allows, where `behind_its_own` is of the program as well. */
static void overlap(bool behind_its_own)
{
    CUlaunchAttribute attribute = {.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION,
                                   .value.programmaticStreamSerializationAllowed = 1};
    device_start();
    CUfunction f = get_hash();
    CUdeviceptr p = new_mapping(2 * GRANULE, NULL), numbers = p;
    CUstream s = new_stream();
    int count = 4;
    float value = 1;
    void *params[] = {&numbers, &count, &value};
    CUlaunchConfig config = {.gridDimX = 1, .gridDimY = 1, .gridDimZ = 1, .blockDimX = 32, .blockDimY = 1, .blockDimZ = 1};
    config.hStream = s;
    config.attrs = &attribute;
    config.numAttrs = 1;
    if (behind_its_own)
        OK(launch_add(add, p, 4, 1, s));
    else
        OK(launch(f, p, 1000, p + GRANULE, s));
    OK(cuLaunchKernelEx(&config, add, params, NULL));
    OK(cuMemsetD8Async(p + GRANULE, 0, 1, s));
    OK(cuLaunchKernelEx(&config, add, params, NULL)); /* behind no kernel */
    OK(cuCtxSynchronize());
}

static void overlap_with_its_own(void)
{
    overlap(true);
}

static void overlap_with_the_library(void)
{
    overlap(false);
}

static void a_launch_overlaps_with_the_program_s_kernels_alone(void **state)
{
    assert_true(in_child(overlap_with_its_own, "SIMGPU_ORDER", "report", NULL));
    assert_true(child_stat("overlapping_launches") == 1);
    assert_true(child_stat("ordering_errors") == 0);
    assert_true(in_child(overlap_with_the_library, "SIMGPU_ORDER", "report", NULL));
    assert_true(child_stat("overlapping_launches") == 1);
    assert_true(child_stat("ordering_errors") == 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_is_taken_whose_kernels_have_twins),
        cmocka_unit_test(text_is_refused_whose_kernels_have_none),
        cmocka_unit_test(text_is_refused_whose_parameters_are_not_its_twins),
        cmocka_unit_test(a_look_is_no_error_beside_a_write),
        cmocka_unit_test(a_launch_overlaps_with_the_program_s_kernels_alone),
        cmocka_unit_test(what_is_no_text_is_an_invalid_image),
        cmocka_unit_test(text_that_runs_into_memory_that_is_not_there_is_refused),
        cmocka_unit_test(its_parameters_are_told_as_they_stand_there),
        cmocka_unit_test(a_twin_costs_the_bytes_that_it_reads),
        cmocka_unit_test(a_twin_says_exactly_what_it_touches),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
