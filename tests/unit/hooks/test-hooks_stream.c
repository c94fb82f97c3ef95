/* test-hooks_stream.c - what a context has goes with it and not before, and a green one has streams and nothing else. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "alloc.h"
#include "devices.h"
#include "driver.h"
#include "engine.h"
#include "fake-device.h"
#include "hooks.h"
#include "mempool_stats.h"
#include "mover.h"
#include "plan_follower.h"
#include "reclaim.h"
#include "unlocked.h"

#define BYTES   ((size_t)64 << 10)
#define PRIMARY ((CUcontext)(uintptr_t)0xc0)
#define GREEN   ((CUcontext)(uintptr_t)0x9e)
#define OWN     ((CUcontext)(uintptr_t)0xd0)
#define HANDLE  ((CUgreenCtx)(uintptr_t)0x9f)

static struct spw_device *device;
static CUcontext stack[8];
static unsigned depth; /* the context on top is current */
static CUstream green_stream;
static unsigned destroyed;

static CUresult CUDAAPI get_current(CUcontext *ret_context)
{
    *ret_context = depth ? stack[depth - 1] : NULL;
    return CUDA_SUCCESS;
}

static CUresult CUDAAPI push(CUcontext context)
{
    assert_false(context == GREEN && destroyed);
    stack[depth++] = context;
    return CUDA_SUCCESS;
}

static CUresult CUDAAPI pop(CUcontext *ret_context)
{
    *ret_context = stack[--depth];
    return CUDA_SUCCESS;
}

static CUresult CUDAAPI retain(CUcontext *ret_context, CUdevice dev)
{
    *ret_context = PRIMARY;
    return CUDA_SUCCESS;
}

static CUresult CUDAAPI create_green(CUgreenCtx *ret_green, CUdevResourceDesc resources, CUdevice dev, unsigned flags)
{
    *ret_green = HANDLE;
    return CUDA_SUCCESS;
}

static CUresult CUDAAPI destroy_green(CUgreenCtx green)
{
    destroyed++;
    return CUDA_SUCCESS;
}

static CUresult CUDAAPI from_green(CUcontext *ret_context, CUgreenCtx green)
{
    *ret_context = GREEN;
    return green == HANDLE ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}

static CUresult CUDAAPI attach(CUcontext *ret_context, unsigned flags)
{
    *ret_context = stack[depth - 1];
    return CUDA_SUCCESS;
}

static CUresult CUDAAPI detach(CUcontext context)
{
    return CUDA_SUCCESS;
}

static CUresult CUDAAPI context_of(CUstream stream, CUcontext *ret_context)
{
    *ret_context = stream == green_stream ? GREEN : PRIMARY;
    return CUDA_SUCCESS;
}

/* The program has retained the primary context, has made a green one, and that is current. */
static int begin(void **state)
{
    CUcontext context;
    CUgreenCtx green;
    spw_plan_follower_reset();
    spw_plan_follower_open();
    spw_ledger_reset();
    spw_mover_reset();
    spw_devices_reset();
    spw_streams_reset();
    spw_reclaim_pressed = false;
    fake_start(4096, 128 << 20, 2 * BYTES, 16 << 20);
    spw_driver.cuCtxGetCurrent = get_current;
    spw_driver.cuCtxPushCurrent_v2 = push;
    spw_driver.cuCtxPopCurrent_v2 = pop;
    spw_driver.cuDevicePrimaryCtxRetain = retain;
    spw_driver.cuGreenCtxCreate = create_green;
    spw_driver.cuGreenCtxDestroy = destroy_green;
    spw_driver.cuCtxFromGreenCtx = from_green;
    spw_driver.cuStreamGetCtx = context_of;
    spw_driver.cuCtxAttach = attach;
    spw_driver.cuCtxDetach = detach;
    destroyed = 0;
    depth = 1;
    stack[0] = PRIMARY;
    green_stream = fake_stream();
    assert_int_equal(spw_on_cuDevicePrimaryCtxRetain(&context, 0), CUDA_SUCCESS);
    assert_int_equal(spw_on_cuGreenCtxCreate(&green, (CUdevResourceDesc)NULL, 0, CU_GREEN_CTX_DEFAULT_STREAM), CUDA_SUCCESS);
    stack[0] = GREEN;
    return 0;
}

static CUdeviceptr allocate(void)
{
    CUcontext context;
    CUdeviceptr a = 0;
    device = spw_device_current(&context);
    assert_non_null(device);
    assert_int_equal(spw_allocate(device, BYTES, NULL, context, spw_mempool_stats_of_locked(NULL), &a), 0);
    return a;
}

static void fill(CUstream stream, CUdeviceptr a, unsigned char value)
{
    struct spw_op op = {.handle = stream, .hits = &a, .count = 1, .room = 1, .name = "a kernel"};
    assert_int_equal(spw_op_begin(&op), 0);
    fake_fill(stream, a, BYTES, value);
    spw_op_end(&op);
}

static void expect(CUstream stream, CUdeviceptr a, unsigned char value)
{
    struct spw_op op = {.handle = stream, .hits = &a, .count = 1, .room = 1, .name = "a kernel"};
    assert_int_equal(spw_op_begin(&op), 0);
    fake_expect(stream, a, BYTES, value);
    spw_op_end(&op);
    fake_run_all();
}

static bool lives(CUdeviceptr a)
{
    const struct spw_object *o = spw_object_at_locked(a);
    return o && !(o->attention & SPW_FREE);
}

static void the_primary_context_lives_as_long_as_a_green_one(void **state)
{
    const CUdeviceptr a = allocate();
    assert_int_equal(spw_on_cuDevicePrimaryCtxRelease_v2(0), CUDA_SUCCESS);
    assert_true(lives(a));
    stack[0] = PRIMARY;
    assert_int_equal(spw_on_cuGreenCtxDestroy(HANDLE), CUDA_SUCCESS);
    assert_int_equal(destroyed, 1);
    assert_false(lives(a));
}

/* What was allocated while it was current is evicted and comes back without it, and what it was given last is over. */
static void a_green_context_that_goes_takes_its_streams_along_and_no_memory(void **state)
{
    const CUdeviceptr a = allocate(), b = allocate(), c = allocate();
    const CUstream s = fake_stream();
    fill(green_stream, a, 1);
    fill(green_stream, b, 2);
    fill(green_stream, c, 3);
    stack[0] = PRIMARY;
    assert_int_equal(spw_on_cuGreenCtxDestroy(HANDLE), CUDA_SUCCESS);
    for (int i = 0; i < 2; i++) {
        expect(s, a, 1);
        expect(s, b, 2);
        expect(s, c, 3);
    }
    assert_true(lives(a));
}

/* A slab is in no context, and is looked at in the current one. */
static void copy_streams_are_those_of_the_primary_context(void **state)
{
    (void)allocate();
    spw_lock();
    const int r = spw_copy_streams_ready_locked(device, GREEN);
    spw_unlock();
    assert_int_equal(r, 0);
    assert_ptr_equal(device->mover->context, PRIMARY);
}

static void a_green_context_that_does_not_exist_is_the_drivers_to_refuse(void **state)
{
    const CUdeviceptr a = allocate();
    assert_int_equal(spw_on_cuGreenCtxDestroy(NULL), CUDA_SUCCESS);
    assert_int_equal(destroyed, 1);
    assert_true(lives(a));
}

/* The driver destroys it with the last of them; of one that is not current, and of a primary one, it refuses that. */
static void a_context_goes_when_the_last_hold_of_it_is_let_go(void **state)
{
    CUcontext context;
    stack[0] = PRIMARY;
    const CUdeviceptr a = allocate();
    stack[0] = OWN;
    const CUdeviceptr b = allocate();
    assert_int_equal(spw_on_cuCtxAttach(&context, 0), CUDA_SUCCESS);
    assert_int_equal(spw_on_cuCtxDetach(context), CUDA_SUCCESS);
    assert_true(lives(b));
    stack[0] = PRIMARY;
    assert_int_equal(spw_on_cuCtxDetach(OWN), CUDA_SUCCESS);
    assert_int_equal(spw_on_cuCtxDetach(PRIMARY), CUDA_SUCCESS);
    assert_true(lives(a) && lives(b));
    stack[0] = OWN;
    assert_int_equal(spw_on_cuCtxDetach(OWN), CUDA_SUCCESS);
    assert_true(lives(a) && !lives(b));
}

/* `test-hooks_stream eager` runs them on the eager device. */
int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(the_primary_context_lives_as_long_as_a_green_one, begin),
        cmocka_unit_test_setup(a_green_context_that_goes_takes_its_streams_along_and_no_memory, begin),
        cmocka_unit_test_setup(copy_streams_are_those_of_the_primary_context, begin),
        cmocka_unit_test_setup(a_context_goes_when_the_last_hold_of_it_is_let_go, begin),
        cmocka_unit_test_setup(a_green_context_that_does_not_exist_is_the_drivers_to_refuse, begin),
    };
    fake_eager(argc > 1 && strcmp(argv[1], "eager") == 0);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
