/* test-contexts-moved.c - a context that goes while blocks of it or by it are on their way. */
#include "moved.h"
#include "contexts.h"

static void expect(CUdeviceptr a, unsigned char value)
{
    struct spw_op op;
    assert_int_equal(begin_use(&op, &a, 1), 0);
    fake_expect(s, a, BYTES, value);
    spw_op_end(&op);
}

/* The copy streams belong to one context; when it goes, a tensor of another one that they had brought in is still good. */
static void a_tensor_outlives_the_context_whose_streams_brought_it_in(void **state)
{
    begin(2 * BYTES);
    CUdeviceptr a = allocate_in((CUcontext)(uintptr_t)0xd0); /* the first to be moved: the copy streams are its context's */
    CUdeviceptr b = allocate_in(context), c = allocate_in(context);
    fill(a, 1);
    fill(b, 2);
    fill(c, 3);   /* a goes */
    expect(a, 1); /* b goes */
    expect(b, 2); /* c goes; b is on its way in */
    assert_int_equal(spw_driver.cuCtxSynchronize(), CUDA_SUCCESS);
    spw_context_free((CUcontext)(uintptr_t)0xd0);
    s = fake_stream();
    expect(c, 3);
    CUdeviceptr d = allocate_in(context);
    spw_lock(); /* the next copy streams are made, and are others */
    spw_object_use(spw_object_at_locked(b), spw_tick, true);
    spw_unlock();
    fill(d, 4);
    expect(b, 2);
    expect(c, 3);
    fake_run_all();
}

/* What a context's destruction finds on its way out is freed as soon as it is let go of. */
static void a_context_that_goes_takes_along_what_is_being_evicted(void **state)
{
    begin(BYTES);
    CUdeviceptr a = allocate_in(context);
    fill(a, 1);
    CUdeviceptr b = allocate_in((CUcontext)(uintptr_t)0xd0);
    struct spw_op op;
    spw_lock();
    struct spw_object *o = spw_object_at_locked(a);
    spw_block_of(o)->holds++;
    spw_unlock();
    assert_int_equal(spw_driver.cuCtxSynchronize(), CUDA_SUCCESS);
    spw_context_free(context);
    assert_int_equal(device->live_count, 1);
    spw_lock();
    spw_release_hold_locked(device, spw_block_of(o));
    spw_unlock();
    assert_int_equal(begin_use(&op, &b, 0), 0);
    spw_op_end(&op);
    fake_run_all();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_tensor_outlives_the_context_whose_streams_brought_it_in),
        cmocka_unit_test(a_context_that_goes_takes_along_what_is_being_evicted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
