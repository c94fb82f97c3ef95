/* reruns.c - an operation that was kept and is submitted again does what it did, in each of its forms, to the last byte.
 * Parts of the library on the simulated device, without the hooks. */
#include "recorded_op.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "../simgpu/tests/device.h"
#include "../unit/common/unlocked.h"
#include "alloc.h"
#include "devices.h"
#include "versions.h"
#include "driver.h"
#include "op.h"
#include "layout.h"
#include "lock.h"
#include "log.h"
#include "settings.h"
#include "stash.h"
#include "own_memory.h"
#include "twins.h"

enum { COUNT = 1000, BYTES = 64 * 1024 };

static struct spw_device *d;
static CUstream stream;
static CUdeviceptr a, b;
static unsigned char before[2][BYTES], after[2][BYTES], again[2][BYTES];

static CUdeviceptr allocate(size_t bytes)
{
    CUdeviceptr address = 0;
    assert_int_equal(spw_allocate(d, bytes, NULL, context, spw_mempool_stats_of_locked(NULL), &address), 0);
    return address;
}

/* The driver calls of the library go to the device's own symbols. */
static void start(void)
{
    static struct spw_settings settings;
    device_start();
#define X(kind, symbol, asked, params, args) *(void **)&spw_driver.symbol = dlsym(RTLD_DEFAULT, #symbol);
    SPW_DRIVER_CALLS(X)
#undef X
    spw_settings_default(&settings);
    settings.budget.every = (struct spw_amount){.kind = SPW_AMOUNT_BYTES, .bytes = 32 * MIB};
    settings.small_bytes = 4096;
    settings.recompute = true;
    spw_settings_use(&settings);
    spw_twins_loaded(module, spw_twins_loading(&(struct spw_image_told){SPW_IMAGE_MODULE_DATA, &module_image}));
    CUcontext current;
    d = spw_device_current(&current);
    assert_non_null(d);
    stream = new_stream();
    a = allocate(BYTES);
    b = allocate(BYTES);
    for (int i = 0; i < BYTES; i++) {
        before[0][i] = (unsigned char)(i * i >> 5 ^ i);
        before[1][i] = (unsigned char)(i * 7 >> 3);
    }
    for (int i = 0; i < COUNT; i++) {
        const float number = (float)i * 0.25f;
        memcpy(before[0] + 4 * i, &number, sizeof(number));
    }
    spw_lock();
    spw_versions_keep_locked(true);
    spw_unlock();
    pthread_mutex_lock(&d->slow);
    spw_lock();
    assert_int_equal(spw_stash_ready_unlocking(d), 0);
    spw_unlock();
    pthread_mutex_unlock(&d->slow);
}

static void put_back(void)
{
    OK(cuMemcpyHtoDAsync_v2(a, before[0], BYTES, stream));
    OK(cuMemcpyHtoDAsync_v2(b, before[1], BYTES, stream));
}

static void take(unsigned char bytes[2][BYTES])
{
    OK(cuMemcpyDtoHAsync_v2(bytes[0], a, BYTES, stream));
    OK(cuMemcpyDtoHAsync_v2(bytes[1], b, BYTES, stream));
    OK(cuStreamSynchronize(stream));
}

/* What the engine does of an operation that is wanted later. */
static struct spw_recorded_op *keep(struct spw_op *op, const struct spw_call_args *submission, CUdeviceptr *hits,
                                    unsigned count, unsigned read_only)
{
    *op = (struct spw_op){.handle = stream,
                          .hits = hits,
                          .count = count,
                          .room = count,
                          .read_only = read_only,
                          .function = submission->kind == SPW_SUBMIT_LAUNCH ? submission->launch.function : NULL,
                          .name = "an operation",
                          .submission = submission};
    spw_lock();
    op->stream = spw_stream_of_locked(stream);
    op->reached = count;
    spw_versions_look_locked(op);
    op->wish = 1;
    spw_versions_op_locked(op);
    spw_unlock();
    assert_int_equal(op->verdict, SPW_REPLAYABLE);
    assert_non_null(op->recorded_op);
    return op->recorded_op;
}

static int submit(const struct spw_recorded_op *rerun)
{
    spw_lock();
    assert_true(spw_recorded_op_is_good(rerun));
    int r = spw_recorded_op_submit_locked(rerun, spw_stream_of_locked(stream));
    spw_unlock();
    return r;
}

/* The operation was kept, and the program's call made of what was there before. */
static void assert_does_the_same(const struct spw_recorded_op *rerun)
{
    take(after);
    assert_memory_not_equal(after, before, sizeof(before));
    put_back();
    assert_int_equal(submit(rerun), 0);
    take(again);
    assert_memory_equal(again, after, sizeof(after));
}

/* ---- launches ---- */

struct add { /* the parameters of a kernel that adds a number to all of a vector */
    CUdeviceptr to;
    int count;
    float value;
    void *list[3];
};

static struct add add_to(CUdeviceptr to, float value)
{
    return (struct add){.to = to, .count = COUNT, .value = value};
}

static struct spw_call_args launch_of(struct add *p)
{
    p->list[0] = &p->to;
    p->list[1] = &p->count;
    p->list[2] = &p->value;
    return (struct spw_call_args){.kind = SPW_SUBMIT_LAUNCH,
                                  .launch = {add, {1, 1, 1, 32, 1, 1, 0, NULL, NULL, 0}, spw_layout_of(add), p->list, NULL}};
}

CHILD_TEST(a_plain_launch_does_the_same)
{
    struct spw_op op;
    start();
    struct add p = add_to(a, 2.5f);
    const struct spw_call_args s = launch_of(&p);
    CUdeviceptr hits[] = {a};
    const struct spw_recorded_op *rerun = keep(&op, &s, hits, 1, 0);
    put_back();
    OK(cuLaunchKernel(add, 1, 1, 1, 32, 1, 1, 0, stream, p.list, NULL));
    p = add_to(b, 77.0f); /* the program uses the place for something else */
    assert_does_the_same(rerun);
}

CHILD_TEST(a_launch_with_attributes_does_the_same)
{
    struct spw_op op;
    CUlaunchAttribute attributes[] = {
        {.id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE, .value.cooperative = 1},
        {.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION, .value.programmaticStreamSerializationAllowed = 1}};
    start();
    struct add p = add_to(a, 2.5f);
    struct spw_call_args s = launch_of(&p);
    s.launch.config.attrs = attributes;
    s.launch.config.numAttrs = 2;
    CUdeviceptr hits[] = {a};
    const struct spw_recorded_op *rerun = keep(&op, &s, hits, 1, 0);
    put_back();
    s.launch.config.hStream = stream;
    OK(cuLaunchKernelEx(&s.launch.config, add, p.list, NULL));
    p = add_to(b, 77.0f);
    memset(attributes, 0xee, sizeof(attributes));
    assert_does_the_same(rerun);
}

CHILD_TEST(a_launch_whose_parameters_the_program_packed_does_the_same)
{
    struct spw_op op;
    start();
    struct {
        CUdeviceptr to;
        int count;
        float value;
    } image = {a, COUNT, 2.5f};
    size_t bytes = sizeof(image);
    void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &image, CU_LAUNCH_PARAM_BUFFER_SIZE, &bytes, CU_LAUNCH_PARAM_END};
    const struct spw_call_args s = {.kind = SPW_SUBMIT_LAUNCH,
                                    .launch = {add, {1, 1, 1, 32, 1, 1, 0, NULL, NULL, 0}, spw_layout_of(add), NULL, extra}};
    CUdeviceptr hits[] = {a};
    const struct spw_recorded_op *rerun = keep(&op, &s, hits, 1, 0);
    put_back();
    OK(cuLaunchKernel(add, 1, 1, 1, 32, 1, 1, 0, stream, NULL, extra));
    image.to = b;
    image.value = 77.0f;
    assert_does_the_same(rerun);
}

/* ---- variables of modules ---- */

static CUdeviceptr variable_of_module(size_t *ret_bytes)
{
    CUdeviceptr address;
    OK(cuModuleGetGlobal_v2(&address, ret_bytes, module, "variable"));
    return address;
}

static float variable_is(void)
{
    size_t bytes;
    float value;
    OK(cuMemcpyDtoHAsync_v2(&value, variable_of_module(&bytes), sizeof(value), stream));
    OK(cuStreamSynchronize(stream));
    return value;
}

/* What the kernel that counts its launches leaves, when it is launched again. */
static float counted_again(const struct spw_recorded_op *rerun)
{
    float found;
    assert_int_equal(submit(rerun), 0);
    OK(cuMemcpyDtoHAsync_v2(&found, a, sizeof(found), stream));
    OK(cuStreamSynchronize(stream));
    return found;
}

static struct spw_recorded_op *keep_counting(struct spw_op *op)
{
    static CUdeviceptr hits[1];
    static void *params[] = {&a};
    const struct spw_call_args s = {
        .kind = SPW_SUBMIT_LAUNCH,
        .launch = {counting, {1, 1, 1, 32, 1, 1, 0, NULL, NULL, 0}, spw_layout_of(counting), params, NULL}};
    hits[0] = a;
    struct spw_recorded_op *rerun = keep(op, &s, hits, 1, 0);
    OK(launch_count(counting, a, stream));
    return rerun;
}

CHILD_TEST(what_a_launch_counts_in_a_variable_it_counts_from_where_it_did)
{
    struct spw_op op, later_op;
    start();
    const struct spw_recorded_op *rerun = keep_counting(&op), *later;
    assert_true(counted_again(rerun) == VARIABLE);
    assert_true(counted_again(rerun) == VARIABLE);
    assert_true(variable_is() == VARIABLE + 1); /* by the program alone */
    OK(launch_count(counting, a, stream));
    later = keep_counting(&later_op);
    for (int i = 0; i < 2; i++) {
        assert_true(counted_again(rerun) == VARIABLE);
        assert_true(counted_again(later) == VARIABLE + 2);
    }
    assert_true(variable_is() == VARIABLE + 3);
    spw_twins_unload(module);
    assert_int_equal(submit(rerun), -ENOENT);
}

CHILD_TEST(a_launch_finds_in_a_variable_what_the_program_had_copied_to_it_by_then)
{
    struct spw_op op, later_op;
    size_t bytes;
    const float value = 64;
    start();
    const struct spw_recorded_op *rerun = keep_counting(&op);
    assert_true(counted_again(rerun) == VARIABLE);
    const CUdeviceptr variable = variable_of_module(&bytes);
    spw_twins_variable(module, "variable", variable, bytes);
    assert_true(counted_again(rerun) == VARIABLE); /* to know its address is not to write it */
    assert_false(spw_twins_write(variable - 4, 4));
    assert_true(spw_twins_write(variable, sizeof(value)));
    OK(cuMemcpyHtoDAsync_v2(variable, &value, sizeof(value), stream));
    spw_twins_written(stream);
    const struct spw_recorded_op *later = keep_counting(&later_op);
    for (int i = 0; i < 2; i++) {
        assert_true(counted_again(rerun) == VARIABLE);
        assert_true(counted_again(later) == value);
    }
    assert_true(variable_is() == value + 1);
}

/* ---- copies and sets ---- */

CHILD_TEST(copies_of_one_two_and_three_dimensions_do_the_same)
{
    struct spw_op op;
    start();
    CUdeviceptr hits[] = {a, b};
    CUDA_MEMCPY2D plane = {.srcXInBytes = 3,
                           .srcY = 2,
                           .srcMemoryType = CU_MEMORYTYPE_DEVICE,
                           .srcDevice = b,
                           .srcPitch = 128,
                           .dstXInBytes = 17,
                           .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                           .dstDevice = a,
                           .dstPitch = 256,
                           .WidthInBytes = 77,
                           .Height = 9};
    CUDA_MEMCPY3D volume = {.srcMemoryType = CU_MEMORYTYPE_DEVICE,
                            .srcDevice = b,
                            .srcPitch = 128,
                            .srcHeight = 10,
                            .dstZ = 1,
                            .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                            .dstDevice = a,
                            .dstPitch = 256,
                            .dstHeight = 9,
                            .WidthInBytes = 77,
                            .Height = 9,
                            .Depth = 3};
    const struct spw_call_args linear = {.kind = SPW_SUBMIT_COPY, .copy = {a + 100, b + 200, 5001}},
                               rows = {.kind = SPW_SUBMIT_PLANE, .plane = &plane},
                               box = {.kind = SPW_SUBMIT_VOLUME, .volume = &volume};
    const struct spw_recorded_op *rerun = keep(&op, &linear, hits, 2, 1);
    put_back();
    OK(cuMemcpyDtoDAsync_v2(a + 100, b + 200, 5001, stream));
    assert_does_the_same(rerun);
    rerun = keep(&op, &rows, hits, 2, 1);
    put_back();
    OK(cuMemcpy2DAsync_v2(&plane, stream));
    plane.Height = 1;
    assert_does_the_same(rerun);
    rerun = keep(&op, &box, hits, 2, 1);
    put_back();
    OK(cuMemcpy3DAsync_v2(&volume, stream));
    volume.Depth = 1;
    assert_does_the_same(rerun);
}

static void set_as_the_program(unsigned element, size_t pitch, size_t width, size_t rows, uint32_t value)
{
    const CUdeviceptr to = a + 64;
    if (element == 1)
        OK(rows > 1 ? cuMemsetD2D8Async(to, pitch, (unsigned char)value, width, rows, stream)
                    : cuMemsetD8Async(to, (unsigned char)value, width, stream));
    else if (element == 2)
        OK(rows > 1 ? cuMemsetD2D16Async(to, pitch, (unsigned short)value, width, rows, stream)
                    : cuMemsetD16Async(to, (unsigned short)value, width, stream));
    else
        OK(rows > 1 ? cuMemsetD2D32Async(to, pitch, value, width, rows, stream)
                    : cuMemsetD32Async(to, value, width, stream));
}

CHILD_TEST(sets_of_each_size_do_the_same)
{
    struct spw_op op;
    start();
    CUdeviceptr hits[] = {a + 64};
    for (unsigned element = 1; element <= 4; element *= 2)
        for (size_t rows = 1; rows <= 4; rows += 3) {
            const uint32_t value = (uint32_t)(0x12345678u >> (32 - 8 * element));
            const struct spw_call_args s = {.kind = SPW_SUBMIT_SET, .set = {a + 64, 512, 101, rows, value, element}};
            const struct spw_recorded_op *rerun = keep(&op, &s, hits, 1, 0);
            put_back();
            set_as_the_program(element, 512, 101, rows, value);
            assert_does_the_same(rerun);
        }
}

/* ---- what goes wrong ---- */

static void be_refused(void)
{
    struct spw_op op;
    start();
    spw_log_setup(SPW_LOG_QUIET, NULL);
    struct add p = add_to(a, 2.5f);
    const struct spw_call_args s = launch_of(&p);
    CUdeviceptr hits[] = {a};
    const struct spw_recorded_op *rerun = keep(&op, &s, hits, 1, 0);
    put_back();
    assert_int_equal(submit(rerun), -ENOMEM);
    take(after);
    assert_memory_equal(after, before, sizeof(before));
    assert_int_equal(submit(rerun), 0);
    take(after);
    assert_memory_not_equal(after, before, sizeof(before));
}

/* The first two launches search what the variables of the module hold. */
static void a_driver_that_refuses_is_passed_on_and_asked_again(void **state)
{
    assert_true(in_child(be_refused, "SIMGPU_FAIL", "cuLaunchKernel:3=2", NULL));
}

CHILD_TEST(memory_that_others_write_is_told_by_the_driver)
{
    CUdeviceptr variable, managed, mapped;
    size_t bytes;
    void *host;
    start();
    OK(cuModuleGetGlobal_v2(&variable, &bytes, module, "variable"));
    OK(cuMemAllocManaged(&managed, BYTES, CU_MEM_ATTACH_GLOBAL));
    OK(cuMemHostAlloc(&host, BYTES, CU_MEMHOSTALLOC_DEVICEMAP));
    OK(cuMemHostGetDevicePointer_v2(&mapped, host, 0));
    const CUdeviceptr outside[] = {variable, managed, mapped};
    for (unsigned i = 0; i < 3; i++) {
        struct add p = add_to(outside[i], 1.0f);
        const struct spw_call_args s = launch_of(&p);
        assert_int_equal(spw_call_args_verdict(&s), SPW_REPLAY_OUTSIDE_MEMORY);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_plain_launch_does_the_same),
        cmocka_unit_test(a_launch_with_attributes_does_the_same),
        cmocka_unit_test(a_launch_whose_parameters_the_program_packed_does_the_same),
        cmocka_unit_test(what_a_launch_counts_in_a_variable_it_counts_from_where_it_did),
        cmocka_unit_test(a_launch_finds_in_a_variable_what_the_program_had_copied_to_it_by_then),
        cmocka_unit_test(copies_of_one_two_and_three_dimensions_do_the_same),
        cmocka_unit_test(sets_of_each_size_do_the_same),
        cmocka_unit_test(a_driver_that_refuses_is_passed_on_and_asked_again),
        cmocka_unit_test(memory_that_others_write_is_told_by_the_driver),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
